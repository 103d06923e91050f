/*
 * top_screen.c - gsbctl top on a terminal: the text of a round, cut to the window, and keys. The text is made again for
 * each round and cut again for each size, so that nothing here knows what it shows.
 */
#include <config.h>

#include "tools/top.h"

#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define NS_PER_MS 1000000u

struct screen {
	struct gsb_top_question q;
	struct gsb_top_round round;
	unsigned n_rounds;
	char why[512]; /* why there is no newer round; "": there is one */
	bool help;
	int first; /* line of the text that stands at the top */
};

static const char help_text[] =
	"gsbctl top shows what the tenants of a GPU broker do, round by round.\n"
	"\n"
	"  SMS       what a tenant held of all SMs since the last round, by the device's clock;\n"
	"            a kernel counts when it ends\n"
	"  WAITED    what of the time of its commands, from when they were ready to their end,\n"
	"            they waited for the policy and for room\n"
	"  SLOWDOWN  how many times as long as alone its kernels ran, of those of which that is\n"
	"            known; what they waited is not in it\n"
	"  MODEL-ERROR   how far the policy's predictions were off, as a part of what was measured\n"
	"  SLOWDOWN and MODEL-ERROR are of policies that predict (coreside, priority)\n"
	"  RUNNING   the kernel that was issued first, and for how long it has been there (AGE)\n"
	"\n"
	"  s m u a w e n i   sort by share of the SMs, memory, queue, what was waited, slowdown,\n"
	"                    model error, name, number\n"
	"  up, down      move through the tenants\n"
	"  space         a round now\n"
	"  h             this text, and back\n"
	"  q             end\n";

/* ---- drawing ---- */

static char *text_of(const struct screen *s)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	if (s->help)
		return strdup(help_text);
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	gsb_top_round_print(&s->round, f);
	return fclose(f) ? NULL : text;
}

static int count_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void draw_lines(struct screen *s, const char *text)
{
	int room = LINES - 1, line = 0, n = count_lines(text);

	if (s->first > n - room)
		s->first = n - room;
	if (s->first < 0)
		s->first = 0;
	for (; *text; text += strcspn(text, "\n") + 1, line++)
		if (line >= s->first && line - s->first < room)
			mvaddnstr(line - s->first, 0, text,
				  (int)strcspn(text, "\n") < COLS ? (int)strcspn(text, "\n")
								  : COLS);
}

static void draw(struct screen *s)
{
	char *text = text_of(s);

	erase();
	if (text)
		draw_lines(s, text);
	attron(A_REVERSE);
	mvaddnstr(
		LINES - 1, 0,
		*s->why ? s->why
			: "q end  h help  sort: s share m memory u queue a waited w slowdown e error n name i id",
		COLS);
	attroff(A_REVERSE);
	refresh();
	free(text);
}

/* ---- keys ---- */

/* False: the end. */
static bool on_key(struct screen *s, int key, bool *now)
{
	enum gsb_top_sort sort;

	switch (key) {
	case 'q': return false;
	case 'h':
	case '?':
		s->help = !s->help;
		s->first = 0;
		break;
	case ' ': *now = true; break;
	case KEY_UP: s->first--; break;
	case KEY_DOWN: s->first++; break;
	default: /* also KEY_RESIZE: it is drawn again */
		if (gsb_top_sort_of_key(key, &sort))
			break;
		s->q.sort = sort;
		gsb_top_round_sort(&s->round, sort);
	}
	return true;
}

/* Keys until the next round is due. False: the end. */
static bool wait_for_round(struct screen *s)
{
	uint64_t due = gsb_clock_ns() + (uint64_t)s->q.delay_ms * NS_PER_MS, now_ns;
	bool now = false;
	int key;

	while (!now && (now_ns = gsb_clock_ns()) < due) {
		timeout((int)((due - now_ns) / NS_PER_MS) + 1);
		key = getch();
		if (key != ERR && !on_key(s, key, &now))
			return false;
		draw(s);
	}
	return true;
}

static void run(struct screen *s)
{
	do {
		if (!gsb_top_next(&s->q, &s->round, s->why, sizeof(s->why)))
			*s->why = 0;
		draw(s);
	} while (++s->n_rounds != s->q.rounds && wait_for_round(s));
}

int gsb_top_on_screen(const struct gsb_top_question *q)
{
	struct screen s = {.q = *q};
	SCREEN *terminal;

	if (!isatty(STDOUT_FILENO)) {
		fprintf(stderr, "gsbctl: standard output is no terminal: give --batch\n");
		return 1;
	}
	setlocale(LC_CTYPE, "");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal) {
		fprintf(stderr, "gsbctl: the terminal %s is not known: set TERM, or give --batch\n",
			getenv("TERM") ? getenv("TERM") : "(none)");
		return 1;
	}
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	run(&s);
	endwin();
	delscreen(terminal);
	gsb_top_round_finish(&s.round);
	return 0;
}
