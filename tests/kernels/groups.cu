/* Cooperative groups: tiles of all sizes, tiles of several warps, labels, coalesced lanes, blocks, grids. */
#include "cuda_words.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

#define TILE_WORDS 14

/* Everything a tile can say, of one value a thread. */
template <typename Tile>
static __device__ void tile_words(const Tile &tile, int v, unsigned int *out)
{
	int n = (int)tile.num_threads(), r = (int)tile.thread_rank();

	out[0] = n * 1000 + r;
	out[1] = tile.any(v % 7 == 0);
	out[2] = tile.all(v % 7 != 0);
	out[3] = tile.shfl(v, n > 32 ? n - 3 : (r + 1) % n); /* of several warps: one source for all */
	out[4] = cg::reduce(tile, v, cg::plus<int>());
	out[5] = cg::reduce(tile, v, cg::less<int>());
	out[6] = cg::reduce(tile, v, cg::bit_xor<int>());
	out[7] = cg::inclusive_scan(tile, v);
	out[8] = cg::exclusive_scan(tile, v);
	out[9] = cg::inclusive_scan(tile, v, cg::greater<int>());
	out[10] = (unsigned int)cg::reduce(tile, (long long)v << 33, cg::plus<long long>()) +
		  (unsigned int)(cg::reduce(tile, (long long)v << 33, cg::plus<long long>()) >> 33);
	out[11] = cg::invoke_one_broadcast(tile, [&] { return n * 7; });
	tile.sync();
}

template <unsigned int N>
static __device__ void small_tile(const int *in, unsigned int *out)
{
	int i = CTA_X * NTID_X + TID_X;
	auto tile = cg::tiled_partition<N>(cg::this_thread_block());

	tile_words(tile, in[i], out + TILE_WORDS * i);
	out[TILE_WORDS * i + 12] = tile.ballot(in[i] & 1) + tile.match_any(in[i] % 3);
	out[TILE_WORDS * i + 13] = tile.shfl_xor(in[i], N / 2) + tile.shfl_down(in[i], 0) +
				   tile.meta_group_rank() * 100 + tile.meta_group_size();
}

KERNEL tile_1(const int *in, unsigned int *out) { small_tile<1>(in, out); }
KERNEL tile_2(const int *in, unsigned int *out) { small_tile<2>(in, out); }
KERNEL tile_4(const int *in, unsigned int *out) { small_tile<4>(in, out); }
KERNEL tile_8(const int *in, unsigned int *out) { small_tile<8>(in, out); }
KERNEL tile_16(const int *in, unsigned int *out) { small_tile<16>(in, out); }
KERNEL tile_32(const int *in, unsigned int *out) { small_tile<32>(in, out); }

/* Tiles of several warps meet in shared memory: reserved for them from sm_80 on, their own before. */
template <unsigned int N>
static __device__ void large_tile(const int *in, unsigned int *out)
{
	__shared__ cg::block_tile_memory<512> memory;
	int i = CTA_X * NTID_X + TID_X;
	auto tile = cg::tiled_partition<N>(cg::this_thread_block(memory));

	tile_words(tile, in[i], out + TILE_WORDS * i);
	out[TILE_WORDS * i + 12] = out[TILE_WORDS * i + 13] = 0;
}

KERNEL tile_64(const int *in, unsigned int *out) { large_tile<64>(in, out); }
KERNEL tile_128(const int *in, unsigned int *out) { large_tile<128>(in, out); }
KERNEL tile_256(const int *in, unsigned int *out) { large_tile<256>(in, out); }
KERNEL tile_512(const int *in, unsigned int *out) { large_tile<512>(in, out); }

/* Five words of a group that the data made. */
template <typename Group>
static __device__ void group_words(const Group &g, int v, unsigned int *out)
{
	out[0] = g.num_threads() * 1000 + g.thread_rank();
	out[1] = cg::reduce(g, v, cg::plus<int>());
	out[2] = cg::reduce(g, v, cg::greater<int>());
	out[3] = cg::exclusive_scan(g, v);
	out[4] = g.shfl(v, 0) + g.any(v == 5) + 2 * g.all(v > 0) + g.match_any(v % 2);
}

KERNEL labels(const int *in, unsigned int *out)
{
	int i = CTA_X * NTID_X + TID_X;
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	auto half = cg::tiled_partition<16>(warp);

	group_words(cg::labeled_partition(warp, in[i] % 5), in[i], out + 15 * i);
	group_words(cg::binary_partition(half, in[i] % 3 == 0), in[i], out + 15 * i + 5);
	group_words(cg::labeled_partition(cg::coalesced_threads(), in[i] / 300), in[i], out + 15 * i + 10);
}

/* Lanes that came one way: those of the others are not in the group. */
KERNEL coalesced(const int *in, unsigned int *out, unsigned int *counters)
{
	int i = CTA_X * NTID_X + TID_X;

	if (in[i] % 3 == 0) {
		auto g = cg::coalesced_threads();
		unsigned int first;

		group_words(g, in[i], out + 6 * i);
		if (g.thread_rank() == 0)
			first = ATOMIC_ADD(&counters[0], g.num_threads());
		out[6 * i + 5] = g.shfl(first, 0) + g.thread_rank();
	} else {
		auto g = cg::coalesced_threads();

		group_words(g, in[i], out + 6 * i);
		cg::invoke_one(g, [&] { ATOMIC_ADD(&counters[1], g.num_threads()); });
		out[6 * i + 5] = 0;
	}
}

/* The forms of a block's barrier: phases of one array, each read by another thread than wrote it. */
KERNEL block_sync(const int *in, unsigned int *out)
{
	__shared__ int a[3][512];
	cg::thread_block block = cg::this_thread_block();
	unsigned int t = block.thread_rank(), n = block.num_threads(), i = CTA_X * n + t;

	a[0][t] = in[i];
	block.sync();
	a[1][t] = a[0][(t + 1) % n] + 1;
	auto token = block.barrier_arrive();
	out[i] = block.group_index().x;
	block.barrier_wait(static_cast<decltype(token) &&>(token));
	a[2][t] = a[1][(t + 1) % n] + 1;
	cg::sync(block);
	out[i] += a[2][(t + 1) % n] + block.dim_threads().x;
}

#if __CUDA_ARCH__ < 800 /* by plain copies; cp.async has tests of its own */
KERNEL copy_async(const int *in, unsigned int *out)
{
	__shared__ int a[512];
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<16>(block);
	unsigned int n = block.num_threads(), t = block.thread_rank();

	cg::memcpy_async(block, a, in + CTA_X * n, sizeof(int) * n);
	cg::wait(block);
	out[CTA_X * n + t] = a[n - 1 - t];
	block.sync();
	cg::memcpy_async(tile, a + t / 16 * 16, in + CTA_X * n + t / 16 * 16, sizeof(int) * 16);
	cg::wait(tile);
	out[CTA_X * n + t] += a[t ^ 15];
}
#endif

/* Each round a block adds what its neighbour wrote in the round before. */
KERNEL grid_rounds(unsigned int *a, unsigned int *b, int rounds)
{
	cg::grid_group grid = cg::this_grid();
	unsigned int n = grid.num_blocks(), me = grid.block_rank(), t = cg::this_thread_block().thread_rank();

	for (int r = 0; r < rounds; r++) {
		unsigned int *from = r & 1 ? b : a, *to = r & 1 ? a : b;

		if (t == 0)
			to[me] = from[me] * 3 + from[(me + 1) % n];
		if (r % 3 == 2) {
			auto token = grid.barrier_arrive();
			grid.barrier_wait(static_cast<decltype(token) &&>(token));
		} else {
			grid.sync();
		}
	}
}

/* Without a cooperative launch there is nothing to wait with; a program asks before it does. */
KERNEL grid_valid(unsigned int *out)
{
	cg::grid_group grid = cg::this_grid();

	if (grid.thread_rank() == 0)
		out[0] = grid.is_valid();
}
#endif
