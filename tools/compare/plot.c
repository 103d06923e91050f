/*
 * plot.c - two figures of Li, Tu, Zeng 2019 with ours in them: the speed-ups of pairs (Fig. 9) as bars, and of N queries (Fig. 10)
 * as curves, each over one query after the other; beside them what the paper reports of its own system and of MultiQx-GPU.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/compare/compare.h"

#define WIDTH  760
#define HEIGHT 420
#define LEFT   50
#define RIGHT  150
#define TOP    30
#define BOTTOM 50

static const char *const colours[] = {"#2060a0", "#c03020", "#208040", "#b08000", "#7040a0",
				      "#008080", "#808080", "#a04070", "#405060", "#60a020"};

struct plot {
	FILE *f;
	double x_max, y_max;
};

static double x_of(const struct plot *p, double x)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * x / p->x_max;
}

static double y_of(const struct plot *p, double y)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / p->y_max;
}

GSB_PRINTF(5, 6)
static void text_at(const struct plot *p, double x, double y, const char *anchor, const char *fmt,
		    ...)
{
	va_list ap;

	fprintf(p->f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	va_start(ap, fmt);
	vfprintf(p->f, fmt, ap);
	va_end(ap);
	fprintf(p->f, "</text>\n");
}

static void draw_frame(const struct plot *p, const char *title)
{
	double step = p->y_max > 8 ? 2 : p->y_max > 3 ? 1 : 0.5;

	fprintf(p->f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	for (double y = 0; y <= p->y_max; y += step) {
		fprintf(p->f,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
			LEFT, y_of(p, y), WIDTH - RIGHT, y_of(p, y));
		text_at(p, LEFT - 6, y_of(p, y) + 4, "end", "%.1f", y);
	}
	text_at(p, (LEFT + WIDTH - RIGHT) / 2.0, 18, "middle", "%s", title);
}

static void draw_key(const struct plot *p, unsigned i, const char *name)
{
	fprintf(p->f, "<rect x=\"%d\" y=\"%u\" width=\"10\" height=\"10\" fill=\"%s\"/>\n",
		WIDTH - RIGHT + 12, TOP + 18 * i, colours[i % GSB_ARRAY_LEN(colours)]);
	text_at(p, WIDTH - RIGHT + 27, TOP + 18.0 * i + 9, "start", "%s", name);
}

static double highest(const struct gsb_contest *c)
{
	double most = 2;

	for (unsigned m = 0; m < c->n_mixes; m++)
		for (unsigned w = 0; w < c->n_ways; w++)
			if (c->of[m][w].figures.speedup > most)
				most = c->of[m][w].figures.speedup;
	return most * 1.05;
}

/* ---- pairs ---- */

static unsigned count_pairs(const struct gsb_contest *c)
{
	unsigned n = 0;

	for (unsigned m = 0; m < c->n_mixes; m++)
		n += strchr(c->mixes[m].name, '+') != NULL;
	return n;
}

static void draw_bars(const struct plot *p, const struct gsb_contest *c, unsigned m, unsigned at)
{
	double width = (x_of(p, 1) - x_of(p, 0)) * 0.8 / c->n_ways;

	for (unsigned w = 0; w < c->n_ways; w++) {
		double y = c->of[m][w].figures.speedup;

		fprintf(p->f,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\">"
			"<title>%s, %s: %.2f</title></rect>\n",
			x_of(p, at + 0.1) + w * width, y_of(p, y), width, y_of(p, 0) - y_of(p, y),
			colours[w % GSB_ARRAY_LEN(colours)], c->mixes[m].name, c->ways[w].name, y);
	}
	text_at(p, x_of(p, at + 0.5), HEIGHT - BOTTOM + 16, "middle", "%s", c->mixes[m].name);
}

static void draw_pairs(FILE *f, const struct gsb_contest *c)
{
	const struct plot p = {f, count_pairs(c), highest(c)};
	unsigned at = 0;

	draw_frame(&p,
		   "two queries at once: speed-up over one after the other (Li et al., Fig. 9)");
	for (unsigned m = 0; m < c->n_mixes; m++)
		if (strchr(c->mixes[m].name, '+'))
			draw_bars(&p, c, m, at++);
	for (unsigned w = 0; w < c->n_ways; w++)
		draw_key(&p, w, c->ways[w].name);
	text_at(&p, LEFT, HEIGHT - 12, "start",
		"the paper, on a Titan X Pascal: two-stage at least 2.01, MultiQx-GPU at least 1.37");
	fprintf(f, "</svg>\n");
}

/* ---- N queries ---- */

struct point {
	double x, y;
};

static void draw_curve(const struct plot *p, unsigned i, const char *name, const struct point *of,
		       unsigned n)
{
	const char *colour = colours[i % GSB_ARRAY_LEN(colours)];

	fprintf(p->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
		colour);
	for (unsigned k = 0; k < n; k++)
		fprintf(p->f, "%.1f,%.1f ", x_of(p, of[k].x), y_of(p, of[k].y));
	fprintf(p->f, "\"/>\n");
	for (unsigned k = 0; k < n; k++)
		fprintf(p->f,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%s, %.0f: "
			"%.2f</title></circle>\n",
			x_of(p, of[k].x), y_of(p, of[k].y), colour, name, of[k].x, of[k].y);
	draw_key(p, i, name);
}

/* Mixes of q1 to q5 in turn; q1 alone is the first, q1+q2 the second. */
static bool is_cycle(const struct gsb_mix *m)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->query[i] != i % GSB_N_QUERIES)
			return false;
	return true;
}

static unsigned take_curve(const struct gsb_contest *c, unsigned way, struct point *out)
{
	unsigned n = 0;

	for (unsigned m = 0; m < c->n_mixes; m++)
		if (is_cycle(&c->mixes[m]) && n < GSB_MIXES_MAX)
			out[n++] = (struct point){c->mixes[m].n, c->of[m][way].figures.speedup};
	return n;
}

static void draw_queries(FILE *f, const struct gsb_contest *c)
{
	static const struct point two_stage[] = {{1, 1.00}, {2, 2.02}, {5, 3.38}, {16, 7.33}},
				  multiqx[] = {{1, 1.00}, {2, 1.81}, {5, 1.15}, {16, 1.03}};
	struct plot p = {f, GSB_MIX_MAX + 0.5, highest(c)};
	struct point points[GSB_MIXES_MAX];

	if (p.y_max < 8)
		p.y_max = 8;
	draw_frame(&p, "N queries at once: speed-up over one after the other (Li et al., Fig. 10)");
	for (unsigned n = 1; n <= GSB_MIX_MAX; n++)
		text_at(&p, x_of(&p, n), HEIGHT - BOTTOM + 16, "middle", "%u", n);
	for (unsigned w = 0; w < c->n_ways; w++)
		draw_curve(&p, w, c->ways[w].name, points, take_curve(c, w, points));
	draw_curve(&p, c->n_ways, "paper: two-stage", two_stage, GSB_ARRAY_LEN(two_stage));
	draw_curve(&p, c->n_ways + 1, "paper: MultiQx", multiqx, GSB_ARRAY_LEN(multiqx));
	text_at(&p, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle",
		"queries, q1 to q5 in turn");
	fprintf(f, "</svg>\n");
}

/* ---- files ---- */

static int write_plot(const struct gsb_contest *c, const char *name,
		      void (*draw)(FILE *f, const struct gsb_contest *c))
{
	char path[PATH_MAX];
	bool failed;
	FILE *f;

	snprintf(path, sizeof(path), "%s-%s.svg", c->plot, name);
	f = fopen(path, "w");
	if (f) {
		draw(f, c);
		failed = ferror(f);
		if (!fclose(f) && !failed)
			return 0;
	}
	fprintf(stderr, "gsb-bench compare: %s: %s\n", path, strerror(errno));
	return -1;
}

int gsb_compare_plot(const struct gsb_contest *c)
{
	if (count_pairs(c) && write_plot(c, "pairs", draw_pairs))
		return -1;
	return write_plot(c, "queries", draw_queries);
}
