/*
 * interference.c - see interference.h.
 *
 * The figures are of one H200 (driver 580.159, CUDA 13.0, 2026-11-21): doc/results/2026-11-21-interference-h200.txt. There was no
 * kernel of whole numbers, of double precision, of matrix instructions, or of issue slots that are not dense among them: against themselves and against
 * dense ones these are taken to be as special functions are, and to be free of all others.
 */
#include "model/gpu/interference.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

#define MEASURED_ON "h200"

static const char *const names[GSB_N_UNITS] = {
	[GSB_UNIT_DENSE] = "dense",	  [GSB_UNIT_ISSUE] = "issue",
	[GSB_UNIT_SHARED] = "shared",	  [GSB_UNIT_ALU] = "alu",
	[GSB_UNIT_REQUESTS] = "requests", [GSB_UNIT_L1] = "l1",
	[GSB_UNIT_SFU] = "sfu",		  [GSB_UNIT_FP64] = "fp64",
	[GSB_UNIT_TENSOR] = "tensor",	  [GSB_UNIT_L2] = "l2",
	[GSB_UNIT_CHAIN] = "chain",	  [GSB_UNIT_DRAM] = "dram",
	[GSB_UNIT_BARRIER] = "barrier",	  [GSB_UNIT_UP] = "up",
	[GSB_UNIT_DOWN] = "down",
};

/* The kernels that were measured, in the order of the rows and columns. */
static const enum gsb_unit measured_units[] = {
	GSB_UNIT_DENSE, GSB_UNIT_SHARED, GSB_UNIT_L2,	 GSB_UNIT_DRAM,
	GSB_UNIT_SFU,	GSB_UNIT_L1,	 GSB_UNIT_CHAIN, GSB_UNIT_BARRIER,
};

#define N_MEASURED 8

/* clang-format off: a row is an older kernel, a pair the older and the younger one beside each other */
static const float measured[N_MEASURED][N_MEASURED][2] = {
	/* dense */
	{{.85f, .14f},
	 {.99f, 0},
	 {.99f, .10f},
	 {1, .03f},
	 {.99f, .05f},
	 {1, 0},
	 {1, .016f},
	 {.99f, .07f}},
	/* shared */
	{{.12f, .88f},
	 {.99f, .005f},
	 {.71f, .89f},
	 {1, .03f},
	 {.97f, .20f},
	 {1, 0},
	 {.87f, .57f},
	 {.98f, .09f}},
	/* l2 */
	{{.99f, .96f},
	 {1, .005f},
	 {.91f, .09f},
	 {.97f, .03f},
	 {1, .95f},
	 {1, 0},
	 {.94f, .05f},
	 {1, .02f}},
	/* dram */
	{{.40f, .96f},
	 {.99f, .90f},
	 {.59f, .63f},
	 {.50f, .49f},
	 {1, .98f},
	 {1, .40f},
	 {.92f, .43f},
	 {.99f, .50f}},
	/* sfu */
	{{.12f, .97f},
	 {.75f, .81f},
	 {.99f, .99f},
	 {.98f, 1},
	 {.99f, 0},
	 {.96f, .77f},
	 {.99f, 1},
	 {.99f, 1}},
	/* l1 */
	{{.11f, .89f},
	 {.99f, .002f},
	 {.13f, .93f},
	 {1, .03f},
	 {.94f, .44f},
	 {1, 0},
	 {.39f, .95f},
	 {.98f, .08f}},
	/* chain */
	{{.29f, .98f},
	 {1, .77f},
	 {.32f, .66f},
	 {.47f, .93f},
	 {1, .99f},
	 {.94f, .31f},
	 {.50f, .50f},
	 {.95f, .47f}},
	/* barrier */
	{{.14f, .97f},
	 {.86f, .67f},
	 {.06f, .99f},
	 {.50f, .99f},
	 {1, .98f},
	 {.95f, .78f},
	 {.46f, .92f},
	 {.83f, .29f}},
};
/* clang-format on */

const char *gsb_unit_name(enum gsb_unit unit)
{
	return names[unit];
}

static struct gsb_beside beside(float older, float younger)
{
	return (struct gsb_beside){fmaxf(older, GSB_STARVED), fmaxf(younger, GSB_STARVED)};
}

/* A unit that was not measured is used as special functions are: it meets itself, and dense issue. */
static void assume_like_sfu(struct gsb_interference *f, enum gsb_unit unit)
{
	f->beside[unit][unit] = f->beside[GSB_UNIT_SFU][GSB_UNIT_SFU];
	f->beside[unit][GSB_UNIT_DENSE] = f->beside[GSB_UNIT_SFU][GSB_UNIT_DENSE];
	f->beside[GSB_UNIT_DENSE][unit] = f->beside[GSB_UNIT_DENSE][GSB_UNIT_SFU];
}

void gsb_interference_init(struct gsb_interference *f, const char *name)
{
	f->is_assumed = strcasecmp(name, MEASURED_ON) != 0;
	for (unsigned a = 0; a < GSB_N_UNITS; a++)
		for (unsigned b = 0; b < GSB_N_UNITS; b++)
			f->beside[a][b] = beside(1, 1);
	for (unsigned a = 0; a < N_MEASURED; a++)
		for (unsigned b = 0; b < N_MEASURED; b++)
			f->beside[measured_units[a]][measured_units[b]] =
				beside(measured[a][b][0], measured[a][b][1]);
	assume_like_sfu(f, GSB_UNIT_ISSUE);
	assume_like_sfu(f, GSB_UNIT_ALU);
	assume_like_sfu(f, GSB_UNIT_FP64);
	assume_like_sfu(f, GSB_UNIT_TENSOR);
	f->beside[GSB_UNIT_UP][GSB_UNIT_UP] = beside(.5f, .5f);
	f->beside[GSB_UNIT_DOWN][GSB_UNIT_DOWN] = beside(.5f, .5f);
}

/* ---- text ---- */

static bool find_unit(const char *name, unsigned int *unit)
{
	for (*unit = 0; *unit < GSB_N_UNITS; ++*unit)
		if (!strcmp(names[*unit], name))
			return true;
	return false;
}

/* Two words of a text; false: there are not two. */
static bool split(char *text, char **first, char **second)
{
	*first = gsb_text_trim(text);
	*second = *first + strcspn(*first, " \t");
	if (!**second)
		return false;
	*(*second)++ = '\0';
	*second = gsb_text_trim(*second);
	return !(*second)[strcspn(*second, " \t")];
}

static bool read_share(const char *text, float *out)
{
	double value;

	if (!gsb_text_double(text, &value) || value > 1.25)
		return false;
	*out = fmaxf((float)value, GSB_STARVED);
	return true;
}

static int parse_line(struct gsb_interference *f, char *line, unsigned int number,
		      struct gsb_text_error *err)
{
	char *units, *value = strchr(line, '='), *older, *younger, *first, *second;
	unsigned int a, b;

	if (!value || strncmp(line, GSB_INTERFERENCE_KEY, strlen(GSB_INTERFERENCE_KEY)) != 0)
		return 0;
	*value++ = '\0';
	units = line + strlen(GSB_INTERFERENCE_KEY);
	if (!split(units, &older, &younger) || !find_unit(older, &a) || !find_unit(younger, &b))
		return gsb_text_refuse(err, number,
				       "expected 'beside OLDER YOUNGER = X Y' with units such as "
				       "dense, shared, l1, sfu, l2, chain, dram, barrier");
	if (!split(value, &first, &second) || !read_share(first, &f->beside[a][b].older) ||
	    !read_share(second, &f->beside[a][b].younger))
		return gsb_text_refuse(
			err, number,
			"beside %s %s: must be two shares of the speed alone, from 0 "
			"to 1.25",
			names[a], names[b]);
	f->is_assumed = false;
	return 0;
}

int gsb_interference_parse(const char *text, size_t len, struct gsb_interference *f,
			   struct gsb_text_error *err)
{
	struct gsb_text reader = {.at = text, .left = len};
	struct gsb_interference now = *f;
	int got;

	while ((got = gsb_text_next(&reader, err)) > 0) {
		int refused = parse_line(&now, reader.line, reader.number, err);

		if (refused)
			return refused;
	}
	if (!got)
		*f = now;
	return got;
}
