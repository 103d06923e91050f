/*
 * test_ptx_cfg.c - blocks, dominators, liveness: worked by hand for small functions, and against naive
 * references for random ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "ptx/live.h"
#include "tests/unit/ptx_text.h"

/* A module of one kernel, its graph and its live sets. */
struct graph {
	struct gsb_ptx_module *m;
	const struct gsb_ptx_func *f;
	struct gsb_arena arena;
	struct gsb_ptx_cfg cfg;
	struct gsb_ptx_live live;
};

static void analyse(struct graph *g, struct gsb_ptx_module *m)
{
	g->m = m;
	g->f = func(m, "k");
	gsb_arena_init(&g->arena, 256 << 20);
	assert_int_equal(gsb_ptx_cfg_build(g->f, &g->arena, &g->cfg), 0);
	assert_int_equal(gsb_ptx_live_build(&g->cfg, &g->arena, &g->live), 0);
}

static void build(struct graph *g, const char *body)
{
	analyse(g, parse_kernel(body));
}

static void drop(struct graph *g)
{
	gsb_arena_finish(&g->arena);
	gsb_ptx_module_destroy(g->m);
}

/* "0->1,2 1->3": every block with its successors, X for the exit. */
static void assert_edges(const struct graph *g, const char *want)
{
	char got[512] = "";

	for (uint32_t b = 0; b < g->cfg.n_blocks; b++) {
		size_t n = strlen(got);

		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%u->", b ? " " : "", b);
		for (uint32_t i = 0; i < g->cfg.blocks[b].n_succ; i++) {
			uint32_t to = g->cfg.blocks[b].succ[i];

			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s", i ? "," : "");
			if (to == GSB_PTX_EXIT(&g->cfg))
				n += (size_t)snprintf(got + n, sizeof(got) - n, "X");
			else
				n += (size_t)snprintf(got + n, sizeof(got) - n, "%u", to);
		}
	}
	assert_string_equal(got, want);
}

static void assert_idoms(const struct graph *g, const int64_t *idom, const int64_t *ipdom)
{
	for (uint32_t b = 0; b < g->cfg.n_blocks; b++) {
		assert_int_equal(g->cfg.blocks[b].idom, idom[b] < 0 ? GSB_PTX_NONE : idom[b]);
		assert_int_equal(g->cfg.blocks[b].ipdom,
				 ipdom[b] < 0 ? GSB_PTX_EXIT(&g->cfg) : ipdom[b]);
	}
}

/* "%r1 %rd2 ": the live registers in the order of their numbers. */
static void assert_live(const struct graph *g, const uint64_t *sets, uint32_t block,
			const char *want)
{
	const uint64_t *set = sets + (size_t)block * g->live.n_words;
	char got[512] = "";

	for (uint32_t r = 0; r < g->f->n_regs; r++) {
		size_t n = strlen(got);

		if (gsb_ptx_live_test(set, r))
			snprintf(got + n, sizeof(got) - n, "%s%u ", g->f->regs[r].base,
				 g->f->regs[r].number);
	}
	assert_string_equal(got, want);
}

static void test_cfg_if_else_meets_behind_it(void **state)
{
	struct graph g;
	static const int64_t idom[] = {-1, 0, 0, 0}, ipdom[] = {3, 3, 3, -1};

	build(&g, ".reg .pred %p<1>; .reg .b32 %r<3>; .reg .b64 %rd<1>;\n"
		  "mov.u32 %r0, %tid.x;\n"
		  "setp.lt.u32 %p0, %r0, 7;\n"
		  "@%p0 bra then;\n"
		  "add.u32 %r1, %r0, 1;\n"
		  "bra join;\n"
		  "then: add.u32 %r1, %r0, 2;\n"
		  "join: add.u32 %r2, %r1, %r0;\n"
		  "ret;\n");
	assert_edges(&g, "0->2,1 1->3 2->3 3->X");
	assert_idoms(&g, idom, ipdom);
	assert_int_equal(gsb_ptx_cfg_reconvergence(&g.cfg, 2), 6);
	assert_int_equal(gsb_ptx_cfg_reconvergence(&g.cfg, 7), GSB_PTX_NONE);
	assert_int_equal(g.cfg.blocks[3].n_pred, 2);
	assert_live(&g, g.live.in, 0, "");
	assert_live(&g, g.live.out, 0, "%r0 ");
	assert_live(&g, g.live.in, 3, "%r0 %r1 ");
	assert_live(&g, g.live.out, 3, "");
	drop(&g);
}

static void test_cfg_loop_with_break_and_continue(void **state)
{
	struct graph g;
	/* 0 entry; 1 head, leaves to 5; 2 body, continues at 4; 3 rest, breaks to 5; 4 latch; 5 end */
	static const int64_t idom[] = {-1, 0, 1, 2, 2, 1}, ipdom[] = {1, 5, 5, 5, 1, -1};

	build(&g, ".reg .pred %p<3>; .reg .b32 %r<3>;\n"
		  "mov.u32 %r0, 0;\n"
		  "head: setp.ge.u32 %p0, %r0, 9; @%p0 bra end;\n"
		  "setp.eq.u32 %p1, %r0, 4; @%p1 bra latch;\n"
		  "setp.eq.u32 %p2, %r1, 4; @%p2 bra end;\n"
		  "latch: add.u32 %r0, %r0, 1; bra head;\n"
		  "end: st.global.u32 [0], %r0;\n");
	assert_edges(&g, "0->1 1->5,2 2->4,3 3->5,4 4->1 5->X");
	/* the break leaves the body, so its lanes meet behind the loop, not at the latch */
	assert_idoms(&g, idom, ipdom);
	assert_live(&g, g.live.out, 0, "%r0 %r1 ");
	assert_live(&g, g.live.in, 5, "%r0 ");
	assert_live(&g, g.live.in, 0, "%r1 "); /* read, never written */
	drop(&g);
}

static void test_cfg_guarded_exit_ends_no_block(void **state)
{
	struct graph g;

	build(&g, ".reg .pred %p<2>; .reg .b32 %r<2>;\n"
		  "@%p0 exit;\n"
		  "@%p1 bra a;\n"
		  "@%p0 ret;\n"
		  "mov.u32 %r0, 1;\n"
		  "a: mov.u32 %r1, 2;\n"
		  "exit;\n"
		  "mov.u32 %r1, 3;\n");
	/* lanes that leave are gone; the others meet at a, not at the exit. The last block is dead. */
	assert_edges(&g, "0->2,1 1->2 2->X 3->X");
	assert_int_equal(gsb_ptx_cfg_reconvergence(&g.cfg, 1), 4);
	assert_false(g.cfg.blocks[3].reachable);
	assert_int_equal(g.cfg.blocks[3].idom, GSB_PTX_NONE);
	assert_int_equal(g.cfg.n_rpo, 3);
	drop(&g);
}

static void test_cfg_endless_loop_post_dominated_by_the_exit(void **state)
{
	struct graph g;

	build(&g, ".reg .pred %p<1>;\n"
		  "@%p0 bra spin;\n"
		  "ret;\n"
		  "spin: bra spin;\n");
	assert_edges(&g, "0->2,1 1->X 2->2");
	assert_int_equal(g.cfg.blocks[2].ipdom, GSB_PTX_EXIT(&g.cfg));
	assert_int_equal(g.cfg.blocks[0].ipdom, 1); /* the way that ends */
	drop(&g);
}

static void test_cfg_branch_table_goes_to_each_target_once(void **state)
{
	struct graph g;

	build(&g, ".reg .pred %p<1>; .reg .b32 %r<2>;\n"
		  "t: .branchtargets a, b, a, c;\n"
		  "brx.idx %r0, t;\n"
		  "a: mov.u32 %r1, 1; bra c;\n"
		  "b: mov.u32 %r1, 2;\n"
		  "c: ret;\n");
	assert_edges(&g, "0->1,2,3 1->3 2->3 3->X");
	assert_int_equal(g.cfg.blocks[0].ipdom, 3);
	assert_int_equal(g.cfg.blocks[3].n_pred, 3);
	drop(&g);
}

static void test_cfg_target_of_a_table_only_begins_a_block(void **state)
{
	struct graph g;

	build(&g, ".reg .b32 %r<2>;\n"
		  "t: .branchtargets a, b;\n"
		  "brx.idx %r0, t;\n"
		  "a: mov.u32 %r1, 1;\n"
		  "b: mov.u32 %r1, 2;\n"
		  "ret;\n");
	assert_edges(&g, "0->1,2 1->2 2->X");
	drop(&g);
}

static void test_cfg_of_a_declaration_is_invalid(void **state)
{
	struct gsb_ptx_module *m = parse(HEAD ".func f();");
	struct gsb_ptx_cfg cfg;
	struct gsb_arena arena;

	gsb_arena_init(&arena, 1 << 20);
	assert_int_equal(gsb_ptx_cfg_build(func(m, "f"), &arena, &cfg), -EINVAL);
	gsb_arena_finish(&arena);
	gsb_ptx_module_destroy(m);
}

static void test_cfg_with_too_many_branch_targets_is_refused(void **state)
{
	enum { TARGETS = 4096, BRANCHES = 4200 };
	size_t size = (TARGETS + BRANCHES) * 16 + 1000, n;
	char *text = malloc(size);
	struct gsb_ptx_module *m;
	struct gsb_ptx_cfg cfg;
	struct gsb_arena arena;

	assert_non_null(text);
	n = (size_t)snprintf(text, size, HEAD ".entry k() { .reg .b32 a; t: .branchtargets x");
	for (int i = 1; i < TARGETS; i++)
		n += (size_t)snprintf(text + n, size - n, ",x");
	n += (size_t)snprintf(text + n, size - n, "; x: \n");
	for (int i = 0; i < BRANCHES; i++)
		n += (size_t)snprintf(text + n, size - n, "brx.idx a,t;\n");
	snprintf(text + n, size - n, "}");
	m = parse(text);
	gsb_arena_init(&arena, 64 << 20);
	assert_int_equal(gsb_ptx_cfg_build(func(m, "k"), &arena, &cfg), -E2BIG);
	gsb_arena_finish(&arena);
	gsb_ptx_module_destroy(m);
	free(text);
}

static void test_cfg_past_the_arena_says_no_memory(void **state)
{
	struct gsb_ptx_module *m = parse_kernel(".reg .b32 a; mov.u32 a, 1; x: bra x;");
	struct gsb_ptx_cfg cfg;
	struct gsb_arena arena;

	gsb_arena_init(&arena, 64);
	assert_int_equal(gsb_ptx_cfg_build(func(m, "k"), &arena, &cfg), -ENOMEM);
	gsb_arena_finish(&arena);
	gsb_ptx_module_destroy(m);
}

static void test_live_guarded_write_keeps_the_old_value(void **state)
{
	struct graph g;

	build(&g, ".reg .pred %p<1>; .reg .b32 %r<2>;\n"
		  "bra next;\n"
		  "next: @%p0 mov.u32 %r0, 1;\n"
		  "mov.u32 %r1, 2;\n"
		  "add.u32 %r1, %r1, %r0;\n");
	assert_live(&g, g.live.in, 1, "%p0 %r0 ");
	drop(&g);
}

static void test_live_pressure_counts_wide_registers_and_no_predicates(void **state)
{
	struct graph g;
	uint32_t regs = 0;

	/* eight 64-bit values live at once, with one 32-bit value: 17, rounded up to 24 */
	build(&g,
	      ".reg .pred %p<8>; .reg .b64 %rd<9>; .reg .b32 %r<2>;\n"
	      "ld.global.u64 %rd0, [0]; ld.global.u64 %rd1, [0]; ld.global.u64 %rd2, [0];\n"
	      "ld.global.u64 %rd3, [0]; ld.global.u64 %rd4, [0]; ld.global.u64 %rd5, [0];\n"
	      "ld.global.u64 %rd6, [0]; ld.global.u64 %rd7, [0]; ld.global.u32 %r0, [0];\n"
	      "setp.eq.u64 %p0, %rd0, 1; setp.eq.u64 %p1, %rd0, 2;\n"
	      "@%p0 st.global.v2.u64 [0], {%rd0, %rd1}; @%p1 st.global.v2.u64 [0], {%rd2, %rd3};\n"
	      "st.global.v2.u64 [0], {%rd4, %rd5}; st.global.v2.u64 [0], {%rd6, %rd7};\n"
	      "st.global.u32 [0], %r0;\n");
	assert_int_equal(gsb_ptx_live_pressure(&g.cfg, &g.live, &g.arena, &regs), 0);
	assert_int_equal(regs, 24);
	drop(&g);
}

static void test_live_pressure_counts_results_that_nobody_reads(void **state)
{
	struct graph g;
	uint32_t regs = 0;

	/* 16 registers live around a result of one more: 17, rounded up to 24 */
	build(&g, ".reg .b64 %rd<8>; .reg .b32 %r<1>;\n"
		  "ld.global.v4.u64 {%rd0, %rd1, %rd2, %rd3}, [0];\n"
		  "ld.global.v4.u64 {%rd4, %rd5, %rd6, %rd7}, [0];\n"
		  "mov.u32 %r0, 1;\n"
		  "st.global.v4.u64 [0], {%rd0, %rd1, %rd2, %rd3};\n"
		  "st.global.v4.u64 [0], {%rd4, %rd5, %rd6, %rd7};\n");
	assert_int_equal(gsb_ptx_live_pressure(&g.cfg, &g.live, &g.arena, &regs), 0);
	assert_int_equal(regs, 24);
	drop(&g);
}

/* Random functions of n blocks: each ends in a branch, a branch table, a leave, or runs on. */
static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

#define RANDOM_REGS 10u

static size_t random_block(char *out, size_t size, uint32_t b, uint32_t n_blocks)
{
	size_t n = (size_t)snprintf(out, size, "L%u:\n", b);

	for (uint32_t i = 0; i < 1 + random_below(4); i++)
		n += (size_t)snprintf(out + n, size - n, "%sadd.u32 %%r%u, %%r%u, %%r%u;\n",
				      random_below(4) ? "" : "@%p0 ", random_below(RANDOM_REGS),
				      random_below(RANDOM_REGS), random_below(RANDOM_REGS));
	switch (random_below(6)) {
	case 0:
		n += (size_t)snprintf(out + n, size - n, "bra L%u;\n", random_below(n_blocks));
		break;
	case 1: n += (size_t)snprintf(out + n, size - n, "ret;\n"); break;
	case 2:
		n += (size_t)snprintf(out + n, size - n, "brx.idx %%r0, T%u;\n", random_below(4));
		break;
	case 3: break;
	default:
		n += (size_t)snprintf(out + n, size - n, "@%%p0 bra L%u;\n",
				      random_below(n_blocks));
	}
	return n;
}

static struct gsb_ptx_module *random_module(uint32_t n_blocks)
{
	static char text[1 << 16];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    HEAD ".entry k() { .reg .pred %%p<1>; .reg .b32 %%r<%u>;\n",
				    RANDOM_REGS);

	for (int t = 0; t < 4; t++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "T%d: .branchtargets L%u, L%u, L%u;\n", t,
			random_below(n_blocks), random_below(n_blocks), random_below(n_blocks));
	for (uint32_t b = 0; b < n_blocks; b++)
		n += random_block(text + n, sizeof(text) - n, b, n_blocks);
	snprintf(text + n, sizeof(text) - n, "}\n");
	return parse(text);
}

/* Marks what can be reached from a block without passing another; forward, or backward from the exit. */
static void reach(const struct gsb_ptx_cfg *cfg, uint32_t from, uint32_t without, bool backward,
		  bool *seen)
{
	if (from == without || seen[from])
		return;
	seen[from] = true;
	if (from < cfg->n_blocks && !backward) {
		for (uint32_t i = 0; i < cfg->blocks[from].n_succ; i++)
			reach(cfg, cfg->blocks[from].succ[i], without, backward, seen);
	}
	for (uint32_t b = 0; backward && b < cfg->n_blocks; b++) {
		for (uint32_t i = 0; i < cfg->blocks[b].n_succ; i++) {
			if (cfg->blocks[b].succ[i] == from)
				reach(cfg, b, without, backward, seen);
		}
	}
}

#define MAX_RANDOM_NODES 128

/* a dominates b: with a taken away, the root no longer reaches b. */
static bool naive_dominates(const struct gsb_ptx_cfg *cfg, uint32_t root, bool backward, uint32_t a,
			    uint32_t b)
{
	bool seen[MAX_RANDOM_NODES] = {0};

	reach(cfg, root, a, backward, seen);
	return !seen[b];
}

/* The immediate one of b's strict dominators is dominated by all others. */
static uint32_t naive_idom(const struct gsb_ptx_cfg *cfg, uint32_t root, bool backward, uint32_t b)
{
	bool reached[MAX_RANDOM_NODES] = {0};
	uint32_t best = GSB_PTX_NONE;

	reach(cfg, root, GSB_PTX_NONE, backward, reached);
	if (!reached[b] || b == root)
		return GSB_PTX_NONE;
	for (uint32_t a = 0; a <= cfg->n_blocks; a++) {
		if (a == b || !reached[a] || !naive_dominates(cfg, root, backward, a, b))
			continue;
		if (best == GSB_PTX_NONE || naive_dominates(cfg, root, backward, best, a))
			best = a;
	}
	return best;
}

static void test_dominators_of_random_graphs_equal_the_naive_ones(void **state)
{
	seed = 1979;
	for (int round = 0; round < 120; round++) {
		struct graph g;

		analyse(&g, random_module(2 + random_below(round < 100 ? 12 : 40)));
		assert_true(g.cfg.n_blocks < MAX_RANDOM_NODES);
		for (uint32_t b = 0; b < g.cfg.n_blocks; b++) {
			uint32_t exit = GSB_PTX_EXIT(&g.cfg),
				 want = naive_idom(&g.cfg, exit, true, b);

			assert_int_equal(g.cfg.blocks[b].idom, naive_idom(&g.cfg, 0, false, b));
			assert_int_equal(g.cfg.blocks[b].ipdom, want == GSB_PTX_NONE ? exit : want);
		}
		drop(&g);
	}
}

struct touch {
	uint32_t reg;
	bool hit;
};

static void on_reg(void *ctx, uint32_t r)
{
	struct touch *t = ctx;

	t->hit |= r == t->reg;
}

/* Is there a way from instruction i on which r is read before it is surely written? */
static bool naive_live(const struct graph *g, uint32_t i, uint32_t r, bool *seen)
{
	const struct gsb_ptx_block *b;
	struct touch use = {.reg = r}, def = {.reg = r};
	bool live = false;

	if (seen[i])
		return false;
	seen[i] = true;
	gsb_ptx_insn_each_use(&g->f->insns[i], on_reg, &use);
	gsb_ptx_insn_each_def(&g->f->insns[i], on_reg, &def);
	if (use.hit || (def.hit && g->f->insns[i].guard == GSB_PTX_NONE))
		return use.hit;
	b = &g->cfg.blocks[g->cfg.block_of[i]];
	if (i + 1 < b->first + b->n_insns)
		return naive_live(g, i + 1, r, seen);
	for (uint32_t s = 0; s < b->n_succ && !live; s++) {
		if (b->succ[s] != GSB_PTX_EXIT(&g->cfg))
			live = naive_live(g, g->cfg.blocks[b->succ[s]].first, r, seen);
	}
	return live;
}

static void test_live_in_of_random_graphs_equals_the_naive_one(void **state)
{
	seed = 42;
	for (int round = 0; round < 100; round++) {
		struct graph g;

		analyse(&g, random_module(2 + random_below(20)));
		for (uint32_t b = 0; b < g.cfg.n_blocks; b++) {
			for (uint32_t r = 0; r < g.f->n_regs; r++) {
				bool seen[512] = {0};

				assert_true(g.f->n_insns < 512);
				assert_int_equal(gsb_ptx_live_test(
							 g.live.in + (size_t)b * g.live.n_words, r),
						 naive_live(&g, g.cfg.blocks[b].first, r, seen));
			}
		}
		drop(&g);
	}
}

static void check_sample(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *m = parse_len(text, len);

	for (uint32_t i = 0; i < m->n_funcs; i++) {
		struct gsb_arena arena;
		struct gsb_ptx_cfg cfg;
		struct gsb_ptx_live live;

		if (!m->funcs[i]->has_body)
			continue;
		gsb_arena_init(&arena, 256 << 20);
		assert_int_equal(gsb_ptx_cfg_build(m->funcs[i], &arena, &cfg), 0);
		assert_int_equal(gsb_ptx_live_build(&cfg, &arena, &live), 0);
		/* compilers write every register before they read it: nothing is live at the entry */
		for (uint32_t r = 0; r < m->funcs[i]->n_regs; r++) {
			if (gsb_ptx_live_test(live.in, r) && r >= m->funcs[i]->n_params)
				fail_msg("%s: %s: %s%u is live at the entry", path,
					 m->funcs[i]->name, m->funcs[i]->regs[r].base,
					 m->funcs[i]->regs[r].number);
		}
		gsb_arena_finish(&arena);
	}
	gsb_ptx_module_destroy(m);
}

static void test_live_at_entry_of_compiled_functions_is_empty(void **state)
{
	each_sample("*.nvcc.ptx", check_sample);
	each_sample("*.clang.ptx", check_sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfg_if_else_meets_behind_it),
		cmocka_unit_test(test_cfg_loop_with_break_and_continue),
		cmocka_unit_test(test_cfg_guarded_exit_ends_no_block),
		cmocka_unit_test(test_cfg_endless_loop_post_dominated_by_the_exit),
		cmocka_unit_test(test_cfg_branch_table_goes_to_each_target_once),
		cmocka_unit_test(test_cfg_target_of_a_table_only_begins_a_block),
		cmocka_unit_test(test_cfg_of_a_declaration_is_invalid),
		cmocka_unit_test(test_cfg_with_too_many_branch_targets_is_refused),
		cmocka_unit_test(test_cfg_past_the_arena_says_no_memory),
		cmocka_unit_test(test_live_guarded_write_keeps_the_old_value),
		cmocka_unit_test(test_live_pressure_counts_wide_registers_and_no_predicates),
		cmocka_unit_test(test_live_pressure_counts_results_that_nobody_reads),
		cmocka_unit_test(test_dominators_of_random_graphs_equal_the_naive_ones),
		cmocka_unit_test(test_live_in_of_random_graphs_equals_the_naive_one),
		cmocka_unit_test(test_live_at_entry_of_compiled_functions_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
