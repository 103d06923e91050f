/*
 * print.c - see print.h.
 *
 * Kernels of the engine's other tenants can write here as everywhere: nothing that stands in the ring is believed.
 */
#include "device/cuda/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/cuda/fifo.h"
#include "device/cuda/host.h"
#include "device/cuda/print_ptx.h"
#include "device/cuda/said.h"
#include "device/print.h"
#include "ptx/image.h"
#include "ptx/ptx.h"
#include "ptx/redirect.h"

#define RING_BYTES ((uint64_t)16 << 20)
#define RECORD_MAX 65536 /* print.ptx has it, too */
#define WORD	   sizeof(uint64_t)
#define READ_MAX   4096 /* records at a time: others wait for the engine */

/* What kernels and the engine tell each other, in pinned memory behind the ring: print.ptx has where what stands, here and below. */
struct host_words {
	uint64_t
		limit; /* up to which position there is room: what was read, and as much as may lie unread */
	uint64_t lost;
};

/* The kernels' own, in the device's memory. */
struct device_words {
	uint64_t ring, mask, host;
	uint64_t limit, wanted, claimed, told_lost;
};

struct cuda_print {
	struct cuda_job free;
	struct cuda_device *dev;
	struct gsb_space *space;
	volatile struct host_words *host;
	uint8_t *ring;
	CUdeviceptr words; /* struct device_words */
	uint64_t read;	   /* up to here */
	bool damaged;	   /* the ring holds what print.ptx does not write: no more of it */
	bool told_lost;
	struct gsb_print_text text;
	size_t text_read;
	_Alignas(8) uint8_t record[RECORD_MAX];
};

/* ---- code ---- */

#define RING "gsb$ring" /* print.ptx has it, too */

static const char builtin[] = "vprintf", ours[] = "vprint$", without_result[] = "vprin$$";
static const char calls_ours[] = ".func vprin$$ (.param .b64 vprin$$0, .param .b64 vprin$$1)\n{\n"
				 "\t.param .b64 format, args;\n\t.param .b32 printed;\n"
				 "\t.reg .b64 %x;\n\tld.param.u64 %x, [vprin$$0];\n"
				 "\tst.param.b64 [format], %x;\n\tld.param.u64 %x, [vprin$$1];\n"
				 "\tst.param.b64 [args], %x;\n"
				 "\tcall.uni (printed), vprint$, (format, args);\n\tret;\n}\n";
static const char ring_here[] = ".visible .global .align 8 .u64 " RING ";\n";
static const char ring_elsewhere[] = ".extern .global .align 8 .u64 " RING ";\n";

bool cuda_print_is_ring(const char *variable)
{
	return !strcmp(variable, RING);
}

/* One module of the text, and ours behind it; the ring's word stands in the first that prints. */
static void add_module(char **end, const char *text, size_t len, bool *prints)
{
	char *copy = *end;
	const char *to;

	memcpy(copy, text, len);
	*end += len;
	to = gsb_ptx_redirect(copy, len, builtin, ours, without_result);
	if (!to)
		return;
	*(*end)++ = '\n';
	*end = stpcpy(*end, *prints ? ring_elsewhere : ring_here);
	*end = stpcpy(*end, cuda_print_ptx);
	if (to == without_result)
		*end = stpcpy(*end, calls_ours);
	*prints = true;
}

int cuda_print_redirect(const char *text, size_t len, char **out)
{
	const size_t ours_bytes =
		sizeof(ring_here) + sizeof(cuda_print_ptx) + sizeof(calls_ours) + 1;
	bool prints = false;
	char *copy, *end;

	len = strnlen(text, len);
	if (!memmem(text, len, builtin, strlen(builtin)) || gsb_ptx_defines(text, len, builtin))
		return 0;
	copy = end = malloc(len + gsb_ptx_count_units(text, len) * ours_bytes + 1);
	if (!copy)
		return -ENOMEM;
	for (const char *next; text; text = next) {
		next = gsb_ptx_next_unit(text, len);
		add_module(&end, text, next ? (size_t)(next - text) : len, &prints);
		len -= next ? (size_t)(next - text) : len;
	}
	*end = 0;
	if (prints)
		*out = copy;
	else
		free(copy);
	return 0;
}

/* ---- the ring ---- */

static void run_free(struct cuda_job *job)
{
	struct cuda_print *p = gsb_container_of(job, struct cuda_print, free);
	const struct cuda_driver *cu = &p->dev->cu;

	cu->cuCtxSetCurrent(p->dev->ctx);
	if (p->words)
		cuda_note(p->dev, cu->cuMemFree_v2(p->words));
	cuda_host_enter(p->dev);
	if (p->ring)
		cuda_note(p->dev, cu->cuMemFreeHost(p->ring));
	free(p);
}

/* Both wait for kernels that run. */
static void give_back(struct cuda_print *p)
{
	p->free.run = run_free;
	cuda_helper_give(&p->dev->unloader, &p->free);
}

/* In the context where that stops no launches. */
static CUresult make_ring(struct cuda_print *p)
{
	const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
	const struct cuda_driver *cu = &p->dev->cu;
	void *ring = NULL;
	CUresult result;

	cuda_host_enter(p->dev);
	result = cuda_note(p->dev, cu->cuMemHostAlloc(&ring, RING_BYTES + sizeof(*p->host), flags));
	cu->cuCtxSetCurrent(p->dev->ctx);
	if (result)
		return result;
	p->ring = memset(ring, 0, RING_BYTES + sizeof(*p->host));
	p->host = (volatile struct host_words *)(p->ring + RING_BYTES);
	return CUDA_SUCCESS;
}

/* Into the device's memory, by the loader's stream. */
static CUresult put(struct cuda_device *dev, CUdeviceptr at, const void *from, size_t bytes)
{
	CUresult result, end;

	result = dev->cu.cuMemcpyAsync(at, (CUdeviceptr)(uintptr_t)from, bytes, dev->code_stream);
	end = dev->cu.cuStreamSynchronize(dev->code_stream);
	return cuda_note(dev, result ? result : end);
}

static uint64_t limit_of(struct gsb_space *space)
{
	const struct gsb_arch *a = &space->dev->info.arch;
	uint64_t limit = atomic_load(&space->print_bytes);

	if (!limit)
		limit = gsb_print_fifo_default((uint64_t)GSB_WARP_SIZE * a->max_warps * a->n_sms);
	return limit < RING_BYTES ? limit : RING_BYTES;
}

static CUresult fill(struct cuda_print *p)
{
	CUresult result = make_ring(p);
	const struct device_words words = {.ring = (uint64_t)(uintptr_t)p->ring,
					   .mask = RING_BYTES - 1,
					   .host = (uint64_t)(uintptr_t)p->host};

	if (!result)
		result = cuda_note(p->dev, p->dev->cu.cuMemAlloc_v2(&p->words, sizeof(words)));
	return result ? result : put(p->dev, p->words, &words, sizeof(words));
}

/* Kernels may claim what was read, which is zeroed. */
static uint64_t tell_limit(struct cuda_print *p)
{
	uint64_t most = limit_of(p->space);

	atomic_thread_fence(memory_order_release);
	p->host->limit = p->read + most;
	return most;
}

static CUresult create(struct gsb_space *space)
{
	struct cuda_print *p = calloc(1, sizeof(*p));
	CUresult result;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->dev = space->dev;
	p->space = space;
	result = fill(p);
	if (result) {
		give_back(p);
		return result;
	}
	atomic_store(&space->print, p);
	while (tell_limit(p) != limit_of(space))
		; /* the engine is changing it, which it writes down before it looks for the ring */
	return CUDA_SUCCESS;
}

int cuda_print_attach(struct gsb_space *space, CUlibrary library, char *log, size_t log_size)
{
	struct cuda_device *dev = space->dev;
	CUresult result = CUDA_SUCCESS;
	CUdeviceptr at;
	size_t size;

	if (!space->print)
		result = create(space);
	if (!result)
		result = dev->cu.cuLibraryGetGlobal(&at, &size, library, RING);
	if (!result)
		result = put(dev, at, &space->print->words, WORD);
	if (!result)
		return 0;
	snprintf(log, log_size, "printf of its kernels cannot be had: %s", cuda_name(result));
	return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

void cuda_print_destroy(struct gsb_space *space)
{
	if (space->print)
		give_back(space->print);
	space->print = NULL;
}

uint64_t cuda_print_limit(struct gsb_space *space, uint64_t bytes)
{
	struct cuda_print *p;

	atomic_store(&space->print_bytes, bytes ? gsb_print_fifo_bytes(bytes) : 0);
	p = atomic_load(&space->print);
	return p ? tell_limit(p) : limit_of(space);
}

/* ---- reading ---- */

static uint64_t word_at(const struct cuda_print *p, uint64_t at)
{
	return *(volatile uint64_t *)(p->ring + (at & (RING_BYTES - 1)));
}

/* The bytes of the next record; 0: there is none yet. */
static uint64_t next_bytes(struct cuda_print *p)
{
	uint64_t bytes = p->damaged ? 0 : word_at(p, p->read);

	atomic_thread_fence(memory_order_acquire);
	if (bytes % WORD || bytes > RECORD_MAX || bytes == WORD) {
		gsb_log(GSB_LOG_WARN, "cuda",
			"the buffer of a tenant's printf was overwritten: what its kernels print is lost from here on");
		p->damaged = true;
		return 0;
	}
	return bytes;
}

/* Out of the ring, where its place is zeroed. */
static void take_record(struct cuda_print *p, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += WORD) {
		uint64_t word = word_at(p, p->read + i);

		memcpy(p->record + i, &word, WORD);
		memset(p->ring + ((p->read + i) & (RING_BYTES - 1)), 0, WORD);
	}
	p->read += bytes;
}

struct source {
	const uint8_t *at, *end;
};

static bool next_argument(void *from, uint32_t size, uint64_t *value)
{
	struct source *s = from;

	if ((size_t)(s->end - s->at) < WORD)
		return false;
	memcpy(value, s->at, size);
	s->at += WORD;
	return true;
}

/* Where it was does not matter: it stands behind its address. NULL: it does not end. */
static const char *take_string(struct source *s)
{
	const uint8_t *string = s->at;
	const uint8_t *nul = memchr(string, 0, (size_t)(s->end - string));

	if (!nul)
		return NULL;
	s->at = string + ((size_t)(nul - string) / WORD + 1) * WORD;
	return (const char *)string;
}

static bool next_string(void *from, uint64_t addr, char *out, size_t size)
{
	const char *string = take_string(from);

	if (!string)
		return false;
	snprintf(out, size, "%s", string);
	return true;
}

/* Of what a record says as much as there is. */
static void show_record(struct cuda_print *p, uint64_t bytes)
{
	struct source s = {p->record + WORD, p->record + bytes};
	const struct gsb_print_args args = {next_argument, next_string, &s};
	const char *format = take_string(&s);

	p->text_read = p->text.len = 0;
	if (format)
		gsb_print_format(format, &args, &p->text);
}

/* The next record with a text; false: there is none, or *n_left of them had none. */
static bool more_text(struct cuda_print *p, unsigned *n_left)
{
	uint64_t bytes;

	while (p->text_read == p->text.len) {
		bytes = *n_left ? next_bytes(p) : 0;
		if (!bytes)
			return false;
		--*n_left;
		take_record(p, bytes);
		show_record(p, bytes);
	}
	return true;
}

/* What the driver has said, and not the ring. */
static size_t read_drivers(struct gsb_space *space, char *buf, size_t size, bool *to_stderr)
{
	size_t n = cuda_fifo_read(space, buf, size);

	if (n) {
		*to_stderr = false;
	} else if (space->asserted) {
		n = cuda_said_read(&space->said_at, buf, size);
		*to_stderr = true;
	}
	return n;
}

int cuda_print_read(struct gsb_space *space, char *buf, size_t size, bool *to_stderr, bool *more)
{
	struct cuda_print *p = atomic_load(&space->print);
	unsigned n_left = READ_MAX;
	size_t n = 0;

	while (p && n < size && more_text(p, &n_left)) {
		size_t part = p->text.len - p->text_read;

		part = part < size - n ? part : size - n;
		memcpy(buf + n, p->text.bytes + p->text_read, part);
		p->text_read += part;
		n += part;
	}
	if (n)
		*to_stderr = false;
	if (p)
		tell_limit(p);
	if (!n && n_left)
		n = read_drivers(space, buf, size, to_stderr);
	*more = n || !n_left;
	return (int)n;
}

/* Once is enough. */
static void tell_lost(struct cuda_print *p)
{
	if (!p->host->lost || p->told_lost)
		return;
	p->told_lost = true;
	gsb_log(GSB_LOG_WARN, "cuda",
		"a tenant's kernels printed more than its buffer of %llu bytes holds (cudaLimitPrintfFifoSize), or a text of more than 64 KiB: the rest is lost",
		(unsigned long long)limit_of(p->space));
}

bool cuda_print_has_text(struct cuda_print *p)
{
	tell_lost(p);
	return next_bytes(p);
}
