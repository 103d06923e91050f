/*
 * model_plot.c - occupancy and running rounds against the block size, as Fig. 4 of Li 2014 shows rounds
 * and time: one SVG, two scales, every block size of whole warps.
 *
 * The grid is what covers the same number of threads; a size that does not divide it has one block
 * that is not full, so that the curve has no holes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "tools/model_commands.h"

#define WIDTH	  720
#define HEIGHT	  400
#define LEFT	  60
#define RIGHT	  60
#define TOP	  40
#define BOTTOM	  50
#define SIZES_MAX 64

struct points {
	size_t n;
	uint32_t threads[SIZES_MAX];
	double occupancy[SIZES_MAX]; /* 0 .. 1 */
	uint64_t rounds[SIZES_MAX];
	uint64_t most_rounds;
};

static void collect(const struct model_input *in, struct points *p)
{
	const struct gsb_geometry_range *range = &in->kernels[0].plan.range;
	uint64_t total = range->kernel.n_blocks * range->kernel.threads_per_block;

	memset(p, 0, sizeof(*p));
	for (uint32_t t = GSB_WARP_SIZE; t <= in->arch.max_threads_per_block && p->n < SIZES_MAX;
	     t += GSB_WARP_SIZE) {
		struct gsb_kernel k = range->kernel;
		struct gsb_occupancy o;

		k.threads_per_block = t;
		k.n_blocks = gsb_div_up(total, t);
		k.smem_bytes += range->smem_per_thread_bytes * t;
		if (gsb_occupancy(&in->arch, &k, in->rules, &o) ||
		    gsb_rounds(&in->arch, &k, in->rules, &p->rounds[p->n]))
			continue;
		p->threads[p->n] = t;
		p->occupancy[p->n] = (double)o.warps_per_sm / in->arch.max_warps;
		if (p->rounds[p->n] > p->most_rounds)
			p->most_rounds = p->rounds[p->n];
		p->n++;
	}
}

static double x_of(const struct model_input *in, uint32_t threads)
{
	return LEFT + (double)(WIDTH - LEFT - RIGHT) * threads / in->arch.max_threads_per_block;
}

static double y_of(double share)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share;
}

static void text_at(FILE *f, double x, double y, const char *anchor, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	for (; *text; text++) {
		if (*text == '&' || *text == '<' || *text == '>')
			fprintf(f, "&#%d;", *text);
		else if (*text >= ' ' && *text <= '~')
			fputc(*text, f);
	}
	fprintf(f, "</text>\n");
}

static void draw_axes(FILE *f, const struct model_input *in, const struct points *p)
{
	char text[160];

	for (int i = 0; i <= 4; i++) {
		double y = y_of(i / 4.0);

		fprintf(f, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
			LEFT, y, WIDTH - RIGHT, y);
		snprintf(text, sizeof(text), "%d %%", 25 * i);
		text_at(f, LEFT - 6, y + 4, "end", text);
		snprintf(text, sizeof(text), "%.4g", p->most_rounds * i / 4.0);
		text_at(f, WIDTH - RIGHT + 6, y + 4, "start", text);
	}
	for (uint32_t t = 0; t <= in->arch.max_threads_per_block; t += 128) {
		snprintf(text, sizeof(text), "%u", t);
		text_at(f, x_of(in, t), HEIGHT - BOTTOM + 18, "middle", text);
	}
	text_at(f, WIDTH / 2.0, HEIGHT - 10, "middle", "threads in a block");
	snprintf(text, sizeof(text), "%s on %s (%s rules)", in->kernels[0].name, in->arch.name,
		 in->rules->name);
	text_at(f, WIDTH / 2.0, 20, "middle", text);
}

static double value_of(const struct points *p, size_t i, bool rounds)
{
	return rounds ? (double)p->rounds[i] / (double)p->most_rounds : p->occupancy[i];
}

static void draw_curve(FILE *f, const struct model_input *in, const struct points *p, bool rounds)
{
	const char *colour = rounds ? "#c03020" : "#2060a0";

	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
	for (size_t i = 0; i < p->n; i++)
		fprintf(f, "%.1f,%.1f ", x_of(in, p->threads[i]), y_of(value_of(p, i, rounds)));
	fprintf(f, "\"/>\n");
	for (size_t i = 0; i < p->n; i++)
		fprintf(f,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%u threads: "
			"%.1f %%, %" PRIu64 " rounds</title></circle>\n",
			x_of(in, p->threads[i]), y_of(value_of(p, i, rounds)), colour,
			p->threads[i], 100 * p->occupancy[i], p->rounds[i]);
	fprintf(f, "<g fill=\"%s\">", colour);
	if (rounds)
		text_at(f, WIDTH - RIGHT, TOP - 8, "end", "running rounds");
	else
		text_at(f, LEFT, TOP - 8, "start", "occupancy");
	fprintf(f, "</g>\n");
}

static void draw(FILE *f, const struct model_input *in, const struct points *p)
{
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	draw_axes(f, in, p);
	draw_curve(f, in, p, false);
	draw_curve(f, in, p, true);
	fprintf(f, "</svg>\n");
}

int model_plot(const struct model_input *in)
{
	struct points p;
	FILE *f;
	int failed;

	collect(in, &p);
	if (!p.n) {
		fprintf(stderr, "gsb-model: --plot: no block size of '%s' fits this GPU\n",
			in->kernels[0].name);
		return -1;
	}
	f = fopen(in->plot, "w");
	if (!f) {
		fprintf(stderr, "gsb-model: %s: %s\n", in->plot, strerror(errno));
		return -1;
	}
	draw(f, in, &p);
	failed = ferror(f);
	if (fclose(f) || failed) {
		fprintf(stderr, "gsb-model: %s: not written whole\n", in->plot);
		return -1;
	}
	return 0;
}
