/*
 * test_graph.c - graphs as the library keeps them, and the plans by which they run: structure alone, without handles,
 * streams or an engine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/graph/graph.h"
#include "interpose/graph/plan.h"

static unsigned n_graphs_gone, n_nodes_gone;
static int n_held;

static void graph_gone(uint64_t name)
{
	n_graphs_gone++;
}

static void node_gone(uint64_t name)
{
	n_nodes_gone++;
}

static void hold(uint64_t object, uint32_t n)
{
	n_held += (int)n;
}

static void let_go(uint64_t object, uint32_t n)
{
	n_held -= (int)n;
}

static const struct gsb_graph_keeper keeper = {graph_gone, node_gone, hold, let_go};

static unsigned n_memories_gone;

static void memory_gone(struct gsb_graph_memory *m)
{
	n_memories_gone++;
}

static int set_up(void **state)
{
	n_graphs_gone = n_nodes_gone = n_memories_gone = 0;
	n_held = 0;
	return 0;
}

static struct gsb_graph *make(void)
{
	struct gsb_graph *g;

	assert_int_equal(gsb_graph_create(&keeper, &g), 0);
	return g;
}

static struct gsb_graph_node *add(struct gsb_graph *g, struct gsb_graph_node *const *deps, size_t n)
{
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	struct gsb_graph_node *node;

	assert_int_equal(gsb_graph_add(g, &work, deps, n, &node), 0);
	return node;
}

static struct gsb_graph_node *add_kernel(struct gsb_graph *g, uint32_t value)
{
	static const struct gsb_param layout[] = {{0, 8}, {8, 4}};
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	struct gsb_graph_node *node;

	assert_int_equal(gsb_graph_kernel_params(&work.kernel, 2, 12, layout), 0);
	*(uint32_t *)work.kernel.params[1] = value;
	assert_int_equal(gsb_graph_add(g, &work, NULL, 0, &node), 0);
	return node;
}

static struct gsb_graph_node *add_child(struct gsb_graph *g, struct gsb_graph *child,
					struct gsb_graph_node *behind)
{
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child}, own;
	struct gsb_graph_node *node;

	assert_int_equal(gsb_graph_work_copy(&work, &own), 0);
	assert_int_equal(gsb_graph_add(g, &own, &behind, behind != NULL, &node), 0);
	return node;
}

static struct gsb_graph_memory make_memory(void)
{
	return (struct gsb_graph_memory){.gone = memory_gone};
}

/* The node holds the memory. */
static int add_memory(struct gsb_graph *g, CUgraphNodeType type, struct gsb_graph_memory *m)
{
	const struct gsb_graph_work work = {.type = type, .memory = m};
	struct gsb_graph_node *node;
	int r = gsb_graph_add(g, &work, NULL, 0, &node);

	m->n_holders += !r;
	return r;
}

/* ---- structure ---- */

static void test_graph_add_twice_or_foreign_dependency_adds_nothing(void **state)
{
	struct gsb_graph *g = make(), *other = make();
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(other, NULL, 0), *node;
	struct gsb_graph_node *twice[] = {a, a};
	const struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	assert_int_equal(gsb_graph_add(g, &work, twice, 2, &node), -EINVAL);
	assert_int_equal(gsb_graph_add(g, &work, &b, 1, &node), -EINVAL);
	assert_int_equal(g->n_nodes, 1);
	assert_int_equal(a->n_dependents, 0);
	gsb_graph_destroy(g);
	gsb_graph_destroy(other);
}

static void test_graph_remove_takes_its_edges_along(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(g, &a, 1), *c = add(g, &b, 1);

	b->name = 7;
	gsb_graph_remove(b);
	assert_int_equal(g->n_nodes, 2);
	assert_int_equal(a->n_dependents, 0);
	assert_int_equal(c->n_deps, 0);
	assert_int_equal(n_nodes_gone, 1);
	gsb_graph_destroy(g);
	assert_int_equal(n_nodes_gone, 1); /* the others never had a name */
}

static void test_graph_connect_same_edge_or_itself_is_refused(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(g, NULL, 0);

	assert_int_equal(gsb_graph_connect(a, b), 0);
	assert_int_equal(gsb_graph_connect(a, b), -EINVAL);
	assert_int_equal(gsb_graph_connect(a, a), -EINVAL);
	assert_true(gsb_graph_is_connected(a, b));
	assert_false(gsb_graph_is_connected(b, a));
	gsb_graph_disconnect(a, b);
	assert_int_equal(a->n_dependents + b->n_deps, 0);
	gsb_graph_destroy(g);
}

static void test_graph_order_is_behind_dependencies_and_tells_a_circle(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(g, NULL, 0), *order[3];
	struct gsb_graph_node *c = add(g, NULL, 0);

	gsb_graph_connect(c, a);
	gsb_graph_connect(b, a);
	assert_int_equal(gsb_graph_order(g, order), 0);
	assert_ptr_equal(order[0], b);
	assert_ptr_equal(order[1], c);
	assert_ptr_equal(order[2], a);
	gsb_graph_connect(a, b);
	assert_int_equal(gsb_graph_order(g, order), -ELOOP);
	gsb_graph_destroy(g);
}

static void test_graph_clone_has_parameters_of_its_own(void **state)
{
	struct gsb_graph *g = make(), *copy;
	struct gsb_graph_node *a = add_kernel(g, 5), *found;
	const CUkernelNodeAttrValue on = {.cooperative = 1};

	gsb_graph_kernel_set_attr(&a->work.kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &on);
	assert_int_equal(gsb_graph_clone(g, &copy), 0);
	found = gsb_graph_find(copy, a->id);
	assert_non_null(found);
	*(uint32_t *)a->work.kernel.params[1] = 6;
	a->work.kernel.attrs[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 0;
	assert_int_equal(*(uint32_t *)found->work.kernel.params[1], 5);
	assert_ptr_equal(found->work.kernel.params[1],
			 (uint8_t *)gsb_graph_kernel_values(&found->work.kernel) + 8);
	assert_true(gsb_graph_kernel_is_cooperative(&found->work.kernel));
	gsb_graph_destroy(g);
	assert_int_equal(*(uint32_t *)found->work.kernel.params[1], 5);
	gsb_graph_destroy(copy);
}

static void test_graph_clone_keeps_edges_among_its_own_nodes(void **state)
{
	struct gsb_graph *g = make(), *copy;
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(g, &a, 1);

	assert_int_equal(gsb_graph_clone(g, &copy), 0);
	assert_true(
		gsb_graph_is_connected(gsb_graph_find(copy, a->id), gsb_graph_find(copy, b->id)));
	assert_int_equal(a->n_dependents, 1);
	assert_null(gsb_graph_find(g, a->id)); /* no copy of itself */
	gsb_graph_destroy(g);
	gsb_graph_destroy(copy);
}

static void test_graph_find_goes_into_nested_graphs_of_any_depth(void **state)
{
	struct gsb_graph *innermost = make(), *inner = make(), *g = make(), *copy;
	struct gsb_graph_node *child, *found, *deep;

	add_kernel(innermost, 9);
	add_child(inner, innermost, NULL);
	child = add_child(g, inner, NULL);
	assert_true(child->work.child->is_inner);
	deep = child->work.child->nodes[0]->work.child->nodes[0];
	assert_int_equal(gsb_graph_clone(g, &copy), 0);
	found = gsb_graph_find(copy, deep->id);
	assert_non_null(found);
	assert_ptr_not_equal(found, deep);
	assert_int_equal(*(uint32_t *)found->work.kernel.params[1], 9);
	gsb_graph_destroy(innermost);
	gsb_graph_destroy(inner);
	gsb_graph_destroy(g);
	gsb_graph_destroy(copy);
}

static void test_graph_objects_are_held_once_more_by_a_clone(void **state)
{
	struct gsb_graph *g = make(), *copy;

	assert_int_equal(gsb_graph_hold(g, 1, 2), 0); /* references that the caller gives away */
	n_held = 2;
	assert_int_equal(gsb_graph_clone(g, &copy), 0);
	assert_int_equal(n_held, 4);
	assert_int_equal(gsb_graph_let_go(g, 1, 3), -ENOENT);
	assert_int_equal(gsb_graph_let_go(g, 1, 1), 0);
	assert_int_equal(n_held, 3);
	gsb_graph_destroy(g);
	assert_int_equal(n_held, 2);
	gsb_graph_destroy(copy);
	assert_int_equal(n_held, 0);
}

/* ---- plans ---- */

/* Which step has the node. */
static uint32_t step_of(const struct gsb_lane_plan *p, const struct gsb_graph_node *node)
{
	for (uint32_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].node == node)
			return i;
	fail_msg("a node without a step");
	return 0;
}

/*
 * Run a plan in the head: each lane is at a place, an event stands for what its lane had done and knew when it was
 * recorded. over[i * n + j]: when step i begins, step j is over.
 */
static bool *run_in_head(const struct gsb_lane_plan *p)
{
	uint32_t n = p->n_steps;
	bool *over = calloc((size_t)n * n, 1), *slots = calloc((size_t)(p->n_slots + 1) * n, 1);
	bool *lanes = calloc((size_t)GSB_N_LANES * n, 1);

	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_lane_step *s = &p->steps[i];
		bool *lane = lanes + (size_t)s->lane * n;

		assert_true(s->lane < p->n_lanes);
		for (uint32_t w = 0; w < s->n_waits; w++)
			for (uint32_t j = 0; j < n; j++)
				lane[j] |= slots[(size_t)p->waits[s->first_wait + w] * n + j];
		memcpy(over + (size_t)i * n, lane, n);
		lane[i] = true;
		if (s->slot != GSB_LANE_NO_SLOT)
			memcpy(slots + (size_t)s->slot * n, lane, n);
	}
	free(slots);
	free(lanes);
	return over;
}

static void assert_plan_keeps_edges(const struct gsb_graph *g, const struct gsb_lane_plan *p)
{
	bool *over = run_in_head(p);
	uint32_t n = p->n_steps;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		for (uint32_t j = 0; j < g->nodes[i]->n_deps; j++)
			assert_true(over[(size_t)step_of(p, g->nodes[i]) * n +
					 step_of(p, g->nodes[i]->deps[j])]);
	for (uint32_t j = 0; j + 1 < n; j++)
		assert_true(over[(size_t)(n - 1) * n + j]); /* the end is behind all */
	assert_int_equal(p->steps[0].lane, 0);
	assert_int_equal(p->steps[n - 1].lane, 0);
	free(over);
}

static void add_word(struct gsb_graph *g, uint64_t object)
{
	const struct gsb_graph_word w = {.addr = object, .object = object};

	assert_int_equal(gsb_graph_hold(g, object, 1), 0);
	n_held++;
	assert_int_equal(gsb_graph_add_word(g, &w), 0);
}

/* An update of a graph without conditions takes none: nothing is copied from nowhere. */
static void test_graph_take_words_leaves_those_of_before_to_was(void **state)
{
	struct gsb_graph *g = make(), *from = make(), *was = make();

	add_word(g, 5);
	assert_int_equal(gsb_graph_take_words(g, from, was), 0);
	assert_int_equal(g->n_words, 0);
	assert_int_equal(was->n_objects, 1);
	add_word(from, 6);
	assert_int_equal(gsb_graph_take_words(g, from, was), 0);
	assert_int_equal(g->n_words, 1);
	assert_int_equal(g->words[0].object, 6);
	gsb_graph_destroy(g);
	gsb_graph_destroy(from);
	assert_int_equal(n_held, 1);
	gsb_graph_destroy(was);
	assert_int_equal(n_held, 0);
}

static void test_plan_of_nothing_is_begin_and_end(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_lane_plan p;

	assert_int_equal(gsb_lane_plan_make(g, &p), 0);
	assert_int_equal(p.n_steps, 2);
	assert_int_equal(p.n_lanes, 1);
	gsb_lane_plan_finish(&p);
	gsb_graph_destroy(g);
}

static void test_plan_of_a_chain_needs_one_lane_and_no_event(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *last = add(g, NULL, 0);
	struct gsb_lane_plan p;

	for (int i = 0; i < 100; i++)
		last = add(g, &last, 1);
	assert_int_equal(gsb_lane_plan_make(g, &p), 0);
	assert_int_equal(p.n_steps, 103);
	assert_int_equal(p.n_lanes, 1);
	assert_int_equal(p.n_slots, 0);
	assert_int_equal(p.n_waits, 0);
	gsb_lane_plan_finish(&p);
	gsb_graph_destroy(g);
}

static void test_plan_of_two_branches_has_them_in_two_lanes(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(g, &a, 1), *c = add(g, &a, 1);
	struct gsb_graph_node *both[] = {b, c}, *d = add(g, both, 2);
	struct gsb_lane_plan p;

	assert_int_equal(gsb_lane_plan_make(g, &p), 0);
	assert_int_equal(p.n_lanes, 2);
	assert_int_not_equal(p.steps[step_of(&p, b)].lane, p.steps[step_of(&p, c)].lane);
	assert_int_equal(p.n_waits, 2); /* one where they part, one where they meet */
	assert_true(step_of(&p, d) > step_of(&p, c));
	assert_plan_keeps_edges(g, &p);
	gsb_lane_plan_finish(&p);
	gsb_graph_destroy(g);
}

/* A lane whose work is over is used again, and an event that nobody waits for any more, too. */
static void test_plan_of_many_forks_one_after_another_stays_small(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *last = add(g, NULL, 0);
	struct gsb_lane_plan p;

	for (int i = 0; i < 50; i++) {
		struct gsb_graph_node *both[] = {add(g, &last, 1), add(g, &last, 1)};

		last = add(g, both, 2);
	}
	assert_int_equal(gsb_lane_plan_make(g, &p), 0);
	assert_int_equal(p.n_lanes, 2);
	assert_true(p.n_slots <= 3);
	assert_plan_keeps_edges(g, &p);
	gsb_lane_plan_finish(&p);
	gsb_graph_destroy(g);
}

static void test_plan_of_more_branches_than_lanes_keeps_every_edge(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *last[40];
	struct gsb_lane_plan p;

	for (int i = 0; i < 40; i++)
		last[i] = add(g, NULL, 0);
	for (int i = 0; i < 40; i++)
		last[i] = add(g, &last[i], 1);
	add(g, last, 40);
	assert_int_equal(gsb_lane_plan_make(g, &p), 0);
	assert_int_equal(p.n_lanes, GSB_N_LANES);
	assert_plan_keeps_edges(g, &p);
	gsb_lane_plan_finish(&p);
	gsb_graph_destroy(g);
}

/* Any graph: every node behind some of those before it. */
static void test_plan_of_random_graphs_keeps_every_edge(void **state)
{
	unsigned seed = 1;

	for (int round = 0; round < 200; round++) {
		struct gsb_graph *g = make();
		struct gsb_lane_plan p;
		int n = 1 + round % 40;

		for (int i = 0; i < n; i++)
			add(g, NULL, 0);
		for (int i = 0; i < n; i++)
			for (int j = 0; j < i; j++)
				if ((seed = seed * 1103515245 + 12345) >> 16 & 3 ? 0 : 1)
					gsb_graph_connect(g->nodes[j], g->nodes[i]);
		assert_int_equal(gsb_lane_plan_make(g, &p), 0);
		assert_plan_keeps_edges(g, &p);
		gsb_lane_plan_finish(&p);
		gsb_graph_destroy(g);
	}
}

static void test_plan_unrolls_nested_graphs_between_their_neighbours(void **state)
{
	struct gsb_graph *g = make(), *child = make();
	struct gsb_graph_node *a, *node, *z, *inner[2];
	struct gsb_lane_plan p;
	bool *over;

	add(child, NULL, 0);
	add(child, NULL, 0);
	a = add(g, NULL, 0);
	node = add_child(g, child, a);
	z = add(g, &node, 1);
	inner[0] = node->work.child->nodes[0];
	inner[1] = node->work.child->nodes[1];
	assert_int_equal(gsb_lane_plan_make(g, &p), 0);
	assert_int_equal(p.n_lanes, 2);
	over = run_in_head(&p);
	for (int i = 0; i < 2; i++) {
		uint32_t at = step_of(&p, inner[i]);

		assert_true(over[at * p.n_steps + step_of(&p, a)]);
		assert_true(over[step_of(&p, z) * p.n_steps + at]);
	}
	free(over);
	gsb_lane_plan_finish(&p);
	gsb_graph_destroy(g);
	gsb_graph_destroy(child);
}

static void test_plan_of_a_circle_is_refused(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_node *a = add(g, NULL, 0), *b = add(g, &a, 1);
	struct gsb_lane_plan p;

	gsb_graph_connect(b, a);
	assert_int_equal(gsb_lane_plan_make(g, &p), -ELOOP);
	gsb_graph_destroy(g);
}

/* ---- memory ---- */

static void test_graph_add_free_of_its_own_memory_is_for_it_alone_and_once(void **state)
{
	struct gsb_graph *g = make(), *other = make();
	struct gsb_graph_memory m = make_memory();

	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &m), 0);
	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), 0);
	assert_true(m.is_own);
	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), -EINVAL);
	assert_int_equal(add_memory(other, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), -EINVAL);
	assert_int_equal(g->n_nodes, 2);
	assert_false(other->has_memory);
	gsb_graph_destroy(g);
	gsb_graph_destroy(other);
}

static void test_graph_add_free_elsewhere_is_for_any_other_graph_once(void **state)
{
	struct gsb_graph *g = make(), *a = make(), *b = make();
	struct gsb_graph_memory m = make_memory();

	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &m), 0);
	assert_int_equal(add_memory(a, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), 0);
	assert_int_equal(add_memory(a, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), -EINVAL);
	assert_int_equal(add_memory(b, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), 0);
	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), -EINVAL);
	assert_false(m.is_own);
	assert_true(a->has_memory);
	gsb_graph_destroy(g);
	gsb_graph_destroy(a);
	gsb_graph_destroy(b);
}

static void test_graph_memory_goes_with_the_last_who_names_it(void **state)
{
	struct gsb_graph *g = make(), *other = make(), *copy;
	struct gsb_graph_memory m = make_memory();

	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &m), 0);
	assert_int_equal(add_memory(other, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), 0);
	assert_int_equal(gsb_graph_clone(g, &copy), 0);
	assert_true(copy->has_memory);
	m.n_holders++; /* it is in use */
	gsb_graph_destroy(g);
	gsb_graph_destroy(copy);
	gsb_graph_destroy(other);
	assert_int_equal(n_memories_gone, 0);
	gsb_graph_memory_let_go(&m);
	assert_int_equal(n_memories_gone, 1);
}

static void test_graph_drop_memory_leaves_nodes_that_do_nothing(void **state)
{
	struct gsb_graph *g = make();
	struct gsb_graph_memory m = make_memory();

	add(g, NULL, 0);
	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &m), 0);
	assert_int_equal(add_memory(g, CU_GRAPH_NODE_TYPE_MEM_FREE, &m), 0);
	gsb_graph_drop_memory(g);
	assert_int_equal(n_memories_gone, 1);
	assert_int_equal(g->n_nodes, 3);
	gsb_graph_destroy(g);
	assert_int_equal(n_memories_gone, 1);
}

static void test_graph_add_memory_to_a_graph_of_a_node_is_refused(void **state)
{
	struct gsb_graph *g = make(), *child = make();
	struct gsb_graph_memory m = make_memory();
	struct gsb_graph_node *nested = add_child(g, child, NULL);

	assert_int_equal(add_memory(nested->work.child, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &m),
			 -ENOTSUP);
	assert_int_equal(nested->work.child->n_nodes, 0);
	gsb_graph_destroy(child);
	gsb_graph_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_graph_add_twice_or_foreign_dependency_adds_nothing,
				       set_up),
		cmocka_unit_test_setup(test_graph_remove_takes_its_edges_along, set_up),
		cmocka_unit_test_setup(test_graph_connect_same_edge_or_itself_is_refused, set_up),
		cmocka_unit_test_setup(test_graph_order_is_behind_dependencies_and_tells_a_circle,
				       set_up),
		cmocka_unit_test_setup(
			test_graph_add_free_of_its_own_memory_is_for_it_alone_and_once, set_up),
		cmocka_unit_test_setup(test_graph_add_free_elsewhere_is_for_any_other_graph_once,
				       set_up),
		cmocka_unit_test_setup(test_graph_memory_goes_with_the_last_who_names_it, set_up),
		cmocka_unit_test_setup(test_graph_drop_memory_leaves_nodes_that_do_nothing, set_up),
		cmocka_unit_test_setup(test_graph_add_memory_to_a_graph_of_a_node_is_refused,
				       set_up),
		cmocka_unit_test_setup(test_graph_clone_has_parameters_of_its_own, set_up),
		cmocka_unit_test_setup(test_graph_clone_keeps_edges_among_its_own_nodes, set_up),
		cmocka_unit_test_setup(test_graph_find_goes_into_nested_graphs_of_any_depth,
				       set_up),
		cmocka_unit_test_setup(test_graph_objects_are_held_once_more_by_a_clone, set_up),
		cmocka_unit_test_setup(test_graph_take_words_leaves_those_of_before_to_was, set_up),
		cmocka_unit_test_setup(test_plan_of_nothing_is_begin_and_end, set_up),
		cmocka_unit_test_setup(test_plan_of_a_chain_needs_one_lane_and_no_event, set_up),
		cmocka_unit_test_setup(test_plan_of_two_branches_has_them_in_two_lanes, set_up),
		cmocka_unit_test_setup(test_plan_of_many_forks_one_after_another_stays_small,
				       set_up),
		cmocka_unit_test_setup(test_plan_of_more_branches_than_lanes_keeps_every_edge,
				       set_up),
		cmocka_unit_test_setup(test_plan_of_random_graphs_keeps_every_edge, set_up),
		cmocka_unit_test_setup(test_plan_unrolls_nested_graphs_between_their_neighbours,
				       set_up),
		cmocka_unit_test_setup(test_plan_of_a_circle_is_refused, set_up),
	};

	return cmocka_run_group_tests_name("test_graph", tests, NULL, NULL);
}
