/*
 * error_plot.c - gsb-trace error-plot: each launch as a point, what was predicted over what was measured, times and slowdowns
 * side by side. On the diagonal a prediction was right, between the dashed lines within 20 %; in the second panel the
 * horizontal line is the simplest prediction there is, always 1.
 *
 * Launches may be millions, so points are counted in cells of a grid, and a cell is drawn once: the larger, the more.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "tools/trace/export.h"

#define N_CELLS	  120 /* each way */
#define N_COLOURS 9   /* kernels with a colour of their own; the last is for all others */
#define SIDE	  330.0
#define TOP	  40.0
#define BOTTOM	  (TOP + SIDE)
#define WIDTH	  960

static const char *const colours[N_COLOURS] = {"#2060a0", "#c03020", "#208040",
					       "#b08000", "#7040a0", "#008080",
					       "#a04070", "#60a020", "#808080"};

struct panel {
	const char *title, *unit;
	double left;
	uint64_t n, n_near;		     /* launches, and those of them predicted within 20 % */
	double least, most;		     /* logarithms: the same for both axes */
	uint32_t (*cells)[N_CELLS][N_CELLS]; /* of each colour: [predicted][measured] */
};

struct plot {
	FILE *to;
	const struct gsb_traced *t;
	const struct gsb_accounts *a;
	uint32_t *launches; /* of each kernel, those with a prediction */
	uint8_t *colour;    /* of each kernel */
	uint32_t named[N_COLOURS - 1];
	unsigned n_named;
	struct panel time, slowdown;
};

/* ---- points ---- */

struct pair {
	double predicted, measured;
};

static struct pair time_of(const struct plot *p, const struct gsb_traced_op *op)
{
	return (struct pair){(double)op->predicted_ns / 1e3,
			     (double)(op->end_ns - op->start_ns) / 1e3};
}

static struct pair slowdown_of(const struct plot *p, const struct gsb_traced_op *op)
{
	double alone = gsb_accounts_reference(p->a, p->t, op);

	if (alone <= 0)
		return (struct pair){0, 0};
	return (struct pair){op->predicted_slowdown_ppm / 1e6,
			     (double)(op->end_ns - op->start_ns) / alone};
}

static bool is_point(struct pair v)
{
	return v.predicted > 0 && v.measured > 0;
}

static bool measure(struct panel *n, struct pair v)
{
	double low = log(fmin(v.predicted, v.measured)), high = log(fmax(v.predicted, v.measured));

	if (!is_point(v))
		return false;
	n->least = n->n ? fmin(n->least, low) : low;
	n->most = n->n ? fmax(n->most, high) : high;
	n->n++;
	n->n_near += fabs(v.predicted / v.measured - 1) <= 0.2;
	return true;
}

static unsigned cell(const struct panel *n, double value)
{
	double at = (log(value) - n->least) / (n->most - n->least) * N_CELLS;

	return at < 0 ? 0 : at >= N_CELLS ? N_CELLS - 1 : (unsigned)at;
}

static void put(struct panel *n, unsigned colour, struct pair v)
{
	if (is_point(v))
		n->cells[colour][cell(n, v.predicted)][cell(n, v.measured)]++;
}

static bool is_shown(const struct gsb_traced_op *op)
{
	return op->kernel != GSB_TRACED_NONE && gsb_traced_ran(op);
}

/* So much room that no point lies on the edge, and a range where all are one. */
static void widen(struct panel *n)
{
	n->least -= 0.1;
	n->most += 0.1;
}

static void measure_all(struct plot *p)
{
	for (uint32_t i = 0; i < p->t->n_ops; i++) {
		const struct gsb_traced_op *op = &p->t->ops[i];

		bool in_time, in_slowdown;

		if (!is_shown(op))
			continue;
		in_time = measure(&p->time, time_of(p, op));
		in_slowdown = measure(&p->slowdown, slowdown_of(p, op));
		p->launches[op->kernel] += in_time || in_slowdown;
	}
	widen(&p->time);
	widen(&p->slowdown);
}

/* The kernels with the most launches have colours of their own. */
static void choose_colours(struct plot *p)
{
	for (uint32_t i = 0; i < p->t->n_kernels; i++)
		p->colour[i] = N_COLOURS - 1;
	for (; p->n_named < N_COLOURS - 1; p->n_named++) {
		uint32_t most = GSB_TRACED_NONE;

		for (uint32_t i = 0; i < p->t->n_kernels; i++)
			if (p->launches[i] && p->colour[i] == N_COLOURS - 1 &&
			    (most == GSB_TRACED_NONE || p->launches[i] > p->launches[most]))
				most = i;
		if (most == GSB_TRACED_NONE)
			return;
		p->colour[most] = (uint8_t)p->n_named;
		p->named[p->n_named] = most;
	}
}

static void put_all(struct plot *p)
{
	for (uint32_t i = 0; i < p->t->n_ops; i++) {
		const struct gsb_traced_op *op = &p->t->ops[i];

		if (!is_shown(op))
			continue;
		put(&p->time, p->colour[op->kernel], time_of(p, op));
		put(&p->slowdown, p->colour[op->kernel], slowdown_of(p, op));
	}
}

/* ---- the picture ---- */

/* Text of tenants, in XML. */
static void write_text(FILE *to, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '>' || *s == '&')
			fprintf(to, "&#%d;", *s);
		else
			fputc(*s, to);
}

static double x_of(const struct panel *n, double l)
{
	return n->left + SIDE * (l - n->least) / (n->most - n->least);
}

static double y_of(const struct panel *n, double l)
{
	return BOTTOM - SIDE * (l - n->least) / (n->most - n->least);
}

/* A line of y = factor x, where the panel has it. */
static void draw_diagonal(FILE *to, const struct panel *n, double factor, const char *style)
{
	double by = log(factor), from = fmax(n->least, n->least - by);
	double end = fmin(n->most, n->most - by);

	if (from < end)
		fprintf(to, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#888\" %s/>\n",
			x_of(n, from), y_of(n, from + by), x_of(n, end), y_of(n, end + by), style);
}

/* 1, 2 and 5 times the powers of ten, or only the powers where there are many. */
static bool is_tick(const struct panel *n, int digit)
{
	return digit == 1 || (n->most - n->least < log(1e4) && (digit == 2 || digit == 5));
}

static void draw_tick(FILE *to, const struct panel *n, double value)
{
	double l = log(value);

	if (l < n->least || l > n->most)
		return;
	fprintf(to,
		"<path d=\"M%.1f %.1fV%.1fM%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n"
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n"
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
		x_of(n, l), TOP, BOTTOM, n->left, y_of(n, l), n->left + SIDE, x_of(n, l),
		BOTTOM + 14, value, n->left - 5, y_of(n, l) + 4, value);
}

static void draw_axes(FILE *to, const struct panel *n)
{
	for (int power = (int)floor(n->least / log(10)); power <= (int)ceil(n->most / log(10));
	     power++)
		for (int digit = 1; digit < 10; digit++)
			if (is_tick(n, digit))
				draw_tick(to, n, digit * pow(10, power));
	fprintf(to,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#444\"/>\n"
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">measured%s</text>\n"
		"<text x=\"%.1f\" y=\"%.1f\">predicted%s</text>\n",
		n->left, TOP, SIDE, SIDE, n->left + SIDE / 2, BOTTOM + 32, n->unit, n->left,
		TOP - 6, n->unit);
	draw_diagonal(to, n, 1, "");
	draw_diagonal(to, n, 1.2, "stroke-dasharray=\"4 4\"");
	draw_diagonal(to, n, 0.8, "stroke-dasharray=\"4 4\"");
}

static void draw_cell(const struct plot *p, const struct panel *n, unsigned colour, unsigned y,
		      unsigned x)
{
	uint32_t count = n->cells[colour][y][x];

	if (!count)
		return;
	fprintf(p->to,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" opacity=\"0.7\"><title>",
		n->left + SIDE * (x + 0.5) / N_CELLS, BOTTOM - SIDE * (y + 0.5) / N_CELLS,
		1.5 + 0.4 * log2(count), colours[colour]);
	write_text(p->to, colour < p->n_named ? p->t->kernels[p->named[colour]].name : "others");
	fprintf(p->to, ": %" PRIu32 "</title></circle>\n", count);
}

static void draw_panel(const struct plot *p, const struct panel *n)
{
	fprintf(p->to, "<text x=\"%.1f\" y=\"18\" font-weight=\"bold\">%s</text>\n", n->left,
		n->title);
	if (!n->n) {
		fprintf(p->to,
			"<text x=\"%.1f\" y=\"%.1f\">no launch was both predicted and measured</text>\n",
			n->left, TOP + 20);
		return;
	}
	fprintf(p->to,
		"<text x=\"%.1f\" y=\"18\" text-anchor=\"end\">%" PRIu64
		" launch%s, %.0f %% within 20 %%</text>\n",
		n->left + SIDE, n->n, n->n == 1 ? "" : "es",
		100.0 * (double)n->n_near / (double)n->n);
	draw_axes(p->to, n);
	if (n == &p->slowdown && n->least < 0)
		fprintf(p->to,
			"<path d=\"M%.1f %.1fH%.1f\" stroke=\"#444\" stroke-dasharray=\"1 3\"/>\n",
			n->left, y_of(n, 0), n->left + SIDE);
	for (unsigned c = 0; c < N_COLOURS; c++)
		for (unsigned i = 0; i < N_CELLS * N_CELLS; i++)
			draw_cell(p, n, c, i / N_CELLS, i % N_CELLS);
}

static void draw_key(const struct plot *p)
{
	double y = TOP + 8;

	for (unsigned i = 0; i < p->n_named; i++, y += 16) {
		const struct gsb_traced_kernel *k = &p->t->kernels[p->named[i]];

		fprintf(p->to,
			"<circle cx=\"802\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/><text x=\"810\" y=\"%.1f\">",
			y - 4, colours[i], y);
		write_text(p->to, k->name);
		fprintf(p->to, " of ");
		write_text(p->to, p->t->tenants[k->tenant].name);
		fprintf(p->to, "</text>\n");
	}
}

static void draw(const struct plot *p)
{
	fprintf(p->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d 420\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"%d\" height=\"420\" fill=\"white\"/>\n",
		WIDTH, WIDTH);
	draw_panel(p, &p->time);
	draw_panel(p, &p->slowdown);
	draw_key(p);
	fprintf(p->to, "</svg>\n");
}

int gsb_export_error_plot(FILE *to, const struct gsb_traced *t, const struct gsb_accounts *a)
{
	struct plot p = {
		.to = to,
		.t = t,
		.a = a,
		.launches = calloc((size_t)t->n_kernels + 1, sizeof(*p.launches)),
		.colour = calloc((size_t)t->n_kernels + 1, sizeof(*p.colour)),
		.time = {.title = "Time of a launch", .unit = ", us", .left = 50},
		.slowdown = {.title = "Slowdown", .unit = "", .left = 440},
	};
	bool there;

	p.time.cells = calloc(N_COLOURS, sizeof(*p.time.cells));
	p.slowdown.cells = calloc(N_COLOURS, sizeof(*p.slowdown.cells));
	there = p.launches && p.colour && p.time.cells && p.slowdown.cells;
	if (there) {
		measure_all(&p);
		choose_colours(&p);
		put_all(&p);
		draw(&p);
	}
	free(p.slowdown.cells);
	free(p.time.cells);
	free(p.colour);
	free(p.launches);
	return there ? 0 : -ENOMEM;
}
