/*
 * texture.c - see texture.h. Results and coordinates are lists of rows; the geometry is the last word of the opcode, and
 * says which coordinates count. Levels of detail and gradients choose among the levels of a mipmapped array.
 */
#include "device/emu/lower/texture.h"

#include <string.h>

#include "device/emu/lower/operand.h"
#include "device/emu/lower/rows.h"

static enum gsb_emu_geometry geometry_of(const struct gsb_ptx_insn *in)
{
	static const char *const names[GSB_EMU_N_GEOMS] = {
		[GSB_EMU_GEOM_1D] = "1d",	[GSB_EMU_GEOM_2D] = "2d",
		[GSB_EMU_GEOM_3D] = "3d",	[GSB_EMU_GEOM_A1D] = "a1d",
		[GSB_EMU_GEOM_A2D] = "a2d",	[GSB_EMU_GEOM_CUBE] = "cube",
		[GSB_EMU_GEOM_ACUBE] = "acube",
	};
	const char *word = strrchr(gsb_ptx_op_name(in->op), '.') + 1;
	unsigned int g = 0;

	while (strcmp(names[g], word))
		g++;
	return g;
}

static uint32_t coordinates(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o)
{
	uint32_t list = gsb_emu_list_new(l, 4);

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t row = gsb_emu_src(l, &o->elems[i < o->n ? i : o->n - 1u], 4);

		if (!l->err)
			l->lists[list + i] = row;
	}
	return list;
}

static bool begins(const struct gsb_ptx_insn *in, const char *words)
{
	return !strncmp(gsb_ptx_op_name(in->op), words, strlen(words));
}

/* The component that tld4 gathers, or an enum gsb_emu_tex. */
static int64_t way_of(const struct gsb_ptx_insn *in)
{
	if (begins(in, "tld4."))
		return strchr("rgba", gsb_ptx_op_name(in->op)[5]) - "rgba";
	return begins(in, "tex.level.")	 ? GSB_EMU_TEX_LEVEL
	       : begins(in, "tex.grad.") ? GSB_EMU_TEX_GRADIENT
					 : GSB_EMU_TEX_PLAIN;
}

/* The level, one row, or two gradients of 3 rows each: those that a geometry has not repeat its last. */
static uint32_t detail(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	const uint32_t each = in->n_operands > 3 ? 3 : 1;
	uint32_t list = gsb_emu_list_new(l, 6);

	for (uint32_t i = 0; i < 6; i++) {
		const struct gsb_ptx_operand *o =
			&in->operands[2 + (i / each < in->n_operands - 2u ? i / each : 0)];
		uint32_t nth = i % each;
		uint32_t row;

		if (o->kind == GSB_PTX_OPERAND_VEC)
			o = &o->elems[nth < o->n ? nth : o->n - 1u];
		row = gsb_emu_src(l, o, 4);
		if (!l->err)
			l->lists[list + i] = row;
	}
	return list;
}

static void lower_sample(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t at = coordinates(l, &in->operands[1]);
	uint32_t handle = l->rows[in->operands[1].reg];
	uint32_t levels = in->n_operands > 2 ? detail(l) : 0;
	uint32_t d = gsb_emu_vector_rows(l, &in->operands[0], 4, true);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_TEX, true);

	op->d = d;
	op->a = handle;
	op->b = at;
	op->c = levels;
	op->n = geometry_of(in);
	op->e = in->type[1] == GSB_PTX_TYPE_S32;
	op->imm = way_of(in);
}

/* Lanes of the registers that hold the elements: bytes and halves are in rows of 4. */
static uint32_t element_lanes(const struct gsb_emu_lowering *l, const struct gsb_ptx_operand *v)
{
	const struct gsb_ptx_operand *e = v->kind == GSB_PTX_OPERAND_VEC ? v->elems : v;
	uint32_t n = v->kind == GSB_PTX_OPERAND_VEC ? v->n : 1;

	for (uint32_t i = 0; i < n; i++)
		if (e[i].kind == GSB_PTX_OPERAND_REG)
			return gsb_emu_reg_bytes(l, e[i].reg);
	return gsb_emu_lane_bytes(l->insn->type[0]);
}

static uint32_t elements(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *v,
			 uint32_t lane_bytes, bool is_dest)
{
	const struct gsb_ptx_operand one = {
		.kind = GSB_PTX_OPERAND_VEC, .reg = GSB_PTX_NONE, .n = 1, .elems = v};

	return gsb_emu_vector_rows(l, v->kind == GSB_PTX_OPERAND_VEC ? v : &one, lane_bytes,
				   is_dest);
}

static void lower_surface(struct gsb_emu_lowering *l, bool store)
{
	const struct gsb_ptx_insn *in = l->insn;
	const struct gsb_ptx_operand *place = &in->operands[!store], *value = &in->operands[store];
	uint32_t lane_bytes = element_lanes(l, value);
	uint32_t at = coordinates(l, place), handle = l->rows[place->reg];
	uint32_t d = elements(l, value, lane_bytes, !store);
	struct gsb_emu_op *op =
		gsb_emu_emit(l, store ? GSB_EMU_FORM_SUST : GSB_EMU_FORM_SULD, true);

	op->d = d;
	op->a = handle;
	op->b = at;
	op->c = gsb_ptx_type_bytes(in->type[0]);
	op->e = in->vec;
	op->n = (uint8_t)(geometry_of(in) << 4 | (in->flags & GSB_PTX_F_CLAMP	  ? 1
						  : in->mode == GSB_PTX_MODE_ZERO ? 2
										  : 0));
	op->imm = lane_bytes;
}

static void lower_query(struct gsb_emu_lowering *l)
{
	static const char *const names[GSB_EMU_N_QUERIES] = {
		[GSB_EMU_QUERY_WIDTH] = "width",
		[GSB_EMU_QUERY_HEIGHT] = "height",
		[GSB_EMU_QUERY_DEPTH] = "depth",
		[GSB_EMU_QUERY_LAYERS] = "array_size",
		[GSB_EMU_QUERY_NORMALIZED] = "normalized_coords",
		[GSB_EMU_QUERY_LEVELS] = "num_mipmap_levels",
	};
	const char *word = strrchr(gsb_ptx_op_name(l->insn->op), '.') + 1;
	const bool of_level = l->insn->n_operands > 2;
	uint32_t level = of_level ? gsb_emu_src(l, &l->insn->operands[2], 4) : 0;
	uint32_t d = gsb_emu_dest(l, &l->insn->operands[0], 4), query = 0;
	struct gsb_emu_op *op;

	while (strcmp(names[query], word))
		query++;
	op = gsb_emu_emit(l, GSB_EMU_FORM_TEX_QUERY, true);
	op->d = d;
	op->a = l->rows[l->insn->operands[1].reg];
	op->b = level;
	op->e = of_level;
	op->n = (uint8_t)query;
}

void gsb_emu_lower_texture(struct gsb_emu_lowering *l)
{
	unsigned int op = l->insn->op;

	if (op >= GSB_PTX_OP_TXQ_WIDTH)
		lower_query(l);
	else if (op < GSB_PTX_OP_SULD_1D)
		lower_sample(l);
	else
		lower_surface(l, op >= GSB_PTX_OP_SUST_1D);
}
