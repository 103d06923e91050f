/*
 * sweep.c - see sweep.h.
 */
#include "device/emu/memory/sweep.h"

#include <signal.h>
#include <stdlib.h>
#include <utlist.h>

#include "device/emu/memory/file.h"
#include "device/emu/memory/heap.h"

struct emu_sweep {
	struct emu_file *file; /* a user of it */
	uint64_t at, size;     /* of it; 0: nothing, it is only closed */
	struct gsb_ranges *ranges;
	uint64_t start;
	struct emu_sweep *next;
};

void emu_sweeper_init(struct emu_sweeper *s)
{
	*s = (struct emu_sweeper){0};
	pthread_cond_init(&s->more, NULL);
	pthread_cond_init(&s->done, NULL);
}

/* The lock is held before and after. */
static void sweep(struct emu_vram *vram, struct emu_sweep *w)
{
	struct gsb_range was;
	bool is_clean;

	pthread_mutex_unlock(&vram->lock);
	is_clean = !w->size || emu_file_scrub(w->file, w->at, w->size);
	pthread_mutex_lock(&vram->lock);
	if (is_clean && w->ranges)
		gsb_ranges_remove(w->ranges, w->start, &was);
	if (!emu_file_drop(w->file))
		return;
	pthread_mutex_unlock(&vram->lock);
	emu_file_destroy(w->file);
	pthread_mutex_lock(&vram->lock);
}

static void *sweeper_main(void *arg)
{
	struct emu_vram *vram = arg;
	struct emu_sweeper *s = &vram->sweeper;
	struct emu_sweep *w;

	pthread_mutex_lock(&vram->lock);
	while ((w = s->list) || !s->stops) {
		if (!w) {
			pthread_cond_wait(&s->more, &vram->lock);
			continue;
		}
		sweep(vram, w);
		LL_DELETE(s->list, w);
		free(w);
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&vram->lock);
	return NULL;
}

/* Signals are for the program's own threads. */
static bool start(struct emu_vram *vram)
{
	sigset_t all, old;

	if (vram->sweeper.is_started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	vram->sweeper.is_started = !pthread_create(&vram->sweeper.thread, NULL, sweeper_main, vram);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return vram->sweeper.is_started;
}

void emu_sweeper_finish(struct emu_vram *vram)
{
	struct emu_sweeper *s = &vram->sweeper;

	pthread_mutex_lock(&vram->lock);
	s->stops = true;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&vram->lock);
	if (s->is_started)
		pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->more);
	pthread_cond_destroy(&s->done);
}

/* Consumes a user of the file. */
static bool give(struct emu_vram *vram, const struct emu_sweep *what)
{
	struct emu_sweep *w = malloc(sizeof(*w));

	if (!w || !start(vram)) {
		free(w);
		return false;
	}
	*w = *what;
	LL_APPEND(vram->sweeper.list, w);
	pthread_cond_signal(&vram->sweeper.more);
	return true;
}

bool emu_sweep_part(struct emu_vram *vram, struct emu_file *f, uint64_t at, uint64_t size,
		    struct gsb_ranges *ranges, uint64_t start)
{
	if (size < EMU_SWEEP_BYTES)
		return false;
	emu_file_get(f);
	if (give(vram, &(struct emu_sweep){f, at, size, ranges, start}))
		return true;
	emu_file_put(f);
	return false;
}

void emu_sweep_put(struct emu_vram *vram, struct emu_file *f, uint64_t bytes)
{
	if (bytes < EMU_SWEEP_BYTES || !give(vram, &(struct emu_sweep){.file = f}))
		emu_file_put(f);
}

void emu_sweep_forget(struct emu_vram *vram, const struct gsb_ranges *ranges)
{
	struct emu_sweep *w;

	LL_FOREACH (vram->sweeper.list, w)
		if (w->ranges == ranges)
			w->ranges = NULL;
}

bool emu_sweep_wait(struct emu_vram *vram, const struct gsb_ranges *ranges)
{
	struct emu_sweep *w;

	LL_FOREACH (vram->sweeper.list, w) {
		if (w->ranges != ranges)
			continue;
		pthread_cond_wait(&vram->sweeper.done, &vram->lock);
		return true;
	}
	return false;
}
