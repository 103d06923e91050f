/*
 * record.c - see record.h.
 */
#include "tools/compare/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gsb_record_begin(const struct gsb_bench_site *s, const char *socket)
{
	char path[PATH_MAX];

	gsb_site_path(s, "trace", path);
	unlink(path);
	return gsb_site_run_tool(
		s, "gsbctl", (const char *[]){"--socket", socket, "trace", "record", path, NULL});
}

int gsb_record_end(const struct gsb_bench_site *s, const char *socket)
{
	return gsb_site_run_tool(s, "gsbctl",
				 (const char *[]){"--socket", socket, "trace", "stop", NULL});
}

static int parse_load(const char *path, struct gsb_workload *out)
{
	struct gsb_text_error error = {0};
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t n = f ? getdelim(&text, &room, 0, f) : -1;
	int err = n < 0 ? -EIO : gsb_workload_parse(text, (size_t)n, out, &error);

	if (f)
		fclose(f);
	free(text);
	if (err)
		fprintf(stderr, "gsb-bench compare: %s:%u: %s\n", path, error.line,
			err == -EINVAL ? error.what : strerror(-err));
	return err ? -1 : 0;
}

int gsb_record_read(const struct gsb_bench_site *s, struct gsb_workload *out)
{
	char trace[PATH_MAX], load[PATH_MAX];

	gsb_site_path(s, "trace", trace);
	gsb_site_path(s, "load", load);
	if (gsb_site_run_tool(s, "gsb-trace", (const char *[]){"replay", "-o", load, trace, NULL}))
		return -1;
	return parse_load(load, out);
}

int gsb_record_end_of(const struct gsb_workload *l, const char *tenant, double *ns)
{
	uint64_t last = 0;

	for (uint32_t o = 0; o < l->n_ops; o++) {
		const struct gsb_workload_op *op = &l->ops[o];

		if (!strcmp(l->tenants[op->tenant_at].name, tenant) && op->done_ns > last)
			last = op->done_ns;
	}
	if (!last) {
		fprintf(stderr, "gsb-bench compare: %s is not in the recording\n", tenant);
		return -1;
	}
	*ns = (double)last;
	return 0;
}
