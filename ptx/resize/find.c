/*
 * find.c - what the analyses find against a form, the first place of each rule.
 */
#include "ptx/resize/analysis.h"

void gsb_resize_find_detail(struct gsb_resize_analysis *a, enum gsb_resize_rule rule,
			    const struct gsb_ptx_func *func, uint32_t insn, const char *detail)
{
	struct gsb_resize_finding *f = &a->found[rule];

	if (f->n++)
		return;
	f->rule = rule;
	f->place = (struct gsb_resize_place){func, insn};
	f->detail = detail;
}

void gsb_resize_find(struct gsb_resize_analysis *a, enum gsb_resize_rule rule,
		     const struct gsb_ptx_func *func, uint32_t insn)
{
	gsb_resize_find_detail(a, rule, func, insn, NULL);
}
