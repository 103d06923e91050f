/*
 * classify.c - `gsb-ptx classify`: a row a kernel, or with --why what each verdict rests on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/program.h"
#include "ptx/resize/facts.h"
#include "ptx/resize/stream.h"
#include "tools/emu_file.h"
#include "tools/model_report.h"
#include "tools/ptx/commands.h"

#define MAX_FACT_BYTES ((size_t)1 << 30)
#define REASON_BYTES   400

/* ---- words ---- */

static const char *early_name(enum gsb_resize_early early)
{
	static const char *const names[] = {"E0", "E1", "E2", "E3"};

	return names[early];
}

static void say_forms(uint32_t forms, char *out, size_t size)
{
	size_t n = 0;

	snprintf(out, size, "leave");
	for (int form = 0; form < GSB_RESIZE_N_FORMS; form++)
		if (forms & GSB_RESIZE_BIT(form))
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "",
					      gsb_resize_form_name(form));
}

static void say_finding(const struct gsb_resize_finding *f, char *out, size_t size)
{
	const char *text = gsb_resize_rule_text(f->rule);

	if (f->detail)
		snprintf(out, size, "%s (%s)", text, f->detail);
	else
		snprintf(out, size, "%s", text);
}

/* The form that a user would like best and does not get; NULL: all that there are. */
static const struct gsb_resize_finding *first_refusal(const struct gsb_resize_facts *f,
						      enum gsb_resize_form *form)
{
	static const enum gsb_resize_form order[] = {GSB_RESIZE_SLICE, GSB_RESIZE_PERSISTENT,
						     GSB_RESIZE_RESHAPE};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct gsb_resize_finding *why = gsb_resize_why_not(f, order[i]);

		*form = order[i];
		if (why)
			return why;
	}
	return NULL;
}

static void say_reason(const struct gsb_resize_facts *f, char *out, size_t size)
{
	enum gsb_resize_form form;
	const struct gsb_resize_finding *why = first_refusal(f, &form);
	char text[REASON_BYTES];

	if (!why) {
		snprintf(out, size, "%s", f->linear);
		return;
	}
	say_finding(why, text, sizeof(text));
	if (f->forms)
		snprintf(out, size, "no %s: %s", gsb_resize_form_name(form), text);
	else
		snprintf(out, size, "%s", text);
}

static uint32_t reason_line(const struct gsb_resize_facts *f)
{
	enum gsb_resize_form form;
	const struct gsb_resize_finding *why = first_refusal(f, &form);

	return why ? gsb_resize_line(&why->place) : 0;
}

/* ---- the table ---- */

static void row_of(struct report *r, const struct gsb_resize_facts *f)
{
	char forms[80], reason[REASON_BYTES + 40];

	say_forms(f->forms, forms, sizeof(forms));
	say_reason(f, reason, sizeof(reason));
	report_text(r, f->kernel->entry->name);
	report_text(r, forms);
	report_text(r, early_name(f->early));
	report_number(r, "%u", reason_line(f));
	report_text(r, reason);
}

/* ---- why ---- */

/* The text of a line, without what surrounds it; "" past the end. */
static int line_of(const struct emu_module_text *m, uint32_t line, const char **at)
{
	const char *p = m->text, *end = m->text + m->len, *stop;

	while (--line > 0 && p < end) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	stop = memchr(p, '\n', (size_t)(end - p));
	stop = stop ? stop : end;
	while (p < stop && (*p == ' ' || *p == '\t'))
		p++;
	*at = p;
	return (int)(stop - p < 200 ? stop - p : 200);
}

static void show_line(const struct emu_module_text *m, const struct gsb_resize_place *place)
{
	uint32_t line = gsb_resize_line(place), source = 0;
	const char *at, *file = "";
	int len;

	if (!line)
		return;
	len = line_of(m, line, &at);
	printf("      %u: %.*s\n", line, len, at);
	if (place->insn != GSB_PTX_NONE)
		source = gsb_ptx_source_line(m->ptx, place->func, place->insn, &file);
	if (source)
		printf("      from %s:%u\n", file, source);
}

static void show_finding(const struct emu_module_text *m, const struct gsb_resize_finding *f)
{
	char text[REASON_BYTES];
	uint32_t forbids = gsb_resize_rule_forbids(f->rule);
	const char *comma = "";

	say_finding(f, text, sizeof(text));
	printf("  no ");
	for (int form = 0; form < GSB_RESIZE_ORDERED; form++) {
		if (!(forbids & GSB_RESIZE_BIT(form)))
			continue;
		printf("%s%s", comma, gsb_resize_form_name(form));
		comma = ", ";
	}
	printf(": %s [%s]\n", text, gsb_resize_rule_word(f->rule));
	show_line(m, &f->place);
	if (f->n > 1)
		printf("      and %u more\n", f->n - 1);
}

static void show_reshape(const struct gsb_resize_facts *f)
{
	printf("  reshape: %s; on%s%s%s%s\n", f->linear, f->launch.reshape_axes & 1 ? " x" : "",
	       f->launch.reshape_axes & 2 ? " y" : "", f->launch.reshape_axes & 4 ? " z" : "",
	       f->launch.whole_warps ? ", blocks of one row and whole warps" : "");
}

static void show_persistent(const struct gsb_resize_facts *f)
{
	static const char *const how[] = {
		"all threads of a block end together",
		"threads leave while others still wait: they have to go on arriving (fdrain)"};

	if (f->early <= GSB_RESIZE_E1)
		printf("  persistent: %s%s\n", how[f->early],
		       f->launch.warp_rows ? "; blocks of one row, or rows of whole warps" : "");
}

static void show_pointers(const struct gsb_resize_facts *f)
{
	for (uint32_t i = 0; i < f->n_pointers; i++) {
		const struct gsb_resize_pointer *p = &f->pointers[i];

		printf("  parameter %u", p->param);
		if (p->offset)
			printf(" at %u", p->offset);
		printf(":%s%s%s%s%s\n", p->access & GSB_RESIZE_READ ? " read" : "",
		       p->access & GSB_RESIZE_WRITTEN ? " written" : "",
		       p->access & GSB_RESIZE_ATOMIC ? " by atomics" : "",
		       p->access & GSB_RESIZE_GENERIC ? ", generic" : "",
		       p->access & GSB_RESIZE_ESCAPES ? ", escapes" : "");
	}
	if (f->loaded_pointers)
		printf("  addresses from memory, too\n");
}

/* The accesses that a variant with hints would mark. */
static int show_streams(const struct emu_module_text *m, const struct gsb_ptx_kernel *k,
			struct gsb_arena *arena)
{
	const bool *streams;
	int err = gsb_streams(m->ptx, k, arena, &streams);

	for (uint32_t i = 0; !err && i < k->entry->n_insns; i++) {
		if (!streams[i])
			continue;
		printf("  streams:\n");
		show_line(m, &(struct gsb_resize_place){k->entry, i});
	}
	return err;
}

static int show_why(const struct emu_module_text *m, const struct gsb_resize_facts *f,
		    struct gsb_arena *arena)
{
	char forms[80];

	say_forms(f->forms, forms, sizeof(forms));
	printf("%s: %s (%s)\n", f->kernel->entry->name, forms, early_name(f->early));
	if (f->forms & GSB_RESIZE_BIT(GSB_RESIZE_RESHAPE))
		show_reshape(f);
	if ((f->forms | f->ordered_forms) & GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT))
		show_persistent(f);
	for (uint32_t i = 0; i < f->n_findings; i++)
		show_finding(m, &f->findings[i]);
	show_pointers(f);
	return show_streams(m, f->kernel, arena);
}

/* ---- the file ---- */

static bool is_wanted(const struct gsb_ptx_request *q, const struct emu_kernel *k)
{
	return !q->kernel || strstr(k->entry->name, q->kernel);
}

static int judge(const struct gsb_ptx_request *q, const struct emu_kernel *k, struct report *r)
{
	struct gsb_resize_facts f;
	struct gsb_arena arena;
	int err;

	gsb_arena_init(&arena, MAX_FACT_BYTES);
	err = gsb_resize_analyse(k->module->ptx, k->entry, &arena, &f);
	if (err)
		fprintf(stderr, "gsb-ptx: %s: %s: %s\n", q->path, k->entry->name, strerror(-err));
	else if (q->why && !q->json)
		err = show_why(k->module, &f, &arena);
	else
		row_of(r, &f);
	gsb_arena_finish(&arena);
	return err;
}

static int judge_all(const struct gsb_ptx_request *q, const struct emu_file *file)
{
	static const char *const columns[] = {"kernel", "forms", "early exit", "line", "reason"};
	struct emu_kernel k;
	struct report r;
	size_t n = 0;
	int err = 0;

	report_init(&r, q->json, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; !err && emu_file_kernel(file, i, &k); i++) {
		if (!is_wanted(q, &k))
			continue;
		n++;
		err = judge(q, &k, &r);
	}
	if (!n) {
		fprintf(stderr, "gsb-ptx: %s: no kernel%s%s\n", q->path, q->kernel ? " " : "",
			q->kernel ? q->kernel : "");
		return GSB_WRONG_USAGE;
	}
	if (!q->why || q->json)
		report_finish(&r);
	return err ? 1 : 0;
}

int gsb_ptx_classify(const struct gsb_ptx_request *q)
{
	static struct emu_file file;
	int status = GSB_WRONG_USAGE;

	if (!emu_file_open(&file, q->path, GSB_PTX_TOOL_CC))
		status = judge_all(q, &file);
	emu_file_close(&file);
	return status;
}
