/*
 * rogue_region.c - attacks through the memory that tenant and engine share, see rogue.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "tests/fuzz/session.h"
#include "tests/integ/rogue.h"

#define N_EDITS_MAX 6

/* ---- the ring ---- */

/* Headers that pass the first check, in front of noise: the handlers see it. */
static void fill_with_noisy_records(struct rogue *r, uint8_t *ring, uint32_t from)
{
	while (from + GSB_RECORD_MAX < GSB_RING_BYTES) {
		struct gsb_rec *rec = (struct gsb_rec *)(ring + from);
		uint16_t type = (uint16_t)(1 + rogue_random(r) % (GSB_N_RECS - 1));
		uint32_t size = gsb_rec_min_size(type) + (uint32_t)rogue_random(r) % 256;

		size = (size + GSB_RECORD_ALIGN - 1) & ~(GSB_RECORD_ALIGN - 1u);
		rogue_random_bytes(r, rec, size);
		*rec = (struct gsb_rec){
			.type = type,
			.size = size,
			.stream = kit_stream(rogue_random(r) % 2),
			.call = rogue_random(r),
		};
		from += size;
	}
}

/* Noise through and through, or behind headers that are right. */
static void attack_noise(struct rogue *r)
{
	struct gsb_ring_producer *p = &r->kt.producer;
	uint32_t from = (uint32_t)p->tail % GSB_RING_BYTES;

	r->allowed = ROGUE_MAY(ROGUE_CUT);
	rogue_hold(r);
	if (r->seed % 2) {
		rogue_random_bytes(r, r->kt.region->ring, GSB_RING_BYTES);
		p->tail += 16 * (1 + rogue_random(r) % (GSB_RING_BYTES / 16));
	} else {
		fill_with_noisy_records(r, r->kt.region->ring, from);
		p->tail = GSB_RING_BYTES / 2;
	}
	rogue_publish(r, p->tail);
}

/* ---- records ---- */

/* A session that was right before a few edits; the engine sees it all at once. */
static void attack_records(struct rogue *r)
{
	struct gsb_ring_producer *p = &r->kt.producer;
	uint64_t begin = p->tail; /* well before the end of the ring */
	uint64_t n = 1 + rogue_random(r) % N_EDITS_MAX;

	rogue_hold(r);
	kit_post_session(&r->kt, r->mem);
	for (uint64_t i = 0; i < n; i++) {
		uint8_t e[KIT_EDIT_BYTES];

		rogue_random_bytes(r, e, sizeof(e));
		kit_edit(r->kt.region->ring + begin, p->tail - begin, e);
	}
	rogue_publish(r, p->tail);
	rogue_drain(r); /* a record that grew must not swallow what comes later */
}

struct scribbler {
	struct rogue *r;
	pthread_t thread;
	_Atomic bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	volatile uint8_t *ring = s->r->kt.region->ring;
	const uint64_t size = s->r->kt.producer.tail;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed))
		ring[rogue_random(s->r) % size] ^= 1 << rogue_random(s->r) % 8;
	return NULL;
}

/* Records change under the engine's hands: what it checked must be what it uses. */
static void attack_race(struct rogue *r)
{
	struct scribbler s = {.r = r};
	uint32_t value = 7;
	struct gsb_rec_copy copy = {
		.dst = r->mem, .width = sizeof(value), .height = 1, .src_place = GSB_PLACE_INLINE};

	rogue_hold(r);
	for (int i = 0; i < 1500; i++) /* they all have room */
		kit_post(&r->kt, GSB_REC_COPY, kit_stream(0), &copy, sizeof(copy), &value,
			 sizeof(value));
	rogue_publish(r, r->kt.producer.tail);
	if (pthread_create(&s.thread, NULL, scribble, &s))
		rogue_fail(r, "no thread");
	rogue_drain(r);
	atomic_store(&s.stop, true);
	pthread_join(s.thread, NULL);
}

/* ---- words ---- */

static void attack_tail(struct rogue *r)
{
	uint64_t tail = r->kt.producer.tail;
	const uint64_t tails[] = {
		tail + GSB_RING_BYTES + GSB_RECORD_ALIGN, /* far ahead */
		tail + 8,				  /* between records */
		tail - GSB_RECORD_ALIGN,		  /* back */
		0,
		UINT64_MAX,
		UINT64_MAX - 15,
		1ull << 63,
		tail + (rogue_random(r) << 20 | 1 << 19),
	};

	r->allowed = ROGUE_MAY(ROGUE_CUT);
	rogue_publish(r, tails[r->seed % GSB_ARRAY_LEN(tails)]);
	rogue_await_cut(r);
}

static void scribble_threads(struct rogue *r)
{
	struct gsb_region *region = r->kt.region;

	for (uint32_t i = 0; i < GSB_N_THREADS; i++)
		if (i != r->kt.slot)
			rogue_random_bytes(r, &region->threads[i], sizeof(region->threads[i]));
	rogue_random_bytes(r, (void *)region->header.blocked, sizeof(region->header.blocked));
}

/* All of them wait for what there is not, or all run for ever: virtual time must go on for others. */
static void scribble_states(struct rogue *r)
{
	struct gsb_region *region = r->kt.region;
	uint32_t state = r->seed & 8 ? GSB_THREAD_RUNNING : GSB_THREAD_BLOCKED;

	for (uint32_t i = 0; i < GSB_N_THREADS; i++)
		if (i != r->kt.slot) {
			atomic_store(&region->threads[i].wait_kind, i);
			atomic_store(&region->threads[i].wait_index, UINT32_MAX - i);
			atomic_store(&region->threads[i].state, state);
			atomic_fetch_or(&region->header.blocked[i / 64], 1ull << i % 64);
		}
}

/* Everything that the engine wrote at the region's start, and what only the tenant reads. */
static void scribble_constants(struct rogue *r)
{
	struct gsb_region_header *h = &r->kt.region->header;

	rogue_random_bytes(r, h, offsetof(struct gsb_region_header, tail));
	atomic_store(&h->doorbell, (uint32_t)rogue_random(r));
	atomic_store(&h->engine_sleeps, (uint32_t)rogue_random(r));
}

static void scribble_answers(struct rogue *r)
{
	struct gsb_region *region = r->kt.region;

	rogue_random_bytes(r, (void *)region->streams, sizeof(region->streams));
	rogue_random_bytes(r, region->ctxs, sizeof(region->ctxs));
	rogue_random_bytes(r, region->replies, sizeof(region->replies));
	memset((void *)region->events, 0xff, sizeof(region->events));
	atomic_store(&region->header.head, rogue_random(r));
	atomic_store(&region->header.n_completed, rogue_random(r));
	atomic_store(&region->header.fatal, 1); /* for itself alone */
	atomic_store(&region->header.fatal, 0);
}

/* What the engine tells the tenant, rewritten: it has its own copies, so this harms nobody else. */
static void attack_words(struct rogue *r)
{
	static void (*const scribbles[])(struct rogue *) = {
		scribble_threads,
		scribble_states,
		scribble_constants,
		scribble_answers,
	};

	r->allowed = ROGUE_MAY(ROGUE_ANSWERED);
	kit_launch_inc(&r->kt, 0, 0, r->mem, 4);
	for (size_t i = 0; i < GSB_ARRAY_LEN(scribbles); i++)
		if (r->seed % 16 & 1u << i || r->seed % 4 == i)
			scribbles[i](r);
	rogue_publish(r, r->kt.producer.tail);
}

/* ---- the doorbell ---- */

/* It rings, and is silent again before the engine looks, or while it does: the moment is what is tried. */
static void ring_and_empty(struct rogue *r)
{
	uint64_t one = 1;
	struct iovec iov = {&one, sizeof(one)};
	unsigned delay = (unsigned)rogue_random(r) % 2000;

	if (write(r->kt.doorbell, &one, sizeof(one)) < 0)
		rogue_fail(r, "the doorbell does not ring");
	while (delay--)
		gsb_cpu_relax();
	if (preadv2(r->kt.doorbell, &iov, 1, -1, RWF_NOWAIT) < 0 && errno != EAGAIN)
		rogue_fail(r, "the doorbell cannot be emptied");
}

/*
 * Both sides share the doorbell's status flags: made blocking and emptied in the right moment, it must not
 * catch the engine. That the engine is well is heard on the socket, by host functions that it asks for.
 */
static void attack_doorbell(struct rogue *r)
{
	const uint64_t n_rings = 1000;

	r->allowed = ROGUE_MAY(ROGUE_ANSWERED);
	for (uint64_t i = 0; i <= n_rings; i++)
		kit_host_func(&r->kt, 0, i);
	if (fcntl(r->kt.doorbell, F_SETFL, 0))
		rogue_fail(r, "the doorbell is out of reach");
	for (uint64_t i = 0; i <= n_rings; i++) {
		rogue_answer_host_func(r, i);
		if (i < n_rings)
			ring_and_empty(r);
	}
	rogue_end(r, ROGUE_ANSWERED, ""); /* nobody hears it ring */
}

/* ---- the seals ---- */

static void expect_eperm(struct rogue *r, int result, const char *what)
{
	if (result >= 0 || errno != EPERM)
		rogue_fail(r, what);
}

static void attack_size(struct rogue *r, int fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st))
		rogue_fail(r, "fstat");
	expect_eperm(r, ftruncate(fd, 0), "a memfd was emptied");
	expect_eperm(r, ftruncate(fd, st.st_size / 2), "a memfd was cut in half");
	expect_eperm(r, ftruncate(fd, 2 * st.st_size), "a memfd was enlarged");
	expect_eperm(r, truncate(path, 0), "a memfd was emptied by its path");
	expect_eperm(r, open(path, O_RDWR | O_TRUNC | O_CLOEXEC), "a memfd was opened empty");
	expect_eperm(r, fallocate(fd, 0, st.st_size, 4096), "a memfd was allocated to be longer");
	expect_eperm(r, fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), "a memfd was sealed against writes");
	expect_eperm(r, fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE),
		     "a memfd was sealed against later writes");
	if (pwrite(fd, "x", 1, st.st_size) > 0)
		rogue_fail(r, "a memfd was written beyond its end");
}

/* Pages may be taken out of a memfd: the engine then finds zeros, which is no more than hostile content. */
static void attack_pages(struct rogue *r, int fd, off_t from)
{
	struct stat st;

	if (fstat(fd, &st) ||
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, st.st_size - from))
		rogue_fail(r, "no hole in a memfd");
}

static void attack_seals(struct rogue *r)
{
	r->allowed = ROGUE_MAY(ROGUE_ANSWERED);
	for (int i = ROGUE_FD_REGION; i <= ROGUE_FD_HOST; i++)
		attack_size(r, r->fds[i]);
	kit_launch_inc(&r->kt, 0, 0, r->mem, 4);
	rogue_probe(r);
	attack_pages(r, r->fds[ROGUE_FD_HOST], 0);
	attack_pages(r, r->fds[ROGUE_FD_STAGING], 0);
	attack_pages(r, r->fds[ROGUE_FD_REGION], offsetof(struct gsb_region, ctxs));
}

const struct rogue_kind rogue_region_kinds[] = {
	{"noise", ROGUE_INSIDE, attack_noise}, {"records", ROGUE_INSIDE, attack_records},
	{"race", ROGUE_INSIDE, attack_race},   {"tail", ROGUE_INSIDE, attack_tail},
	{"words", ROGUE_INSIDE, attack_words}, {"doorbell", ROGUE_INSIDE, attack_doorbell},
	{"seals", ROGUE_INSIDE, attack_seals}, {NULL},
};
