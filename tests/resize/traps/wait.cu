/* Blocks that wait for other blocks, and loops that look as if they did not. */
#include <cooperative_groups.h>
#define K extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

K looks_back(volatile int *flag, int *sum)
{
	if (threadIdx.x == 0) {
		if (blockIdx.x > 0)
			while (!flag[blockIdx.x - 1])
				;
		sum[blockIdx.x] += blockIdx.x ? sum[blockIdx.x - 1] : 0;
		__threadfence();
		flag[blockIdx.x] = 1;
	}
}
K looks_back_by_ticket(unsigned *ticket, volatile int *flag)
{
	__shared__ unsigned mine;

	if (threadIdx.x == 0)
		mine = atomicAdd(ticket, 1u);
	__syncthreads();
	if (mine > 0)
		while (!flag[mine - 1])
			;
	__syncthreads();
	if (threadIdx.x == 0)
		flag[mine] = 1;
}
K grid_barrier(unsigned *count)
{
	if (threadIdx.x == 0) {
		atomicAdd(count, 1u);
		while (atomicAdd(count, 0u) < gridDim.x)
			;
	}
	__syncthreads();
}
K grid_barrier_volatile(unsigned *count)
{
	__threadfence();
	if (threadIdx.x == 0) {
		atomicAdd(count, 1u);
		while (*(volatile unsigned *)count < gridDim.x)
			;
	}
}
K cooperative(int *a)
{
	a[I] = 1;
	cooperative_groups::this_grid().sync();
	a[I] += a[0];
}
K waits_for_neighbour(volatile int *flag)
{
	if (threadIdx.x == 0) {
		flag[blockIdx.x] = 1;
		while (!flag[(blockIdx.x + 1) % gridDim.x])
			;
	}
}
K waits_for_all(volatile int *flag, int *out)
{
	if (I == 0) {
		for (unsigned b = 1; b < gridDim.x; b++)
			while (!flag[b])
				;
		*out = 1;
	} else {
		flag[blockIdx.x] = 1;
	}
}
K locks(int *lock, int *a)
{
	while (atomicCAS(lock, 0, 1))
		;
	a[0]++;
	__threadfence();
	atomicExch(lock, 0);
}
K polls_or(unsigned *flag)
{
	while (!(atomicOr(flag, 0u) & 4))
		;
	flag[1] = 1;
}
K polls_exchange(unsigned *flag)
{
	while (!atomicExch(flag, 0u))
		;
	atomicExch(flag + 1, 1u);
}
K polls_in_turn(volatile int *flag, int n, int *out)
{
	int at = threadIdx.x % n;

	while (!flag[at])
		at = (at + 1) % n;
	flag[n + at] = 1;
	*out = at;
}
K polls_for_a_while(volatile int *flag, int *out)
{
	int tries = 0;

	while (!*flag && tries < 1000000)
		tries++;
	*out = tries;
	flag[1] = 1;
}
K polls_by_a_bit(volatile int *flag)
{
	bool done = false;

	do {
		if (*flag > 3)
			done = true;
	} while (!done);
	flag[1] = 1;
}
K polls_fenced(int *flag, int n, int *out)
{
	int at = 0;

	for (; at < n; at++) {
		__threadfence();
		if (flag[at])
			break;
	}
	flag[n] = at;
	*out = at;
}
__noinline__ __device__ int look(const volatile int *p) { return *p; }
K polls_by_call(const int *flag, int *out)
{
	while (!look(flag))
		;
	*out = 1;
}
__noinline__ __device__ int wait_deeper(const volatile int *p, int n) { return *p ? n : wait_deeper(p, n + 1) + 1; }
K polls_by_recursion(const int *flag, int *out) { *out = wait_deeper(flag, 0); }
K polls_acquire(const int *flag, int *out)
{
	int v;

	do
		asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(flag));
	while (!v);
	*out = 1;
}
K polls_cv(const int *flag, int *out)
{
	while (!__ldcv(flag))
		;
	*out = 1;
}
K polls_host(const volatile int *flag, int *out)
{
	while (!*flag)
		;
	*out = 1;
}
K sleeps(int *out, int n)
{
	__shared__ volatile int ready;

	if (threadIdx.x == 0)
		ready = n;
	while (!ready)
		__nanosleep(100);
	out[I] = 1;
}
/* expected is refreshed, but being equal does not end it */
K retries_until_bit(unsigned *p)
{
	unsigned old = *p, expected;

	do {
		expected = old;
		old = atomicCAS(p, expected, expected | 1);
	} while (old != expected || !(expected & 2));
}
/* gives the value back that others claim */
K claims_and_releases(unsigned *slot, unsigned *out)
{
	unsigned at = I & 63;

	while (atomicCAS(slot + at, 0u, 1u))
		at = (at + 1) & 63;
	out[I] = at;
	__threadfence();
	slot[at] = 0;
}
K claims_what_others_fill(unsigned *ring, unsigned n)
{
	if (blockIdx.x & 1) {
		ring[I % n] = 7;
	} else {
		unsigned at = 0;

		while (atomicCAS(ring + at, 7u, 0u) != 7)
			at = (at + 1) % n;
	}
}
K claims_beside_unknown(unsigned *slot, unsigned **elsewhere)
{
	unsigned at = I & 63;

	while (atomicCAS(slot + at, 0u, 1u))
		at = (at + 1) & 63;
	elsewhere[I][at] = 0;
}
K claims_two_values(unsigned *slot)
{
	unsigned at = I & 63;

	while (atomicCAS(slot + at, 0u, 1u))
		at = (at + 1) & 63;
	atomicCAS(slot + at, 1u, 0u);
}
K claims_for_host(unsigned *slot)
{
	while (atomicCAS_system(slot, 0u, 1u))
		;
}
K list_lock_step(volatile int *turn, int *a, int n)
{
	for (int k = 0; k < n; k++) {
		while (*turn != (int)(k * gridDim.x + blockIdx.x))
			;
		a[k] += 1;
		__threadfence();
		*turn = *turn + 1;
	}
}
K queue_of_work(unsigned *head, const unsigned *tail, float *a)
{
	for (;;) {
		unsigned i = atomicAdd(head, 1u);

		if (i >= *(volatile unsigned *)tail)
			break;
		a[i] += 1;
	}
}
