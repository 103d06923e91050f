/*
 * calibrate.c - see calibrate.h.
 *
 * The file is made when all has been measured, beside its place, and moved there when it is whole: whoever reads that path finds the old one
 * or the new one.
 */
#include "tools/calibrate/calibrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/calibrate/measure.h"
#include "tools/calibrate/write.h"
#include "tools/model_driver.h"

#define CUDA	  "cuda:"
#define FILE_MODE 0644

static int tell(const char *what, const char *why)
{
	fprintf(stderr, "gsb-model: %s: %s\n", what, why);
	return 1;
}

int cal_parse_units(const char *names, uint32_t *units)
{
	uint32_t known = cal_rig_units(), found = 0;

	while (*names) {
		size_t n = strcspn(names, ",");
		unsigned int u = 0;

		while (u < GSB_N_UNITS && (strlen(gsb_unit_name((enum gsb_unit)u)) != n ||
					   strncmp(names, gsb_unit_name((enum gsb_unit)u), n)))
			u++;
		if (u == GSB_N_UNITS || !(known >> u & 1)) {
			fprintf(stderr, "gsb-model: --only: no kernel for '%.*s'; there are",
				(int)n, names);
			for (u = 0; u < GSB_N_UNITS; u++)
				if (known >> u & 1)
					fprintf(stderr, " %s", gsb_unit_name((enum gsb_unit)u));
			fputc('\n', stderr);
			return -1;
		}
		found |= UINT32_C(1) << u;
		names += n + (names[n] == ',');
	}
	*units = found;
	if (found)
		return 0;
	tell("--only", "names no unit");
	return -1;
}

/* The limits that the models work with: of a GPU those that its driver tells. */
static int get_arch(const struct cal_rig *rig, const char *device, struct gsb_arch *out)
{
	if (strncmp(device, CUDA, strlen(CUDA)) != 0) {
		*out = rig->info->arch;
		return 0;
	}
	if (model_driver_arch((unsigned int)strtoul(device + strlen(CUDA), NULL, 10), out))
		return -1;
	cal_short_name(out->marketing_name, out->name, sizeof(out->name));
	return 0;
}

/* ---- the file ---- */

static int write_stream(FILE *f, const struct cal_options *o, const struct cal_text *t)
{
	int err = cal_write(f, t) || fflush(f) || ferror(f) ? errno : 0;

	return err ? tell(o->path ? o->path : "standard output", strerror(err)) : 0;
}

/* Beside its place, under a name that nothing has: NULL, told. */
static FILE *open_beside(const char *place, char **path)
{
	int fd = asprintf(path, "%s.XXXXXX", place) < 0 ? -1 : mkstemp(*path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		tell(place, strerror(errno));
	return f;
}

static int write_file(const struct cal_options *o, const struct cal_text *t)
{
	char *path = NULL;
	FILE *f = open_beside(o->path, &path);
	int status;

	if (!f)
		return 1;
	fchmod(fileno(f), FILE_MODE);
	status = write_stream(f, o, t);
	if (fclose(f) && !status)
		status = tell(o->path, strerror(errno));
	if (!status && rename(path, o->path))
		status = tell(o->path, strerror(errno));
	if (status)
		unlink(path);
	free(path);
	return status;
}

/* Before minutes are spent on what cannot be kept. */
static int check_path(const struct cal_options *o)
{
	char *path = NULL;
	struct stat s;
	FILE *f;

	if (!o->path)
		return 0;
	if (!stat(o->path, &s) && !S_ISREG(s.st_mode))
		return tell(o->path, "is there, and no file that could be replaced");
	f = open_beside(o->path, &path);
	if (!f)
		return 1;
	fclose(f);
	unlink(path);
	free(path);
	return 0;
}

/* ---- all of it ---- */

static int measure(const struct cal_options *o, struct cal_rig *rig, struct cal_text *t)
{
	struct cal_plan plan;

	if (cal_rig_open(rig, o->device, o->units))
		return tell(o->device, rig->why);
	if (get_arch(rig, o->device, &t->arch))
		return 1;
	plan = cal_plan_of(rig, o->quick);
	plan.tells = isatty(STDERR_FILENO);
	gsb_interference_init(&t->law, t->arch.name);
	t->gpu = rig->info->name;
	t->plan = plan;
	return cal_measure(rig, &plan, &t->law, &t->result) ? tell(o->device, rig->why) : 0;
}

int cal_run(const struct cal_options *o)
{
	struct cal_text *t = calloc(1, sizeof(*t));
	struct cal_rig rig = {0};
	int status;

	if (!t)
		return tell(o->device, strerror(ENOMEM));
	t->device = o->device;
	t->command = o->command;
	status = check_path(o) || measure(o, &rig, t);
	if (!status)
		status = o->path ? write_file(o, t) : write_stream(stdout, o, t);
	cal_rig_close(&rig);
	free(t);
	return status;
}
