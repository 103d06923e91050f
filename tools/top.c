/*
 * top.c - see top.h: rounds, and their plain text. The screen (top_screen.c) shows the same text.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tools/top.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int gsb_top_next(const struct gsb_top_question *q, struct gsb_top_round *r, char *why, size_t size)
{
	struct gsb_top_round next;
	struct gsb_answers answers = {0};
	char path[128] = "";
	int err = gsb_channel_path(q->socket, path, sizeof(path));

	if (!err)
		err = gsb_ask(path, GSB_QUERY_STATUS, 0, &answers);
	if (!err)
		err = gsb_top_round_make(&answers, r, &next);
	gsb_answers_finish(&answers);
	if (err) {
		gsb_ask_explain(err, path, why, size);
		return err;
	}
	gsb_top_round_finish(r);
	*r = next;
	gsb_top_round_sort(r, q->sort);
	return 0;
}

static void print_time(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%s\n", text);
}

static void rest(unsigned ms)
{
	struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* A log reads on when its reader does: each round is written at once. */
static int run_batch(const struct gsb_top_question *q)
{
	struct gsb_top_round r = {0};
	char why[512];
	int err = 0;

	for (unsigned i = 0; !err && (!q->rounds || i < q->rounds); i++) {
		if (i) {
			rest(q->delay_ms);
			printf("\n");
		}
		err = gsb_top_next(q, &r, why, sizeof(why));
		if (err) {
			fprintf(stderr, "gsbctl: %s\n", why);
			break;
		}
		print_time();
		gsb_top_round_print(&r, stdout);
		if (fflush(stdout))
			break;
	}
	gsb_top_round_finish(&r);
	return err ? 1 : 0;
}

int gsb_top_command(const struct gsb_top_question *q)
{
	if (q->batch)
		return run_batch(q);
#ifdef HAVE_NCURSES
	return gsb_top_on_screen(q);
#else
	fprintf(stderr,
		"gsbctl: this gsbctl was built without ncurses: give --batch, or build it again "
		"where ncursesw is installed\n");
	return 1;
#endif
}
