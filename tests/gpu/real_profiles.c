/*
 * real_profiles.c - see real_profiles.h.
 */
#include "real_profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "real_tables.h"
#include "tsv.h"

#define N_DIVISIONS (REAL_EIGHTHS / 2 - 1) /* 2, 4 and 6 eighths for the older one */
#define N_PROBES    GSB_ARRAY_LEN(probe_names)

static const char *const probe_names[] = {
#define PROBE(name, threads) #name,
#include "probes.def"
#undef PROBE
};

struct kernel {
	char name[REAL_NAMES_LEN];
	/* It as the older one beside each probe, and each probe as the older one beside it; makespan 0: not seen. */
	struct gsb_encounter older[N_DIVISIONS][N_PROBES], younger[N_DIVISIONS][N_PROBES];
};

struct profiles {
	struct gsb_probes probes[N_DIVISIONS];
	uint32_t n;
	struct kernel kernels[REAL_KERNELS_MAX + N_PROBES];
};

/* N_PROBES: it is none. */
static uint32_t probe_of(const char *name)
{
	uint32_t i = 0;

	while (i < N_PROBES && strcmp(probe_names[i], name) != 0)
		i++;
	return i;
}

static const struct kernel *find(const struct profiles *p, const char *name)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!strcmp(p->kernels[i].name, name))
			return &p->kernels[i];
	return NULL;
}

static struct kernel *find_or_add(struct profiles *p, const char *name, const char *path)
{
	struct kernel *k = (struct kernel *)find(p, name);

	if (k)
		return k;
	if (p->n == GSB_ARRAY_LEN(p->kernels))
		tsv_die(path, "too many kernels");
	k = &p->kernels[p->n++];
	snprintf(k->name, sizeof(k->name), "%s", name);
	return k;
}

static void read_two(const struct tsv *t, unsigned field, double to[2])
{
	char *rest;

	to[0] = strtod(tsv_text(t, field), &rest);
	if (*rest != ',')
		tsv_die(t->path, "not a number for each of two kernels");
	to[1] = strtod(rest + 1, &rest);
	if (*rest || !(to[0] >= 0) || !(to[1] >= 0))
		tsv_die(t->path, "not a number for each of two kernels");
}

static void read_line(struct profiles *p, const struct tsv *t)
{
	char older[REAL_NAMES_LEN], *younger;
	double speeds[2], alone[2], eighths[2];
	struct gsb_encounter seen;
	uint32_t at;

	snprintf(older, sizeof(older), "%s", tsv_text(t, 0));
	younger = strchr(older, ',');
	if (!younger || strchr(younger + 1, ','))
		tsv_die(t->path, "not two kernels");
	*younger++ = 0;
	read_two(t, 1, eighths);
	read_two(t, 2, speeds);
	read_two(t, 4, alone);
	at = (uint32_t)eighths[0] / 2 - 1;
	if (at >= N_DIVISIONS || eighths[0] + eighths[1] != REAL_EIGHTHS)
		tsv_die(t->path, "a division that is none");
	for (int i = 0; i < 2; i++)
		speeds[i] = speeds[i] < GSB_PROBES_LEAST ? GSB_PROBES_LEAST : speeds[i];
	seen = (struct gsb_encounter){speeds[0] / alone[0], speeds[1] / alone[1], tsv_number(t, 6)};
	if (probe_of(younger) < N_PROBES)
		find_or_add(p, older, t->path)->older[at][probe_of(younger)] = seen;
	if (probe_of(older) < N_PROBES)
		find_or_add(p, younger, t->path)->younger[at][probe_of(older)] = seen;
}

static bool is_complete(const struct kernel *k)
{
	for (unsigned d = 0; d < N_DIVISIONS; d++)
		for (uint32_t i = 0; i < N_PROBES; i++)
			if (!(k->older[d][i].makespan > 0) || !(k->younger[d][i].makespan > 0))
				return false;
	return true;
}

static void compare_probes(struct profiles *p, const char *path)
{
	static struct gsb_encounter seen[N_PROBES * N_PROBES];

	for (unsigned d = 0; d < N_DIVISIONS; d++) {
		for (uint32_t i = 0; i < N_PROBES; i++) {
			const struct kernel *k = find(p, probe_names[i]);

			if (!k || !is_complete(k))
				tsv_die(path, "a probe that was not beside all of them");
			memcpy(&seen[i * N_PROBES], k->older[d], sizeof(k->older[d]));
		}
		if (gsb_probes_init(&p->probes[d], N_PROBES, seen))
			tsv_die(path, "probes with a speed or a makespan that is none");
	}
}

const struct profiles *profiles_read(const char *path)
{
	struct profiles *p = calloc(1, sizeof(*p));
	struct tsv t = tsv_open(path);

	if (!p)
		tsv_die(path, "no memory");
	while (tsv_next(&t))
		read_line(p, &t);
	compare_probes(p, path);
	return p;
}

bool profiles_predict(const struct profiles *p, const char *older, const char *younger,
		      uint32_t eighths, struct gsb_encounter *out)
{
	const struct kernel *a = find(p, older), *b = find(p, younger);
	uint32_t d = eighths / 2 - 1;

	return a && b && d < N_DIVISIONS && is_complete(a) && is_complete(b) &&
	       !gsb_probes_predict(&p->probes[d], a->older[d], b->younger[d], out);
}
