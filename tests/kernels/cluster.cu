/*
 * Cooperative groups' cluster, of one block: what it says of itself, its barrier in one piece and in two, shared
 * memory by the rank of its block.
 */
#include "cuda_words.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define CLUSTER_WORDS 13

static __device__ void cluster_words(const int *in, unsigned int *out, int *s, int *sum)
{
	cg::cluster_group c = cg::this_cluster();
	int i = (int)TID_X, n = (int)NTID_X, at = (int)CTA_X * n + i;
	int *mine = c.map_shared_rank(s, c.block_rank());
	int *theirs = c.map_shared_rank(sum, 0);

	out += at * CLUSTER_WORDS;
	out[0] = c.num_blocks();
	out[1] = c.num_threads();
	out[2] = c.block_rank();
	out[3] = c.thread_rank();
	out[4] = c.dim_blocks().x * 100 + c.dim_blocks().y * 10 + c.dim_blocks().z;
	out[5] = c.block_index().x + c.block_index().y + c.block_index().z;
	out[6] = c.dim_threads().x;
	out[7] = c.thread_index().x;
	if (!i)
		*sum = 0;
	s[i] = in[at];
	c.sync();
	out[8] = mine[(i + 1) % n];
	out[9] = c.query_shared_rank(mine);
	atomicAdd(theirs, in[at]);
	auto token = c.barrier_arrive();
	out[10] = i * 3;
	c.barrier_wait(static_cast<decltype(token) &&>(token));
	out[11] = *theirs;
	c.sync();
	mine[i] = in[at] * 2;
	cg::this_cluster().sync();
	out[12] = s[n - 1 - i];
}

/* The launch says that there is a cluster, or it says nothing. */
KERNEL cluster_of_the_launch(const int *in, unsigned int *out)
{
	__shared__ int s[256], sum;

	cluster_words(in, out, s, &sum);
}

/* The kernel says so itself. */
extern "C" __global__ void __cluster_dims__(1, 1, 1) cluster_of_the_kernel(const int *in, unsigned int *out)
{
	__shared__ int s[256], sum;

	cluster_words(in, out, s, &sum);
}
#endif
