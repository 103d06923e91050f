/*
 * ask.c - see ask.h.
 */
#include <config.h>

#include "tools/ask.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S 15 /* gsbrokerd waits one second for its engines */

static bool engine_ok(const struct gsb_answer_engine *a, size_t n)
{
	size_t fixed = offsetof(struct gsb_answer_engine, status), rows;

	if (a->error)
		return n == fixed;
	if (n < sizeof(*a))
		return false;
	rows = (n - sizeof(*a)) / sizeof(a->status.tenants[0]);
	return a->status.n_tenants == rows;
}

static int take_engine(struct gsb_answers *out, const struct gsb_answer_engine *a, size_t n)
{
	struct gsb_answer_engine *copy, **grown;

	if (!engine_ok(a, n))
		return -EPROTO;
	grown = realloc(out->engines, (out->n_engines + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	out->engines = grown;
	copy = calloc(1, n < sizeof(*a) ? sizeof(*a) : n);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, a, n);
	out->engines[out->n_engines++] = copy;
	return 0;
}

static int take_total(struct gsb_answers *out, const struct gsb_answer_total *a)
{
	struct gsb_total *grown = realloc(out->totals, (out->n_totals + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	out->totals = grown;
	out->totals[out->n_totals++] = a->total;
	return 0;
}

/* As a hello is refused: gsbrokerd has not got as far as the question. */
static int take_refused(struct gsb_answers *out, const struct gsb_msg_refused *m)
{
	out->end.error = m->error;
	snprintf(out->end.text, sizeof(out->end.text), "%.*s", (int)sizeof(m->reason), m->reason);
	return 1;
}

/* Return: 1 when that was the last, 0, -errno. */
static int take(struct gsb_answers *out, const struct gsb_answer *a, size_t n)
{
	if (n == sizeof(struct gsb_msg_refused) && a->msg.type == GSB_MSG_REFUSED)
		return take_refused(out, (const void *)a);
	if (n < sizeof(*a) || a->msg.type != GSB_MSG_CONTROL_REPLY)
		return -EPROTO;
	if (a->kind == GSB_ANSWER_BROKER && n == sizeof(out->broker)) {
		memcpy(&out->broker, a, n);
		return 0;
	}
	if (a->kind == GSB_ANSWER_ENGINE && n >= offsetof(struct gsb_answer_engine, status))
		return take_engine(out, (const void *)a, n);
	if (a->kind == GSB_ANSWER_TOTAL && n == sizeof(struct gsb_answer_total))
		return take_total(out, (const void *)a);
	if (a->kind == GSB_ANSWER_TRACE && n == sizeof(out->trace)) {
		memcpy(&out->trace, a, n);
		return 0;
	}
	if (a->kind == GSB_ANSWER_END && n == sizeof(out->end)) {
		memcpy(&out->end, a, n);
		return 1;
	}
	return -EPROTO;
}

static int take_all(int fd, struct gsb_answers *out)
{
	static _Alignas(16) char buf[GSB_CHANNEL_MSG_MAX];
	ssize_t n;
	int r;

	do {
		n = gsb_channel_recv(fd, buf, sizeof(buf), NULL, NULL);
		if (n == -EAGAIN)
			return -ETIMEDOUT;
		if (n <= 0)
			return -EPROTO;
		r = take(out, (const struct gsb_answer *)buf, (size_t)n);
	} while (!r);
	return r < 0 ? r : 0;
}

int gsb_ask(const char *path, enum gsb_query_what what, uint32_t how, struct gsb_answers *out)
{
	return gsb_ask_with(path, what, how, -1, out);
}

int gsb_ask_with(const char *path, enum gsb_query_what what, uint32_t how, int file,
		 struct gsb_answers *out)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	struct gsb_query q = {.what = what, .how = how};
	int fd, err;

	memset(out, 0, sizeof(*out));
	err = gsb_channel_connect(path, &fd);
	if (err)
		return err;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	gsb_msg_init(&q.msg, GSB_MSG_CONTROL, sizeof(q));
	err = gsb_channel_send(fd, &q.msg, &file, file >= 0);
	if (!err)
		err = take_all(fd, out);
	close(fd);
	return err;
}

void gsb_answers_finish(struct gsb_answers *a)
{
	for (unsigned i = 0; i < a->n_engines; i++)
		free(a->engines[i]);
	free(a->engines);
	free(a->totals);
	a->engines = NULL;
	a->totals = NULL;
	a->n_engines = a->n_totals = 0;
}

/* Whose the socket is, and what its administrator can do: membership in its group is often not the remedy. */
static void explain_access(const char *path, char *out, size_t size)
{
	const struct passwd *pw;
	const struct group *gr;
	struct stat st;

	if (stat(path, &st) < 0) {
		snprintf(
			out, size,
			"no permission to connect to %s: its folder is closed to you: give another "
			"socket",
			path);
		return;
	}
	pw = getpwuid(st.st_uid);
	gr = getgrgid(st.st_gid);
	snprintf(out, size,
		 "no permission to connect to %s (user %.32s, group %.32s, mode %04o): its "
		 "administrator can let you in by allow_uid or allow_gid in gsbroker.conf, or, if "
		 "socket_mode is set there, by socket_group; or give another socket",
		 path, pw ? pw->pw_name : "?", gr ? gr->gr_name : "?", st.st_mode & 07777u);
}

void gsb_ask_explain(int err, const char *path, char *out, size_t size)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		snprintf(out, size,
			 "no gsbrokerd listens on %s: start one, or give its socket by --socket or "
			 "GSB_SOCKET",
			 path);
		break;
	case -EACCES: explain_access(path, out, size); break;
	case -EPROTO:
		snprintf(out, size,
			 "what listens on %s is no gsbrokerd of release " PACKAGE_VERSION, path);
		break;
	case -ETIMEDOUT:
		snprintf(out, size, "gsbrokerd on %s did not answer in %d s", path, PATIENCE_S);
		break;
	default: snprintf(out, size, "%s: %s", path, strerror(-err));
	}
}

int gsb_ask_or_say(const char *socket, enum gsb_query_what what, uint32_t how, int file,
		   struct gsb_answers *out)
{
	char path[128] = "", why[512];
	int err = gsb_channel_path(socket, path, sizeof(path));

	memset(out, 0, sizeof(*out));
	if (!err)
		err = gsb_ask_with(path, what, how, file, out);
	if (err) {
		gsb_ask_explain(err, socket && err == -ENAMETOOLONG ? socket : path, why,
				sizeof(why));
		fprintf(stderr, "gsbctl: %s\n", why);
		return err;
	}
	if (*out->end.text)
		fprintf(stderr, "gsbctl: %.511s\n", out->end.text);
	return out->end.error;
}
