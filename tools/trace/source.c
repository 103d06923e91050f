/*
 * source.c - see source.h.
 */
#include <config.h>

#include "tools/trace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/trace/ctf_folder.h"
#include "trace/read.h"

static int read_all(struct gsb_traced *t, struct gsb_trace_reader *r, char *why)
{
	struct gsb_trace_record rec;
	int n, err = 0;

	while (!err && (n = gsb_trace_next(r, &rec)) > 0)
		err = gsb_traced_take(t, rec.type, rec.any);
	if (!err && n < 0 && n != -EBADMSG)
		err = n;
	if (err)
		snprintf(why, GSB_TRACE_WHY_MAX, "%s", strerror(-err));
	switch (gsb_trace_ending(r)) {
	case GSB_TRACE_COMPLETE: t->ending = GSB_TRACED_WHOLE; break;
	case GSB_TRACE_DAMAGED: t->ending = GSB_TRACED_DAMAGED; break;
	default: t->ending = GSB_TRACED_TORN;
	}
	return err;
}

int gsb_traced_load_fd(struct gsb_traced *t, int fd, char *why)
{
	struct gsb_traced asked = *t;
	struct gsb_trace_reader *r;
	int err = gsb_trace_open_fd(fd, &r, why);

	if (err)
		return err;
	if (asked.engine && asked.engine != gsb_trace_header(r)->pid) {
		snprintf(why, GSB_TRACE_WHY_MAX, "is of engine %" PRIu32 ", not %" PRIu32,
			 gsb_trace_header(r)->pid, asked.engine);
		gsb_trace_close(r);
		return -ENOENT;
	}
	gsb_traced_init(t, gsb_trace_header(r));
	t->on_done = asked.on_done;
	t->arg = asked.arg;
	err = read_all(t, r, why);
	gsb_trace_close(r);
	if (err)
		gsb_traced_finish(t);
	return err;
}

/* What LTTng wrote is a folder. */
static int load_folder(struct gsb_traced *t, const char *path, char *why)
{
#ifdef HAVE_BABELTRACE
	return gsb_ctf_load(t, path, why);
#else
	snprintf(why, GSB_TRACE_WHY_MAX,
		 "is a folder; this gsb-trace was built without libbabeltrace2 and reads files of "
		 "gsbctl trace record alone");
	return -EISDIR;
#endif
}

int gsb_traced_load(struct gsb_traced *t, const char *path)
{
	char why[GSB_TRACE_WHY_MAX] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0) {
		err = -errno;
		fprintf(stderr, "gsb-trace: %s: %s\n", path, strerror(-err));
		return err;
	}
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		err = load_folder(t, path, why);
	} else {
		err = gsb_traced_load_fd(t, fd, why);
	}
	if (err)
		fprintf(stderr, "gsb-trace: %s: %s\n", path, why);
	return err;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void gsb_traced_warn(const struct gsb_traced *t, const char *path)
{
	uint64_t n_open = t->n_queued - t->n_completed;

	if (t->n_lost)
		fprintf(stderr, "gsb-trace: %s: %" PRIu64 " event%s lost in recording\n", path,
			t->n_lost, t->n_lost == 1 ? " was" : "s were");
	if (t->ending == GSB_TRACED_DAMAGED)
		fprintf(stderr, "gsb-trace: %s: damaged after %" PRIu64 " event%s\n", path,
			t->n_events, plural(t->n_events));
	if (t->ending == GSB_TRACED_TORN)
		fprintf(stderr,
			"gsb-trace: %s: has no end: its engine still writes it, had no room for it, or was killed\n",
			path);
	if (t->n_unknown)
		fprintf(stderr,
			"gsb-trace: %s: %" PRIu64
			" event%s of a later version and left out: use the tools of the release that "
			"recorded it\n",
			path, t->n_unknown, t->n_unknown == 1 ? " is" : "s are");
	if (t->n_orphans || t->n_duplicates || t->n_flawed)
		fprintf(stderr,
			"gsb-trace: %s: %" PRIu64 " operation%s with a flaw, %" PRIu64
			" event%s of unknown ones, %" PRIu64
			" serial%s twice: see gsb-trace check\n",
			path, t->n_flawed, plural(t->n_flawed), t->n_orphans, plural(t->n_orphans),
			t->n_duplicates, plural(t->n_duplicates));
	if (t->n_others)
		fprintf(stderr,
			"gsb-trace: %s: of engine %" PRIu32 "; %" PRIu64
			" event%s left out: --engine=%" PRIu32 " shows another\n",
			path, t->engine, t->n_others,
			t->n_others == 1 ? " of others is" : "s of others are", t->another);
	if (n_open)
		fprintf(stderr, "gsb-trace: %s: %" PRIu64 " operation%s not completed in it\n",
			path, n_open, n_open == 1 ? " is" : "s are");
}
