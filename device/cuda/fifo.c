/*
 * fifo.c - see fifo.h.
 */
#include "device/cuda/fifo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/log.h"
#include "device/cuda/said.h"

#define TEXT_MAX ((size_t)16 << 20) /* of a space, that nobody has read */

/* ---- text ---- */

static bool make_room(struct cuda_text *t, size_t n)
{
	size_t room = t->room ? t->room : 4096;
	char *bytes;

	if (n > TEXT_MAX - t->n)
		return false;
	while (room < t->n + n)
		room *= 2;
	if (room == t->room)
		return true;
	bytes = realloc(t->bytes, room);
	if (!bytes)
		return false;
	t->bytes = bytes;
	t->room = room;
	return true;
}

static void add(struct cuda_text *t, const char *text, size_t n)
{
	if (make_room(t, n)) {
		memcpy(t->bytes + t->n, text, n);
		t->n += n;
	} else if (!t->lost) {
		t->lost = true;
		gsb_log(GSB_LOG_WARN, "cuda",
			"a tenant's kernels print more than it reads, or than there is memory for: some of it is lost");
	}
}

static void empty(struct cuda_text *t)
{
	free(t->bytes);
	*t = (struct cuda_text){.lost = t->lost};
}

/* ---- whose it is ---- */

static bool hear(void *arg, const char *text, size_t n)
{
	struct cuda_fifo *f = arg;
	struct gsb_space *speaker;

	pthread_mutex_lock(&f->lock);
	speaker = f->speaker;
	if (speaker)
		add(&speaker->fifo_text, text, n);
	pthread_mutex_unlock(&f->lock);
	return speaker;
}

void cuda_fifo_init(struct cuda_device *dev)
{
	dev->fifo.is_heard = true;
	cuda_said_hear();
	cuda_said_listen(hear, &dev->fifo);
}

void cuda_fifo_finish(struct cuda_device *dev)
{
	if (dev->fifo.is_heard)
		cuda_said_listen(NULL, NULL);
	if (dev->fifo.stream)
		dev->cu.cuStreamDestroy_v2(dev->fifo.stream);
	pthread_mutex_destroy(&dev->fifo.lock);
}

/* What has been printed until now has been heard. */
static void drain_fifo(struct cuda_device *dev)
{
	cuda_note(dev, dev->cu.cuStreamSynchronize(dev->fifo.stream));
	cuda_said_flush();
}

static void tell_mixed(struct cuda_fifo *f)
{
	if (f->told_mixed)
		return;
	f->told_mixed = true;
	gsb_log(GSB_LOG_WARN, "cuda",
		"kernels of two tenants that come as machine code print at the same time: what they say meanwhile goes to this log, as the driver does not tell whose it is; with isolation = process, mps or lanes it is known");
}

/* The space that has such kernels in flight; NULL: none has, or several have. Those of one process have one stdout. */
static struct gsb_space *only_speaker(struct cuda_device *dev)
{
	struct gsb_space *space, *speaker = NULL;

	DL_FOREACH (dev->spaces, space) {
		if (space->n_fifo_flights && speaker && !dev->single)
			return NULL;
		if (space->n_fifo_flights)
			speaker = space;
	}
	return speaker;
}

static void find_speaker(struct cuda_device *dev)
{
	struct gsb_space *speaker = only_speaker(dev);

	pthread_mutex_lock(&dev->fifo.lock);
	dev->fifo.speaker = speaker;
	pthread_mutex_unlock(&dev->fifo.lock);
}

void cuda_fifo_begin(struct gsb_space *space)
{
	struct cuda_device *dev = space->dev;

	if (dev->fifo.speaker && dev->fifo.speaker != space)
		drain_fifo(dev);
	space->n_fifo_flights++;
	find_speaker(dev);
	if (!dev->fifo.speaker)
		tell_mixed(&dev->fifo);
}

void cuda_fifo_end(struct gsb_space *space)
{
	drain_fifo(space->dev);
	space->n_fifo_flights--;
	find_speaker(space->dev);
}

/* ---- for whom it is ---- */

bool cuda_fifo_has_text(struct gsb_space *space)
{
	bool has;

	pthread_mutex_lock(&space->dev->fifo.lock);
	has = space->fifo_text.read < space->fifo_text.n;
	pthread_mutex_unlock(&space->dev->fifo.lock);
	return has;
}

size_t cuda_fifo_read(struct gsb_space *space, char *buf, size_t size)
{
	struct cuda_text *t = &space->fifo_text;
	size_t n;

	pthread_mutex_lock(&space->dev->fifo.lock);
	n = t->n - t->read < size ? t->n - t->read : size;
	if (n)
		memcpy(buf, t->bytes + t->read, n);
	t->read += n;
	if (t->read == t->n)
		empty(t);
	pthread_mutex_unlock(&space->dev->fifo.lock);
	return n;
}

void cuda_fifo_forget(struct gsb_space *space)
{
	empty(&space->fifo_text);
}

/* ---- before the first kernel ---- */

static CUresult make_stream(struct cuda_device *dev)
{
	if (dev->fifo.stream)
		return CUDA_SUCCESS;
	return cuda_note(dev, dev->cu.cuStreamCreateWithPriority(&dev->fifo.stream,
								 CU_STREAM_NON_BLOCKING,
								 dev->info.priority_greatest));
}

/* What its program has asked for. The driver makes the FIFO with the first kernel that prints, and refuses another size from then on. */
static void set_size(struct gsb_space *space)
{
	uint64_t bytes = atomic_load(&space->print_bytes);

	if (space->dev->single && bytes)
		cuda_note(space->dev,
			  space->dev->cu.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes));
}

int cuda_fifo_open(struct gsb_space *space, char *log, size_t log_size)
{
	struct cuda_device *dev = space->dev;
	CUresult result;

	if (!dev->fifo.is_heard)
		return 0;
	pthread_mutex_lock(&dev->code_lock);
	result = make_stream(dev);
	pthread_mutex_unlock(&dev->code_lock);
	if (!result) {
		set_size(space);
		return 0;
	}
	snprintf(log, log_size, "what its kernels print cannot be had: %s", cuda_name(result));
	return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}
