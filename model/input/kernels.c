/*
 * kernels.c - see kernels.h.
 */
#include "model/input/kernels.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

#define COLUMNS_MAX 32

const char gsb_kernel_keys[] =
	"name threads regs smem blocks smem_per_thread min_threads max_threads fixed "
	"dense issue shared l1 sfu fp64 tensor l2 chain bandwidth barrier saturation solo_us curve rest";

/* Keys with a whole number, and where it goes. */
static const struct {
	const char *key;
	size_t offset;
	bool wide;
	uint64_t min, max;
} numbers[] = {
#define NUMBER(key, member, lo, hi)                                               \
	{                                                                         \
		key, offsetof(struct gsb_kernel_row, member),                     \
			sizeof(((struct gsb_kernel_row *)0)->member) == 8, lo, hi \
	}
	NUMBER("threads", plan.range.kernel.threads_per_block, 1, 1u << 16),
	NUMBER("regs", plan.range.kernel.regs_per_thread, 0, 4096),
	NUMBER("smem", plan.range.kernel.smem_bytes, 0, 1u << 26),
	NUMBER("blocks", plan.range.kernel.n_blocks, 1, (uint64_t)1 << 48),
	NUMBER("smem_per_thread", plan.range.smem_per_thread_bytes, 0, 1u << 16),
	NUMBER("min_threads", plan.range.min_threads, 0, 1u << 16),
	NUMBER("max_threads", plan.range.max_threads, 0, 1u << 16),
#undef NUMBER
};

/* Keys with a share of something, 0 .. 1. */
static const struct {
	const char *key;
	size_t offset;
} shares[] = {
#define UNIT(key, unit)                                                     \
	{                                                                   \
		key, offsetof(struct gsb_kernel_row, demand.of.units[unit]) \
	}
	UNIT("dense", GSB_UNIT_DENSE),
	UNIT("issue", GSB_UNIT_ISSUE),
	UNIT("alu", GSB_UNIT_ALU),
	UNIT("shared", GSB_UNIT_SHARED),
	UNIT("l1", GSB_UNIT_L1),
	UNIT("sfu", GSB_UNIT_SFU),
	UNIT("fp64", GSB_UNIT_FP64),
	UNIT("tensor", GSB_UNIT_TENSOR),
	UNIT("l2", GSB_UNIT_L2),
	UNIT("chain", GSB_UNIT_CHAIN),
	UNIT("bandwidth", GSB_UNIT_DRAM),
	UNIT("barrier", GSB_UNIT_BARRIER),
	UNIT("requests", GSB_UNIT_REQUESTS),
#undef UNIT
	{"saturation", offsetof(struct gsb_kernel_row, demand.saturation)},
};

static int set_name(struct gsb_kernel_row *row, const char *value, unsigned int line,
		    struct gsb_text_error *err)
{
	if (!*value || strlen(value) >= sizeof(row->name))
		return gsb_text_refuse(err, line, "name must have 1 to %zu characters",
				       sizeof(row->name) - 1);
	memset(row->name, 0, sizeof(row->name));
	memcpy(row->name, value, strlen(value));
	return 0;
}

/* "0.25:0.5/1:1": fraction of the residency, then speed. */
static int set_curve(struct gsb_curve *out, const char *key, const char *value, unsigned int line,
		     struct gsb_text_error *err)
{
	struct gsb_curve curve = {0};
	char text[GSB_TEXT_LINE_MAX], *at = text, *point;

	if (strlen(value) >= sizeof(text))
		return gsb_text_refuse(err, line, "%s: too long", key);
	strcpy(text, value);
	while ((point = strsep(&at, "/"))) {
		char *speed = strchr(point, ':');

		if (!speed || curve.n == GSB_CURVE_POINTS_MAX)
			return gsb_text_refuse(err, line,
					       "%s = '%.60s': 1 to %d points FRACTION:SPEED, "
					       "with '/' between",
					       key, value, GSB_CURVE_POINTS_MAX);
		*speed++ = '\0';
		if (!gsb_text_double(point, &curve.points[curve.n].fraction) ||
		    !gsb_text_double(speed, &curve.points[curve.n].speed))
			return gsb_text_refuse(err, line, "%s: '%.30s:%.30s' is not two numbers",
					       key, point, speed);
		curve.n++;
	}
	if (gsb_curve_check(&curve))
		return gsb_text_refuse(err, line,
				       "%s = '%.60s': fractions must rise, 0 < f <= 1, speeds > 0",
				       key, value);
	*out = curve;
	return 0;
}

static int set_number(struct gsb_kernel_row *row, size_t i, const char *value, unsigned int line,
		      struct gsb_text_error *err)
{
	char *p = (char *)row + numbers[i].offset;
	uint64_t number;

	if (!gsb_text_u64(value, &number) || number < numbers[i].min || number > numbers[i].max)
		return gsb_text_refuse(err, line,
				       "%s = '%.40s': must be a whole number from %" PRIu64
				       " to %" PRIu64,
				       numbers[i].key, value, numbers[i].min, numbers[i].max);
	if (numbers[i].wide)
		*(uint64_t *)p = number;
	else
		*(uint32_t *)p = (uint32_t)number;
	return 0;
}

static int set_share(struct gsb_kernel_row *row, size_t i, const char *value, unsigned int line,
		     struct gsb_text_error *err)
{
	double share;

	if (!gsb_text_double(value, &share) || share > 1)
		return gsb_text_refuse(err, line, "%s = '%.40s': must be a number from 0 to 1",
				       shares[i].key, value);
	memcpy((char *)row + shares[i].offset, &share, sizeof(share));
	return 0;
}

static int set_time(struct gsb_kernel_row *row, const char *value, unsigned int line,
		    struct gsb_text_error *err)
{
	double us;

	if (!gsb_text_double(value, &us))
		return gsb_text_refuse(err, line, "solo_us = '%.40s': must be a number", value);
	row->demand.solo_ns = us * 1e3;
	return 0;
}

static int set_fixed(struct gsb_kernel_row *row, const char *value, unsigned int line,
		     struct gsb_text_error *err)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return gsb_text_refuse(err, line, "fixed = '%.40s': must be yes or no", value);
	row->plan.fixed = !strcmp(value, "yes");
	return 0;
}

int gsb_kernel_row_set(struct gsb_kernel_row *row, const char *key, const char *value,
		       unsigned int line, struct gsb_text_error *err)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(numbers); i++)
		if (!strcmp(key, numbers[i].key))
			return set_number(row, i, value, line, err);
	for (size_t i = 0; i < GSB_ARRAY_LEN(shares); i++)
		if (!strcmp(key, shares[i].key))
			return set_share(row, i, value, line, err);
	if (!strcmp(key, "name"))
		return set_name(row, value, line, err);
	if (!strcmp(key, "fixed"))
		return set_fixed(row, value, line, err);
	if (!strcmp(key, "solo_us"))
		return set_time(row, value, line, err);
	if (!strcmp(key, "curve"))
		return set_curve(&row->held, key, value, line, err);
	if (!strcmp(key, "rest"))
		return set_curve(&row->rest, key, value, line, err);
	return gsb_text_refuse(err, line, "unknown key '%.30s'; known: %s", key, gsb_kernel_keys);
}

int gsb_kernel_row_set_all(struct gsb_kernel_row *row, char *text, unsigned int line,
			   struct gsb_text_error *err)
{
	char *pair;

	while ((pair = strsep(&text, ","))) {
		char *value = strchr(pair, '=');
		int refused;

		if (!value)
			return gsb_text_refuse(err, line, "expected key=value, found '%.60s'",
					       pair);
		*value++ = '\0';
		refused = gsb_kernel_row_set(row, gsb_text_trim(pair), gsb_text_trim(value), line,
					     err);
		if (refused)
			return refused;
	}
	return 0;
}

int gsb_kernel_row_check(const struct gsb_kernel_row *row, unsigned int line,
			 struct gsb_text_error *err)
{
	if (!row->plan.range.kernel.threads_per_block)
		return gsb_text_refuse(err, line, "%s: threads (of a block) not given", row->name);
	if (!row->plan.range.kernel.n_blocks)
		return gsb_text_refuse(err, line, "%s: blocks (of the grid) not given", row->name);
	return 0;
}

static char *next_word(char **line)
{
	char *word;

	do
		word = strsep(line, " \t");
	while (word && !*word);
	return word;
}

struct columns {
	size_t n;
	char names[GSB_TEXT_LINE_MAX]; /* the header line, cut into words */
	const char *key[COLUMNS_MAX];
};

static int parse_header(struct columns *c, const struct gsb_text *t, struct gsb_text_error *err)
{
	char *at = c->names, *word;

	c->n = 0;
	strcpy(c->names, t->line);
	while ((word = next_word(&at))) {
		if (c->n == COLUMNS_MAX)
			return gsb_text_refuse(err, t->number, "more than %d columns", COLUMNS_MAX);
		for (size_t i = 0; i < c->n; i++)
			if (!strcmp(c->key[i], word))
				return gsb_text_refuse(err, t->number, "column '%.30s' twice",
						       word);
		c->key[c->n++] = word;
	}
	return 0;
}

static int parse_row(const struct columns *c, const struct gsb_text *t, struct gsb_kernel_row *row,
		     struct gsb_text_error *err)
{
	char *at = t->line, *word;
	size_t i = 0;

	while ((word = next_word(&at))) {
		int refused = 0;

		if (i == c->n)
			return gsb_text_refuse(err, t->number, "more cells than the %zu columns",
					       c->n);
		if (strcmp(word, "-"))
			refused = gsb_kernel_row_set(row, c->key[i], word, t->number, err);
		if (refused)
			return refused;
		i++;
	}
	if (i < c->n)
		return gsb_text_refuse(err, t->number, "no cell for column '%.30s'", c->key[i]);
	return gsb_kernel_row_check(row, t->number, err);
}

int gsb_kernel_table_parse(const char *text, size_t len, struct gsb_kernel_row *rows, size_t max,
			   size_t *n_rows, struct gsb_text_error *err)
{
	struct gsb_text t = {.at = text, .left = len};
	struct columns columns = {0};
	size_t n = 0;
	int got = gsb_text_next(&t, err);

	if (got <= 0)
		return got ? got : gsb_text_refuse(err, 0, "empty: no line of column names");
	got = parse_header(&columns, &t, err);
	if (got)
		return got;
	while ((got = gsb_text_next(&t, err)) > 0) {
		if (n == max)
			return gsb_text_refuse(err, t.number, "more than %zu kernels", max);
		memset(&rows[n], 0, sizeof(rows[n]));
		got = parse_row(&columns, &t, &rows[n], err);
		if (got)
			return got;
		n++;
	}
	if (got < 0)
		return got;
	if (!n)
		return gsb_text_refuse(err, 0, "column names, but no kernel");
	*n_rows = n;
	return 0;
}
