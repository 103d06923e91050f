/*
 * profiles.c - see profiles.h.
 */
#include "model/input/profiles.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS	  GSB_PROFILES_KERNELS_MAX
#define DIVISIONS GSB_PROFILES_DIVISIONS_MAX
#define FIELDS	  7

struct division {
	double share;
	double alone[KERNELS][2]; /* as the older one, as the younger one; 0: not said */
	struct gsb_encounter seen[KERNELS][KERNELS]; /* older, younger; makespan 0: not seen */
};

struct gsb_profiles {
	uint32_t n, n_probes, n_divisions;
	uint32_t probes[KERNELS]; /* kernels */
	char names[KERNELS][GSB_PROFILES_NAME_MAX];
	struct division divisions[DIVISIONS];
	struct gsb_kriging kriging;
};

/* ---- a line ---- */

/* "1.5,2" */
static bool read_two(char *text, double to[2])
{
	char *comma = strchr(text, ',');

	if (!comma)
		return false;
	*comma = 0;
	return gsb_text_double(text, &to[0]) && gsb_text_double(comma + 1, &to[1]);
}

static uint32_t find_or_add(struct gsb_profiles *p, const char *name)
{
	uint32_t i = gsb_profiles_find(p, name);

	if (i < p->n || p->n == KERNELS)
		return i;
	strcpy(p->names[p->n], name);
	return p->n++;
}

static int read_names(struct gsb_profiles *p, char *text, uint32_t kernels[2], unsigned line,
		      struct gsb_text_error *err)
{
	char *comma = strchr(text, ',');
	const char *names[2] = {text};

	if (!comma || strchr(comma + 1, ','))
		return gsb_text_refuse(err, line, "'%s' are not two kernels", text);
	*comma = 0;
	names[1] = comma + 1;
	for (int i = 0; i < 2; i++) {
		if (!*names[i] || strlen(names[i]) >= GSB_PROFILES_NAME_MAX)
			return gsb_text_refuse(err, line, "a name has 1 to %d characters",
					       GSB_PROFILES_NAME_MAX - 1);
		kernels[i] = find_or_add(p, names[i]);
		if (kernels[i] == KERNELS)
			return gsb_text_refuse(err, line, "more than %d kernels", KERNELS);
	}
	return 0;
}

static struct division *read_division(struct gsb_profiles *p, char *text, unsigned line,
				      struct gsb_text_error *err)
{
	double parts[2];
	uint32_t d;

	if (!read_two(text, parts) || !(parts[0] > 0) || !(parts[1] > 0)) {
		gsb_text_refuse(err, line, "field 2 is not the part of an SM that each has: 2,6");
		return NULL;
	}
	d = gsb_profiles_division(p, parts[0] / (parts[0] + parts[1]));
	if (d == DIVISIONS) {
		gsb_text_refuse(err, line, "more than %d divisions of the SMs", DIVISIONS);
		return NULL;
	}
	if (d == p->n_divisions)
		p->divisions[p->n_divisions++].share = parts[0] / (parts[0] + parts[1]);
	return &p->divisions[d];
}

/* False: there are fewer. */
static bool split(char *text, char *fields[FIELDS])
{
	for (int i = 0; i < FIELDS; i++) {
		fields[i] = strsep(&text, "\t");
		if (!fields[i])
			return false;
	}
	return true;
}

static double at_least(double speed)
{
	return speed < GSB_PROBES_LEAST ? GSB_PROBES_LEAST : speed;
}

static int read_line(struct gsb_profiles *p, struct gsb_text *t, struct gsb_text_error *err)
{
	double speeds[2], alone[2], makespan;
	struct gsb_encounter *seen;
	struct division *d;
	char *fields[FIELDS];
	uint32_t k[2];

	if (!split(t->line, fields))
		return gsb_text_refuse(err, t->number, "fewer than %d fields, which tabs separate",
				       FIELDS);
	if (read_names(p, fields[0], k, t->number, err))
		return -EINVAL;
	d = read_division(p, fields[1], t->number, err);
	if (!d)
		return -EINVAL;
	if (!read_two(fields[2], speeds) || !read_two(fields[4], alone) || !(alone[0] > 0) ||
	    !(alone[1] > 0))
		return gsb_text_refuse(err, t->number,
				       "fields 3 and 5 are not a speed of each: 0.91,0.2");
	if (!gsb_text_double(fields[6], &makespan) || !(makespan > 0))
		return gsb_text_refuse(err, t->number, "field 7 is no makespan: 1.43");
	seen = &d->seen[k[0]][k[1]];
	if (seen->makespan > 0)
		return gsb_text_refuse(err, t->number, "%s beside %s, for the second time",
				       p->names[k[0]], p->names[k[1]]);
	*seen = (struct gsb_encounter){at_least(speeds[0]) / alone[0],
				       at_least(speeds[1]) / alone[1], makespan};
	if (!isfinite(seen->older) || !isfinite(seen->younger))
		return gsb_text_refuse(err, t->number, "a speed is out of all range");
	d->alone[k[0]][0] = alone[0];
	d->alone[k[1]][1] = alone[1];
	return 0;
}

/* ---- who is a probe ---- */

/* The first division in which they did not meet, in either order; n_divisions: in all. */
static uint32_t first_missed(const struct gsb_profiles *p, uint32_t a, uint32_t b)
{
	uint32_t d = 0;

	while (d < p->n_divisions && p->divisions[d].seen[a][b].makespan > 0 &&
	       p->divisions[d].seen[b][a].makespan > 0)
		d++;
	return d;
}

static bool met_all(const struct gsb_profiles *p, uint32_t kernel)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (first_missed(p, kernel, i) < p->n_divisions)
			return false;
	return true;
}

static int find_probes(struct gsb_profiles *p, struct gsb_text_error *err)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (met_all(p, i))
			p->probes[p->n_probes++] = i;
	}
	if (p->n_probes)
		return 0;
	return gsb_text_refuse(
		err, 0,
		"no kernel was beside all, itself included, in both orders and all divisions: there is no probe");
}

/* Each probe as the older one beside each, in all divisions. */
static int compare_probes(struct gsb_profiles *p)
{
	uint32_t n = p->n_probes, at = 0;
	struct gsb_encounter *seen = malloc(p->n_divisions * n * n * sizeof(*seen));
	int err;

	if (!seen)
		return -ENOMEM;
	for (uint32_t d = 0; d < p->n_divisions; d++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				seen[at++] = p->divisions[d].seen[p->probes[i]][p->probes[j]];
	err = gsb_kriging_init(&p->kriging, n, p->n_divisions, seen);
	free(seen);
	return err;
}

/* ---- the whole ---- */

static int read_all(struct gsb_profiles *p, const char *text, size_t len,
		    struct gsb_text_error *err)
{
	struct gsb_text t = {.at = text, .left = len};
	int status = gsb_text_next(&t, err);

	for (; status > 0; status = gsb_text_next(&t, err))
		if (read_line(p, &t, err))
			return -EINVAL;
	if (!status)
		status = find_probes(p, err);
	return status ? status : compare_probes(p);
}

int gsb_profiles_read(const char *text, size_t len, struct gsb_profiles **out,
		      struct gsb_text_error *err)
{
	struct gsb_profiles *p = calloc(1, sizeof(*p));
	int status = p ? read_all(p, text, len, err) : -ENOMEM;

	if (status) {
		free(p);
		return status;
	}
	*out = p;
	return 0;
}

void gsb_profiles_free(struct gsb_profiles *p)
{
	free(p);
}

uint32_t gsb_profiles_n(const struct gsb_profiles *p)
{
	return p->n;
}

uint32_t gsb_profiles_n_probes(const struct gsb_profiles *p)
{
	return p->n_probes;
}

bool gsb_profiles_is_probe(const struct gsb_profiles *p, uint32_t kernel)
{
	for (uint32_t i = 0; i < p->n_probes; i++)
		if (p->probes[i] == kernel)
			return true;
	return false;
}

uint32_t gsb_profiles_n_divisions(const struct gsb_profiles *p)
{
	return p->n_divisions;
}

const char *gsb_profiles_name(const struct gsb_profiles *p, uint32_t kernel)
{
	return p->names[kernel];
}

uint32_t gsb_profiles_find(const struct gsb_profiles *p, const char *name)
{
	uint32_t i = 0;

	while (i < p->n && strcmp(p->names[i], name) != 0)
		i++;
	return i;
}

double gsb_profiles_share(const struct gsb_profiles *p, uint32_t division)
{
	return p->divisions[division].share;
}

uint32_t gsb_profiles_division(const struct gsb_profiles *p, double share)
{
	uint32_t d = 0;

	while (d < p->n_divisions && fabs(p->divisions[d].share - share) > 1e-6)
		d++;
	return d;
}

/* Every number of a profile is positive and finite: read_line() has seen to that. */
void gsb_profiles_predict(const struct gsb_profiles *p, uint32_t older, uint32_t younger,
			  uint32_t division, struct gsb_encounter *out, double alone[2])
{
	struct gsb_encounter of_older[DIVISIONS * GSB_PROBES_MAX];
	struct gsb_encounter of_younger[DIVISIONS * GSB_PROBES_MAX];
	uint32_t at = 0;

	for (uint32_t d = 0; d < p->n_divisions; d++)
		for (uint32_t i = 0; i < p->n_probes; i++, at++) {
			of_older[at] = p->divisions[d].seen[older][p->probes[i]];
			of_younger[at] = p->divisions[d].seen[p->probes[i]][younger];
		}
	alone[0] = p->divisions[division].alone[older][0];
	alone[1] = p->divisions[division].alone[younger][1];
	gsb_kriging_predict(&p->kriging, division, of_older, of_younger, out);
}
