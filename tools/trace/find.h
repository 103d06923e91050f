/*
 * find.h - whom a word on the command line means: a serial, a tenant by name or #number, a kernel by name.
 */
#ifndef GSB_TOOLS_TRACE_FIND_H
#define GSB_TOOLS_TRACE_FIND_H

#include "tools/trace/traced.h"

struct gsb_traced_filter {
	uint32_t tenant;		/* index; NONE: any */
	const char *kernel;		/* NULL: any */
	const char *range;		/* NULL: any */
	const struct gsb_traced_op *op; /* one alone; NULL: any */
};

/* What @word means in this trace. -ENOENT: nothing; that has been said on stderr, with what there is. */
int gsb_traced_filter_read(struct gsb_traced_filter *f, const struct gsb_traced *t,
			   const char *word);
bool gsb_traced_matches(const struct gsb_traced_filter *f, const struct gsb_traced *t,
			const struct gsb_traced_op *op);

#endif
