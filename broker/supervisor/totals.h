/*
 * totals.h - what the tenants that have left had done, by user and name: pure.
 *
 * Of so many names as there is room for; when one more comes, the name that was not heard of longest
 * goes into the sum of the others.
 */
#ifndef GSB_BROKER_SUPERVISOR_TOTALS_H
#define GSB_BROKER_SUPERVISOR_TOTALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "broker/supervisor/query.h"

#define GSB_TOTALS_MAX 256

struct gsb_named_total {
	struct gsb_total sum;
	uint64_t heard; /* n_added at that time */
};

struct gsb_totals {
	unsigned n;
	uint64_t n_added;
	struct gsb_named_total at[GSB_TOTALS_MAX];
	struct gsb_total others;
};

/* One of uid has left; last: its row at the end, or, when that is not known, the last one that is. */
void gsb_totals_add(struct gsb_totals *t, uid_t uid, const char *name,
		    const struct gsb_ctl_tenant *last, bool is_known);

/* One of uid that has not left: its counts so far. */
void gsb_totals_add_living(struct gsb_totals *t, uid_t uid, const char *name,
			   const struct gsb_ctl_tenant *now);

/* The place of a name; t->n: among the others. */
unsigned gsb_totals_index(const struct gsb_totals *t, uid_t uid, const char *name);

/* One of uid was not let in. A refusal makes no room for its name: those of others would make way for it. */
void gsb_totals_refused(struct gsb_totals *t, uid_t uid, const char *name);

/* from into to, which keeps its name. */
void gsb_total_add(struct gsb_total *to, const struct gsb_total *from);

#endif
