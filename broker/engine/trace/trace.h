/*
 * trace.h - how the engine says what it does: gsb_trace(QUEUED, queued, tenant, .serial = ...), with the fields that
 * trace/events.def gives the event. While nobody listens it costs a comparison and a branch; events that stand together ask once, by
 * gsb_trace_is_on(), and are told by gsb_trace_tell(). What a launch says again and again is told in three records: compact.h.
 *
 * Two may listen: a file (gsb_trace_record) and LTTng (gsb_trace_offer_lttng). One process has one trace, as it has one
 * log. The engine's thread alone calls what is here; a second thread writes the file.
 */
#ifndef GSB_BROKER_ENGINE_TRACE_TRACE_H
#define GSB_BROKER_ENGINE_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "broker/engine/trace/buffer.h"
#include "trace/event.h"
#include "trace/format.h"

#define GSB_TRACE_TO_FILE  1u
#define GSB_TRACE_TO_LTTNG 2u
extern GSB_OWN uint32_t gsb_trace_on;	/* who listens; written by the functions below only */
extern GSB_OWN bool gsb_trace_is_heard; /* somebody does: a byte is compared in one instruction */

/* GSB_TRACE_NEVER: an engine without traces, with which tests/integ/engine_path.sh compares what they cost. */
static inline bool gsb_trace_is_on(void)
{
#ifdef GSB_TRACE_NEVER
	return false;
#else
	return gsb_unlikely(gsb_trace_is_heard);
#endif
}

/* Of the file; what is filled where there is none is LTTng's alone. */
extern GSB_OWN struct gsb_trace_buffer gsb_trace_ring;
void gsb_trace_end_rare(const struct gsb_trace_head *record);

/* Before anything else here: event times are the better, the longer ago that is. */
void gsb_trace_init(void);

/*
 * gsb_trace_begin() - room for a record, to be filled whole but for what it does not use; then gsb_trace_end(), or not at all
 * In between nothing else is told. Its time, and when a tenant posted, are stamps (gsb_clock_stamp()): who hands it on makes times
 * of them, so that it need not be done here.
 */
static inline void *gsb_trace_begin(void)
{
	return gsb_trace_buffer_begin(&gsb_trace_ring);
}

/* @end: where it does. Where there is no room for it, its events are counted. */
static inline void gsb_trace_end(const struct gsb_trace_head *record, void *end)
{
	if (gsb_unlikely(!gsb_trace_buffer_end(&gsb_trace_ring, end)))
		gsb_trace_end_rare(record);
}

/*
 * The same of one that may be continued, for whom @of points to, as long as nothing else is told: gsb_trace_is_open(). Only the
 * ring's are; where it has no room, and for LTTng, each is a record of its own.
 */
static inline void gsb_trace_end_open(struct gsb_trace_head *record, void *end, const void *of)
{
	if (gsb_unlikely(!gsb_trace_buffer_end(&gsb_trace_ring, end)))
		gsb_trace_end_rare(record);
	else
		gsb_trace_buffer_open(&gsb_trace_ring, record, of);
}

/* Whether it can: at gsb_trace_begin(), by bytes that are filled there, and then gsb_trace_add_more(), or not at all. */
static inline bool gsb_trace_is_open(const void *of)
{
	return gsb_trace_buffer_is_open(&gsb_trace_ring, of);
}

static inline void gsb_trace_add_more(uint16_t bytes)
{
	gsb_trace_buffer_add_more(&gsb_trace_ring, bytes);
}

/* What comes next is of another moment: a record of its own. */
static inline void gsb_trace_split(void)
{
#ifndef GSB_TRACE_NEVER
	gsb_trace_buffer_split(&gsb_trace_ring);
#endif
}

/* The same of a record that was filled elsewhere, but for its time. */
void gsb_trace_put(struct gsb_trace_head *record);

/* @tenant_id: 0 for what concerns none. The fields are expressions that tell nothing themselves. */
#define gsb_trace(NAME, name, tenant_id, ...)                               \
	do {                                                                \
		if (gsb_trace_is_on())                                      \
			gsb_trace_tell(NAME, name, tenant_id, __VA_ARGS__); \
	} while (0)

/* The same where gsb_trace_is_on() was asked. */
#define gsb_trace_tell(NAME, name, tenant_id, ...)                                                \
	do {                                                                                      \
		struct gsb_trace_##name *record_ = gsb_trace_begin();                             \
                                                                                                  \
		*record_ = (struct gsb_trace_##name){.head = {GSB_TRACE_##NAME, sizeof(*record_), \
							      (tenant_id), gsb_clock_stamp()},    \
						     __VA_ARGS__};                                \
		gsb_trace_end(&record_->head, record_ + 1);                                       \
	} while (0)

/* The number of the next operation. */
static inline uint64_t gsb_trace_next_serial(void)
{
	extern GSB_OWN uint64_t gsb_trace_last_serial;

#ifdef GSB_TRACE_NEVER
	return 0;
#endif
	return ++gsb_trace_last_serial;
}

/* ---- a file ---- */

#define GSB_TRACE_BUFFER_BYTES	 (64ull << 20)
#define GSB_TRACE_FOLLOWED_BYTES (16ull << 20) /* for a socket, whose reader may be slow */

/*
 * The end of a turn: what was told in it goes to the thread that writes. Where processors are few and tenants flood the engine,
 * that thread gets none while the engine has one. So an engine whose buffer is half full offers its own to whoever waits for one.
 * It waits for nobody.
 */
void gsb_trace_end_turn(void);

struct gsb_trace_state {
	bool recording; /* or still writing what was recorded */
	bool lttng;	/* the provider is there */
	int error;	/* of the last recording: -errno of a write; 0: none */
	uint64_t n_events, n_lost,
		n_bytes; /* of the last recording: events on their way to the file, lost ones, its size */
};

/*
 * gsb_trace_record() - write events to a file from now on
 * @fd:    a regular file, open for writing, or a stream socket, whose reader loses what it is too slow for; consumed,
 *         also by a failure
 * @about: its header, as trace/write.h wants it; the clocks in it are filled in here
 *
 * Return: 0, -EBUSY (it records already), -EINVAL (not such a file), -errno.
 */
int gsb_trace_record(int fd, const struct gsb_trace_header *about);

/* End it; the file is whole when gsb_trace_done_fd() is readable. False: nothing is recorded. */
bool gsb_trace_stop(void);

/* Readable when a recording has ended, because it was asked to or because it failed: call gsb_trace_collect(). */
int gsb_trace_done_fd(void); /* -errno */
bool gsb_trace_collect(void);

/* The process ends: stop, and wait until the file is whole. */
void gsb_trace_finish(void);

void gsb_trace_get_state(struct gsb_trace_state *out);

/* ---- LTTng ---- */

/*
 * gsb_trace_offer_lttng() - load the provider, so that a session can enable the events gsb:*; for good
 * @about: what each session is told of the engine, whenever it begins, and again before that may have been overwritten
 * @now_ns, @dev: device time at these moments
 *
 * Return: 0, -ENOENT, -ENOTSUP; logged.
 */
struct gsb_device;
int gsb_trace_offer_lttng(const struct gsb_trace_header *about,
			  uint64_t (*now_ns)(struct gsb_device *dev), struct gsb_device *dev);

#endif
