/*
 * arrange.c - see arrange.h.
 *
 * The search takes the largest kernels first, each in the cut that takes least first, so that its
 * first way down is first fit decreasing; what does not fit makes it go back. What is left of the
 * whole GPU bounds it: kernels whose least needs are more than that cannot follow.
 */
#include "model/papers/arrange.h"

#include <string.h>

#include "model/papers/plan_work.h"

static bool take_steps(struct gsb_plan_work *work, uint32_t n)
{
	if (work->steps < n) {
		work->steps = 0;
		return false;
	}
	work->steps -= n;
	return true;
}

/*
 * All blocks of one kernel in that cut onto the SMs. Counted for as many steps as options of stage
 * 1 could be looked at meanwhile.
 */
static bool place_kernel(struct gsb_plan_work *work, const struct gsb_plan_input *in, uint32_t k,
			 uint32_t cut, struct gsb_sm_array *array)
{
	const struct gsb_cuts *c = &work->cuts[k];
	const uint64_t n_blocks = c->geometries[cut].n_blocks;

	return take_steps(work, 16 + array->n_groups) &&
	       gsb_sm_array_place(array, &c->needs[cut], in->rules->placement, n_blocks) ==
		       n_blocks;
}

/* Would that be all of them? Quicker than trying. */
static bool has_room(struct gsb_plan_work *work, uint32_t k, uint32_t cut,
		     const struct gsb_sm_array *array)
{
	const struct gsb_cuts *c = &work->cuts[k];

	return take_steps(work, 2 + array->n_groups) &&
	       gsb_sm_array_has_room(array, &c->needs[cut], c->geometries[cut].n_blocks);
}

static bool are_resident(struct gsb_plan_work *work, const struct gsb_plan_input *in,
			 const struct gsb_arrangement *a)
{
	struct gsb_sm_array *array = &work->arrays[0];

	gsb_sm_array_init(array, in->arch, in->rules, in->arch->n_sms);
	for (uint32_t i = 0; i < in->n_kernels; i++)
		if (!place_kernel(work, in, a->order[i], a->cut[a->order[i]], array))
			return false;
	return true;
}

bool gsb_arrange_order(struct gsb_plan_work *work, const struct gsb_plan_input *in,
		       struct gsb_arrangement *a)
{
	uint32_t threads[GSB_PLAN_KERNELS_MAX];

	for (uint32_t i = 0; i < in->n_kernels; i++)
		a->order[i] = (uint8_t)i;
	if (are_resident(work, in, a))
		return true;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t at = i;

		threads[i] = work->cuts[i].geometries[a->cut[i]].threads_per_block;
		for (; at && threads[a->order[at - 1]] < threads[i]; at--)
			a->order[at] = a->order[at - 1];
		a->order[at] = (uint8_t)i;
	}
	return are_resident(work, in, a);
}

bool gsb_arrange_as_given(struct gsb_plan_work *work, const struct gsb_plan_input *in,
			  struct gsb_arrangement *a)
{
	for (uint32_t i = 0; i < in->n_kernels; i++)
		if (!work->cuts[i].original)
			return false;
	memset(a->cut, 0, sizeof(a->cut));
	return gsb_arrange_order(work, in, a);
}

/* ---- the search ---- */

struct search {
	struct gsb_plan_work *work;
	const struct gsb_plan_input *in;
	struct gsb_sm_unit gpu;				  /* all SMs as one */
	uint8_t n_cuts[GSB_PLAN_KERNELS_MAX];		  /* that may be taken */
	uint8_t cuts[GSB_PLAN_KERNELS_MAX][GSB_CUTS_MAX]; /* by rising share of the GPU */
	uint64_t least[GSB_PLAN_KERNELS_MAX][GSB_PLAN_DIMS];
	uint64_t rest[GSB_PLAN_DIMS]; /* least that the kernels take which are not placed */
	uint8_t by_size[GSB_PLAN_KERNELS_MAX]; /* kernels, largest first */
	bool placed[GSB_PLAN_KERNELS_MAX];
	struct gsb_arrangement *out;
};

static void use_of(const struct search *s, uint32_t k, uint32_t cut, uint64_t use[GSB_PLAN_DIMS])
{
	const struct gsb_cuts *c = &s->work->cuts[k];

	gsb_unit_use(&s->gpu, &c->geometries[cut], &c->needs[cut], use);
}

/* Largest share of any capacity of the GPU that the kernel takes in that cut. */
static double share_of(const struct search *s, uint32_t k, uint32_t cut)
{
	uint64_t use[GSB_PLAN_DIMS];
	double most = 0;

	use_of(s, k, cut, use);
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		if (use[d] && (double)use[d] > most * (double)s->gpu.capacity[d])
			most = (double)use[d] / (double)s->gpu.capacity[d];
	return most;
}

/* The kernel's cuts in the order in which they are tried, and what the least of them take. */
static void list_cuts(struct search *s, uint32_t k, uint32_t n)
{
	double shares[GSB_CUTS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		double share = share_of(s, k, i);
		uint32_t at = i;

		for (; at && shares[at - 1] > share; at--) {
			shares[at] = shares[at - 1];
			s->cuts[k][at] = s->cuts[k][at - 1];
		}
		shares[at] = share;
		s->cuts[k][at] = (uint8_t)i;
	}
	s->n_cuts[k] = (uint8_t)n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t use[GSB_PLAN_DIMS];

		use_of(s, k, i, use);
		for (int d = 0; d < GSB_PLAN_DIMS; d++)
			if (!i || use[d] < s->least[k][d])
				s->least[k][d] = use[d];
	}
}

static void sort_kernels(struct search *s)
{
	double shares[GSB_PLAN_KERNELS_MAX];

	for (uint32_t i = 0; i < s->in->n_kernels; i++) {
		uint32_t at = i;

		shares[i] = share_of(s, i, s->cuts[i][0]);
		for (; at && shares[s->by_size[at - 1]] < shares[i]; at--)
			s->by_size[at] = s->by_size[at - 1];
		s->by_size[at] = (uint8_t)i;
	}
}

/* With so much used, could what is not placed yet follow, as far as the sums can tell? */
static bool can_follow(const struct search *s, const uint64_t used[GSB_PLAN_DIMS])
{
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		if (used[d] + s->rest[d] > s->gpu.capacity[d])
			return false;
	return true;
}

static void set_placed(struct search *s, uint32_t k, bool placed)
{
	s->placed[k] = placed;
	for (int d = 0; d < GSB_PLAN_DIMS; d++)
		s->rest[d] += placed ? -s->least[k][d] : s->least[k][d];
}

static bool are_alike(const struct gsb_plan_kernel *a, const struct gsb_plan_kernel *b)
{
	const struct gsb_geometry_range *x = &a->range, *y = &b->range;

	return a->fixed == b->fixed && x->kernel.threads_per_block == y->kernel.threads_per_block &&
	       x->kernel.regs_per_thread == y->kernel.regs_per_thread &&
	       x->kernel.smem_bytes == y->kernel.smem_bytes &&
	       x->kernel.n_blocks == y->kernel.n_blocks &&
	       x->smem_per_thread_bytes == y->smem_per_thread_bytes &&
	       x->min_threads == y->min_threads && x->max_threads == y->max_threads;
}

/* One like it comes earlier and is not placed either: whatever follows was tried with that one. */
static bool is_repeated(const struct search *s, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (!s->placed[s->by_size[i]] &&
		    are_alike(&s->in->kernels[s->by_size[i]], &s->in->kernels[s->by_size[at]]))
			return true;
	return false;
}

static void copy_array(struct gsb_sm_array *to, const struct gsb_sm_array *from)
{
	to->n_groups = from->n_groups;
	to->n_kernels = from->n_kernels;
	memcpy(to->groups, from->groups, from->n_groups * sizeof(from->groups[0]));
}

static bool place_next(struct search *s, uint32_t depth, const uint64_t used[GSB_PLAN_DIMS]);

/* Kernel k next, in each of its cuts. */
static bool place_in_some_cut(struct search *s, uint32_t depth, uint32_t k,
			      const uint64_t used[GSB_PLAN_DIMS])
{
	struct gsb_sm_array *arrays = s->work->arrays;

	set_placed(s, k, true);
	s->out->order[depth] = (uint8_t)k;
	for (uint32_t i = 0; i < s->n_cuts[k] && s->work->steps; i++) {
		const uint32_t cut = s->cuts[k][i];
		uint64_t next[GSB_PLAN_DIMS];

		use_of(s, k, cut, next);
		for (int d = 0; d < GSB_PLAN_DIMS; d++)
			next[d] += used[d];
		if (!can_follow(s, next))
			continue;
		if (!has_room(s->work, k, cut, &arrays[depth]))
			continue;
		s->out->cut[k] = (uint8_t)cut;
		if (depth + 1 == s->in->n_kernels)
			return true;
		copy_array(&arrays[depth + 1], &arrays[depth]);
		if (place_kernel(s->work, s->in, k, cut, &arrays[depth + 1]) &&
		    place_next(s, depth + 1, next))
			return true;
	}
	set_placed(s, k, false);
	return false;
}

static bool place_next(struct search *s, uint32_t depth, const uint64_t used[GSB_PLAN_DIMS])
{
	if (depth == s->in->n_kernels)
		return true;
	for (uint32_t i = 0; i < s->in->n_kernels && s->work->steps; i++) {
		const uint32_t k = s->by_size[i];

		if (!s->placed[k] && !is_repeated(s, i) && place_in_some_cut(s, depth, k, used))
			return true;
	}
	return false;
}

bool gsb_arrange(struct gsb_plan_work *work, const struct gsb_plan_input *in, bool original,
		 struct gsb_arrangement *out)
{
	struct search s = {.work = work, .in = in, .out = out};
	const uint64_t nothing[GSB_PLAN_DIMS] = {0};

	s.gpu = gsb_sm_unit_of(in->arch, in->arch->n_sms);
	for (uint32_t k = 0; k < in->n_kernels; k++) {
		if (original && !work->cuts[k].original)
			return false;
		list_cuts(&s, k, original ? 1 : work->cuts[k].n);
		for (int d = 0; d < GSB_PLAN_DIMS; d++)
			s.rest[d] += s.least[k][d];
	}
	sort_kernels(&s);
	gsb_sm_array_init(&work->arrays[0], in->arch, in->rules, in->arch->n_sms);
	return can_follow(&s, nothing) && place_next(&s, 0, nothing);
}
