/*
 * export.c - what the exports share: the output file, and strings of JSON.
 */
#include "tools/trace/export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void gsb_export_string(FILE *to, const char *s)
{
	fputc('"', to);
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || *s == '<' || *s == '>' || *s == '&')
			fprintf(to, "\\u%04x", (unsigned)(unsigned char)*s);
		else
			fputc(*s, to);
	fputc('"', to);
}

static int failed(const char *path, int err)
{
	fprintf(stderr, "gsb-trace: %s: %s\n", path, strerror(-err));
	return 1;
}

/* A file that could not be written whole is of no use to anybody. */
static int close_output(FILE *to, const char *path, int err)
{
	int bad = ferror(to);

	if (fclose(to) || bad)
		err = err ? err : (errno ? -errno : -EIO);
	if (!err)
		return 0;
	unlink(path);
	return failed(path, err);
}

static int export(int (*write)(FILE *, const struct gsb_traced *, const struct gsb_accounts *),
		  const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	struct gsb_accounts a;
	FILE *to;
	int err;

	err = gsb_accounts_make(&a, t);
	if (err)
		return failed(q->path, err);
	to = fopen(q->output, "we");
	if (!to)
		err = failed(q->output, -errno);
	else
		err = close_output(to, q->output, write(to, t, &a));
	gsb_accounts_finish(&a);
	return err;
}

int gsb_trace_timeline(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	return export(gsb_export_timeline, t, q);
}

int gsb_trace_perfetto(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	return export(gsb_export_perfetto, t, q);
}

int gsb_trace_error_plot(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	return export(gsb_export_error_plot, t, q);
}

int gsb_trace_replay(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	return export(gsb_export_workload, t, q);
}

int gsb_trace_profile(const struct gsb_traced *t, const struct gsb_trace_request *q)
{
	struct gsb_accounts a;
	int err = gsb_accounts_make(&a, t);

	if (err)
		return failed(q->path, err);
	err = gsb_export_tau(q->output, t, &a);
	gsb_accounts_finish(&a);
	return err ? 1 : 0;
}
