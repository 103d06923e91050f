/*
 * tensor.c - copies of boxes of tensors: which box a lane means, checked when it is issued; and what changes tensor maps.
 *
 * A map is read when the copy is issued, and all of it is checked, since a kernel may have written any part. What lies outside of the
 * tensor is never touched; what lies inside must be memory that the kernel may touch, whoever made the map.
 */
#include <string.h>

#include "device/emu/code/reduction.h"
#include "device/emu/code/tensor_map.h"
#include "device/emu/exec/access.h"
#include "device/emu/exec/async.h"
#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/mbarrier.h"
#include "device/emu/exec/place.h"
#include "ptx/tensor.h"

#define PLACE_ALIGN  128 /* of a box in shared memory */
#define CHANGE_ALIGN 128 /* of a map that is changed */
#define SECTOR_SHIFT 5
#define MAX_ROOM     (1u << 18) /* bytes: more than any block has of shared memory */

/* ---- the map ---- */

static void bad_map(struct gsb_emu_exec *x, uint64_t addr, const char *wrong)
{
	gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_INSTRUCTION, addr, "tensor map at 0x%llx: %s",
		     (unsigned long long)addr, wrong);
}

/* Generic, but not shared or local. NULL: the block has been ended. */
static const unsigned char *find_map(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr)
{
	enum gsb_ptx_space space = gsb_emu_access_space(addr);
	const unsigned char *at = NULL;

	if (addr % GSB_EMU_TENSOR_MAP_ALIGN) {
		gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
			     "tensor map at 0x%llx, which is not aligned to %u bytes",
			     (unsigned long long)addr, GSB_EMU_TENSOR_MAP_ALIGN);
		return NULL;
	}
	if (space == GSB_PTX_SPACE_GLOBAL || space == GSB_PTX_SPACE_PARAM)
		at = gsb_emu_generic(x, lane, addr, sizeof(struct gsb_emu_tensor_map), false);
	if (!at)
		gsb_emu_fail(
			x, CUDA_ERROR_ILLEGAL_ADDRESS, addr,
			"tensor map at 0x%llx, which is not global, constant or parameter memory",
			(unsigned long long)addr);
	return at;
}

static const char *does_not_fit(const struct gsb_tensor_map *m, const struct gsb_ptx_tensor *t)
{
	if (m->rank != t->dims)
		return "it has another number of dimensions than the copy";
	if ((m->form == GSB_TENSOR_TILED) != (t->mode == GSB_PTX_TENSOR_TILE))
		return "one of map and copy is tiled, the other is of im2col";
	return NULL;
}

static bool read_map(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr,
		     const struct gsb_ptx_tensor *t, struct gsb_tensor_map *out)
{
	const unsigned char *at = find_map(x, lane, addr);
	struct gsb_emu_tensor_map packed;
	const char *wrong;

	if (!at)
		return false;
	memcpy(&packed, at, sizeof(packed));
	if (!gsb_emu_tensor_map_unpack(&packed, out))
		wrong = "there is none, as cuTensorMapEncodeTiled and its kind make them";
	else
		wrong = gsb_emu_tensor_map_wrong(out);
	if (!wrong)
		wrong = does_not_fit(out, t);
	if (wrong)
		bad_map(x, addr, wrong);
	return !wrong;
}

/* ---- the box ---- */

/* By CUtensorMapDataType; a reduction takes none of the others. */
static const uint8_t reduced_types[] = {
	[2] = GSB_PTX_TYPE_U32,	 [3] = GSB_PTX_TYPE_S32, [4] = GSB_PTX_TYPE_U64,
	[5] = GSB_PTX_TYPE_S64,	 [6] = GSB_PTX_TYPE_F16, [7] = GSB_PTX_TYPE_F32,
	[9] = GSB_PTX_TYPE_BF16,
};

/* 0: there is no such one. Operations on bits are of integers. */
static uint32_t find_reduction(unsigned int sub, uint32_t type)
{
	const uint8_t t = type < sizeof(reduced_types) ? reduced_types[type] : 0;
	const bool is_float = gsb_ptx_type_is_float(t);
	bool ok = t;

	switch (sub) {
	case GSB_PTX_SUB_ADD: ok &= t != GSB_PTX_TYPE_S64; break;
	case GSB_PTX_SUB_MIN:
	case GSB_PTX_SUB_MAX: ok &= t != GSB_PTX_TYPE_F32; break;
	case GSB_PTX_SUB_INC:
	case GSB_PTX_SUB_DEC: ok &= t == GSB_PTX_TYPE_U32; break;
	default: ok &= !is_float; break;
	}
	return ok ? gsb_emu_reduction(sub, t) : 0;
}

static void place_box(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
		      unsigned int lane, const struct gsb_tensor_map *m, struct gsb_emu_box *box)
{
	const uint32_t *rows = x->block->code->lists + op->b;
	uint32_t offsets[GSB_TENSOR_RANK_MAX];
	int32_t at[GSB_TENSOR_RANK_MAX];
	struct gsb_ptx_tensor t;
	bool has_offsets;

	memcpy(&t, &op->imm, sizeof(t));
	has_offsets = t.mode == GSB_PTX_TENSOR_IM2COL;
	for (uint32_t i = 0; i < t.dims; i++)
		memcpy(&at[i], r + rows[i] + lane * sizeof(at[i]), sizeof(at[i]));
	for (uint32_t i = 0; has_offsets && i + 2 < t.dims; i++) {
		memcpy(&offsets[i], r + rows[t.dims + i] + lane * sizeof(offsets[i]),
		       sizeof(offsets[i]));
		offsets[i] &= UINT16_MAX;
	}
	gsb_emu_box_init(box, m, at, has_offsets ? offsets : NULL);
	box->to_global = t.route == GSB_PTX_TENSOR_TO_GLOBAL;
}

/* Before its rows are walked, of which a map may have four thousand millions. */
static bool has_room(struct gsb_emu_exec *x, const struct gsb_emu_box *box)
{
	const uint64_t room = gsb_emu_box_room(box);

	if (room > MAX_ROOM)
		gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, 0,
			     "a box of %llu bytes, which no shared memory has",
			     (unsigned long long)room);
	return room <= MAX_ROOM;
}

/* The first and the last byte of a row are looked at, so that a hole in memory is the fault of this instruction. */
static void touch(uint64_t addr, uint32_t n)
{
	const unsigned char *at = (const unsigned char *)(uintptr_t)addr;

	__atomic_load_n(at, __ATOMIC_RELAXED);
	__atomic_load_n(at + n - 1, __ATOMIC_RELAXED);
}

static bool check_inside(struct gsb_emu_exec *x, const struct gsb_emu_box *box)
{
	struct gsb_emu_box_walk w = {.box = box};
	struct gsb_emu_box_row row;

	while (gsb_emu_box_next(&w, &row)) {
		uint64_t addr = row.addr + row.from;
		uint32_t n = row.to - row.from;

		if (!n)
			continue;
		if (!gsb_emu_global_at(x, addr, n, 1,
				       box->to_global ? "tensor: write to" : "tensor: read of"))
			return false;
		touch(addr, n);
		x->block->stats.n_sectors +=
			((addr + n - 1) >> SECTOR_SHIFT) - (addr >> SECTOR_SHIFT) + 1;
	}
	return true;
}

/* ---- to and from shared memory ---- */

static bool start_at(struct gsb_emu_exec *x, const struct gsb_emu_op *op, unsigned int lane,
		     struct gsb_emu_box *box, enum gsb_ptx_space space, uint64_t addr,
		     const uint64_t *mbar)
{
	unsigned char *at =
		gsb_emu_shared_at(x, space, addr, (uint32_t)gsb_emu_box_room(box), PLACE_ALIGN);
	unsigned char *report = NULL;

	if (!at)
		return false;
	box->place = (uint32_t)(addr & GSB_EMU_OFFSET_MASK);
	box->shared = at - box->place;
	if (mbar) {
		report = gsb_emu_mbar_at(x, op, *mbar);
		if (!report)
			return false;
	}
	return gsb_emu_async_push_box(x, lane, report, box);
}

/* To the same place in each block of the mask, as its mbarrier. */
static bool multicast(struct gsb_emu_exec *x, const struct gsb_emu_op *op, unsigned int lane,
		      struct gsb_emu_box *box, uint64_t addr, uint64_t mbar, uint32_t blocks)
{
	for (; blocks; blocks &= blocks - 1) {
		uint32_t rank = (uint32_t)__builtin_ctz(blocks);
		uint64_t report = gsb_emu_place_in(mbar, rank);

		if (!start_at(x, op, lane, box, GSB_PTX_SPACE_CLUSTER, gsb_emu_place_in(addr, rank),
			      &report))
			return false;
	}
	return true;
}

static bool start(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
		  unsigned int lane)
{
	const uint64_t *maps = (const void *)(r + op->a), *places = (const void *)(r + op->d);
	const uint64_t *mbars = op->c == GSB_EMU_NONE ? NULL : (const void *)(r + op->c);
	struct gsb_tensor_map map;
	struct gsb_ptx_tensor t;
	struct gsb_emu_box box;

	memcpy(&t, &op->imm, sizeof(t));
	if (!read_map(x, lane, maps[lane], &t, &map))
		return false;
	place_box(x, op, r, lane, &map, &box);
	if (t.reduction) {
		box.reduction = find_reduction(t.reduction, map.type);
		if (!box.reduction) {
			bad_map(x, maps[lane], "its elements have no such reduction");
			return false;
		}
	}
	if (!has_room(x, &box) || !check_inside(x, &box))
		return false;
	if (t.multicast)
		return multicast(x, op, lane, &box, places[lane], mbars[lane],
				 ((const uint32_t *)(const void *)(r + op->e))[lane] & UINT16_MAX);
	return start_at(x, op, lane, &box,
			t.route == GSB_PTX_TENSOR_TO_CLUSTER ? GSB_PTX_SPACE_CLUSTER
							     : GSB_PTX_SPACE_SHARED,
			places[lane], mbars ? &mbars[lane] : NULL);
}

GSB_EMU_HANDLER(gsb_emu_do_TENSOR)
{
	for (uint32_t left = mask; left; left &= left - 1)
		if (!start(x, op, r, (unsigned int)__builtin_ctz(left)))
			return NULL;
	x->block->stats.n_mem_insns++;
	x->block->stats.n_shared++;
	return op + 1;
}

/* ---- maps that kernels change ---- */

static unsigned char *place_of_map(struct gsb_emu_exec *x, enum gsb_ptx_space space, uint64_t addr)
{
	const uint32_t n = sizeof(struct gsb_emu_tensor_map);

	if (space == GSB_PTX_SPACE_GENERIC)
		space = gsb_emu_access_space(addr);
	if (space == GSB_PTX_SPACE_SHARED)
		return gsb_emu_shared_at(x, space, addr, n, CHANGE_ALIGN);
	return gsb_emu_global_at(x, addr, n, CHANGE_ALIGN, "tensor map: write to");
}

static uint8_t least_byte(uint32_t value)
{
	return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

/* What has no room is what is wrong: it stays so until a copy looks. */
static void replace(struct gsb_emu_tensor_map *m, unsigned int field, uint32_t ord, uint64_t wide,
		    uint32_t value)
{
	/* PTX's numbers, as those of CUtensorMapDataType */
	static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};

	switch (field) {
	case GSB_PTX_OP_TENSORMAP_ADDRESS: m->addr = wide; break;
	case GSB_PTX_OP_TENSORMAP_RANK:
		m->rank = least_byte(value == UINT32_MAX ? value : value + 1);
		break;
	case GSB_PTX_OP_TENSORMAP_BOX:
		m->box[ord] = value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
		break;
	case GSB_PTX_OP_TENSORMAP_DIM: m->last[ord] = value - 1; break;
	case GSB_PTX_OP_TENSORMAP_STRIDE: m->strides[ord] = wide; break;
	case GSB_PTX_OP_TENSORMAP_STEP: m->element_strides[ord] = least_byte(value); break;
	case GSB_PTX_OP_TENSORMAP_TYPE: m->type = types[value]; break;
	case GSB_PTX_OP_TENSORMAP_INTERLEAVE: m->interleave = (uint8_t)value; break;
	case GSB_PTX_OP_TENSORMAP_SWIZZLE: m->swizzle = (uint8_t)value; break;
	default: m->oob_fill = (uint8_t)value; break;
	}
}

GSB_EMU_HANDLER(gsb_emu_do_TENSORMAP_REPLACE)
{
	const bool is_wide =
		op->e == GSB_PTX_OP_TENSORMAP_ADDRESS || op->e == GSB_PTX_OP_TENSORMAP_STRIDE;
	const uint64_t *addr = (const void *)(r + op->a), *wide = (const void *)(r + op->b);
	const uint32_t *value = (const void *)(r + op->b);

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		unsigned char *at = place_of_map(x, op->n, addr[i]);
		struct gsb_emu_tensor_map m;

		if (!at)
			return NULL;
		memcpy(&m, at, sizeof(m));
		if (m.magic != GSB_EMU_TENSOR_MAP_MAGIC) {
			bad_map(x, addr[i], "there is none to be changed");
			return NULL;
		}
		replace(&m, op->e, op->c, is_wide ? wide[i] : 0, is_wide ? 0 : value[i]);
		memcpy(at, &m, sizeof(m));
	}
	x->block->stats.n_mem_insns++;
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_TENSORMAP_COPY)
{
	const uint64_t *to = (const void *)(r + op->d), *from = (const void *)(r + op->a);
	const uint32_t n = sizeof(struct gsb_emu_tensor_map);

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		unsigned char *there =
			gsb_emu_global_at(x, to[i], n, CHANGE_ALIGN, "tensor map: write to");
		const unsigned char *here =
			there ? gsb_emu_shared_at(x, GSB_PTX_SPACE_SHARED, from[i], n, CHANGE_ALIGN)
			      : NULL;

		if (!here)
			return NULL;
		memcpy(there, here, n);
	}
	x->block->stats.n_mem_insns++;
	return op + 1;
}
