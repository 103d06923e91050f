/*
 * rewrite.h - variants of kernels, beside the originals in one module.
 *
 * A variant is another entry, with the original's code but for what its form needs. It shares all symbols of the
 * module, so originals and variants may be launched in any order on the same data.
 *
 *	SLICE	    a part of the grid: %ctaid and %nctaid are the logical ones
 *	PERSISTENT  blocks that fetch tiles, logical blocks, until there are none or they are told to end
 *	COUNT	    counts, beside its results, what some of the warps do (rewrite_count.h)
 *	HINT	    loads and stores that stream (stream.h) are marked as not used again: ld.cs, st.cs
 *
 * Whether a kernel bears a form is for the classifier to say, but for what makes the form impossible to write: that
 * is refused here with its line. variant.h has what the variants take behind the original's parameters.
 */
#ifndef GSB_PTX_RESIZE_REWRITE_H
#define GSB_PTX_RESIZE_REWRITE_H

#include "ptx/resize/facts.h"

enum gsb_rewrite_form {
	GSB_REWRITE_SLICE,
	GSB_REWRITE_PERSISTENT,
	GSB_REWRITE_COUNT,
	GSB_REWRITE_HINT,
	GSB_N_REWRITE_FORMS,
};

struct gsb_rewrite_job {
	const struct gsb_ptx_func *kernel;
	enum gsb_rewrite_form form;
	enum gsb_resize_early early; /* PERSISTENT; E2 and E3 are refused */
};

struct gsb_rewrite_refusal {
	char text[256]; /* why, and what would help */
	uint32_t line;	/* of the PTX; 0 = of none alone */
};

/* "slice"; what is put behind the kernel's name, after a '$'. */
const char *gsb_rewrite_form_name(enum gsb_rewrite_form form);
/* "vadd$slice"; false when it does not fit. */
bool gsb_rewrite_variant_name(const char *kernel, enum gsb_rewrite_form form, char *out,
			      size_t size);

/**
 * gsb_rewrite_check() - can this form of the kernel be written?
 * Context: pure. Return: 0, -ENOTSUP (see @why), -ENOMEM.
 */
int gsb_rewrite_check(const struct gsb_ptx_module *m, const struct gsb_rewrite_job *job,
		      struct gsb_rewrite_refusal *why);

/**
 * gsb_rewrite() - a module with all that @m has, and the variants
 * @out: for gsb_ptx_module_destroy(); written only on success
 *
 * What comes out has been printed and parsed: it has passed all checks that a tenant's text passes.
 *
 * Context: pure. Return: 0, -ENOTSUP (one of the jobs cannot be done: see @why), -ENOMEM, -E2BIG (over a limit of ptx.h).
 */
int gsb_rewrite(const struct gsb_ptx_module *m, const struct gsb_rewrite_job *jobs, size_t n_jobs,
		struct gsb_ptx_module **out, struct gsb_rewrite_refusal *why);

#endif
