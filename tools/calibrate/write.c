/*
 * write.c - see write.h.
 *
 * What is measured stands in lines; what was not stays what it is for whoever reads the file, which has no line for it.
 */
#include "tools/calibrate/write.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define DRIVER_VERSION "/sys/module/nvidia/version"

void cal_short_name(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (; *name && n + 1 < size; name++)
		out[n++] =
			isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '-';
	out[n] = '\0';
}

/* Of the kernel's module; nothing where there is none. */
static void write_driver(FILE *f, const char *device)
{
	char version[64] = "";
	FILE *from = strncmp(device, "cuda:", 5) ? NULL : fopen(DRIVER_VERSION, "r");

	if (!from)
		return;
	if (fscanf(from, "%63s", version) == 1)
		fprintf(f, ", driver %s", version);
	fclose(from);
}

static void write_worst(FILE *f, const struct cal_worst *w)
{
	fprintf(f, " (%s, then %s)", gsb_unit_name(w->older), gsb_unit_name(w->younger));
}

static void write_head(FILE *f, const struct cal_text *t)
{
	const struct cal_result *r = &t->result;
	time_t now = time(NULL);
	struct tm tm;
	char date[32];

	strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &tm));
	fprintf(f,
		"# What two kernels on one SM leave each other, measured: gsb-model(1), calibrate.\n"
		"# %s (%s)",
		t->gpu, t->device);
	write_driver(f, t->device);
	fprintf(f, ", %s\n# %s\n", date, t->command);
	fprintf(f, "# rounds: %u; a speed differs by %.3f at most", t->plan.rounds,
		r->spread.value);
	if (r->spread.value > 0)
		write_worst(f, &r->spread);
	if (r->n_checked) {
		fprintf(f,
			"\n# the law with this table, on %u speeds of other residencies and lengths of blocks:"
			"\n#   off by a factor of %.3f in the median, %.1f at worst",
			r->n_checked, exp(r->median), exp(r->off.value));
		write_worst(f, &r->off);
	}
	fputs("\n\n", f);
}

static void write_range(FILE *f, const struct cal_repeats *r)
{
	fprintf(f, " %.4f-%.4f", cal_least(r), cal_most(r));
}

static void write_pair(FILE *f, const struct cal_text *t, unsigned int a, unsigned int b)
{
	const struct gsb_beside *beside = &t->law.beside[a][b];
	const struct cal_pair *p = &t->result.pairs[a][b];

	fprintf(f, GSB_INTERFERENCE_KEY "%s %s = %.4f %.4f", gsb_unit_name((enum gsb_unit)a),
		gsb_unit_name((enum gsb_unit)b), (double)beside->older, (double)beside->younger);
	if (p->older.n > 1) {
		fputs(" #", f);
		write_range(f, &p->older);
		write_range(f, &p->younger);
	}
	fputc('\n', f);
}

int cal_write(FILE *f, const struct cal_text *t)
{
	char arch[GSB_ARCH_TEXT_MAX];
	int err = gsb_arch_print(&t->arch, arch, sizeof(arch));

	if (err)
		return err;
	write_head(f, t);
	fprintf(f, "%s\n", arch);
	for (unsigned int a = 0; a < GSB_N_UNITS; a++)
		for (unsigned int b = 0; b < GSB_N_UNITS; b++)
			if (t->result.pairs[a][b].older.n)
				write_pair(f, t, a, b);
	return ferror(f) ? -EIO : 0;
}
