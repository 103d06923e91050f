/*
 * matrix.c - matrices of a warp (wmma): loads, stores, and d = a * b + c by plain arithmetic.
 *
 * Which lane has which element is not published, and programs must not ask. Here element p, counted row
 * after row whatever the layout in memory, is with lane p % 32, and a lane's elements fill its registers
 * in order: so fragments of one shape have their elements at the same places whatever the type, as programs
 * hope that convert sums from one to the other. A fragment with more room than elements has them again.
 *
 * In which order and with how many bits hardware adds is not published either. Here the products of short
 * floats, which are exact in double, are added to c in double in the order of k, and rounded once, to the
 * type of d; .f64 is a chain of fma; integers wrap, or saturate at the end.
 */
#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/half.h"
#include "ptx/matrix.h"

#define MAX_ELEMENTS 1024 /* 8 x 128 bits */
#define SECTOR_BYTES 32

/* A matrix, row after row: bits of its elements. */
struct elements {
	struct gsb_ptx_fragment f;
	uint64_t bits[MAX_ELEMENTS];
};

/* ---- fragments ---- */

static uint32_t count(const struct gsb_ptx_fragment *f)
{
	return f->rows * f->cols;
}

static uint64_t lowest(uint64_t v, uint32_t bits)
{
	return bits < 64 ? v & ((UINT64_C(1) << bits) - 1) : v;
}

static void gather(const char *r, const uint32_t *list, struct elements *e)
{
	uint32_t per = e->f.reg_bytes * 8 / e->f.bits;

	for (uint32_t p = 0; p < count(&e->f); p++) {
		uint32_t nth = p / GSB_EMU_LANES, lane = p % GSB_EMU_LANES;
		uint64_t reg = 0;

		memcpy(&reg, r + list[nth / per] + (size_t)lane * e->f.reg_bytes, e->f.reg_bytes);
		e->bits[p] = lowest(reg >> nth % per * e->f.bits, e->f.bits);
	}
}

static void scatter(char *r, const uint32_t *list, const struct elements *e)
{
	uint32_t per = e->f.reg_bytes * 8 / e->f.bits;

	for (uint32_t i = 0; i < e->f.n_regs; i++) {
		for (uint32_t lane = 0; lane < GSB_EMU_LANES; lane++) {
			uint64_t reg = 0;

			for (uint32_t k = 0; k < per; k++)
				reg |= e->bits[((i * per + k) * GSB_EMU_LANES + lane) %
					       count(&e->f)]
				       << k * e->f.bits;
			memcpy(r + list[i] + (size_t)lane * e->f.reg_bytes, &reg, e->f.reg_bytes);
		}
	}
}

/* ---- memory ---- */

/* Lines of a matrix in memory, rows or columns of it. */
struct lines {
	uint64_t base, step; /* bytes */
	uint32_t n, length;  /* lines; elements of one */
	bool cols, write;
	uint8_t space;
};

static unsigned char *line_at(struct gsb_emu_exec *x, const struct lines *l, uint32_t nth,
			      uint32_t bytes, uint32_t align)
{
	const struct gsb_emu_block *b = x->block;
	uint64_t addr = l->base + nth * l->step;
	unsigned char *at = NULL;

	if (l->space == GSB_PTX_SPACE_SHARED) {
		addr = (uint32_t)addr;
		at = gsb_range_ok(addr, bytes, b->shared_bytes) ? b->shared + addr : NULL;
	} else {
		at = gsb_emu_generic(x, 0, addr, bytes, l->write);
	}
	if (addr % align)
		gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
			     "address 0x%llx of a matrix is not aligned to %u bytes",
			     (unsigned long long)addr, align);
	else if (!at)
		gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr, "matrix at address 0x%llx",
			     (unsigned long long)addr);
	return addr % align ? NULL : at;
}

static void move_line(unsigned char *at, const struct lines *l, uint32_t nth, struct elements *e)
{
	for (uint32_t k = 0; k < l->length; k++) {
		uint64_t *p = &e->bits[l->cols ? k * e->f.cols + nth : nth * e->f.cols + k];
		uint32_t bit = k * e->f.bits;

		if (e->f.bits < 8)
			*p = lowest((uint64_t)at[bit / 8] >> bit % 8, e->f.bits);
		else if (l->write)
			memcpy(at + bit / 8, p, e->f.bits / 8);
		else
			memcpy(p, at + bit / 8, e->f.bits / 8);
	}
}

static bool move_lines(struct gsb_emu_exec *x, const struct lines *l, struct elements *e)
{
	uint32_t bytes = l->length * e->f.bits / 8, align = e->f.bits < 8 ? 1 : e->f.bits / 8;

	for (uint32_t i = 0; i < l->n; i++) {
		unsigned char *at = line_at(x, l, i, bytes, align);

		if (!at)
			return false;
		move_line(at, l, i, e);
	}
	if (l->space == GSB_PTX_SPACE_SHARED) {
		x->block->stats.n_shared++;
	} else {
		x->block->stats.n_mem_insns++;
		x->block->stats.n_sectors += l->n * gsb_div_up(bytes, SECTOR_BYTES);
	}
	return true;
}

/* ---- handlers ---- */

static struct gsb_ptx_matrix matrix_of(const struct gsb_emu_op *op)
{
	struct gsb_ptx_matrix m;

	memcpy(&m, &op->imm, sizeof(m));
	return m;
}

static bool all_lanes(struct gsb_emu_exec *x, uint32_t mask)
{
	if (mask != GSB_EMU_ALL)
		gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0,
			     "a matrix is of all 32 lanes of a warp, here are %d",
			     __builtin_popcount(mask));
	return mask == GSB_EMU_ALL;
}

GSB_EMU_HANDLER(gsb_emu_do_MATRIX_MOVE)
{
	static const char which[] = {'a', 'b', 'c', 'd'};
	const uint64_t *addr = (const void *)(r + op->a);
	const uint32_t *list = x->block->code->lists + op->d;
	const struct gsb_ptx_matrix m = matrix_of(op);
	struct elements e = {.f = gsb_ptx_matrix_fragment(&m, which[m.what])};
	struct lines l = {.base = addr[0], .cols = m.col_a, .space = m.space};
	uint64_t stride;

	if (!all_lanes(x, mask))
		return NULL;
	l.write = m.what == GSB_PTX_MATRIX_STORE_D;
	l.n = l.cols ? e.f.cols : e.f.rows;
	l.length = l.cols ? e.f.rows : e.f.cols;
	stride = op->b == GSB_EMU_NONE ? l.length : *(const uint32_t *)(const void *)(r + op->b);
	if (stride * e.f.bits % 8)
		return gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, 0,
				    "a stride of %llu elements of %u bits is not whole bytes",
				    (unsigned long long)stride, e.f.bits);
	l.step = stride * e.f.bits / 8;
	if (l.write)
		gather(r, list, &e);
	if (!move_lines(x, &l, &e))
		return NULL;
	if (!l.write)
		scatter(r, list, &e);
	return op + 1;
}

/* ---- arithmetic ---- */

static double float_value(uint64_t bits, uint32_t type)
{
	switch (type) {
	case GSB_PTX_MATRIX_F16: return (double)f16_value((uint32_t)bits);
	case GSB_PTX_MATRIX_BF16: return (double)bf16_value((uint32_t)bits);
	case GSB_PTX_MATRIX_TF32: return (double)float_of((uint32_t)bits & 0xffffe000);
	case GSB_PTX_MATRIX_F32: return (double)float_of((uint32_t)bits);
	default: return double_of(bits);
	}
}

static uint64_t float_bits(double v, uint32_t type)
{
	switch (type) {
	case GSB_PTX_MATRIX_F16: return small_of(v, F16_WIDTHS);
	case GSB_PTX_MATRIX_F32: return bits_of32(canon32((float)v));
	default: return bits_of64(v);
	}
}

static int64_t int_value(uint64_t bits, uint32_t type)
{
	switch (type) {
	case GSB_PTX_MATRIX_S8: return (int8_t)bits;
	case GSB_PTX_MATRIX_S4: return (int8_t)(bits << 4) >> 4;
	case GSB_PTX_MATRIX_S32: return (int32_t)bits;
	default: return (int64_t)bits;
	}
}

/* The four matrices of d = a * b + c. */
struct product {
	struct gsb_ptx_matrix m;
	struct elements d, a, b, c;
};

static uint64_t float_sum(const struct product *p, uint32_t i, uint32_t j)
{
	double sum = float_value(p->c.bits[i * p->m.n + j], p->m.c);

	for (uint32_t k = 0; k < p->m.k; k++)
		sum = fma(float_value(p->a.bits[i * p->m.k + k], p->m.a),
			  float_value(p->b.bits[k * p->m.n + j], p->m.b), sum);
	return float_bits(sum, p->m.d);
}

static int64_t int_product(const struct product *p, uint64_t a, uint64_t b)
{
	if (p->m.a != GSB_PTX_MATRIX_B1)
		return int_value(a, p->m.a) * int_value(b, p->m.b);
	return (int64_t)(p->m.is_and ? a & b : a ^ b);
}

static uint64_t int_sum(const struct product *p, uint32_t i, uint32_t j)
{
	int64_t sum = int_value(p->c.bits[i * p->m.n + j], GSB_PTX_MATRIX_S32);

	for (uint32_t k = 0; k < p->m.k; k++)
		sum += int_product(p, p->a.bits[i * p->m.k + k], p->b.bits[k * p->m.n + j]);
	if (p->m.saturate)
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	return (uint32_t)sum;
}

static void multiply(struct product *p)
{
	for (uint32_t i = 0; i < p->m.m; i++) {
		for (uint32_t j = 0; j < p->m.n; j++)
			p->d.bits[i * p->m.n + j] = p->m.d == GSB_PTX_MATRIX_S32
							    ? int_sum(p, i, j)
							    : float_sum(p, i, j);
	}
}

GSB_EMU_HANDLER(gsb_emu_do_MATRIX_MMA)
{
	const uint32_t *list = x->block->code->lists + op->d, *d = list;
	struct product p = {.m = matrix_of(op)};

	if (!all_lanes(x, mask))
		return NULL;
	p.d.f = gsb_ptx_matrix_fragment(&p.m, 'd');
	p.a.f = gsb_ptx_matrix_fragment(&p.m, 'a');
	p.b.f = gsb_ptx_matrix_fragment(&p.m, 'b');
	p.c.f = gsb_ptx_matrix_fragment(&p.m, 'c');
	gather(r, list += p.d.f.n_regs, &p.a);
	gather(r, list += p.a.f.n_regs, &p.b);
	gather(r, list += p.b.f.n_regs, &p.c);
	multiply(&p);
	scatter(r, d, &p.d);
	return op + 1;
}
