/*
 * forms.c - see forms.h. What stands against a form is a value of the choice refusal; what those of the kernel's text mean stands in
 * ptx/resize/rules.def, of which nothing but its words is taken.
 */
#include "tools/trace/forms.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"

static const char *const texts[] = {
	[GSB_TRACE_REFUSAL_NONE] = "why is not told",
	[GSB_TRACE_REFUSAL_OFF] = "[resize] mode is off, or forces another form",
	[GSB_TRACE_REFUSAL_DENIED] = "[resize] allow and deny leave it alone",
	[GSB_TRACE_REFUSAL_NO_TEXT] = "its image has no PTX, or PTX that is not understood",
	[GSB_TRACE_REFUSAL_NOT_MADE] = "that form of it could not be written, loaded or made ready",
	[GSB_TRACE_REFUSAL_ASSERTS] = "a failed assertion of it would name another place",
	[GSB_TRACE_REFUSAL_REFUTED] = "a launch that was run both ways gave other results",
#define GSB_RESIZE_RULE(id, word, forbids, text) [GSB_TRACE_REFUSAL_##id] = text,
#include "ptx/resize/rules.def"
};

static_assert(GSB_ARRAY_LEN(texts) == GSB_TRACE_REFUSAL_CALL + 1, "each has a text");

static const struct {
	enum gsb_trace_form form;
	const char *name;
} forms[GSB_TRACED_FORMS] = {
	{GSB_TRACE_FORM_RESHAPE, "in blocks of another size"},
	{GSB_TRACE_FORM_SLICE, "in slices"},
	{GSB_TRACE_FORM_PERSISTENT, "by few blocks that fetch the work of all"},
};

/* A broker that says something gives a reason for each form that it has not proven. */
static bool is_told(const struct gsb_traced_kernel *k)
{
	return k->shapes || k->refusals[0] || k->refusals[1] || k->refusals[2];
}

static bool is_same(const struct gsb_traced_kernel *a, const struct gsb_traced_kernel *b)
{
	return a->shapes == b->shapes && !memcmp(a->refusals, b->refusals, sizeof(a->refusals));
}

static void print_form(FILE *to, const struct gsb_traced_kernel *k, unsigned i)
{
	unsigned why = k->refusals[i];

	fprintf(to, "  %-40s  ", forms[i].name);
	if (k->shapes >> forms[i].form & 1)
		fprintf(to, "yes: proven\n");
	else
		fprintf(to, "no: %s\n",
			why < GSB_ARRAY_LEN(texts) ? texts[why] : "of a later version");
}

void gsb_trace_print_forms(FILE *to, const struct gsb_traced *t, const char *kernel)
{
	const struct gsb_traced_kernel *last = NULL;

	for (uint32_t i = 0; i < t->n_kernels; i++) {
		const struct gsb_traced_kernel *k = &t->kernels[i];

		if (strcmp(k->name, kernel) != 0 || !is_told(k) || (last && is_same(k, last)))
			continue;
		last = k;
		fprintf(to, "In which forms it may be launched, by %s:\n",
			t->tenants[k->tenant].name);
		for (unsigned form = 0; form < GSB_TRACED_FORMS; form++)
			print_form(to, k, form);
	}
}
