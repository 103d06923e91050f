/*
 * outcome.c - what instances saw: values, histograms, and the conditions of litmus.def on them.
 */
#include <stdio.h>
#include <string.h>

#include "tests/litmus/litmus.h"

uint8_t litmus_value(const unsigned char *p, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		if (p[i] != p[0] || p[i] >= LITMUS_TORN)
			return LITMUS_TORN;
	}
	return p[0];
}

void litmus_note(struct litmus_histogram *h, const uint8_t value[LITMUS_MAX_SEEN])
{
	for (unsigned int i = 0; i < h->n_outcomes; i++) {
		if (!memcmp(h->outcomes[i].value, value, h->n_regs + h->n_locs)) {
			h->outcomes[i].n++;
			return;
		}
	}
	if (h->n_outcomes == LITMUS_MAX_OUTCOMES) {
		h->n_lost++;
		return;
	}
	memcpy(h->outcomes[h->n_outcomes].value, value, h->n_regs + h->n_locs);
	h->outcomes[h->n_outcomes++].n = 1;
}

/* ---- conditions: terms "r0=1", parted by blanks, of which all hold; such lists parted by "or" ---- */

struct term {
	bool is_reg;
	unsigned int index;
	int value;
};

/* The next term; *other: it begins another list. False at the end, and *at is NULL where there is rubbish. */
static bool next_term(const char **at, struct term *t, bool *other)
{
	char name[3];
	int n = 0;

	*other = false;
	*at += strspn(*at, " ");
	if (!strncmp(*at, "or ", 3)) {
		*other = true;
		*at += 3;
	}
	*at += strspn(*at, " ");
	if (!**at)
		return false;
	if (sscanf(*at, "%1[r]%1[0-9]=%d%n", name, name + 1, &t->value, &n) == 3) {
		t->is_reg = true;
		t->index = (unsigned int)((*at)[1] - '0');
	} else if (sscanf(*at, "%1[xyz]=%d%n", name, &t->value, &n) == 2) {
		t->is_reg = false;
		t->index = (unsigned int)(name[0] - 'x');
	} else {
		*at = NULL;
		return false;
	}
	*at += n;
	return true;
}

static bool holds(const struct litmus_histogram *h, const struct litmus_outcome *o,
		  const char *condition)
{
	struct term t;
	bool other, all = *condition != 0;

	while (next_term(&condition, &t, &other)) {
		if (other && all)
			return true;
		if (other)
			all = true;
		all &= o->value[t.is_reg ? t.index : h->n_regs + t.index] == t.value;
	}
	return all;
}

static bool is_torn(const struct litmus_histogram *h, const struct litmus_outcome *o)
{
	return memchr(o->value, LITMUS_TORN, h->n_regs + h->n_locs);
}

uint64_t litmus_count(const struct litmus_histogram *h, const char *condition)
{
	bool torn = !strcmp(condition, "torn");
	uint64_t n = 0;

	for (unsigned int i = 0; i < h->n_outcomes; i++) {
		const struct litmus_outcome *o = &h->outcomes[i];

		if (torn ? is_torn(h, o) : holds(h, o, condition))
			n += o->n;
	}
	return n;
}

bool litmus_condition_ok(const struct litmus_program *p, const char *condition)
{
	struct term t;
	bool other;

	while (next_term(&condition, &t, &other)) {
		if (t.index >= (t.is_reg ? p->n_regs : p->n_locs) || t.value >= LITMUS_TORN)
			return false;
	}
	return condition != NULL;
}

/* "r0=1 r1=0 x=2:17" */
static size_t print_outcome(const struct litmus_histogram *h, const struct litmus_outcome *o,
			    char *out, size_t size)
{
	size_t at = 0;

	for (unsigned int k = 0; k < h->n_regs + h->n_locs && at < size; k++) {
		char name[3] = {(char)('x' + k - h->n_regs)};

		if (k < h->n_regs)
			snprintf(name, sizeof(name), "r%u", k % 10);
		if (o->value[k] == LITMUS_TORN)
			at += (size_t)snprintf(out + at, size - at, "%s=torn ", name);
		else
			at += (size_t)snprintf(out + at, size - at, "%s=%u ", name, o->value[k]);
	}
	if (at && at < size)
		at += (size_t)snprintf(out + at - 1, size - at + 1, ":%llu",
				       (unsigned long long)o->n) -
		      1;
	return at;
}

void litmus_histogram_print(const struct litmus_histogram *h, char *out, size_t size)
{
	size_t at = 0;

	out[0] = 0;
	for (unsigned int i = 0; i < h->n_outcomes && at < size; i++) {
		at += print_outcome(h, &h->outcomes[i], out + at, size - at);
		if (i + 1 < h->n_outcomes && at < size)
			at += (size_t)snprintf(out + at, size - at, ", ");
	}
}
