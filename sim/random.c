/*
 * random.c - see random.h. The load is written as text and read again, so that it has passed all checks of a recorded one.
 */
#include "sim/random.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/checked.h"
#include "model/placement/occupancy.h"

#define LONGEST_NS  3000000.0
#define SHORTEST_NS 10000.0
#define SMEM_STEP   1024

struct draw {
	const struct gsb_arch *arch;
	uint64_t state;
	FILE *to;
	bool units;
	uint32_t n_lines, n_kernels;
	uint64_t serial;
};

/* splitmix64 */
static uint64_t next(struct draw *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double share(struct draw *d)
{
	return (double)(next(d) >> 11) / (double)(UINT64_C(1) << 53);
}

static uint32_t between(struct draw *d, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(next(d) % (most - least + 1));
}

/* Evenly on a logarithmic scale. */
static double log_between(struct draw *d, double least, double most)
{
	return least * pow(most / least, share(d));
}

/* ---- kernels ---- */

const struct gsb_random_kind gsb_random_kinds[] = {
	{"stream", "dram", 2700000, 0.1},  {"gather", "l2", 2200000, 0.1},
	{"chase", "chain", 2600000, 0.05}, {"fma", "dense", 950000, 0.1},
	{"sfu", "sfu", 950000, 0.2},	   {"lds", "shared", 950000, 0.3},
	{"l1hit", "l1", 950000, 0.2},	   {0},
};

struct shape {
	struct gsb_kernel kernel;
	const struct gsb_random_kind *kind; /* NULL: none */
	uint64_t alone_ns, n_insns;
};

static uint32_t draw_regs(struct draw *d, uint32_t threads)
{
	uint32_t most = d->arch->max_regs_per_block / threads / 8 * 8;

	if (most > 64)
		most = 64;
	return most <= 16 ? most : between(d, 2, most / 8) * 8;
}

/* Half of the kernels have none. */
static uint32_t draw_smem(struct draw *d)
{
	return between(d, 0, 1)
		       ? SMEM_STEP * between(d, 1, d->arch->smem_per_block_bytes / SMEM_STEP)
		       : 0;
}

static const struct gsb_random_kind *draw_kind(struct draw *d)
{
	uint32_t n = 0;

	while (gsb_random_kinds[n].name)
		n++;
	return &gsb_random_kinds[between(d, 0, n - 1)];
}

/* The grid follows from how many of its rounds the GPU is filled. */
static bool draw_shape(struct draw *d, struct shape *s)
{
	struct gsb_occupancy o;
	double blocks, alone, issue;

	s->kernel.threads_per_block = GSB_WARP_SIZE * between(d, 1, 16);
	s->kernel.regs_per_thread = draw_regs(d, s->kernel.threads_per_block);
	s->kernel.smem_bytes = draw_smem(d);
	if (gsb_occupancy(d->arch, &s->kernel, &gsb_rules_hardware, &o) || !o.blocks_per_sm)
		return false;
	blocks = log_between(d, 0.1, 4) * o.blocks_per_sm * d->arch->n_sms;
	s->kernel.n_blocks = blocks < 1 ? 1 : (uint64_t)blocks;
	alone = log_between(d, SHORTEST_NS, LONGEST_NS);
	s->alone_ns = (uint64_t)alone;
	s->kind = d->units ? draw_kind(d) : NULL;
	issue = s->kind ? s->kind->issue : log_between(d, 0.05, 0.8);
	/* Of the issue slots of the SMs that it uses. */
	s->n_insns = (uint64_t)(issue * alone * d->arch->clock_khz / 1e6 * d->arch->issue_width *
				fmin((double)s->kernel.n_blocks, d->arch->n_sms));
	return true;
}

/* ---- lines ---- */

static void write_head(struct draw *d, const struct gsb_random_load *p)
{
	fprintf(d->to, "gsb-load version=%d\n", GSB_WORKLOAD_VERSION);
	fprintf(d->to, "device name=emu:%s policy=none sms=%" PRIu32 " clock=virtual\n",
		d->arch->name, d->arch->n_sms);
	for (uint32_t t = 1; t <= p->n_tenants; t++)
		fprintf(d->to, "tenant id=%" PRIu32 " name=t%" PRIu32 "\n", t, t);
	for (uint32_t t = 1; t <= p->n_tenants; t++)
		fprintf(d->to, "stream tenant=%" PRIu32 " number=1\n", t);
	d->n_lines = 2 + 2 * p->n_tenants;
}

static void write_kernel(struct draw *d, uint32_t tenant, const struct shape *s)
{
	d->n_kernels++;
	fprintf(d->to,
		"kernel id=%" PRIu32 " tenant=%" PRIu32 " name=k%" PRIu32 " regs=%" PRIu32
		" smem=%" PRIu32,
		d->n_kernels, tenant, d->n_kernels, s->kernel.regs_per_thread,
		s->kernel.smem_bytes);
	if (s->kind)
		fprintf(d->to, " unit=%s want=%" PRIu32, s->kind->unit, s->kind->want_ppm);
	fputc('\n', d->to);
	d->n_lines++;
}

static void write_copy(struct draw *d, uint32_t tenant, bool up)
{
	fprintf(d->to,
		"op serial=%" PRIu64 " tenant=%" PRIu32 " stream=1 kind=copy bytes=%" PRIu64
		" from=%s to=%s\n",
		++d->serial, tenant, (uint64_t)log_between(d, 4096, 16777216),
		up ? "host" : "device", up ? "device" : "host");
	d->n_lines++;
}

static void write_launch(struct draw *d, uint32_t tenant, uint32_t kernel, const struct shape *s)
{
	fprintf(d->to,
		"op serial=%" PRIu64 " tenant=%" PRIu32 " stream=1 kind=launch kernel=%" PRIu32
		" grid=%" PRIu64 "x1x1 block=%" PRIu32 "x1x1 instructions=%" PRIu64
		" alone=%" PRIu64 "\n",
		++d->serial, tenant, kernel, s->kernel.n_blocks, s->kernel.threads_per_block,
		s->n_insns, s->alone_ns);
	d->n_lines++;
}

static void write_tenant(struct draw *d, const struct gsb_random_load *p, uint32_t t,
			 const struct shape *shapes)
{
	write_copy(d, t + 1, true);
	for (uint32_t n = 0; n < (p->n_times ? p->n_times : 1); n++)
		for (uint32_t k = t * p->n_kernels; k < (t + 1) * p->n_kernels; k++)
			write_launch(d, t + 1, k + 1, &shapes[k]);
	write_copy(d, t + 1, false);
}

/* Kernels come before operations, so shapes are drawn first. */
static int write_load(struct draw *d, const struct gsb_random_load *p)
{
	uint32_t n = p->n_tenants * p->n_kernels;
	struct shape *shapes = calloc(n, sizeof(*shapes));

	if (!shapes)
		return -ENOMEM;
	write_head(d, p);
	for (uint32_t i = 0; i < n; i++) {
		while (!draw_shape(d, &shapes[i]))
			;
		write_kernel(d, i / p->n_kernels + 1, &shapes[i]);
	}
	for (uint32_t t = 0; t < p->n_tenants; t++)
		write_tenant(d, p, t, shapes);
	fprintf(d->to, "end lines=%" PRIu32 "\n", d->n_lines);
	free(shapes);
	return 0;
}

int gsb_workload_random(const struct gsb_arch *arch, const struct gsb_random_load *p,
			struct gsb_workload *out)
{
	struct draw d = {.arch = arch, .state = p->seed, .units = p->units};
	struct gsb_text_error error;
	char *text = NULL;
	size_t size = 0;
	int err;

	if (!p->n_tenants || p->n_tenants > GSB_RANDOM_TENANTS_MAX || !p->n_kernels ||
	    p->n_kernels > GSB_RANDOM_KERNELS_MAX || p->n_times > GSB_RANDOM_TIMES_MAX)
		return -EINVAL;
	d.to = open_memstream(&text, &size);
	if (!d.to)
		return -ENOMEM;
	err = write_load(&d, p);
	if (fclose(d.to) && !err)
		err = -ENOMEM;
	if (!err)
		err = gsb_workload_parse(text, size, out, &error);
	free(text);
	return err;
}
