/*
 * matrix.c - matrices of a warp (wmma, mma, ldmatrix, stmatrix, movmatrix): loads, stores, transpositions, and
 * d = a * b + c by plain arithmetic.
 *
 * The one idea: a fragment, spread over the registers of the lanes, is gathered into a matrix, row after row; what
 * is to be done is done there; and the result is scattered. Which lane has which element is a matter of place() alone.
 * For mma and its companions PTX says it (enum gsb_ptx_matrix_layout). For wmma it does not, and programs must not ask:
 * here a lane's elements fill its registers in order, whatever the layout in memory, so that fragments of one shape
 * have their elements at the same places whatever the type, as programs hope that convert sums from one to the other.
 * A fragment with more room than elements has them again.
 *
 * In which order and with how many bits hardware adds is not published. Here the products of short floats, which
 * are exact in double, are added to c in double in the order of k, and rounded once, to the type of d; .f64 is
 * a chain of fma; integers wrap, or saturate at the end.
 */
#include <fenv.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/half.h"
#include "ptx/matrix.h"

#define MAX_ELEMENTS   1024 /* 16 x 64 of 4 bits */
#define MAX_OF_LANE    64   /* 8 registers of .f16 in wmma; 4 of .b4 are 32 */
#define SECTOR_BYTES   32
#define TILE_SIDE      8
#define TILE_ROW_BYTES 16
#define N_QUADS	       4
#define AT_ONCE	       8

/*
 * A matrix, row after row: bits of its elements. The @nth element of a lane is at of_lane[lane] + of_nth[nth], for in each
 * layout what the lane says and what the number says are added.
 */
struct elements {
	struct gsb_ptx_fragment f;
	uint32_t lanes; /* that have elements of it */
	uint16_t of_lane[GSB_EMU_LANES], of_nth[MAX_OF_LANE];
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

static uint32_t lowest32(uint32_t v, uint32_t bits)
{
	return v & ((UINT32_C(1) << bits) - 1);
}

static uint32_t place_in_group(const struct gsb_ptx_fragment *f, uint32_t lane, uint32_t nth)
{
	uint32_t groups_log2 = (uint32_t)__builtin_ctz(f->lines / 8);
	uint32_t run_log2 = (uint32_t)__builtin_ctz(f->run), chunk = nth >> run_log2;
	uint32_t line = lane / 4 + lowest32(chunk, groups_log2) * 8;
	uint32_t along =
		((lane % 4 + (chunk >> groups_log2) * 4) << run_log2) + lowest32(nth, run_log2);

	return f->lines_are_cols ? along * f->cols + line : line * f->cols + along;
}

/* The upper lanes have the lower rows of a and of sums, and the right columns of b. */
static uint32_t place_in_quad(const struct gsb_ptx_fragment *f, bool by_cols, uint32_t lane,
			      uint32_t nth)
{
	uint32_t upper = lane / 16 * 4, row = lane % 4, col = nth;

	if (f->type == GSB_PTX_MATRIX_F32) {
		row = (lane & 1) + (nth & 2);
		col = (nth & 4) + (lane & 2) + (nth & 1);
	} else if (by_cols) {
		row = nth;
		col = lane % 4;
	}
	if (f->lines_are_cols)
		col += upper;
	else
		row += upper;
	return row * f->cols + col;
}

/* @quad: which of the four products, of QUADS */
static struct elements *init(struct elements *e, const struct gsb_ptx_matrix *m, char which,
			     uint32_t quad)
{
	bool by_cols = which == 'a' ? m->col_a : which == 'b' && m->col_b;
	uint32_t n;

	e->f = gsb_ptx_matrix_fragment(m, which);
	e->lanes =
		m->layout == GSB_PTX_LAYOUT_QUADS ? UINT32_C(0x000f000f) << 4 * quad : GSB_EMU_ALL;
	n = e->f.n_regs * e->f.reg_bytes * 8 / e->f.bits;
#define FILL(lane_place, nth_place)                             \
	do {                                                    \
		for (uint32_t i = 0; i < GSB_EMU_LANES; i++)    \
			e->of_lane[i] = (uint16_t)(lane_place); \
		for (uint32_t i = 0; i < n; i++)                \
			e->of_nth[i] = (uint16_t)(nth_place);   \
	} while (0)
	if (m->layout == GSB_PTX_LAYOUT_GROUPS)
		FILL(place_in_group(&e->f, i, 0), place_in_group(&e->f, 0, i));
	else if (m->layout == GSB_PTX_LAYOUT_QUADS)
		FILL(place_in_quad(&e->f, by_cols, i, 0), place_in_quad(&e->f, by_cols, 0, i));
	else /* again from the first, when there is more room than elements */
		FILL(i, i * GSB_EMU_LANES % count(&e->f));
#undef FILL
	return e;
}

static uint64_t load_reg(const char *row, uint32_t lane, uint32_t bytes)
{
	return bytes == 4 ? ((const uint32_t *)(const void *)row)[lane]
			  : ((const uint64_t *)(const void *)row)[lane];
}

static void store_reg(char *row, uint32_t lane, uint32_t bytes, uint64_t v)
{
	if (bytes == 4)
		((uint32_t *)(void *)row)[lane] = (uint32_t)v;
	else
		((uint64_t *)(void *)row)[lane] = v;
}

static void gather(const char *r, const uint32_t *list, struct elements *e)
{
	const uint32_t bits = e->f.bits, per = e->f.reg_bytes * 8 / bits;
	const uint64_t mask = UINT64_MAX >> (64 - bits);

	for (uint32_t i = 0; i < e->f.n_regs; i++) {
		const uint16_t *of_nth = e->of_nth + (size_t)i * per;

		for (uint32_t left = e->lanes; left; left &= left - 1) {
			uint32_t lane = (uint32_t)__builtin_ctz(left);
			uint64_t reg = load_reg(r + list[i], lane, e->f.reg_bytes);
			uint64_t *to = e->bits + e->of_lane[lane];

			for (uint32_t k = 0; k < per; k++)
				to[of_nth[k]] = reg >> k * bits & mask;
		}
	}
}

static void scatter(char *r, const uint32_t *list, const struct elements *e)
{
	const uint32_t bits = e->f.bits, per = e->f.reg_bytes * 8 / bits;

	for (uint32_t i = 0; i < e->f.n_regs; i++) {
		const uint16_t *of_nth = e->of_nth + (size_t)i * per;

		for (uint32_t left = e->lanes; left; left &= left - 1) {
			uint32_t lane = (uint32_t)__builtin_ctz(left);
			const uint64_t *from = e->bits + e->of_lane[lane];
			uint64_t reg = 0;

			for (uint32_t k = 0; k < per; k++)
				reg |= from[of_nth[k]] << k * bits;
			store_reg(r + list[i], lane, e->f.reg_bytes, reg);
		}
	}
}

/* ---- memory ---- */

/* Lines of a matrix in memory, rows or columns of it. */
struct lines {
	uint64_t base, step;  /* bytes */
	const uint64_t *each; /* instead: where each line is */
	uint32_t n, length;   /* lines; elements of one */
	bool cols, write;
	uint8_t space;
};

static unsigned char *line_at(struct gsb_emu_exec *x, const struct lines *l, uint32_t nth,
			      uint32_t bytes, uint32_t align)
{
	uint64_t addr = l->each ? l->each[nth] : l->base + nth * l->step;
	unsigned char *at = NULL;

	if (l->space == GSB_PTX_SPACE_SHARED) {
		addr = (uint32_t)addr;
		at = gsb_emu_cluster_at(x->block, GSB_PTX_SPACE_SHARED, addr, bytes);
	} else {
		at = gsb_emu_generic(x, l->each ? nth : 0, addr, bytes, l->write);
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
			*p = 0, memcpy(p, at + bit / 8, e->f.bits / 8);
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
	struct elements e;
	struct lines l = {.base = addr[0], .cols = m.col_a, .space = m.space};
	uint64_t stride, bits;

	if (!all_lanes(x, mask))
		return NULL;
	init(&e, &m, which[m.what], 0);
	l.write = m.what == GSB_PTX_MATRIX_STORE_D;
	l.n = l.cols ? e.f.cols : e.f.rows;
	l.length = l.cols ? e.f.rows : e.f.cols;
	bits = e.f.bits / e.f.in_word;
	stride = op->b == GSB_EMU_NONE ? l.length * e.f.in_word
				       : *(const uint32_t *)(const void *)(r + op->b);
	if (stride * bits % 8)
		return gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, 0,
				    "a stride of %llu elements of %u bits is not whole bytes",
				    (unsigned long long)stride, (uint32_t)bits);
	l.step = stride * bits / 8;
	if (l.write)
		gather(r, list, &e);
	if (!move_lines(x, &l, &e))
		return NULL;
	if (!l.write)
		scatter(r, list, &e);
	return op + 1;
}

/* ---- tiles ---- */

/* Each of 8 x 8 elements, by itself. */
static void transpose(struct elements *e)
{
	for (uint32_t tile = 0; tile < e->f.rows / TILE_SIDE; tile++) {
		uint64_t *bits = e->bits + (size_t)tile * TILE_SIDE * TILE_SIDE;

		for (uint32_t i = 0; i < TILE_SIDE; i++) {
			for (uint32_t k = 0; k < i; k++) {
				uint64_t old = bits[i * TILE_SIDE + k];

				bits[i * TILE_SIDE + k] = bits[k * TILE_SIDE + i];
				bits[k * TILE_SIDE + i] = old;
			}
		}
	}
}

/* The row that a lane has the address of. Generic addresses are of shared memory, too: the unit knows no other. */
static unsigned char *tile_row(struct gsb_emu_exec *x, const struct lines *l, uint32_t lane)
{
	const struct gsb_emu_block *b = x->block;
	unsigned char *at = line_at(x, l, lane, TILE_ROW_BYTES, TILE_ROW_BYTES);

	if (!at || (at >= b->shared && at < b->shared + b->shared_bytes))
		return at;
	gsb_emu_fail(x, CUDA_ERROR_INVALID_ADDRESS_SPACE, l->each[lane],
		     "address 0x%llx of a matrix row is not in shared memory",
		     (unsigned long long)l->each[lane]);
	return NULL;
}

GSB_EMU_HANDLER(gsb_emu_do_MATRIX_TILES)
{
	const uint32_t *list = x->block->code->lists + op->d;
	const struct gsb_ptx_matrix m = matrix_of(op);
	struct lines l = {.each = (const void *)(r + op->a), .space = m.space};
	struct elements e;

	if (!all_lanes(x, mask))
		return NULL;
	init(&e, &m, 'd', 0);
	l.write = m.what == GSB_PTX_MATRIX_STORE_TILES;
	l.length = e.f.cols;
	if (l.write)
		gather(r, list, &e);
	if (l.write && m.trans)
		transpose(&e);
	for (uint32_t i = 0; i < e.f.rows; i++) {
		unsigned char *at = tile_row(x, &l, i);

		if (!at)
			return NULL;
		move_line(at, &l, i, &e);
	}
	if (!l.write && m.trans)
		transpose(&e);
	if (!l.write)
		scatter(r, list, &e);
	x->block->stats.n_shared++;
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_MATRIX_TRANSPOSE)
{
	const uint32_t *list = x->block->code->lists + op->d;
	const struct gsb_ptx_matrix m = matrix_of(op);
	struct elements e;

	if (!all_lanes(x, mask))
		return NULL;
	gather(r, list + 1, init(&e, &m, 'd', 0));
	transpose(&e);
	scatter(r, list, &e);
	return op + 1;
}

/* ---- arithmetic ---- */

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

/* The four matrices of d = a * b + c, and the values of the factors where they are floats. */
struct product {
	struct gsb_ptx_matrix m;
	struct elements d, a, b, c;
	double va[MAX_ELEMENTS], vb[MAX_ELEMENTS];
};

/* Of @n elements of a type. One loop for each, for most of what an mma takes is here. */
static void find_values(const uint64_t *bits, uint32_t n, uint32_t type, double *out)
{
#define EACH(value)                       \
	for (uint32_t i = 0; i < n; i++)  \
		out[i] = (double)(value); \
	break
	switch (type) {
	case GSB_PTX_MATRIX_F16: EACH(f16_value((uint32_t)bits[i]));
	case GSB_PTX_MATRIX_BF16: EACH(bf16_value((uint32_t)bits[i]));
	case GSB_PTX_MATRIX_TF32: EACH(float_of((uint32_t)bits[i] & 0xffffe000));
	case GSB_PTX_MATRIX_F32: EACH(float_of((uint32_t)bits[i]));
	case GSB_PTX_MATRIX_E4M3: EACH(e4m3_value((uint32_t)bits[i]));
	case GSB_PTX_MATRIX_E5M2: EACH(e5m2_value((uint32_t)bits[i]));
	default: EACH(double_of(bits[i]));
	}
#undef EACH
}

/* Products of short floats are exact, so that this is what a chain of fma gives. Columns come in eights. */
static void sum_short_floats(const struct product *p, uint32_t i, uint32_t j, double *sums)
{
	for (uint32_t k = 0; k < p->m.k; k++) {
		double a = p->va[i * p->m.k + k];
		const double *b = p->vb + (size_t)k * p->m.n + j;

		for (uint32_t n = 0; n < AT_ONCE; n++)
			sums[n] += a * b[n];
	}
}

static void sum_doubles(const struct product *p, uint32_t i, uint32_t j, double *sums)
{
	for (uint32_t k = 0; k < p->m.k; k++) {
		for (uint32_t n = 0; n < AT_ONCE; n++)
			sums[n] = fma(p->va[i * p->m.k + k], p->vb[k * p->m.n + j + n], sums[n]);
	}
}

static void multiply_floats(struct product *p)
{
	double sums[AT_ONCE];

	find_values(p->a.bits, count(&p->a.f), p->m.a, p->va);
	find_values(p->b.bits, count(&p->b.f), p->m.b, p->vb);
	for (uint32_t i = 0; i < p->m.m; i++) {
		for (uint32_t j = 0; j < p->m.n; j += AT_ONCE) {
			uint32_t at = i * p->m.n + j;

			find_values(p->c.bits + at, AT_ONCE, p->m.c, sums);
			if (p->m.a == GSB_PTX_MATRIX_F64)
				sum_doubles(p, i, j, sums);
			else
				sum_short_floats(p, i, j, sums);
			for (uint32_t n = 0; n < AT_ONCE; n++)
				p->d.bits[at + n] = float_bits(sums[n], p->m.d);
		}
	}
}

static int64_t int_product(const struct product *p, uint64_t a, uint64_t b)
{
	if (p->m.a != GSB_PTX_MATRIX_B1)
		return int_value(a, p->m.a) * int_value(b, p->m.b);
	return __builtin_popcountll(p->m.is_and ? a & b : a ^ b);
}

static uint64_t int_sum(const struct product *p, uint32_t i, uint32_t j)
{
	int64_t sum = int_value(p->c.bits[i * p->m.n + j], GSB_PTX_MATRIX_S32);

	for (uint32_t k = 0; k < p->a.f.cols; k++)
		sum += int_product(p, p->a.bits[i * p->a.f.cols + k], p->b.bits[k * p->m.n + j]);
	if (p->m.saturate)
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	return (uint32_t)sum;
}

static void multiply_integers(struct product *p)
{
	for (uint32_t i = 0; i < p->m.m; i++) {
		for (uint32_t j = 0; j < p->m.n; j++)
			p->d.bits[i * p->m.n + j] = int_sum(p, i, j);
	}
}

/* Not inlined: the rounding mode is the caller's. */
static GSB_NOINLINE void multiply(struct product *p)
{
	if (p->m.d == GSB_PTX_MATRIX_S32)
		multiply_integers(p);
	else
		multiply_floats(p);
}

static void multiply_rounded(struct product *p)
{
	static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

	if (p->m.rnd)
		fesetround(modes[p->m.rnd]);
	multiply(p);
	if (p->m.rnd)
		fesetround(FE_TONEAREST);
}

GSB_EMU_HANDLER(gsb_emu_do_MATRIX_MMA)
{
	const uint32_t *d = x->block->code->lists + op->d, *a, *b, *c;
	struct product p;

	if (!all_lanes(x, mask))
		return NULL;
	p.m = matrix_of(op);
	for (uint32_t i = 0; i < (p.m.layout == GSB_PTX_LAYOUT_QUADS ? N_QUADS : 1); i++) {
		a = d + init(&p.d, &p.m, 'd', i)->f.n_regs;
		b = a + init(&p.a, &p.m, 'a', i)->f.n_regs;
		c = b + init(&p.b, &p.m, 'b', i)->f.n_regs;
		gather(r, a, &p.a);
		gather(r, b, &p.b);
		gather(r, c, init(&p.c, &p.m, 'c', i));
		multiply_rounded(&p);
		scatter(r, d, &p.d);
	}
	return op + 1;
}
