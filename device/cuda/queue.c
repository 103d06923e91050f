/*
 * queue.c - see queue.h.
 *
 * Behind each command the GPU writes a number to a word of its queue; poll() compares. That is the fastest news that there
 * is of an end (7.7 us for a launch and back on an H200, 10.6 by asking an event). Two events tell its times, if it is timed (pace.h). Of
 * commands behind which more follow at once only the last has a number and the second event: they end together, are timed or not as
 * the first of them is, and share the time alike. Launches among these go as chains (chain.h). Where a chain is what ends last, and is not timed, the
 * mark of its graph stands for the number, which nobody writes then. Brief launches that several queues begin with at once are one graph, with a
 * mark for each of them (joint.h).
 *
 * While commands come and go the engine polls. When nothing has happened for a while it sleeps on a timer (pace.h). With
 * nothing in flight the timer is off.
 *
 * A fault writes no number: while commands are in flight the context is asked for its health once in a while. But in a client of MPS what is
 * behind a kernel whose assertion failed goes on, and writes: there each of these has ended when the context says that it is well.
 */
#include "device/cuda/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/cuda/fifo.h"
#include "device/cuda/flight.h"
#include "device/cuda/joint.h"
#include "device/cuda/module.h"
#include "device/cuda/pace.h"
#include "device/cuda/partition.h"
#include "device/cuda/print.h"
#include "device/cuda/room.h"
#include "device/cuda/running.h"
#include "device/cuda/send.h"

#define GONE_NS	      100000 /* a backing of one unit is unregistered sooner */
#define HEALTH_NS     1000000
#define MOMENT_AGE_NS 500000000ull /* a float has 60 ns then */
#define MOMENT_TRIES  16

uint64_t cuda_now_ns(struct gsb_device *dev)
{
	return gsb_clock_ns();
}

/* ---- time of the device ---- */

static int64_t elapsed_ns(struct cuda_device *dev, CUevent from, CUevent to)
{
	float ms = 0;

	if (cuda_note(dev, dev->cu.cuEventElapsedTime(&ms, from, to)))
		return 0;
	return (int64_t)((double)ms * 1e6);
}

/* On a stream that has nothing else to do but zeroing, so that it is soon. */
static void begin_moment(struct cuda_device *dev, uint64_t now)
{
	if (dev->cu.cuEventRecord(dev->next_moment.event, dev->zero_stream))
		return;
	dev->next_moment.ns = now;
	dev->moment_pending = true;
}

/*
 * By the device's own clock it is so long after the last one: only when that cannot be, because the clocks run apart, is it put
 * where it can be, so that times of before and after it agree.
 */
static void take_moment(struct cuda_device *dev)
{
	struct cuda_moment old = dev->moment, *next = &dev->next_moment;

	if (!dev->moment_pending || dev->cu.cuEventQuery(next->event))
		return;
	next->ns = gsb_clamp(old.ns + (uint64_t)elapsed_ns(dev, old.event, next->event), next->ns,
			     gsb_clock_ns());
	dev->moment = *next;
	*next = old;
	dev->moment_pending = false;
}

/* The clocks agree to some us. How long they took is exact; where that cannot lie, it is moved. */
static void begin_times(struct gsb_queue *q, const struct cuda_flight *first)
{
	struct cuda_device *dev = q->dev;
	const struct cuda_flight *last = first;
	uint64_t now = gsb_clock_ns(), least = q->last_end_ns, took, start, n = 1;

	for (; last->more; last = last->next)
		n++;
	if (least < first->issued_ns)
		least = first->issued_ns;
	take_moment(dev);
	took = (uint64_t)elapsed_ns(dev, first->start, last->end);
	if (took > now - least)
		took = now - least;
	start = dev->moment.ns + (uint64_t)elapsed_ns(dev, dev->moment.event, first->start);
	q->last_end_ns = gsb_clamp(start, least, now - took);
	q->share_ns = took / n;
}

static bool is_marked(const struct gsb_queue *q, const struct cuda_flight *f)
{
	return f->opens && f->mark != CUDA_NO_MARK && q->dev->marks[f->mark];
}

static bool has_ended(const struct gsb_queue *q, const struct cuda_flight *f)
{
	return (int32_t)(q->seen - f->number) >= 0 || is_marked(q, f);
}

/* They have ended now, unless what is behind them has, too. */
static void guess_times(struct gsb_queue *q, struct cuda_flight *first)
{
	struct cuda_untimed u = {.n = 1,
				 .about_ns = first->outlook.about_ns,
				 .sent_ns = first->sent_ns,
				 .call_ns = first->call_ns,
				 .open_ns = q->dev->open_ns,
				 .end_ns = gsb_clock_ns()};
	const struct cuda_flight *f = first;
	uint64_t took;

	for (; f->more; u.n++) {
		f = f->next;
		u.about_ns += f->outlook.about_ns;
	}
	if (u.sent_ns < q->last_end_ns)
		u.sent_ns = q->last_end_ns;
	took = cuda_outlook_guess_ns(&first->outlook, &u);
	q->last_end_ns = f->next && has_ended(q, f->next) ? u.sent_ns : u.end_ns - took;
	q->share_ns = took / u.n;
}

static void fill_times(struct gsb_queue *q, struct cuda_flight *f, struct gsb_completion *c)
{
	if (f->opens && f->timed)
		begin_times(q, f);
	else if (f->opens)
		guess_times(q, f);
	c->start_ns = q->last_end_ns;
	c->end_ns = q->last_end_ns = c->start_ns + q->share_ns;
	if (f->timed)
		cuda_outlook_end(&f->outlook, q->share_ns);
}

/* ---- flights ---- */

static struct cuda_flight *take_flight(struct cuda_device *dev)
{
	struct cuda_flight *f = dev->free_flights;

	if (f) {
		LL_DELETE(dev->free_flights, f);
		return f;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	if (!dev->cu.cuEventCreate(&f->start, 0)) {
		if (!dev->cu.cuEventCreate(&f->end, 0))
			return f;
		dev->cu.cuEventDestroy_v2(f->start);
	}
	free(f);
	return NULL;
}

static void give_flight(struct cuda_device *dev, struct cuda_flight *f)
{
	LL_PREPEND(dev->free_flights, f);
}

static void free_flights(struct cuda_device *dev)
{
	struct cuda_flight *f, *next;

	LL_FOREACH_SAFE(dev->free_flights, f, next)
	{
		dev->cu.cuEventDestroy_v2(f->start);
		dev->cu.cuEventDestroy_v2(f->end);
		free(f);
	}
	dev->free_flights = NULL;
}

/* ---- queues ---- */

static int take_word(struct cuda_device *dev, unsigned *out)
{
	for (unsigned i = 0; i < CUDA_N_QUEUES; i++) {
		uint64_t bit = 1ull << i % 64;

		if (dev->words_taken[i / 64] & bit)
			continue;
		dev->words_taken[i / 64] |= bit;
		*out = i;
		return 0;
	}
	return -ENOMEM;
}

int cuda_queue_create(struct gsb_device *base, int priority, struct gsb_sm_range sms,
		      struct gsb_queue **out)
{
	struct cuda_device *dev = to_cuda(base);
	struct gsb_queue *q = calloc(1, sizeof(*q));
	int err = -ENOMEM;

	if (!q || take_word(dev, &q->index))
		goto err_queue;
	q->dev = dev;
	q->number = q->seen = dev->ended[q->index]; /* on from who had it before */
	q->written = q->number - CUDA_NUMBER_AGE;
	err = cuda_stream_take(dev, sms, priority, &q->kept);
	if (err)
		goto err_word;
	q->stream = cuda_stream_handle(q->kept);
	/* Kernels of a graph have a priority and SMs of their own: the least, and all. */
	q->chains = !priority && (!sms.n || sms.n == dev->info.arch.n_sms);
	*out = q;
	return 0;
err_word:
	dev->words_taken[q->index / 64] &= ~(1ull << q->index % 64);
err_queue:
	free(q);
	return err;
}

void cuda_queue_destroy(struct gsb_queue *q)
{
	struct cuda_device *dev;

	if (!q)
		return;
	dev = q->dev;
	cuda_stream_give(dev, q->kept);
	atomic_store_explicit(&dev->ended[q->index], q->number, memory_order_release);
	dev->words_taken[q->index / 64] &= ~(1ull << q->index % 64);
	free(q);
}

/* ---- issue ---- */

/* Memory that the space was given since this queue waited last may still be on its way to zero. */
static CUresult wait_for_zeroes(struct gsb_queue *q, const struct gsb_space *space)
{
	struct cuda_device *dev = q->dev;
	CUresult result;

	if (q->n_zeroed >= space->n_zeroed)
		return CUDA_SUCCESS;
	result = dev->cu.cuStreamWaitEvent(q->stream, dev->zeroed, 0);
	if (!result)
		q->n_zeroed = dev->n_zeroed;
	return result;
}

static CUstreamBatchMemOpParams write_of(uint64_t addr, uint64_t value, unsigned bytes)
{
	struct CUstreamMemOpWriteValueParams_st write = {
		.operation = bytes == sizeof(value) ? CU_STREAM_MEM_OP_WRITE_VALUE_64
						    : CU_STREAM_MEM_OP_WRITE_VALUE_32,
		.address = addr,
		.value64 = value};

	return (CUstreamBatchMemOpParams){.writeValue = write};
}

/*
 * What sets one word, and is alone in its queue, goes with its number in one call: 4.6 us until that is seen where a copy takes 6.9 on an H100. With nothing before
 * it, nothing that it waits for can write the source of a copy any more, so it may be read now. False: it is to go as any command.
 */
static bool send_word(struct gsb_queue *q, const struct gsb_cmd *cmd, struct cuda_flight *f)
{
	struct cuda_device *dev = q->dev;
	CUstreamBatchMemOpParams writes[2];
	struct cuda_word w;
	CUresult result;

	if (dev->no_words || q->flights || f->more || f->timed || !cuda_sets_a_word(cmd, &w))
		return false;
	writes[0] = write_of(w.addr, w.value, w.bytes);
	writes[1] =
		write_of((uint64_t)(uintptr_t)&dev->words[q->index], f->number, sizeof(f->number));
	result = cuda_note(dev, dev->cu.cuStreamBatchMemOp_v2(q->stream, 2, writes, 0));
	if (result) {
		gsb_log(GSB_LOG_WARN, "cuda",
			"the driver does not write two words in one call (%s): from now on each small copy is a copy",
			cuda_name(result));
		dev->no_words = true;
		return false;
	}
	q->written = f->number;
	cuda_ends_with(f, f, CUDA_NO_MARK);
	return true;
}

/* When it should begin: behind the last of its queue. */
static uint64_t begins_ns(const struct gsb_queue *q, const struct cuda_flight *f)
{
	uint64_t before_ns = q->flights ? q->last->outlook.due_ns : 0;

	return before_ns > f->issued_ns ? before_ns : f->issued_ns;
}

static int send_now(struct gsb_queue *q, const struct gsb_cmd *cmd, struct cuda_flight *f)
{
	struct cuda_device *dev = q->dev;
	int err = cuda_chain_send(dev, NULL);

	if (!err && f->opens && f->timed)
		err = cuda_io_error(dev, dev->cu.cuEventRecord(f->start, q->stream));
	return err ? err : cuda_send(dev, q->stream, cmd, &f->landing);
}

static void note_alone(struct gsb_space *space, bool is_alone)
{
	space->n_alone = is_alone ? space->n_alone + 1 : 0;
}

static int send(struct gsb_queue *q, const struct gsb_cmd *cmd, struct cuda_flight *f)
{
	struct cuda_device *dev = q->dev;
	int err;

	f->opens = !q->flights || !q->last->more;
	f->more = cmd->more;
	f->number = q->number + 1;
	f->mark = CUDA_NO_MARK;
	f->waits = false;
	f->sent_ns = f->issued_ns;
	f->call_ns = 0;
	if (f->opens)
		q->first = f;
	f->outlook = cuda_outlook_of(dev, cmd, begins_ns(q, f));
	note_alone(cmd->space, !q->flights && !f->more);
	f->timed = f->opens ? cuda_outlook_must_be_timed(&f->outlook) : q->last->timed;
	if (cuda_joint_takes(q, cmd, f)) {
		q->number++;
		cuda_joint_add(cmd, f);
		return 0;
	}
	err = q->flights ? cuda_joint_stay_behind(q) : 0;
	if (!err && dev->chain.stream != q->stream)
		err = cuda_chain_send(dev, NULL); /* of another queue */
	if (!err)
		err = cuda_io_error(dev, wait_for_zeroes(q, cmd->space));
	if (!err && send_word(q, cmd, f)) {
		q->number++;
		return 0;
	}
	if (!err)
		err = q->chains && cuda_chain_takes(cmd, f->opens && !f->more)
			      ? cuda_send_in_chain(q, &cmd->launch, f)
			      : send_now(q, cmd, f);
	if (err)
		return err;
	q->number++;
	return f->more ? 0 : cuda_mark_end(q->first, f);
}

/* What was to follow does not come after all. */
static void mark_last(struct gsb_queue *q)
{
	if (!q->flights || !q->last->more)
		return;
	q->last->more = false;
	cuda_mark_end(q->first, q->last);
}

/* What its kernel may say, if it is one. */
static void note_voice(struct cuda_flight *f, const struct gsb_cmd *cmd)
{
	const struct gsb_function *fn = cmd->kind == GSB_CMD_LAUNCH ? cmd->launch.function : NULL;

	f->space = cmd->space;
	f->print = fn ? fn->print : NULL;
	f->uses_fifo = fn && fn->uses_fifo;
	f->asserts = fn && fn->asserts;
}

/* Whether a kernel that has ended so has said something. */
static bool has_said(const struct cuda_flight *f, CUresult result)
{
	bool has = f->print && cuda_print_has_text(f->print);

	if (gsb_unlikely(f->uses_fifo)) {
		cuda_fifo_end(f->space);
		has |= cuda_fifo_has_text(f->space);
	}
	if (gsb_likely(!f->asserts || result != CUDA_ERROR_ASSERT))
		return has;
	f->space->asserted = true;
	return true;
}

/* A command that ends before it began. */
static int complete_at_once(struct cuda_device *dev, uint64_t cookie, CUresult result, bool printed)
{
	struct gsb_completion *c;

	if (gsb_done_reserve(&dev->done, 1))
		return -ENOMEM;
	c = gsb_done_push(&dev->done);
	c->cookie = cookie;
	c->result = result;
	c->printed = printed;
	c->start_ns = c->end_ns = gsb_clock_ns();
	return 0;
}

static uint64_t blocks_of(const struct gsb_cmd *cmd)
{
	const uint32_t *g = cmd->launch.grid;

	return cmd->kind == GSB_CMD_LAUNCH ? (uint64_t)g[0] * g[1] * g[2] : 0;
}

static void append(struct gsb_queue *q, struct cuda_flight *f)
{
	if (q->flights) {
		q->last->next = f;
	} else {
		DL_APPEND(q->dev->busy, q);
		q->flights = f;
	}
	f->next = NULL;
	q->last = f;
	q->dev->n_in_flight++;
}

int cuda_issue(struct gsb_queue *q, const struct gsb_cmd *cmd)
{
	struct cuda_device *dev = q->dev;
	uint64_t now = gsb_clock_ns();
	struct cuda_flight *f;
	bool printed;
	int err;

	if (cuda_lost(dev))
		return complete_at_once(dev, cmd->cookie, cuda_lost(dev), false);
	f = take_flight(dev);
	if (!f) {
		mark_last(q);
		return -ENOMEM;
	}
	if (now - dev->moment.ns > MOMENT_AGE_NS && !dev->moment_pending)
		begin_moment(dev, now);
	f->cookie = cmd->cookie;
	f->queue = q;
	f->issued_ns = now;
	f->n_blocks = blocks_of(cmd);
	note_voice(f, cmd);
	f->landing = (struct cuda_landing){0};
	f->result = CUDA_SUCCESS;
	if (gsb_unlikely(f->uses_fifo))
		cuda_fifo_begin(f->space);
	err = send(q, cmd, f);
	dev->active_ns = now;
	if (!err) {
		append(q, f);
		if (dev->company.chain.n && !cmd->n_beside)
			cuda_joint_send(dev);
		return 0;
	}
	printed = has_said(f, cuda_lost(dev)); /* its kernel may have begun */
	f->landing.dst = 0;
	cuda_land(dev, &f->landing);
	give_flight(dev, f);
	mark_last(q);
	if (err == -EIO)
		return complete_at_once(dev, cmd->cookie, cuda_lost(dev), printed);
	if (q->flights) /* it would complete before those that it is behind */
		return err;
	return err == -EFAULT
		       ? complete_at_once(dev, cmd->cookie, CUDA_ERROR_ILLEGAL_ADDRESS, false)
		       : err;
}

/* ---- completions ---- */

static void begin_completion(struct gsb_completion *c, const struct cuda_flight *f, CUresult result)
{
	memset(c, 0, offsetof(struct gsb_completion, detail));
	c->detail[0] = 0;
	c->cookie = f->cookie;
	c->result = result;
	c->n_blocks = f->n_blocks;
	c->printed = has_said(f, result);
}

static void end_flight(struct gsb_queue *q, struct cuda_flight *f)
{
	struct cuda_device *dev = q->dev;

	q->flights = f->next;
	if (!q->flights)
		DL_DELETE(dev->busy, q);
	dev->n_in_flight--;
	cuda_land(dev, &f->landing);
	give_flight(dev, f);
}

/* What ended last is not behind what it is, and the engine's other threads hear of it. */
static void see(struct gsb_queue *q, uint32_t number)
{
	if (cuda_is_up_to(q->seen, number))
		return;
	q->seen = number;
	atomic_store_explicit(&q->dev->ended[q->index], number, memory_order_release);
}

/* A stream with nothing to do is not ready while a fault is being told, or while it zeroes something for a moment. */
static bool is_well(struct cuda_device *dev)
{
	return !cuda_note(dev, dev->cu.cuStreamQuery(dev->zero_stream));
}

static unsigned take_ended(struct gsb_queue *q, struct gsb_completion *out, unsigned max)
{
	bool well = !q->dev->is_client;
	unsigned n = 0;

	see(q, q->dev->words[q->index]);
	atomic_thread_fence(memory_order_acquire);
	while (n < max && q->flights && has_ended(q, q->flights)) {
		struct cuda_flight *f = q->flights;

		if (f->asserts && !well && !(well = is_well(q->dev)))
			break;
		if (is_marked(q, f))
			see(q, f->until);
		begin_completion(&out[n], f, f->result);
		fill_times(q, f, &out[n++]);
		end_flight(q, f);
	}
	return n;
}

/* The context has ended, and with it all that was in flight: who did it is not known. */
static unsigned take_lost(struct gsb_queue *q, struct gsb_completion *out, unsigned max)
{
	unsigned n = 0;

	while (n < max && q->flights) {
		struct cuda_flight *f = q->flights;

		begin_completion(&out[n], f, cuda_lost(q->dev));
		out[n].start_ns = f->issued_ns;
		out[n++].end_ns = gsb_clock_ns();
		f->landing.dst = 0;
		end_flight(q, f);
	}
	return n;
}

static void check_health(struct cuda_device *dev)
{
	uint64_t now = gsb_clock_ns();

	if (!dev->busy || now - dev->checked_ns < HEALTH_NS)
		return;
	dev->checked_ns = now;
	cuda_note(dev, dev->cu.cuStreamQuery(dev->busy->stream));
}

/* Whether it has rung or not: nobody asks it twice. */
static void silence_timer(struct cuda_device *dev)
{
	static const struct itimerspec off;

	if (dev->timer_armed && !timerfd_settime(dev->timer_fd, 0, &off, NULL))
		dev->timer_armed = false;
}

unsigned cuda_poll(struct gsb_device *base, struct gsb_completion *out, unsigned max)
{
	struct cuda_device *dev = to_cuda(base);
	struct gsb_queue *q, *next;
	unsigned n;

	cuda_joint_send(dev);
	silence_timer(dev);
	n = gsb_done_pop(&dev->done, out, max);
	DL_FOREACH_SAFE (dev->busy, q, next)
		n += take_ended(q, out + n, max - n);
	if (!n)
		check_health(dev);
	if (gsb_unlikely(cuda_lost(dev)))
		DL_FOREACH_SAFE (dev->busy, q, next)
			n += take_lost(q, out + n, max - n);
	if (n)
		dev->active_ns = gsb_clock_ns();
	return n;
}

int cuda_event_fd(struct gsb_device *dev)
{
	return to_cuda(dev)->timer_fd;
}

/* Until something in flight may have ended. */
static uint64_t nap_ns(const struct cuda_device *dev)
{
	uint64_t now = dev->open_ns, nap = UINT64_MAX;
	const struct gsb_queue *q;

	DL_FOREACH (dev->busy, q) {
		uint64_t ns = cuda_nap_ns(now, now - dev->active_ns, &q->flights->outlook);

		nap = ns < nap ? ns : nap;
	}
	return nap;
}

/* With nothing in flight: until something is to be tidied, or asked for again; who is told that once more says so again. 0: nothing is. */
static uint64_t chore_ns(struct cuda_device *dev)
{
	uint64_t kept_ns = cuda_room_tidy(dev, dev->open_ns);
	bool asks_again = dev->awaits_gone;

	dev->awaits_gone = false;
	return asks_again && (!kept_ns || kept_ns > GONE_NS) ? GONE_NS : kept_ns;
}

bool cuda_stay_awake(struct gsb_device *base)
{
	struct cuda_device *dev = to_cuda(base);
	struct itimerspec at = {0};
	uint64_t idle_ns;

	dev->open_ns = gsb_clock_ns();
	idle_ns = chore_ns(dev);
	if (!dev->n_in_flight && cuda_is_lively(dev->open_ns - dev->active_ns))
		return true;
	if (!dev->n_in_flight && !idle_ns)
		return false;
	at.it_value.tv_nsec = (long)(dev->n_in_flight ? nap_ns(dev) : idle_ns);
	if (!at.it_value.tv_nsec || timerfd_settime(dev->timer_fd, 0, &at, NULL))
		return true;
	dev->timer_armed = true;
	return false;
}

/* ---- life ---- */

/* Of several tries the one that took least: the event lies in the middle of it. */
static int make_moments(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;
	uint64_t least = UINT64_MAX;

	if (cu->cuEventCreate(&dev->moment.event, 0) ||
	    cu->cuEventCreate(&dev->next_moment.event, 0))
		return -ENOMEM;
	for (int i = 0; i < MOMENT_TRIES; i++) {
		struct cuda_moment m = dev->next_moment;
		uint64_t before = gsb_clock_ns(), took;

		if (cu->cuEventRecord(m.event, dev->zero_stream))
			return -EIO;
		while (cu->cuEventQuery(m.event) == CUDA_ERROR_NOT_READY)
			gsb_cpu_relax();
		took = gsb_clock_ns() - before;
		if (took >= least)
			continue;
		least = took;
		m.ns = before + took / 2;
		dev->next_moment = dev->moment;
		dev->moment = m;
	}
	return 0;
}

int cuda_work_init(struct cuda_device *dev)
{
	const size_t bytes = (CUDA_N_QUEUES + CUDA_N_MARKS) * sizeof(uint32_t);
	void *words;

	if (dev->cu.cuMemHostAlloc(&words, bytes,
				   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP))
		return -ENOMEM;
	dev->words = memset(words, 0, bytes);
	dev->marks = dev->words + CUDA_N_QUEUES;
	dev->words_taken[CUDA_ZERO_WORD / 64] |= 1ull << CUDA_ZERO_WORD % 64;
	dev->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (dev->timer_fd < 0)
		return -errno;
	return make_moments(dev);
}

void cuda_work_finish(struct cuda_device *dev)
{
	cuda_chain_finish(dev);
	free_flights(dev);
	gsb_done_finish(&dev->done);
	if (dev->moment.event)
		dev->cu.cuEventDestroy_v2(dev->moment.event);
	if (dev->next_moment.event)
		dev->cu.cuEventDestroy_v2(dev->next_moment.event);
	if (dev->words)
		dev->cu.cuMemFreeHost((void *)(uintptr_t)dev->words);
	if (dev->timer_fd >= 0)
		close(dev->timer_fd);
}
