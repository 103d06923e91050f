/*
 * hooks/mem_op.c - writes of a word in the order of a stream. A write is a copy whose source travels in the record: it comes
 * whole, and behind all work before it. What is refused, and the codes, are as an H200's driver has them.
 *
 * A stream does not wait for a word: the engine would have to look at memory again and again for a tenant that may never
 * write to it. No node of a graph stands for a write.
 */
#include "interpose/cu/alloc.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/copy.h"
#include "interpose/cu/pageable.h"
#include "interpose/hooks/hooks.h"

#define MOST_OPS 256

static struct gsb_cu_copy copy_of(const struct gsb_word *w)
{
	return (struct gsb_cu_copy){
		.dst = gsb_cu_end_at(w->addr, w->bytes),
		.src = {.place = GSB_CU_PAGEABLE, .addr = (uint64_t)&w->value, .pitch = w->bytes},
		.width = w->bytes,
		.height = 1,
		.n_removals = gsb_alloc_n_removals(),
	};
}

/* Managed memory takes none. */
static CUresult check_write(const struct gsb_word *w, const struct gsb_cu_stream_ref *s)
{
	struct gsb_cu_copy c = copy_of(w);
	struct gsb_alloc managed;

	c.stream = *s;
	return !w->flags && !(w->addr % w->bytes) && c.dst.place != GSB_CU_PAGEABLE &&
			       gsb_cu_copy_is_end_ok(&c, &c.dst) &&
			       !gsb_alloc_find_managed(w->addr, w->bytes, &managed)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

static CUresult post_write(const struct gsb_word *w, const struct gsb_cu_stream_ref *s)
{
	struct gsb_cu_copy c = copy_of(w);
	uint64_t number;

	c.stream = *s;
	return gsb_cu_copy_post_inline(&c, &number);
}

static CUresult find_stream(CUstream stream, struct gsb_cu_stream_ref *s)
{
	CUresult result = gsb_cu_stream_resolve(stream, s);

	return !result && gsb_capture_any() ? gsb_capture_refuse(s) : result;
}

CUresult hook_cuStreamWriteValue(CUstream stream, const struct gsb_word *w)
{
	struct gsb_cu_stream_ref s;
	CUresult result = find_stream(stream, &s);

	if (!result)
		result = check_write(w, &s);
	return result ? result : post_write(w, &s);
}

/* ---- several ---- */

static bool is_write(const CUstreamBatchMemOpParams *op)
{
	return op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
	       op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static struct gsb_word word_of(const CUstreamBatchMemOpParams *op)
{
	return (struct gsb_word){
		.addr = op->writeValue.address,
		.value = op->writeValue.value64,
		.bytes = op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 8 : 4,
		.flags = op->writeValue.flags,
	};
}

/* Work of a stream is ordered as if there were a barrier between any two. */
static CUresult check_op(const CUstreamBatchMemOpParams *op, const struct gsb_cu_stream_ref *s)
{
	const struct gsb_word w = word_of(op);

	switch (op->operation) {
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64: return check_write(&w, s);
	case CU_STREAM_MEM_OP_BARRIER:
		return op->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* All are checked before the first is queued. */
CUresult hook_cuStreamBatchMemOp(CUstream stream, unsigned n, const CUstreamBatchMemOpParams *ops,
				 unsigned flags)
{
	struct gsb_cu_stream_ref s;
	CUresult result = flags || n > MOST_OPS || (n && !ops) ? CUDA_ERROR_INVALID_VALUE
							       : find_stream(stream, &s);

	for (unsigned i = 0; !result && i < n; i++)
		result = check_op(&ops[i], &s);
	for (unsigned i = 0; !result && i < n; i++) {
		const struct gsb_word w = word_of(&ops[i]);

		if (is_write(&ops[i]))
			result = post_write(&w, &s);
	}
	return result;
}
