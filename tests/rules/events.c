/*
 * events.c - what an event stands for: its last recording, and nothing before the first.
 */
#include "rules.h"

PROGRAM(event_never_recorded)
{
	CUdeviceptr w = words(1);
	CUevent e = event(0);
	CUstream s = stream(0);

	ask("query", cuEventQuery(e));
	ask("synchronize", cuEventSynchronize(e));
	ask("wait", cuStreamWaitEvent(s, e, 0));
	must(add(s, w, 1));
	ask("stream", cuStreamSynchronize(s));
	say_n("then", word(w));
}

/* A wait is for the recording that there is when it is made. */
PROGRAM(wait_before_record)
{
	CUdeviceptr w = words(1);
	CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(0);

	must(cu.cuStreamWaitEvent(b, e, 0));
	hold(a);
	must(cu.cuEventRecord(e, a));
	must(add(b, w, 1));
	ask("other", cuStreamSynchronize(b));
	ask("event", cuEventQuery(e));
	let_go();
	settle();
	ask("then", cuEventQuery(e));
}

PROGRAM(event_recorded_again)
{
	CUdeviceptr w = words(1);
	CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(0);

	must(cu.cuEventRecord(e, b));
	must(cu.cuStreamWaitEvent(b, e, 0));
	ask("first", cuEventSynchronize(e));
	hold(a);
	must(cu.cuEventRecord(e, a));
	ask("again", cuEventQuery(e));
	must(add(b, w, 1));
	ask("waits-for-the-first", cuStreamSynchronize(b));
	must(cu.cuStreamWaitEvent(b, e, 0));
	ask("waits-for-the-second", cuStreamQuery(b));
	must(cu.cuEventRecord(e, NULL));
	ask("third", cuEventSynchronize(e));
	ask("still-the-second", cuStreamQuery(b));
	let_go();
	settle();
	say_n("then", word(w));
}

PROGRAM(event_destroyed_in_use)
{
	CUdeviceptr w = words(1);
	CUstream a = stream(CU_STREAM_NON_BLOCKING), b = stream(CU_STREAM_NON_BLOCKING);
	CUevent e = event(0);

	hold(a);
	must(cu.cuEventRecord(e, a));
	must(cu.cuStreamWaitEvent(b, e, 0));
	must(add(b, w, 1));
	ask("destroy", cuEventDestroy_v2(e));
	ask("waits", cuStreamQuery(b));
	let_go();
	settle();
	say_n("then", word(w));
}

PROGRAM(event_flags)
{
	static const struct {
		const char *step;
		unsigned flags;
	} all[] = {{"0", 0},	{"blocking", 1},	   {"no-timing", 2},
		   {"both", 3}, {"interprocess-timed", 4}, {"8", 8},
		   {"max", ~0u}};
	CUevent e;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		say(all[i].step, cu.cuEventCreate(&e, all[i].flags));
	ask("nowhere", cuEventCreate(NULL, 0));
}

PROGRAM(elapsed_of_untimed)
{
	CUevent timed = event(0), untimed = event(CU_EVENT_DISABLE_TIMING);
	float ms = -1;

	must(cu.cuEventRecord(timed, NULL));
	must(cu.cuEventRecord(untimed, NULL));
	settle();
	ask("second", cuEventElapsedTime(&ms, timed, untimed));
	ask("first", cuEventElapsedTime(&ms, untimed, timed));
	ask("v2", cuEventElapsedTime_v2(&ms, timed, untimed));
	ask("same", cuEventElapsedTime(&ms, timed, timed));
	say_n("zero", ms == 0);
}

PROGRAM(elapsed_of_unrecorded)
{
	CUevent a = event(0), b = event(0);
	float ms = -1;

	ask("neither", cuEventElapsedTime(&ms, a, b));
	must(cu.cuEventRecord(a, NULL));
	settle();
	ask("second", cuEventElapsedTime(&ms, a, b));
	ask("first", cuEventElapsedTime(&ms, b, a));
	ask("first-v2", cuEventElapsedTime_v2(&ms, b, a));
	ask("nowhere", cuEventElapsedTime(NULL, a, a));
	ask("no-event", cuEventElapsedTime(&ms, NULL, a));
}

PROGRAM(elapsed_while_held)
{
	CUevent a = event(0), b = event(0);
	CUstream s = stream(0);
	float ms = -1;

	must(cu.cuEventRecord(a, s));
	hold(s);
	must(cu.cuEventRecord(b, s));
	ask("held", cuEventElapsedTime(&ms, a, b));
	ask("held-v2", cuEventElapsedTime_v2(&ms, a, b));
	let_go();
	settle();
	ask("then", cuEventElapsedTime(&ms, a, b));
	say_n("positive", ms > 0);
	ask("backwards", cuEventElapsedTime(&ms, b, a));
	say_n("negative", ms < 0);
}

PROGRAM(event_query)
{
	CUevent e = event(0);
	CUstream s = stream(0);

	hold(s);
	must(cu.cuEventRecord(e, s));
	ask("held", cuEventQuery(e));
	let_go();
	ask("synchronize", cuEventSynchronize(e));
	ask("then", cuEventQuery(e));
	ask("stream", cuStreamQuery(s));
}

PROGRAM(event_orders_more_than_its_stream)
{
	CUdeviceptr w = words(1);
	CUevent e = event(0);
	CUstream s = stream(CU_STREAM_DEFAULT), t = stream(CU_STREAM_NON_BLOCKING);

	hold(s);
	must(cu.cuEventRecord(e, NULL));
	must(cu.cuStreamWaitEvent(t, e, 0));
	must(add(t, w, 1));
	ask("event-of-legacy", cuEventQuery(e));
	ask("behind-it", cuStreamQuery(t));
	let_go();
	settle();
	say_n("then", word(w));
}

PROGRAM(event_record_flags)
{
	CUevent e = event(0);

	ask("0", cuEventRecordWithFlags(e, NULL, 0));
	ask("external", cuEventRecordWithFlags(e, NULL, CU_EVENT_RECORD_EXTERNAL));
	ask("2", cuEventRecordWithFlags(e, NULL, 2));
	ask("no-event", cuEventRecord(NULL, NULL));
	ask("query-none", cuEventQuery(NULL));
	ask("synchronize-none", cuEventSynchronize(NULL));
	ask("destroy-none", cuEventDestroy_v2(NULL));
}

PROGRAM(event_of_another_context)
{
	CUcontext other = other_context();
	CUevent e = event(0), mine;
	CUstream s = stream(0), there;
	float ms;

	must(cu.cuEventRecord(e, s));
	hold(s);
	must(cu.cuCtxSetCurrent(other));
	there = stream(0);
	mine = event(0);
	ask("wait", cuStreamWaitEvent(there, e, 0));
	ask("record-in-own", cuEventRecord(e, there));
	ask("record-in-null", cuEventRecord(e, NULL));
	ask("record-in-its", cuEventRecord(e, s));
	ask("query", cuEventQuery(e));
	let_go();
	ask("synchronize", cuEventSynchronize(e));
	must(cu.cuEventRecord(mine, there));
	must(cu.cuEventSynchronize(mine));
	ask("elapsed", cuEventElapsedTime(&ms, e, mine));
	ask("destroy", cuEventDestroy_v2(e));
}

PROGRAM(event_in_per_thread)
{
	CUevent e = event(0);
	CUdeviceptr w = words(1);

	hold(CU_STREAM_PER_THREAD);
	must(cu.cuEventRecord_ptsz(e, NULL));
	ask("held", cuEventQuery(e));
	must(cu.cuStreamWaitEvent(CU_STREAM_LEGACY, e, 0));
	must(add(CU_STREAM_LEGACY, w, 1));
	let_go();
	ask("legacy", cuStreamSynchronize(CU_STREAM_LEGACY));
	ask("then", cuEventQuery(e));
}

PROGRAM(events_of_one_stream_in_order)
{
	CUevent e[64];
	CUstream s = stream(0);
	float ms, sum = 0;
	int backwards = 0;

	for (int i = 0; i < 64; i++)
		must(cu.cuEventRecord(e[i] = event(0), s));
	settle();
	for (int i = 1; i < 64; i++) {
		must(cu.cuEventElapsedTime(&ms, e[i - 1], e[i]));
		backwards += ms < 0;
		sum += ms;
	}
	say_n("backwards", backwards);
	must(cu.cuEventElapsedTime(&ms, e[0], e[63]));
	say_n("sums", ms >= 0 && sum > ms - 1 && sum < ms + 1);
}
