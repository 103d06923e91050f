/*
 * emu_stat.c - see emu_stat.h.
 *
 * A row is a section, a metric, its unit and its value; where the value is a sum over the blocks, also the part of one
 * block. All ratios are made here, of counts that add up.
 */
#include "tools/emu_stat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "model/placement/occupancy.h"
#include "model/time/company.h"
#include "tools/model_report.h"

#define LEAST_SATURATION 1e-4 /* that is not printed as 0 */

struct stat {
	struct report report;
	const struct gsb_emu_profile *p;
	const struct gsb_arch *arch;
	const char *section;
};

static const char *const columns[] = {"section", "metric", "unit", "value", "per block"};

static void begin(struct stat *s, const char *metric, const char *unit)
{
	report_text(&s->report, s->section);
	report_text(&s->report, metric);
	report_text(&s->report, unit);
}

/* Of the launch, not of its blocks together. */
static void number(struct stat *s, const char *metric, const char *unit, double value)
{
	begin(s, metric, unit);
	report_number(&s->report, "%.6g", value);
	report_none(&s->report);
}

static void none(struct stat *s, const char *metric, const char *unit)
{
	begin(s, metric, unit);
	report_none(&s->report);
	report_none(&s->report);
}

static void sum(struct stat *s, const char *metric, const char *unit, uint64_t value)
{
	begin(s, metric, unit);
	report_number(&s->report, "%" PRIu64, value);
	report_number(&s->report, "%.6g",
		      s->p->n_blocks ? (double)value / (double)s->p->n_blocks : 0);
}

/* A ratio of two counts; nothing to say where there is nothing to divide by. */
static void ratio(struct stat *s, const char *metric, const char *unit, double scale, uint64_t a,
		  uint64_t b)
{
	if (b)
		number(s, metric, unit, scale * (double)a / (double)b);
	else
		none(s, metric, unit);
}

/* ---- the launch ---- */

static struct gsb_kernel kernel_of(const struct emu_launch *l, const struct emu_options *o)
{
	return (struct gsb_kernel){
		.threads_per_block = o->block[0] * o->block[1] * o->block[2],
		.regs_per_thread = (uint32_t)l->info.attrs[CU_FUNC_ATTRIBUTE_NUM_REGS],
		.smem_bytes = (uint32_t)l->info.attrs[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] +
			      o->smem_bytes,
		.n_blocks = (uint64_t)o->grid[0] * o->grid[1] * o->grid[2],
	};
}

static void show_launch(struct stat *s, const struct emu_launch *l, const struct emu_options *o)
{
	const struct gsb_kernel k = kernel_of(l, o);

	s->section = "Launch Statistics";
	number(s, "Grid Size", "block", (double)k.n_blocks);
	number(s, "Block Size", "thread", k.threads_per_block);
	number(s, "Registers Per Thread", "register, estimated", k.regs_per_thread);
	number(s, "Static Shared Memory Per Block", "byte", k.smem_bytes - o->smem_bytes);
	number(s, "Dynamic Shared Memory Per Block", "byte", o->smem_bytes);
	number(s, "Local Memory Per Thread", "byte",
	       l->info.attrs[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES]);
	number(s, "Duration", "us of device time",
	       (double)(l->done.end_ns - l->done.start_ns) / 1000);
}

static void limit(struct stat *s, const char *metric, uint32_t blocks)
{
	if (blocks == GSB_NO_LIMIT)
		none(s, metric, "block");
	else
		number(s, metric, "block", blocks);
}

static void show_occupancy(struct stat *s, const struct emu_launch *l, const struct emu_options *o)
{
	const struct gsb_kernel k = kernel_of(l, o);
	struct gsb_occupancy occ;

	s->section = "Occupancy";
	if (gsb_occupancy(s->arch, &k, &gsb_rules_hardware, &occ))
		return;
	limit(s, "Block Limit SM", occ.by_blocks);
	limit(s, "Block Limit Registers", occ.by_regs);
	limit(s, "Block Limit Shared Mem", occ.by_smem);
	limit(s, "Block Limit Warps", occ.by_warps);
	number(s, "Theoretical Active Warps per SM", "warp", occ.warps_per_sm);
	number(s, "Theoretical Occupancy", "%", 100.0 * occ.warps_per_sm / s->arch->max_warps);
	ratio(s, "Waves Per SM", "", 1, k.n_blocks, (uint64_t)occ.blocks_per_sm * s->arch->n_sms);
}

/* ---- instructions ---- */

static void show_instructions(struct stat *s)
{
	static const char *const names[GSB_PTX_N_UNITS] = {
		[GSB_PTX_UNIT_ALU] = "ALU",	[GSB_PTX_UNIT_FMA] = "FMA",
		[GSB_PTX_UNIT_FP64] = "FP64",	[GSB_PTX_UNIT_XU] = "XU",
		[GSB_PTX_UNIT_LSU] = "LSU",	[GSB_PTX_UNIT_TEX] = "TEX",
		[GSB_PTX_UNIT_ADU] = "ADU",	[GSB_PTX_UNIT_CBU] = "CBU",
		[GSB_PTX_UNIT_OTHER] = "other",
	};

	s->section = "Instruction Statistics";
	sum(s, "Executed Instructions", "warp inst", s->p->n_insns);
	for (unsigned int i = 0; i < GSB_PTX_N_UNITS; i++)
		sum(s, names[i], "warp inst", s->p->n_by_unit[i]);
	sum(s, "Barriers", "warp inst", s->p->n_barriers);
	s->section = "Warp State Statistics";
	ratio(s, "Avg. Active Threads Per Warp", "thread", 1, s->p->n_lane_insns, s->p->n_insns);
	ratio(s, "Avg. Not Predicated Off Threads Per Warp", "thread", 1, s->p->n_lane_insns_on,
	      s->p->n_insns);
	s->section = "Source Counters";
	sum(s, "Branch Instructions", "warp inst", s->p->n_branches);
	sum(s, "Divergent Branches", "warp inst", s->p->n_divergent);
	ratio(s, "Branch Efficiency", "%", 100, s->p->n_branches - s->p->n_divergent,
	      s->p->n_branches);
}

/* ---- memory ---- */

static void show_traffic(struct stat *s, enum gsb_emu_memory_kind memory,
			 const struct gsb_emu_traffic *t)
{
	sum(s, "Requests", "request", t->n_requests);
	sum(s, "Bytes", "byte", t->n_bytes);
	ratio(s, "Threads/Req", "thread", 1, t->n_lanes, t->n_requests);
	if (memory == GSB_EMU_MEMORY_GLOBAL) {
		sum(s, "Sectors", "sector", t->n_sectors);
		ratio(s, "Sectors/Req", "sector", 1, t->n_sectors, t->n_requests);
		ratio(s, "Coalescing Efficiency", "%", 100, t->n_bytes,
		      t->n_sectors * GSB_EMU_SECTOR_BYTES);
	}
	if (memory == GSB_EMU_MEMORY_SHARED) {
		sum(s, "Wavefronts", "wavefront", t->n_wavefronts);
		sum(s, "Bank Conflicts", "wavefront", t->n_wavefronts - t->n_ideal_wavefronts);
	}
}

static void show_contention(struct stat *s, const struct gsb_emu_traffic *t)
{
	sum(s, "Addresses", "address", t->n_addresses);
	ratio(s, "Threads/Address", "thread", 1, t->n_lanes, t->n_addresses);
	ratio(s, "Most Threads at an Address", "thread/request", 1, t->n_most_at_one,
	      t->n_requests);
}

/* What there is none of is left out, for readers; for programs all is there. */
static void show_memory(struct stat *s)
{
	static const char *const names[GSB_EMU_N_MEMORIES][GSB_EMU_N_TRAFFICS] = {
		[GSB_EMU_MEMORY_GLOBAL] = {"Global Load", "Global Store", "Global Atomic"},
		[GSB_EMU_MEMORY_SHARED] = {"Shared Load", "Shared Store", "Shared Atomic"},
		[GSB_EMU_MEMORY_LOCAL] = {"Local Load", "Local Store", "Local Atomic"},
		[GSB_EMU_MEMORY_CONST] = {"Constant Load"},
	};

	for (unsigned int m = 0; m < GSB_EMU_N_MEMORIES; m++) {
		for (unsigned int k = 0; k < GSB_EMU_N_TRAFFICS; k++) {
			const struct gsb_emu_traffic *t = &s->p->traffic[m][k];

			s->section = names[m][k];
			if (!s->section || (!t->n_requests && !s->report.json))
				continue;
			show_traffic(s, m, t);
			if (k == GSB_EMU_TRAFFIC_ATOM)
				show_contention(s, t);
		}
	}
}

/* How the emulation did the accesses: where "Lane by Lane" is most, it is the slow way. */
static void show_paths(struct stat *s)
{
	const struct gsb_emu_paths *n = &s->p->paths;
	const struct {
		const char *count, *share;
		uint64_t n;
	} paths[] = {
		{"In Order", "In Order Share", n->in_order},
		{"One Place", "One Place Share", n->one_place},
		{"Stride", "Stride Share", n->stride},
		{"Runs", "Runs Share", n->runs},
		{"Lane by Lane", "Lane by Lane Share", n->lanes},
	};
	const uint64_t all = n->in_order + n->one_place + n->stride + n->runs + n->lanes;

	s->section = "Emulated Access Paths";
	if (!all && !s->report.json)
		return;
	sum(s, "Accesses", "access", all);
	for (size_t i = 0; i < GSB_ARRAY_LEN(paths); i++) {
		sum(s, paths[i].count, "access", paths[i].n);
		ratio(s, paths[i].share, "%", 100, paths[i].n, all);
	}
}

void emu_stat_show(struct emu_launch *l, const struct emu_options *o,
		   const struct gsb_emu_profile *p)
{
	struct stat s = {.p = p, .arch = emu_arch(l->dev)};

	report_init(&s.report, o->json, columns, sizeof(columns) / sizeof(columns[0]));
	show_launch(&s, l, o);
	show_occupancy(&s, l, o);
	show_instructions(&s);
	show_memory(&s);
	show_paths(&s);
	report_fact_text(&s.report, "kernel", l->kernel.entry->name);
	report_fact_text(&s.report, "arch", s.arch->name);
	report_finish(&s.report);
}

/* ---- demands ---- */

static uint64_t requests_of(const struct gsb_emu_profile *p, enum gsb_emu_memory_kind memory)
{
	const struct gsb_emu_traffic *t = p->traffic[memory];

	return t[GSB_EMU_TRAFFIC_LOAD].n_requests + t[GSB_EMU_TRAFFIC_STORE].n_requests +
	       t[GSB_EMU_TRAFFIC_ATOM].n_requests;
}

static uint64_t sectors_of(const struct gsb_emu_profile *p)
{
	const struct gsb_emu_traffic *t = p->traffic[GSB_EMU_MEMORY_GLOBAL];

	return t[GSB_EMU_TRAFFIC_LOAD].n_sectors + t[GSB_EMU_TRAFFIC_STORE].n_sectors +
	       t[GSB_EMU_TRAFFIC_ATOM].n_sectors;
}

/* The whole grid in one, as the device's clock counts a block. */
static struct gsb_block_work work_of(const struct gsb_emu_profile *p, const struct gsb_kernel *k)
{
	return (struct gsb_block_work){
		.n_warps = (k->threads_per_block + 31) / 32,
		.n_insns = p->n_insns,
		.n_alu = p->n_by_unit[GSB_PTX_UNIT_ALU],
		.n_imul = p->n_imul,
		.n_sfu = p->n_by_unit[GSB_PTX_UNIT_XU],
		.n_fp64 = p->n_by_unit[GSB_PTX_UNIT_FP64],
		.n_mem_insns = requests_of(p, GSB_EMU_MEMORY_GLOBAL),
		.n_shared = requests_of(p, GSB_EMU_MEMORY_SHARED),
		.n_bytes = sectors_of(p) * GSB_EMU_SECTOR_BYTES,
		.n_barriers = p->n_barriers,
	};
}

/* Of all blocks that an SM holds: that part of them is as fast, for it waits for nothing but its own results. Blocks as long as all of them
 * say the same, and more exactly. */
static double saturation_of(const struct gsb_arch *arch, const struct gsb_kernel *k,
			    const struct gsb_block_work *block)
{
	struct gsb_occupancy occ;
	struct gsb_block_company full;

	if (gsb_occupancy(arch, k, &gsb_rules_hardware, &occ))
		return 1;
	full.sm_warps = occ.blocks_per_sm * block->n_warps;
	full.device_warps = (uint64_t)full.sm_warps * arch->n_sms;
	return fmax(LEAST_SATURATION, (double)gsb_block_wait_ns(arch, block) /
					      (double)gsb_block_time_ns(arch, block, &full));
}

void emu_stat_demands(struct emu_launch *l, const struct emu_options *o,
		      const struct gsb_emu_profile *p)
{
	const struct gsb_arch *arch = emu_arch(l->dev);
	const struct gsb_kernel k = kernel_of(l, o);
	const struct gsb_block_work all = work_of(p, &k);
	const double ns = (double)(l->done.end_ns - l->done.start_ns);
	double launches = ns > 0 ? 1e9 / ns : 0; /* a second */
	double units[GSB_N_UNITS];

	gsb_company_demand(arch, &all, launches / arch->n_sms, launches, units);
	printf("name threads regs smem blocks issue alu sfu fp64 shared l2 bandwidth barrier "
	       "requests saturation solo_us\n");
	printf("%.63s %u %u %u %" PRIu64
	       " %.4f %.4f %.4f %.4f %.4f %.4f %.4f %.4f %.6f %.4f %.3f\n",
	       l->kernel.entry->name, k.threads_per_block, k.regs_per_thread, k.smem_bytes,
	       k.n_blocks, units[GSB_UNIT_ISSUE], units[GSB_UNIT_ALU], units[GSB_UNIT_SFU],
	       units[GSB_UNIT_FP64], units[GSB_UNIT_SHARED], units[GSB_UNIT_L2],
	       units[GSB_UNIT_DRAM], units[GSB_UNIT_BARRIER], units[GSB_UNIT_REQUESTS],
	       saturation_of(arch, &k, &all), ns / 1e3);
}
