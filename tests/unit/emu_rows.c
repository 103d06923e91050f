/*
 * emu_rows.c - see emu_rows.h. The format of the files is explained in tests/oracle/generate.
 */
#include "tests/unit/emu_rows.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE    16384
#define MAX_COLUMNS 64
#define MAX_OUTS    2048
#define MAX_VALUES  256

/* ---- reading ---- */

struct out {
	uint32_t n;
	uint64_t *values;
};

static struct reader {
	const char *path;
	unsigned int line;
	char text[MAX_LINE];
	struct t_column *columns; /* of the file; rows keep pointers to them */
	unsigned int n_columns, n_outs;
	struct out outs[MAX_OUTS];
	struct t_row group; /* what the rows of a group share; its text has {} for the form */
	struct t_row *rows;
	size_t n_rows;
} in;

static void __attribute__((noreturn)) give_up(const char *what)
{
	fprintf(stderr, "%s:%u: %s\n", in.path, in.line, what);
	exit(1);
}

static void *need(void *p)
{
	if (!p)
		give_up("out of memory");
	return p;
}

/* Hexadecimal numbers up to the end of the line, or two of them, a colon and digits that choose. */
static uint32_t read_values(const char *from, uint64_t **out)
{
	uint64_t values[MAX_VALUES];
	uint32_t n = 0;
	char *end;

	for (;; from = end) {
		uint64_t v = strtoull(from, &end, 16);

		if (end == from)
			break;
		if (n == MAX_VALUES)
			give_up("too many values");
		values[n++] = v;
	}
	from += strspn(from, " ");
	if (*from == ':' && n == 2) {
		const uint64_t pick[2] = {values[0], values[1]};

		for (from += 2, n = 0; *from == '0' || *from == '1'; from++) {
			if (n == MAX_VALUES)
				give_up("too many values");
			values[n++] = pick[*from - '0'];
		}
	}
	if (*from || !n)
		give_up("no such values");
	*out = need(calloc(n, sizeof(**out)));
	memcpy(*out, values, n * sizeof(**out));
	return n;
}

static void read_column(const char *s)
{
	struct t_column *c = &in.columns[in.n_columns++];
	unsigned int bits;
	int used = 0;

	if (in.n_columns > MAX_COLUMNS || sscanf(s, "%15s %u %n", c->name, &bits, &used) < 2)
		give_up("no column");
	c->bytes = bits / 8;
	c->n = read_values(s + used, &c->values);
}

static void read_out(const char *s)
{
	char *end;
	unsigned long number = strtoul(s, &end, 10);

	if (number != in.n_outs || number >= MAX_OUTS)
		give_up("results out of order");
	in.outs[number].n = read_values(end, &in.outs[number].values);
	in.n_outs++;
}

static const struct t_column *find_column(const char *name)
{
	for (unsigned int i = 0; i < in.n_columns; i++) {
		if (!strcmp(in.columns[i].name, name))
			return &in.columns[i];
	}
	give_up("no such column");
}

/* "TEXT | RESULT | COLUMNS [| ulp=N abs=X]" */
static void read_group(char *s)
{
	struct t_row *g = &in.group;
	char *field[4] = {s}, *save = NULL;
	int n = 1;

	for (char *bar; n < 4 && (bar = strstr(field[n - 1], " | ")); n++) {
		*bar = 0;
		field[n] = bar + 3;
	}
	if (n < 3)
		give_up("a group needs text, result and columns");
	free(g->text);
	*g = (struct t_row){.text = need(strdup(field[0]))};
	if (strcmp(field[1], "pred") != 0)
		g->bytes = (unsigned int)strtoul(field[1] + 1, NULL, 10) / 8;
	if (n == 4 && sscanf(field[3], "ulp=%lf abs=%lf", &g->ulps, &g->absolute) != 2)
		give_up("no bound");
	for (char *c = strtok_r(field[2], " ", &save); c; c = strtok_r(NULL, " ", &save)) {
		if (g->n_inputs == T_MAX_INPUTS)
			give_up("too many columns");
		g->inputs[g->n_inputs++] = find_column(c);
	}
}

/* The text with the first of the forms in place of {}. */
static char *expand(const char *text, const char *forms)
{
	int form = (int)strcspn(forms, " ");
	char out[T_TEXT_BYTES] = "";
	size_t n = 0;

	for (const char *at; n < sizeof(out) && (at = strstr(text, "{}")); text = at + 2)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s%.*s", (int)(at - text), text,
				      form, forms);
	if (n < sizeof(out))
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s", text);
	if (n >= sizeof(out))
		give_up("a text is too long");
	return need(strdup(out));
}

/* "FORMS OUT" */
static void read_row(char *s)
{
	char *last = strrchr(s, ' ');
	struct t_row *r;
	unsigned long out;

	if (!last || !in.group.text)
		give_up("not a row");
	*last = 0;
	out = strtoul(last + 1, NULL, 10);
	if (out >= in.n_outs)
		give_up("no such results");
	in.rows = need(realloc(in.rows, (in.n_rows + 1) * sizeof(*in.rows)));
	r = &in.rows[in.n_rows++];
	*r = in.group;
	r->forms = need(strdup(s));
	r->text = expand(in.group.text, r->forms);
	r->n = in.outs[out].n;
	r->results = in.outs[out].values;
}

static void read_line(char *s)
{
	s[strcspn(s, "\n")] = 0;
	if (!strncmp(s, "in ", 3))
		read_column(s + 3);
	else if (!strncmp(s, "out ", 4))
		read_out(s + 4);
	else if (!strncmp(s, "rows ", 5))
		read_group(s + 5);
	else if (*s && *s != '#')
		read_row(s);
}

static void read_file(const char *path)
{
	FILE *f = fopen(path, "r");

	in.path = path;
	in.line = in.n_columns = in.n_outs = 0;
	in.columns = need(calloc(MAX_COLUMNS + 1, sizeof(*in.columns)));
	in.group = (struct t_row){0};
	if (!f)
		give_up("cannot be read");
	while (fgets(in.text, sizeof(in.text), f)) {
		in.line++;
		read_line(in.text);
	}
	fclose(f);
	free(in.group.text);
	in.group.text = NULL;
}

const struct t_row *t_rows_load(size_t *n)
{
	const char *dir = getenv("srcdir");
	char pattern[1024];
	glob_t found;

	in.path = pattern;
	snprintf(pattern, sizeof(pattern), "%s/tests/oracle/rows/*.rows", dir ? dir : ".");
	if (glob(pattern, 0, NULL, &found))
		give_up("no rows: set srcdir");
	for (size_t i = 0; i < found.gl_pathc; i++)
		read_file(found.gl_pathv[i]);
	globfree(&found);
	*n = in.n_rows;
	return in.rows;
}

/* ---- values ---- */

uint32_t t_row_threads(const struct t_row *r)
{
	return (r->n + T_ROW_THREADS - 1) / T_ROW_THREADS * T_ROW_THREADS;
}

uint64_t t_row_input(const struct t_row *r, unsigned int k, uint32_t i)
{
	return r->inputs[k]->values[i % r->n % r->inputs[k]->n];
}

uint64_t t_row_result(const struct t_row *r, uint32_t i)
{
	return r->results[i % r->n];
}

unsigned int t_row_result_bytes(const struct t_row *r)
{
	return r->bytes ? r->bytes : 4;
}

uint64_t t_value_at(const void *array, unsigned int bytes, uint32_t i)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)array + (size_t)i * bytes, bytes);
	return v;
}

void t_value_put(void *array, unsigned int bytes, uint32_t i, uint64_t value)
{
	memcpy((char *)array + (size_t)i * bytes, &value, bytes);
}

double t_as_real(unsigned int bytes, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	memcpy(&d, &bits, 8);
	memcpy(&f, &low, 4);
	return bytes == 8 ? d : (double)f;
}

bool t_is_nan(unsigned int bytes, uint64_t bits)
{
	return isnan(t_as_real(bytes, bits));
}

/* Floats in the order of their values. */
static int64_t rank(unsigned int bytes, uint64_t bits)
{
	int64_t v = bytes == 8 ? (int64_t)bits : (int32_t)bits;
	int64_t low = bytes == 8 ? INT64_MIN : INT32_MIN;

	return v < 0 ? (int64_t)((uint64_t)low - (uint64_t)v) : v;
}

uint64_t t_ulps(unsigned int bytes, uint64_t p, uint64_t q)
{
	int64_t i = rank(bytes, p), j = rank(bytes, q);

	return i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i;
}

bool t_row_agrees(const struct t_row *r, uint64_t got, uint64_t want)
{
	if (got == want)
		return true;
	if (r->ulps == 0 || t_is_nan(r->bytes, got) || t_is_nan(r->bytes, want) ||
	    isinf(t_as_real(r->bytes, got)) != isinf(t_as_real(r->bytes, want)))
		return false;
	return (double)t_ulps(r->bytes, got, want) <= r->ulps ||
	       fabs(t_as_real(r->bytes, got) - t_as_real(r->bytes, want)) <= r->absolute;
}

/* ---- the text ---- */

struct writer {
	char *out;
	size_t size, n;
};

static void __attribute__((format(printf, 2, 3))) put(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w->n += (size_t)vsnprintf(w->out + w->n, w->size - w->n, format, args);
	va_end(args);
	if (w->n >= w->size)
		abort();
}

/* Registers m, s and l are the thread's places in global, shared and local memory, i that of its last input. */
static void put_head(struct writer *w, const struct t_row *r, const char *kernel)
{
	put(w, ".visible .entry %s(", kernel);
	for (int i = 0; i < T_ROW_ARGS; i++)
		put(w, "%s.param .u64 p%d", i ? ", " : "", i);
	put(w,
	    ") {\n.reg .pred p, q, %%s;\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>, m, s, l, i;\n"
	    ".shared .align 16 .b8 sh[%d];\n.local .align 16 .b8 lo[%d];\n",
	    T_ROW_THREADS * T_SCRATCH_BYTES, T_SCRATCH_BYTES);
	if (r->bytes)
		put(w, ".reg .b%u d;\n", r->bytes * 8);
	else
		put(w, ".reg .b32 d;\n");
	for (unsigned int k = 0; k < r->n_inputs; k++)
		put(w, ".reg .b%u %c;\n", r->inputs[k]->bytes * 8, "abce"[k]);
	put(w,
	    "mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%ntid.x; mov.u32 %%r2, %%tid.x;\n"
	    "mad.lo.u32 %%r0, %%r0, %%r1, %%r2;\n"
	    "ld.param.u64 m, [p%d]; mad.wide.u32 m, %%r0, %d, m;\n"
	    "mov.u64 s, sh; mad.wide.u32 s, %%r2, %d, s; mov.u64 l, lo;\n",
	    T_ROW_ARGS - 1, T_SCRATCH_BYTES, T_SCRATCH_BYTES);
	for (unsigned int k = 0; k < r->n_inputs; k++)
		put(w,
		    "ld.param.u64 %%rd1, [p%u]; mad.wide.u32 %%rd1, %%r0, %u, %%rd1;\n"
		    "ld.global.b%u %c, [%%rd1];\n",
		    k + 1, r->inputs[k]->bytes, r->inputs[k]->bytes * 8, "abce"[k]);
	put(w, "mov.u64 i, %%rd1;\n");
}

static void put_body(struct writer *w, const struct t_row *r)
{
	put(w, "%s%s\n", r->text, r->text[0] == '{' ? "" : ";");
	if (!r->bytes)
		put(w, "selp.u32 d, 1, 0, p;\n");
}

/* In the split kernel no lane is alone and none are all. */
void t_row_text(const struct t_row *r, char *out, size_t size)
{
	struct writer w = {.out = out, .size = size};

	put(&w, ".version 8.6\n.target sm_90\n.address_size 64\n");
	for (int split = 0; split < 2; split++) {
		put_head(&w, r, split ? "split" : "full");
		if (split)
			put(&w,
			    "rem.u32 %%r3, %%r0, 3; setp.eq.u32 %%s, %%r3, 1; @%%s bra other;\n");
		put_body(&w, r);
		if (split) {
			put(&w, "bra out;\nother:\n");
			put_body(&w, r);
			put(&w, "out:\n");
		}
		put(&w,
		    "ld.param.u64 %%rd2, [p0]; mad.wide.u32 %%rd2, %%r0, %u, %%rd2;\n"
		    "st.global.b%u [%%rd2], d;\nret;\n}\n",
		    t_row_result_bytes(r), t_row_result_bytes(r) * 8);
	}
}
