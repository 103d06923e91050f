/*
 * company.c - see company.h.
 */
#include "broker/policy/company.h"

#include "broker/policy/policy.h"

static void add(struct gsb_company *c, const struct gsb_work *w, bool overlaps,
		bool from_the_beginning)
{
	const uint64_t code = w->code;

	c->varied |= c->shared && c->manner != w->manner;
	if (!c->shared)
		c->manner = (uint8_t)w->manner;
	c->mixed |= !code || (c->shared ? c->code != code : !from_the_beginning);
	c->code = c->mixed ? 0 : code;
	c->several = c->shared;
	c->shared = true;
	c->met |= overlaps;
}

void gsb_company_meet(struct gsb_company *first, const struct gsb_work *there,
		      struct gsb_company *came, const struct gsb_work *coming)
{
	bool overlaps = gsb_sm_ranges_overlap(there->sms, coming->sms);

	add(first, coming, overlaps, false);
	add(came, there, overlaps, true);
	if (there->claim != coming->claim)
		first->others = came->others = true;
}

void gsb_company_as_asked(struct gsb_company *c, uint32_t was)
{
	if (c->manner != was)
		return;
	c->varied |= c->several;
	c->manner = 0;
}
