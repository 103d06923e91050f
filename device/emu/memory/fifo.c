/*
 * fifo.c - see fifo.h.
 *
 * A text is on two lists: that of all, in the order in which they were written, where the oldest is found
 * when there is no more room; and its part's, or that of what can be read.
 */
#include "device/emu/memory/fifo.h"

#include <stdlib.h>
#include <string.h>

#include "device/print.h"

struct emu_fifo_text {
	TAILQ_ENTRY(emu_fifo_text) written, link;
	struct emu_fifo_part *part; /* that link is of */
	size_t cost, len, at;	    /* at: up to there it has been read */
	bool to_stderr;
	char bytes[];
};

void emu_fifo_init(struct emu_fifo *f, struct gsb_emu_storage *storage, size_t default_max)
{
	size_t max = gsb_print_fifo_bytes(default_max);

	*f = (struct emu_fifo){.storage = storage, .max = max, .default_max = max};
	pthread_mutex_init(&f->lock, NULL);
	TAILQ_INIT(&f->written);
	TAILQ_INIT(&f->ready);
}

static void remove_text(struct emu_fifo *f, struct emu_fifo_text *t)
{
	TAILQ_REMOVE(&f->written, t, written);
	TAILQ_REMOVE(t->part, t, link);
	f->used -= t->cost;
	gsb_emu_storage_give(f->storage, sizeof(*t) + t->len);
	free(t);
}

void emu_fifo_finish(struct emu_fifo *f)
{
	while (!TAILQ_EMPTY(&f->written))
		remove_text(f, TAILQ_FIRST(&f->written));
	pthread_mutex_destroy(&f->lock);
}

/* True when the text fits, and is counted. */
static bool make_room(struct emu_fifo *f, size_t cost, size_t bytes)
{
	while (f->used + cost > f->max || !gsb_emu_storage_take(f->storage, bytes)) {
		if (TAILQ_EMPTY(&f->written))
			return false;
		remove_text(f, TAILQ_FIRST(&f->written));
	}
	f->used += cost;
	return true;
}

uint64_t emu_fifo_limit(struct emu_fifo *f, uint64_t bytes)
{
	size_t max = bytes ? gsb_print_fifo_bytes(bytes) : f->default_max;

	pthread_mutex_lock(&f->lock);
	f->max = max;
	while (f->used > max)
		remove_text(f, TAILQ_FIRST(&f->written));
	pthread_mutex_unlock(&f->lock);
	return max;
}

void emu_fifo_write(struct emu_fifo *f, struct emu_fifo_part *part, const struct gsb_emu_text *t)
{
	struct emu_fifo_text *text = malloc(sizeof(*text) + t->len);

	if (!text)
		return;
	*text = (struct emu_fifo_text){
		.part = part, .cost = t->cost, .len = t->len, .to_stderr = t->to_stderr};
	memcpy(text->bytes, t->bytes, t->len);
	pthread_mutex_lock(&f->lock);
	if (make_room(f, t->cost, sizeof(*text) + t->len)) {
		TAILQ_INSERT_TAIL(&f->written, text, written);
		TAILQ_INSERT_TAIL(part, text, link);
		text = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	free(text);
}

void emu_fifo_release(struct emu_fifo *f, struct emu_fifo_part *part)
{
	struct emu_fifo_text *t;

	pthread_mutex_lock(&f->lock);
	TAILQ_FOREACH(t, part, link)
	t->part = &f->ready;
	TAILQ_CONCAT(&f->ready, part, link);
	pthread_mutex_unlock(&f->lock);
}

void emu_fifo_drop(struct emu_fifo *f, struct emu_fifo_part *part)
{
	pthread_mutex_lock(&f->lock);
	while (!TAILQ_EMPTY(part))
		remove_text(f, TAILQ_FIRST(part));
	pthread_mutex_unlock(&f->lock);
}

size_t emu_fifo_read(struct emu_fifo *f, char *buf, size_t size, bool *to_stderr)
{
	struct emu_fifo_text *t;
	size_t n = 0;

	pthread_mutex_lock(&f->lock);
	while ((t = TAILQ_FIRST(&f->ready)) && n < size && (!n || t->to_stderr == *to_stderr)) {
		size_t part = t->len - t->at < size - n ? t->len - t->at : size - n;

		*to_stderr = t->to_stderr;
		memcpy(buf + n, t->bytes + t->at, part);
		n += part;
		t->at += part;
		if (t->at == t->len)
			remove_text(f, t);
	}
	pthread_mutex_unlock(&f->lock);
	return n;
}
