/*
 * ask.h - put one question to gsbrokerd and take its answers (broker/supervisor/query.h). For gsbctl and gsbrun.
 */
#ifndef GSB_TOOLS_ASK_H
#define GSB_TOOLS_ASK_H

#include <stdbool.h>

#include "broker/supervisor/query.h"

/* All that came back; free it with gsb_answers_finish(). */
struct gsb_answers {
	struct gsb_answer_broker broker; /* kind 0 unless STATUS was asked */
	struct gsb_answer_engine **engines;
	unsigned n_engines;
	struct gsb_total *totals;
	unsigned n_totals;
	struct gsb_answer_trace trace; /* kind 0 unless it was a TRACE_* */
	struct gsb_answer_end end;
};

/*
 * gsb_ask() - one question on a connection of its own
 * @path: of the socket    @what, @how: see struct gsb_query    @out: finish it also after a failure
 *
 * Return: 0 (end.error is the result of the question), -ENOENT, -ECONNREFUSED, -EACCES (nobody
 * listens, or not to us), -EPROTO (it is no gsbrokerd of this release), -ETIMEDOUT.
 */
int gsb_ask(const char *path, enum gsb_query_what what, uint32_t how, struct gsb_answers *out);
/* The same with a file, which stays the caller's; -1: none. */
int gsb_ask_with(const char *path, enum gsb_query_what what, uint32_t how, int file,
		 struct gsb_answers *out);
void gsb_answers_finish(struct gsb_answers *a);

/*
 * For gsbctl: finds the socket, asks, and prints what went wrong, or what the broker has to say, on stderr.
 * Return: 0, or -errno of either.
 */
int gsb_ask_or_say(const char *socket, enum gsb_query_what what, uint32_t how, int file,
		   struct gsb_answers *out);

/* One sentence for what gsb_ask() returned: what is wrong and what to do. */
void gsb_ask_explain(int err, const char *path, char *out, size_t size);

#endif
