/*
 * chain.c - see chain.h.
 */
#include "device/cuda/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "device/cuda/device.h"
#include "device/cuda/launch.h"
#include "device/cuda/mark_ptx.h"
#include "device/cuda/module.h"
#include "device/cuda/partition.h"

#define GRID_X_MAX   INT32_MAX
#define GRID_YZ_MAX  UINT16_MAX
#define PARAMS_ALIGN 16
#define ONE_IS_OLD   256 /* chains sent since: another kernel that comes alone may have its graph */
#define LONG_NS	     200000 /* for launches that were joined */

/* A kernel of a graph, as the driver was told last. */
struct node {
	CUgraphNode node;
	CUfunction function; /* NULL: it is not known what it has */
	struct cuda_geometry geometry;
	uint8_t *params;
	uint32_t params_bytes;
};

struct cuda_graph {
	CUgraph graph;
	CUgraphExec exec;
	struct node nodes[CUDA_CHAIN_MAX];
	unsigned n;
	bool beside;	     /* each of its kernels is a branch */
	uint64_t sequence;   /* of its kernels and geometries; 0: of none */
	unsigned n_unloaded; /* when it was made */
	unsigned mark;	     /* that it sets, or its first branch does; CUDA_NO_MARK: none */
	struct cuda_end end; /* until then it is under way: the first branch of it is */
	uint64_t n_sent;     /* when it was last sent */
};

/* Which graph is wanted. */
struct want {
	const struct gsb_cmd_launch *launches;
	unsigned n;		    /* of them */
	struct cuda_graph **graphs; /* where those of that kind are */
	unsigned n_graphs;	    /* at most */
	unsigned mark;		    /* of the first place there; CUDA_NO_MARK: none has any */
	bool beside;		    /* each other, not one behind the other */
	uint64_t sequence;
};

/* ---- which launches ---- */

static bool is_size(const uint32_t grid[3])
{
	return grid[0] && grid[1] && grid[2] && grid[0] <= GRID_X_MAX && grid[1] <= GRID_YZ_MAX &&
	       grid[2] <= GRID_YZ_MAX;
}

static bool is_block_taken(const struct cuda_geometry *taken, const struct gsb_cmd_launch *l)
{
	return taken->block[0] && taken->smem_bytes == l->smem_bytes &&
	       !memcmp(taken->block, l->block, sizeof(l->block));
}

bool cuda_chain_takes(const struct gsb_cmd *cmd, bool alone)
{
	const struct gsb_cmd_launch *l = &cmd->launch;
	const struct gsb_function *f = l->function;

	if (cmd->kind != GSB_CMD_LAUNCH || l->cooperative || l->cluster[0] || f->has_clusters)
		return false;
	if (!is_block_taken(&f->taken, l) || l->params_bytes < f->params_bytes ||
	    f->params_bytes > CUDA_CHAIN_PARAMS_BYTES)
		return false;
	return alone ? !memcmp(f->taken.grid, l->grid, sizeof(l->grid)) : is_size(l->grid);
}

bool cuda_chain_has_room(const struct cuda_chain *c, const struct gsb_cmd_launch *l)
{
	return c->n < CUDA_CHAIN_MAX &&
	       l->function->params_bytes <= CUDA_CHAIN_PARAMS_BYTES - c->params_bytes;
}

void cuda_chain_add(struct cuda_chain *c, const struct gsb_cmd_launch *l, CUresult *refused)
{
	uint32_t bytes = l->function->params_bytes;
	uint8_t *params = c->params + c->params_bytes;

	c->refused[c->n] = refused;
	c->launches[c->n] = *l;
	c->launches[c->n++].params = params;
	if (bytes)
		memcpy(params, l->params, bytes);
	bytes = (bytes + PARAMS_ALIGN - 1) & ~(PARAMS_ALIGN - 1u);
	c->params_bytes += bytes;
	if (c->params_bytes > CUDA_CHAIN_PARAMS_BYTES)
		c->params_bytes = CUDA_CHAIN_PARAMS_BYTES;
}

/* ---- graphs ---- */

static uint64_t sequence_of(const struct gsb_cmd_launch *l, unsigned n)
{
	uint64_t h = GSB_HASH_BEGIN;

	for (unsigned i = 0; i < n; i++) {
		h = gsb_hash_number(h, (uint64_t)(uintptr_t)l[i].function->function);
		h = gsb_hash_number(h, l[i].grid[0] | (uint64_t)l[i].smem_bytes << 32);
		h = gsb_hash_number(h, l[i].grid[1] | (uint64_t)l[i].grid[2] << 32);
		h = gsb_hash_number(h, l[i].block[0] | (uint64_t)l[i].block[1] << 32);
		h = gsb_hash_number(h, l[i].block[2]);
	}
	return h | 1;
}

static CUDA_KERNEL_NODE_PARAMS node_of(struct cuda_params *params, const struct gsb_cmd_launch *l)
{
	return (CUDA_KERNEL_NODE_PARAMS){
		.func = l->function->function,
		.gridDimX = l->grid[0],
		.gridDimY = l->grid[1],
		.gridDimZ = l->grid[2],
		.blockDimX = l->block[0],
		.blockDimY = l->block[1],
		.blockDimZ = l->block[2],
		.sharedMemBytes = l->smem_bytes,
		.extra = cuda_params_of(params, l),
	};
}

/* Where there is no memory for that, it is set again the next time. */
static void remember(struct node *n, const struct gsb_cmd_launch *l)
{
	uint32_t bytes = l->function->params_bytes;
	uint8_t *params = n->params;

	if (bytes && bytes != n->params_bytes)
		params = realloc(n->params, bytes);
	if (bytes && !params)
		return;
	n->params = params;
	n->params_bytes = bytes ? bytes : n->params_bytes;
	if (bytes)
		memcpy(params, l->params, bytes);
	memcpy(n->geometry.grid, l->grid, sizeof(l->grid));
	memcpy(n->geometry.block, l->block, sizeof(l->block));
	n->geometry.smem_bytes = l->smem_bytes;
	n->function = l->function->function;
}

/* To set a kernel of a long chain costs as much as all else about it. Its function says how many parameters it has. */
static bool is_as_set(const struct node *n, const struct gsb_cmd_launch *l)
{
	uint32_t bytes = l->function->params_bytes;

	return n->function == l->function->function && n->geometry.smem_bytes == l->smem_bytes &&
	       !memcmp(n->geometry.grid, l->grid, sizeof(l->grid)) &&
	       !memcmp(n->geometry.block, l->block, sizeof(l->block)) &&
	       (!bytes || !memcmp(n->params, l->params, bytes));
}

static void destroy(struct cuda_device *dev, struct cuda_graph *g)
{
	for (unsigned i = 0; i < g->n; i++)
		free(g->nodes[i].params);
	if (g->exec)
		cuda_note(dev, dev->cu.cuGraphExecDestroy(g->exec));
	if (g->graph)
		cuda_note(dev, dev->cu.cuGraphDestroy(g->graph));
	free(g);
}

/* Of a branch: its word is 1 when what its kernel has written is there. */
static CUresult add_branch_mark(struct cuda_device *dev, struct cuda_graph *g, unsigned branch)
{
	const uint64_t word = (uint64_t)(uintptr_t)&dev->marks[g->mark + branch];
	struct gsb_function mark = {.function = dev->graphs.mark, .params_bytes = sizeof(word)};
	const struct gsb_cmd_launch l = {
		.function = &mark, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = &word};
	struct cuda_params params;
	const CUDA_KERNEL_NODE_PARAMS node = node_of(&params, &l);
	CUgraphNode added;

	return dev->cu.cuGraphAddKernelNode_v2(&added, g->graph, &g->nodes[branch].node, 1, &node);
}

static CUresult add_mark(struct cuda_device *dev, struct cuda_graph *g)
{
	const CUDA_MEMSET_NODE_PARAMS mark = {
		.dst = (uint64_t)(uintptr_t)&dev->marks[g->mark],
		.value = 1,
		.elementSize = sizeof(*dev->marks),
		.width = 1,
		.height = 1,
	};
	CUgraphNode node;

	return dev->cu.cuGraphAddMemsetNode(&node, g->graph, &g->nodes[g->n - 1].node, 1, &mark,
					    dev->ctx);
}

static CUresult fill(struct cuda_device *dev, struct cuda_graph *g, const struct gsb_cmd_launch *l)
{
	CUresult result = dev->cu.cuGraphCreate(&g->graph, 0);

	for (unsigned i = 0; i < g->n && !result; i++) {
		struct cuda_params params;
		const CUDA_KERNEL_NODE_PARAMS node = node_of(&params, &l[i]);
		bool behind = i && !g->beside;

		result = dev->cu.cuGraphAddKernelNode_v2(&g->nodes[i].node, g->graph,
							 behind ? &g->nodes[i - 1].node : NULL,
							 behind, &node);
		if (!result)
			remember(&g->nodes[i], &l[i]);
		if (!result && g->beside)
			result = add_branch_mark(dev, g, i);
	}
	if (!result && !g->beside && g->mark != CUDA_NO_MARK)
		result = add_mark(dev, g);
	return result ? result : dev->cu.cuGraphInstantiateWithFlags(&g->exec, g->graph, 0);
}

static struct cuda_graph *make(struct cuda_device *dev, const struct want *w, unsigned mark)
{
	struct cuda_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->n = w->n;
	g->beside = w->beside;
	g->n_unloaded = dev->graphs.n_unloaded;
	g->mark = mark;
	if (!cuda_note(dev, fill(dev, g, w->launches)))
		return g;
	destroy(dev, g);
	return NULL;
}

static bool has_come(const struct cuda_device *dev, struct cuda_end end)
{
	uint32_t ended = atomic_load_explicit(&dev->ended[end.queue], memory_order_relaxed);

	return (int32_t)(ended - end.number) >= 0;
}

/* A kernel of it may have gone, and another one be where it was. */
static bool is_stale(const struct cuda_device *dev, const struct cuda_graph *g)
{
	return g->n_unloaded != dev->graphs.n_unloaded;
}

/* Whether a sequence that it does not have may be made its own. One that comes alone gains less than that costs. */
static bool may_change(const struct cuda_device *dev, const struct cuda_graph *g)
{
	return g->n > 1 || dev->graphs.n_sent - g->n_sent > ONE_IS_OLD;
}

/* Where the graph for these is, or is to be; NULL: all of that length are under way, or others'. */
static struct cuda_graph **find(struct cuda_device *dev, const struct want *w)
{
	struct cuda_graph **oldest = NULL;

	for (unsigned i = 0; i < w->n_graphs; i++) {
		struct cuda_graph **at = &w->graphs[i], *g = *at;

		if (!g)
			return at;
		if (!has_come(dev, g->end))
			continue;
		if (g->sequence == w->sequence || is_stale(dev, g))
			return at;
		if (may_change(dev, g) && (!oldest || g->n_sent < (*oldest)->n_sent))
			oldest = at;
	}
	return oldest;
}

/* Each place for a graph with a mark has one of its own, but for those of a fork, of which one is under way at a time. */
static unsigned mark_at(const struct want *w, struct cuda_graph **at)
{
	bool own = w->mark != CUDA_NO_MARK && !w->beside;

	return own ? w->mark + (unsigned)(at - w->graphs) : w->mark;
}

static struct cuda_graph *take(struct cuda_device *dev, const struct want *w)
{
	struct cuda_graph **at = find(dev, w);

	if (at && *at && is_stale(dev, *at)) {
		destroy(dev, *at);
		*at = NULL;
	}
	if (at && !*at)
		*at = make(dev, w, mark_at(w, at));
	return at ? *at : NULL;
}

/* ---- sending ---- */

static CUresult set_node(struct cuda_device *dev, struct cuda_graph *g, struct node *n,
			 const struct gsb_cmd_launch *l)
{
	struct cuda_params params;
	const CUDA_KERNEL_NODE_PARAMS node = node_of(&params, l);
	CUresult result;

	n->function = NULL;
	result = dev->cu.cuGraphExecKernelNodeSetParams_v2(g->exec, n->node, &node);
	if (!result)
		remember(n, l);
	return result;
}

static CUresult set(struct cuda_device *dev, struct cuda_graph *g, const struct gsb_cmd_launch *l)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < g->n && !result; i++)
		if (!is_as_set(&g->nodes[i], &l[i]))
			result = set_node(dev, g, &g->nodes[i], &l[i]);
	return result;
}

/* The graph for these, with their parameters. NULL: there is none. To set a kernel the driver looks at the one that was there before. */
static struct cuda_graph *prepare(struct cuda_device *dev, const struct want *w)
{
	struct cuda_graph *g;

	pthread_mutex_lock(&dev->graphs.lock);
	g = take(dev, w);
	if (g)
		g->sequence = 0;
	if (g && cuda_note(dev, set(dev, g, w->launches)))
		g = NULL;
	pthread_mutex_unlock(&dev->graphs.lock);
	if (g)
		g->sequence = w->sequence;
	return g;
}

static struct want chain_of(struct cuda_device *dev, unsigned from, unsigned length, bool marked)
{
	const struct gsb_cmd_launch *launches = &dev->chain.launches[from];
	struct cuda_graphs *g = &dev->graphs;
	unsigned n = 1u << length;

	return (struct want){.launches = launches,
			     .n = n,
			     .graphs = marked ? g->marked[length] : g->plain[length],
			     .n_graphs = CUDA_CHAIN_GRAPHS,
			     .mark = marked ? length * CUDA_CHAIN_GRAPHS : CUDA_NO_MARK,
			     .sequence = sequence_of(launches, n)};
}

/* Other threads that see them cleared see in ended why. */
static void clear_marks(struct cuda_device *dev, const struct cuda_graph *g)
{
	unsigned n = g->beside ? g->n : g->mark != CUDA_NO_MARK;

	for (unsigned i = 0; i < n; i++)
		__atomic_store_n(&dev->marks[g->mark + i], 0, __ATOMIC_RELEASE);
}

/* NULL: it is not sent, and nothing of it. */
static const struct cuda_graph *send_graph(struct cuda_device *dev, const struct cuda_chain *c,
					   const struct want *w)
{
	struct cuda_graph *g = prepare(dev, w);

	if (!g)
		return NULL;
	clear_marks(dev, g);
	if (cuda_note(dev, dev->cu.cuGraphLaunch(g->exec, c->stream)))
		return NULL;
	g->end = c->end;
	g->n_sent = ++dev->graphs.n_sent;
	return g;
}

/* ---- forks ---- */

static bool is_free(const struct cuda_device *dev, const struct cuda_fork *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!has_come(dev, f->ends[i]))
			return false;
	return true;
}

/* NULL: there is none, or one that takes long. */
static struct cuda_fork *find_free(struct cuda_device *dev, uint64_t now)
{
	struct cuda_graphs *g = &dev->graphs;
	struct cuda_fork *free = NULL;

	for (unsigned i = g->n_forks; i--;) {
		struct cuda_fork *f = &g->forks[i];

		if (is_free(dev, f))
			free = f;
		else if (now > f->sent_ns + LONG_NS)
			return NULL;
	}
	return free;
}

unsigned cuda_chain_send_beside(struct cuda_device *dev, struct cuda_chain *c,
				const struct cuda_end *ends)
{
	const uint64_t now = gsb_clock_ns();
	struct cuda_fork *f = find_free(dev, now);
	struct want w = {.launches = c->launches,
			 .n = c->n,
			 .n_graphs = CUDA_BESIDE_GRAPHS,
			 .beside = true,
			 .sequence = sequence_of(c->launches, c->n)};

	if (!f)
		return CUDA_NO_MARK;
	w.graphs = f->graphs[c->n - 1];
	w.mark = CUDA_N_CHAIN_MARKS + (unsigned)(f - dev->graphs.forks) * CUDA_BESIDE_MAX;
	c->stream = cuda_stream_handle(f->stream);
	c->end = ends[0];
	if (!send_graph(dev, c, &w))
		return CUDA_NO_MARK;
	f->n = c->n;
	f->sent_ns = now;
	memcpy(f->ends, ends, c->n * sizeof(*ends));
	return w.mark;
}

bool cuda_chain_is_beside(unsigned mark)
{
	return mark >= CUDA_N_CHAIN_MARKS && mark != CUDA_NO_MARK;
}

void cuda_chain_keep_mark(struct cuda_device *dev, unsigned mark, uint32_t number)
{
	unsigned i = mark - CUDA_N_CHAIN_MARKS;

	dev->graphs.forks[i / CUDA_BESIDE_MAX].ends[i % CUDA_BESIDE_MAX].number = number;
}

/* ---- chains ---- */

static CUresult refusal(int err)
{
	switch (err) {
	case 0: return CUDA_SUCCESS;
	case -ENOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
	case -E2BIG: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

static void send_plain(struct cuda_device *dev, unsigned from, unsigned n)
{
	const struct cuda_chain *c = &dev->chain;

	for (unsigned i = from; i < from + n; i++)
		*c->refused[i] = refusal(cuda_send_launch(dev, c->stream, &c->launches[i]));
}

static unsigned length_for(unsigned n)
{
	unsigned length = CUDA_CHAIN_LENGTHS - 1;

	while (1u << length > n)
		length--;
	return length;
}

/* So many, as one graph or else one by one. Return: the mark that it sets when they have ended. */
static unsigned send_part(struct cuda_device *dev, unsigned from, unsigned length, bool marked)
{
	const struct want w = chain_of(dev, from, length, marked);
	const struct cuda_graph *g = send_graph(dev, &dev->chain, &w);

	if (g)
		return g->mark;
	if (!cuda_lost(dev))
		send_plain(dev, from, 1u << length);
	return CUDA_NO_MARK;
}

int cuda_chain_send(struct cuda_device *dev, unsigned *mark)
{
	struct cuda_chain *c = &dev->chain;
	unsigned n = c->n, length, last = CUDA_NO_MARK;

	if (n && c->start)
		cuda_io_error(dev, dev->cu.cuEventRecord(c->start, c->stream));
	for (unsigned at = 0; at < n && !cuda_lost(dev); at += 1u << length) {
		length = length_for(n - at);
		last = send_part(dev, at, length, mark && at + (1u << length) == n);
	}
	c->start = NULL;
	c->n = c->params_bytes = 0;
	if (mark)
		*mark = last;
	return n && cuda_lost(dev) ? -EIO : 0;
}

void cuda_chain_forget(struct cuda_device *dev)
{
	pthread_mutex_lock(&dev->graphs.lock);
	dev->graphs.n_unloaded++;
	pthread_mutex_unlock(&dev->graphs.lock);
}

static void destroy_all(struct cuda_device *dev, struct cuda_graph **graphs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (graphs[i]) {
			destroy(dev, graphs[i]);
			graphs[i] = NULL;
		}
}

/* ---- life ---- */

static CUresult load_mark(struct cuda_device *dev)
{
	struct cuda_graphs *g = &dev->graphs;
	const struct cuda_driver *cu = &dev->cu;
	CUkernel kernel;
	CUresult result = cu->cuLibraryLoadData(&g->mark_library, cuda_mark_ptx, NULL, NULL, 0,
						NULL, NULL, 0);

	if (!result)
		result = cu->cuLibraryGetKernel(&kernel, g->mark_library, "mark");
	if (!result)
		result = cu->cuKernelGetFunction(&g->mark, kernel);
	return result ? result : cu->cuFuncLoad(g->mark);
}

void cuda_chain_init(struct cuda_device *dev)
{
	struct cuda_graphs *g = &dev->graphs;
	CUresult result;

	if (dev->single)
		return;
	result = load_mark(dev);
	if (result)
		gsb_log(GSB_LOG_WARN, "cuda",
			"the driver does not load the kernel that tells of a launch's end: each launch is a call of its own: %s",
			cuda_name(result));
	while (!result && g->n_forks < CUDA_FORKS &&
	       !cuda_stream_take(dev, GSB_ALL_SMS, 0, &g->forks[g->n_forks].stream))
		g->n_forks++;
}

static void run_unload_mark(struct cuda_job *job)
{
	struct cuda_graphs *g = gsb_container_of(job, struct cuda_graphs, unload_mark);
	struct cuda_device *dev = gsb_container_of(g, struct cuda_device, graphs);

	dev->cu.cuCtxSetCurrent(dev->ctx);
	cuda_note(dev, dev->cu.cuLibraryUnload(g->mark_library));
}

void cuda_chain_unload(struct cuda_device *dev)
{
	struct cuda_graphs *g = &dev->graphs;

	g->unload_mark.run = run_unload_mark;
	if (g->mark_library)
		cuda_helper_give(&dev->unloader, &g->unload_mark);
}

static void finish_fork(struct cuda_device *dev, struct cuda_fork *f)
{
	for (unsigned i = 0; i < CUDA_BESIDE_MAX; i++)
		destroy_all(dev, f->graphs[i], CUDA_BESIDE_GRAPHS);
	cuda_stream_give(dev, f->stream);
}

void cuda_chain_finish(struct cuda_device *dev)
{
	struct cuda_graphs *g = &dev->graphs;

	for (unsigned length = 0; length < CUDA_CHAIN_LENGTHS; length++) {
		destroy_all(dev, g->plain[length], CUDA_CHAIN_GRAPHS);
		destroy_all(dev, g->marked[length], CUDA_CHAIN_GRAPHS);
	}
	while (g->n_forks)
		finish_fork(dev, &g->forks[--g->n_forks]);
}
