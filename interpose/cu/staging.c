/*
 * staging.c - see staging.h.
 */
#include "interpose/cu/staging.h"

#include <pthread.h>
#include <sched.h>

#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/cu/stream.h"

#define N_CHUNKS_MAX	64u
#define N_CHUNKS_LEAST	16u /* so many may be filled, on their way and coming back at once */
#define CHUNK_BYTES_MAX (1u << 20)

/* The engine may use it while the stream's done word is below number. */
struct chunk_state {
	uint32_t stream; /* index */
	bool is_held;	 /* a thread of ours fills it, waits for it or empties it */
	uint32_t holder; /* that thread, where its copy may be left */
	uint64_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk_state chunks[N_CHUNKS_MAX]; /* lock */
static uint32_t n_held;				/* lock; of them */

uint64_t gsb_chunk_bytes(void)
{
	uint64_t bytes = gsb_proc.staging_bytes / N_CHUNKS_LEAST & ~(uint64_t)63;

	return bytes < CHUNK_BYTES_MAX ? bytes : CHUNK_BYTES_MAX;
}

static uint32_t n_chunks(void)
{
	uint64_t n = gsb_proc.staging_bytes / gsb_chunk_bytes();

	return n < N_CHUNKS_MAX ? (uint32_t)n : N_CHUNKS_MAX;
}

uint32_t gsb_chunks_of_one(void)
{
	return n_chunks() * 3 / 4;
}

static bool is_passed(const struct chunk_state *c)
{
	return atomic_load_explicit(&gsb_proc.region->streams[c->stream], memory_order_acquire) >=
	       c->number;
}

/* Under the lock. */
static void set_state(uint32_t i, struct chunk_state state)
{
	n_held += state.is_held;
	n_held -= chunks[i].is_held;
	chunks[i] = state;
}

/*
 * The first one that is free: what was used a moment ago is in the cache still, for us and for the device.
 * @n_most: that may be held, with this one
 * *in_hand: a running thread has one: it gives it back soon, and no completion will tell.
 */
static bool try_take(struct gsb_chunk *out, uint32_t holder, uint32_t n_most, bool *in_hand)
{
	bool found = false;

	*in_hand = false;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0, n = n_chunks(); !found && i < n; i++) {
		bool passed = is_passed(&chunks[i]);

		found = !chunks[i].is_held && passed && n_held < n_most;
		*in_hand |= chunks[i].is_held && passed;
		if (found) {
			set_state(i, (struct chunk_state){.is_held = true, .holder = holder});
			out->index = i;
		}
	}
	pthread_mutex_unlock(&lock);
	if (found) {
		out->offset = out->index * gsb_chunk_bytes();
		out->bytes = gsb_proc.staging + out->offset;
		out->holder = holder;
	}
	return found;
}

bool gsb_chunk_try_take(struct gsb_chunk *out, uint32_t holder)
{
	bool in_hand;

	return try_take(out, holder, n_chunks() - 1, &in_hand);
}

/*
 * Free or in hand is asked at once: a chunk that came back between two questions would be missed by both. If none is
 * in hand, one of their streams had not passed it when we looked, so a completion is still to come.
 */
static CUresult take(struct gsb_chunk *out, uint32_t holder, uint32_t n_most)
{
	CUresult result = CUDA_SUCCESS;

	while (!result) {
		uint64_t before = gsb_n_completed();
		bool in_hand;

		if (try_take(out, holder, n_most, &in_hand))
			return CUDA_SUCCESS;
		if (in_hand)
			sched_yield();
		else
			result = gsb_wait(GSB_WAIT_ANY, 0, before);
	}
	return result;
}

CUresult gsb_chunk_take(struct gsb_chunk *out, uint32_t holder)
{
	return take(out, holder, n_chunks() - 1);
}

CUresult gsb_chunk_take_last(struct gsb_chunk *out)
{
	return take(out, 0, n_chunks());
}

bool gsb_chunk_has_passed(const struct gsb_chunk *c)
{
	return is_passed(&chunks[c->index]);
}

static void change_state(const struct gsb_chunk *c, struct chunk_state state)
{
	pthread_mutex_lock(&lock);
	set_state(c->index, state);
	pthread_mutex_unlock(&lock);
}

void gsb_chunk_give_back(const struct gsb_chunk *c)
{
	change_state(c, (struct chunk_state){0});
}

void gsb_chunks_give_back_of(uint32_t holder)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_chunks(); i++)
		if (chunks[i].is_held && chunks[i].holder == holder)
			set_state(i, (struct chunk_state){.stream = chunks[i].stream,
							  .number = chunks[i].number});
	pthread_mutex_unlock(&lock);
}

void gsb_chunk_lend(const struct gsb_chunk *c, const struct gsb_cu_stream_ref *s, uint64_t number,
		    bool keep)
{
	change_state(c, (struct chunk_state){.stream = gsb_handle_index(s->handle),
					     .is_held = keep,
					     .holder = keep ? c->holder : 0,
					     .number = number});
}
