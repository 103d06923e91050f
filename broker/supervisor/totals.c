/*
 * totals.c - see totals.h.
 */
#include "broker/supervisor/totals.h"

#include <stdio.h>
#include <string.h>

static void raise_to(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

void gsb_total_add(struct gsb_total *to, const struct gsb_total *from)
{
	to->n_left += from->n_left;
	to->n_lost += from->n_lost;
	to->n_refused += from->n_refused;
	to->records += from->records;
	to->launches += from->launches;
	to->kernels += from->kernels;
	to->copies += from->copies;
	to->fills += from->fills;
	to->bytes_h2d += from->bytes_h2d;
	to->bytes_d2h += from->bytes_d2h;
	to->bytes_d2d += from->bytes_d2d;
	to->device_ns += from->device_ns;
	to->copy_ns += from->copy_ns;
	to->sm_ns += from->sm_ns;
	to->instructions += from->instructions;
	for (int i = 0; i < GSB_N_WAITED; i++)
		to->wait_ns[i] += from->wait_ns[i];
	to->n_late += from->n_late;
	to->n_resized += from->n_resized;
	to->n_shadowed += from->n_shadowed;
	to->n_differed += from->n_differed;
	to->n_mem_refused += from->n_mem_refused;
	to->n_errors += from->n_errors;
	to->charged_ns += from->charged_ns;
	to->error_ppm += from->error_ppm;
	to->n_predicted += from->n_predicted;
	to->known_ns += from->known_ns;
	to->alone_ns += from->alone_ns;
	raise_to(&to->device_mem_peak_bytes, from->device_mem_peak_bytes);
	raise_to(&to->host_mem_peak_bytes, from->host_mem_peak_bytes);
}

static struct gsb_total total_of(const struct gsb_ctl_tenant *t)
{
	struct gsb_total sum = {
		.records = t->records,
		.launches = t->launches,
		.kernels = t->kernels,
		.copies = t->copies,
		.fills = t->fills,
		.bytes_h2d = t->bytes_h2d,
		.bytes_d2h = t->bytes_d2h,
		.bytes_d2d = t->bytes_d2d,
		.device_ns = t->device_ns,
		.copy_ns = t->copy_ns,
		.sm_ns = t->sm_ns,
		.instructions = t->instructions,
		.device_mem_peak_bytes = t->device_mem_peak_bytes,
		.host_mem_peak_bytes = t->host_mem_peak_bytes,
		.n_late = t->n_late,
		.n_resized = t->n_resized,
		.n_shadowed = t->n_shadowed,
		.n_differed = t->n_differed,
		.n_mem_refused = t->n_mem_refused,
		.n_errors = t->n_errors,
		.charged_ns = t->charged_ns,
		.error_ppm = t->error_ppm,
		.n_predicted = t->n_predicted,
		.known_ns = t->known_ns,
		.alone_ns = t->alone_ns,
	};

	memcpy(sum.wait_ns, t->wait_ns, sizeof(sum.wait_ns));
	return sum;
}

unsigned gsb_totals_index(const struct gsb_totals *t, uid_t uid, const char *name)
{
	unsigned i = 0;

	while (i < t->n && (t->at[i].sum.uid != uid || strcmp(t->at[i].sum.tenant, name) != 0))
		i++;
	return i;
}

/* The sum of that name; NULL: there is none. */
static struct gsb_named_total *find(struct gsb_totals *t, uid_t uid, const char *name)
{
	unsigned i = gsb_totals_index(t, uid, name);

	return i < t->n ? &t->at[i] : NULL;
}

/* That of the name that was not heard of longest goes into the sum of the others. */
static struct gsb_named_total *make_room(struct gsb_totals *t)
{
	struct gsb_named_total *oldest = &t->at[0];

	if (t->n < GSB_TOTALS_MAX)
		return &t->at[t->n++];
	for (unsigned i = 1; i < t->n; i++)
		if (t->at[i].heard < oldest->heard)
			oldest = &t->at[i];
	gsb_total_add(&t->others, &oldest->sum);
	return oldest;
}

static struct gsb_named_total *find_or_make(struct gsb_totals *t, uid_t uid, const char *name)
{
	struct gsb_named_total *at = find(t, uid, name);

	if (at)
		return at;
	at = make_room(t);
	at->sum = (struct gsb_total){.uid = uid};
	snprintf(at->sum.tenant, sizeof(at->sum.tenant), "%s", name);
	return at;
}

void gsb_totals_add(struct gsb_totals *t, uid_t uid, const char *name,
		    const struct gsb_ctl_tenant *last, bool is_known)
{
	struct gsb_named_total *at = find_or_make(t, uid, name);
	struct gsb_total one = total_of(last);

	one.n_left = 1;
	one.n_lost = !is_known;
	at->heard = ++t->n_added;
	gsb_total_add(&at->sum, &one);
}

void gsb_totals_add_living(struct gsb_totals *t, uid_t uid, const char *name,
			   const struct gsb_ctl_tenant *now)
{
	struct gsb_named_total *at = find_or_make(t, uid, name);
	struct gsb_total one = total_of(now);

	at->heard = ++t->n_added;
	gsb_total_add(&at->sum, &one);
}

void gsb_totals_refused(struct gsb_totals *t, uid_t uid, const char *name)
{
	struct gsb_named_total *at = find(t, uid, name);

	if (!at && t->n < GSB_TOTALS_MAX)
		at = find_or_make(t, uid, name);
	if (at)
		at->sum.n_refused++;
	else
		t->others.n_refused++;
}
