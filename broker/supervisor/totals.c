/*
 * totals.c - see totals.h.
 */
#include "broker/supervisor/totals.h"

#include <stdio.h>
#include <string.h>

void gsb_total_add(struct gsb_total *to, const struct gsb_total *from)
{
	to->n_left += from->n_left;
	to->n_lost += from->n_lost;
	to->records += from->records;
	to->launches += from->launches;
	to->kernels += from->kernels;
	to->copies += from->copies;
	to->fills += from->fills;
	to->bytes_h2d += from->bytes_h2d;
	to->bytes_d2h += from->bytes_d2h;
	to->bytes_d2d += from->bytes_d2d;
	to->device_ns += from->device_ns;
	to->instructions += from->instructions;
	to->n_errors += from->n_errors;
	to->charged_ns += from->charged_ns;
	if (from->device_mem_peak_bytes > to->device_mem_peak_bytes)
		to->device_mem_peak_bytes = from->device_mem_peak_bytes;
}

static struct gsb_total total_of(const struct gsb_ctl_tenant *t)
{
	if (!t)
		return (struct gsb_total){.n_left = 1, .n_lost = 1};
	return (struct gsb_total){
		.n_left = 1,
		.records = t->records,
		.launches = t->launches,
		.kernels = t->kernels,
		.copies = t->copies,
		.fills = t->fills,
		.bytes_h2d = t->bytes_h2d,
		.bytes_d2h = t->bytes_d2h,
		.bytes_d2d = t->bytes_d2d,
		.device_ns = t->device_ns,
		.instructions = t->instructions,
		.device_mem_peak_bytes = t->device_mem_peak_bytes,
		.n_errors = t->n_errors,
		.charged_ns = t->charged_ns,
	};
}

/* Its place, a free one, or that of the name that was not heard of longest. */
static unsigned place_of(struct gsb_totals *t, uid_t uid, const char *name)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < t->n; i++) {
		if (t->at[i].sum.uid == uid && !strcmp(t->at[i].sum.tenant, name))
			return i;
		if (t->at[i].heard < t->at[oldest].heard)
			oldest = i;
	}
	if (t->n < GSB_TOTALS_MAX)
		oldest = t->n++;
	else
		gsb_total_add(&t->others, &t->at[oldest].sum);
	t->at[oldest].sum = (struct gsb_total){.uid = uid};
	snprintf(t->at[oldest].sum.tenant, sizeof(t->at[oldest].sum.tenant), "%s", name);
	return oldest;
}

void gsb_totals_add(struct gsb_totals *t, uid_t uid, const char *name,
		    const struct gsb_ctl_tenant *last)
{
	struct gsb_total one = total_of(last);
	unsigned i = place_of(t, uid, name);

	t->at[i].heard = ++t->n_added;
	gsb_total_add(&t->at[i].sum, &one);
}
