/*
 * block_time.c - see block_time.h.
 */
#include "model/time/block_time.h"

/* Cycles between dependent instructions of a warp, and until a load from DRAM has come; of one size
 * on all GPUs since Volta, and near enough before. */
#define DEPENDENT_CYCLES 4
#define MEMORY_CYCLES	 500
#define BARRIER_CYCLES	 2 /* of an SM, for a warp that comes to one */
#define NS_PER_S	 1000000000ull
#define NS_PER_MS	 1000000ull

typedef unsigned __int128 u128;

static uint64_t div_up(u128 n, u128 d)
{
	u128 q = d ? (n + d - 1) / d : 0;

	return q > UINT64_MAX / 4 ? UINT64_MAX / 4 : (uint64_t)q;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* clock_khz is cycles a millisecond. */
static uint64_t cycles_to_ns(const struct gsb_arch *arch, u128 cycles)
{
	return div_up(cycles * NS_PER_MS, arch->clock_khz);
}

/* The block gets its warps' part of the SM's issue slots. */
static uint64_t issue_ns(const struct gsb_arch *arch, const struct gsb_block_work *w,
			 uint64_t sm_warps)
{
	return cycles_to_ns(
		arch, div_up((u128)w->n_insns * sm_warps, (u128)w->n_warps * arch->issue_width));
}

/* The same of a pipe that gives so many results a cycle. */
static uint64_t pipe_ns(const struct gsb_arch *arch, const struct gsb_block_work *w,
			uint64_t sm_warps, uint64_t n_insns, uint32_t per_cycle)
{
	return cycles_to_ns(arch, div_up((u128)n_insns * GSB_WARP_SIZE * sm_warps,
					 (u128)w->n_warps * per_cycle));
}

static uint64_t pipes_ns(const struct gsb_arch *arch, const struct gsb_block_work *w,
			 uint64_t sm_warps)
{
	const struct gsb_arch_rates *r = &arch->per_cycle;
	uint64_t whole = max_u64(pipe_ns(arch, w, sm_warps, w->n_alu, r->alu),
				 pipe_ns(arch, w, sm_warps, w->n_imul, r->imul));
	uint64_t other = max_u64(pipe_ns(arch, w, sm_warps, w->n_sfu, r->sfu),
				 pipe_ns(arch, w, sm_warps, w->n_fp64, r->fp64));

	return max_u64(whole, other);
}

/* The same of the one way to shared memory and the caches, an access a cycle: 32 units for loads and stores, 32 banks. Conflicts of
 * banks are not counted here. */
static uint64_t access_ns(const struct gsb_arch *arch, const struct gsb_block_work *w,
			  uint64_t sm_warps)
{
	return cycles_to_ns(arch,
			    div_up(((u128)w->n_shared + w->n_mem_insns) * sm_warps, w->n_warps));
}

static uint64_t barrier_ns(const struct gsb_arch *arch, const struct gsb_block_work *w,
			   uint64_t sm_warps)
{
	return cycles_to_ns(arch,
			    div_up((u128)w->n_barriers * BARRIER_CYCLES * sm_warps, w->n_warps));
}

static uint64_t latency_ns(const struct gsb_arch *arch, const struct gsb_block_work *w)
{
	return cycles_to_ns(arch, div_up((u128)w->n_insns * DEPENDENT_CYCLES +
						 (u128)w->n_mem_insns * MEMORY_CYCLES,
					 w->n_warps));
}

static uint64_t memory_ns(const struct gsb_arch *arch, const struct gsb_block_work *w,
			  uint64_t device_warps)
{
	return div_up((u128)w->n_bytes * device_warps * NS_PER_S,
		      (u128)arch->mem_bandwidth_bytes_per_s * w->n_warps);
}

static uint64_t sleep_ns(const struct gsb_block_work *w)
{
	return w->sleep_ns / (w->n_warps ? w->n_warps : 1);
}

uint64_t gsb_block_wait_ns(const struct gsb_arch *arch, const struct gsb_block_work *work)
{
	return max_u64(1, max_u64(latency_ns(arch, work), work->alone_ns)) + sleep_ns(work);
}

uint64_t gsb_block_time_ns(const struct gsb_arch *arch, const struct gsb_block_work *work,
			   const struct gsb_block_company *company)
{
	uint64_t t = gsb_block_wait_ns(arch, work) - sleep_ns(work);
	uint64_t sm_warps = max_u64(company->sm_warps, work->n_warps);

	t = max_u64(t, issue_ns(arch, work, sm_warps));
	t = max_u64(t, pipes_ns(arch, work, sm_warps));
	t = max_u64(t, access_ns(arch, work, sm_warps));
	t = max_u64(t, barrier_ns(arch, work, sm_warps));
	t = max_u64(t, memory_ns(arch, work, max_u64(company->device_warps, work->n_warps)));
	return t + sleep_ns(work);
}
