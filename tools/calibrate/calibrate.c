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

/* Beside its place, under a name that nothing has: NULL, told. */
static FILE *open_beside(const char *place, char **path)
{
	FILE *f = NULL;
	int fd;

	if (asprintf(path, "%s.XXXXXX", place) < 0) {
		tell(place, strerror(ENOMEM));
		return NULL;
	}
	fd = mkstemp(*path);
	if (fd >= 0)
		f = fdopen(fd, "w");
	if (f)
		return f;
	tell(place, strerror(errno));
	if (fd >= 0)
		unlink(*path);
	free(*path);
	return NULL;
}

static int write_file(const char *place, const struct cal_text *t)
{
	char *path;
	FILE *f = open_beside(place, &path);
	int err;

	if (!f)
		return 1;
	fchmod(fileno(f), FILE_MODE);
	err = cal_write(f, t);
	if (fclose(f) && !err)
		err = -errno;
	if (!err && rename(path, place))
		err = -errno;
	if (err)
		unlink(path);
	free(path);
	return err ? tell(place, strerror(-err)) : 0;
}

/* Before minutes are spent on what cannot be kept. */
static int check_path(const struct cal_options *o)
{
	struct stat s;
	char *path;
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
	if (!status && o->path)
		status = write_file(o->path, t);
	else if (!status)
		cal_write(stdout, t); /* whether it could is told at exit: base/program.h */
	cal_rig_close(&rig);
	free(t);
	return status;
}
