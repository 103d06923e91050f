/*
 * frame.c - where things lie in the local memory of a function.
 *
 * Calls pass everything through local memory: the frame of a function begins with an area for results
 * and arguments, which its caller fills and empties. Behind it lie .local variables, then .param locals.
 */
#include "device/emu/lower/frame.h"

#include <errno.h>

#include "base/checked.h"

uint64_t gsb_emu_param_size(const struct gsb_ptx_var *v)
{
	uint64_t natural = gsb_ptx_type_bytes(v->type);

	return v->size_bytes > natural ? v->size_bytes : natural;
}

static uint32_t param_align(const struct gsb_ptx_var *v)
{
	return v->align > GSB_EMU_CALL_ALIGN ? v->align : GSB_EMU_CALL_ALIGN;
}

uint32_t gsb_emu_area_next(struct gsb_emu_lowering *l, uint32_t *end, const struct gsb_ptx_var *v)
{
	uint64_t at = gsb_round_up(*end, param_align(v));

	*end = (uint32_t)at;
	if (at + gsb_emu_param_size(v) > GSB_EMU_MAX_LOCAL)
		gsb_emu_lower_fail(l, -E2BIG, "arguments of more than %u bytes", GSB_EMU_MAX_LOCAL);
	else
		*end += (uint32_t)gsb_emu_param_size(v);
	return (uint32_t)at;
}

uint32_t gsb_emu_area_bytes(struct gsb_emu_lowering *l, const struct gsb_ptx_proto *p,
			    uint32_t *offsets)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < p->n_rets + p->n_params && !l->err; i++) {
		uint32_t at = gsb_emu_area_next(
			l, &end, i < p->n_rets ? &p->rets[i] : &p->params[i - p->n_rets]);

		if (offsets)
			offsets[i] = at;
	}
	return end;
}

struct gsb_ptx_proto gsb_emu_proto_of(const struct gsb_ptx_func *f)
{
	return (struct gsb_ptx_proto){.name = f->name,
				      .rets = f->rets,
				      .params = f->params,
				      .n_rets = f->n_rets,
				      .n_params = f->n_params};
}

bool gsb_emu_is_entry_param(const struct gsb_emu_lowering *l, const struct gsb_ptx_var *var)
{
	return l->func->is_entry && var->space == GSB_PTX_SPACE_PARAM && var >= l->func->params &&
	       var < l->func->params + l->func->n_params;
}

uint32_t gsb_emu_local_offset(struct gsb_emu_lowering *l, const struct gsb_ptx_var *var)
{
	const struct gsb_ptx_func *f = l->func;

	if (var >= f->rets && var < f->rets + f->n_rets)
		return l->area[var - f->rets];
	if (var >= f->params && var < f->params + f->n_params)
		return l->area[f->n_rets + (uint32_t)(var - f->params)];
	return (uint32_t)var->offset +
	       (var->space == GSB_PTX_SPACE_LOCAL ? l->locals_base : l->call_params_base);
}

/* Where things lie in the local frame of a function; -> its size. */
uint32_t gsb_emu_lay_out_local(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_func *f = l->func;
	struct gsb_ptx_proto p = gsb_emu_proto_of(f);
	uint64_t at;

	l->area = gsb_arena_alloc_array(&l->scratch, (size_t)f->n_rets + f->n_params + 1,
					sizeof(*l->area));
	if (!l->area) {
		gsb_emu_lower_no_memory(l);
		return 0;
	}
	at = f->is_entry ? 0 : gsb_emu_area_bytes(l, &p, l->area);
	at = gsb_round_up(at, GSB_EMU_FRAME_ALIGN);
	l->locals_base = (uint32_t)at;
	at = gsb_round_up(at + f->local_bytes, GSB_EMU_FRAME_ALIGN);
	l->call_params_base = (uint32_t)at;
	at = gsb_round_up(at + f->call_param_bytes, GSB_EMU_FRAME_ALIGN);
	if (!f->is_entry && at == 0)
		at = GSB_EMU_FRAME_ALIGN; /* so that endless recursion ends */
	if (at > GSB_EMU_MAX_LOCAL)
		gsb_emu_lower_fail(l, -E2BIG, "'%s' needs %llu bytes of local memory", f->name,
				   (unsigned long long)at);
	return (uint32_t)at;
}
