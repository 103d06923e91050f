/*
 * rewrite_command.c - gsb-ptx rewrite: a module with variants of its kernels, as PTX.
 *
 * The classifier is asked first: what it does not allow is not written, unless it is forced.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/print.h"
#include "base/program.h"
#include "tools/cli.h"
#include "tools/emu_file.h"
#include "tools/ptx/commands.h"
#include "ptx/resize/rewrite.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define MAX_JOBS    4096

static int find_form(const char *name, enum gsb_rewrite_form *out)
{
	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++) {
		if (strcmp(name, gsb_rewrite_form_name(form)) != 0)
			continue;
		*out = form;
		return 0;
	}
	fprintf(stderr, "gsb-ptx: --form %s: must be slice, persistent, count or hint\n", name);
	return -1;
}

static void say_refusal(const struct gsb_ptx_func *k, enum gsb_rewrite_form form, uint32_t line,
			const char *text)
{
	if (line)
		fprintf(stderr, "gsb-ptx: %s: not as %s: line %u: %s\n", k->name,
			gsb_rewrite_form_name(form), line, text);
	else
		fprintf(stderr, "gsb-ptx: %s: not as %s: %s\n", k->name,
			gsb_rewrite_form_name(form), text);
}

/* What the classifier says of the form; counting and hints are right for all. */
static bool is_legal(const struct gsb_ptx_module *m, struct gsb_rewrite_job *job)
{
	const bool slice = job->form == GSB_REWRITE_SLICE;
	const enum gsb_resize_form form = slice ? GSB_RESIZE_SLICE : GSB_RESIZE_PERSISTENT;
	const struct gsb_resize_finding *why;
	struct gsb_resize_facts facts;
	struct gsb_arena arena;
	bool legal = true;

	if (!slice && job->form != GSB_REWRITE_PERSISTENT)
		return true;
	gsb_arena_init(&arena, ARENA_BYTES);
	if (gsb_resize_analyse(m, job->kernel, &arena, &facts)) {
		say_refusal(job->kernel, job->form, 0, "it is too large to be looked at");
		legal = false;
	} else {
		job->early = facts.early;
		why = gsb_resize_why_not(&facts, form);
		if (why && !(facts.ordered_forms & GSB_RESIZE_BIT(form))) {
			say_refusal(job->kernel, job->form, gsb_resize_line(&why->place),
				    gsb_resize_rule_text(why->rule));
			legal = false;
		}
	}
	gsb_arena_finish(&arena);
	return legal;
}

/* Of all kernels of one module, or the one that is named: those that can be had. */
static size_t find_jobs(const struct gsb_ptx_module *m, const struct gsb_ptx_func *only,
			enum gsb_rewrite_form form, struct gsb_rewrite_job *jobs)
{
	struct gsb_rewrite_refusal why;
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_funcs && n < MAX_JOBS; i++) {
		const struct gsb_ptx_func *f = m->funcs[i];

		if (!f->is_entry || !f->has_body || (only && f != only))
			continue;
		jobs[n] = (struct gsb_rewrite_job){.kernel = f, .form = form};
		if (!is_legal(m, &jobs[n]))
			continue;
		if (gsb_rewrite_check(m, &jobs[n], &why))
			say_refusal(f, form, why.line, why.text);
		else
			n++;
	}
	return n;
}

static int write_text(const struct gsb_ptx_request *q, const struct gsb_ptx_module *m)
{
	FILE *f = q->out ? fopen(q->out, "w") : stdout;
	char *text = NULL;
	size_t len;
	bool ok =
		f && !gsb_ptx_print(m, &text, &len) && fwrite(text, 1, len, f) == len && !fflush(f);

	if (f && q->out && fclose(f))
		ok = false;
	if (!ok)
		fprintf(stderr, "gsb-ptx: %s: %s\n", q->out ? q->out : "stdout", strerror(errno));
	free(text);
	return ok ? 0 : GSB_WRONG_USAGE;
}

static int rewrite_module(const struct gsb_ptx_request *q, const struct gsb_ptx_module *m,
			  const struct gsb_ptx_func *only, enum gsb_rewrite_form form)
{
	static struct gsb_rewrite_job jobs[MAX_JOBS];
	struct gsb_rewrite_refusal why;
	struct gsb_ptx_module *out;
	size_t n = find_jobs(m, only, form, jobs);
	int err;

	if (!n)
		return 1;
	err = gsb_rewrite(m, jobs, n, &out, &why);
	if (err) {
		fprintf(stderr, "gsb-ptx: %s: %s\n", q->path, strerror(-err));
		return 1;
	}
	err = write_text(q, out);
	gsb_ptx_module_destroy(out);
	return err;
}

/* Without a name: all kernels of the first module that has any. */
int gsb_ptx_rewrite(const struct gsb_ptx_request *q)
{
	static struct emu_file file;
	enum gsb_rewrite_form form;
	struct emu_kernel k;
	int status = GSB_WRONG_USAGE;

	if (!q->form) {
		fprintf(stderr, "gsb-ptx: rewrite needs --form slice, persistent, count or hint\n");
		return GSB_WRONG_USAGE;
	}
	if (find_form(q->form, &form))
		return GSB_WRONG_USAGE;
	if (!emu_file_open(&file, q->path, GSB_PTX_TOOL_CC) &&
	    (q->kernel ? !emu_file_find(&file, q->kernel, &k) : emu_file_kernel(&file, 0, &k)))
		status = rewrite_module(q, k.module->ptx, q->kernel ? k.entry : NULL, form);
	emu_file_close(&file);
	return status;
}
