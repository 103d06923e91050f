/*
 * heap.cu - memory that kernels take themselves: malloc, new, aligned allocations, alloca, recursion.
 */
#ifdef __CUDACC__
#include <alloca.h>
#include <stdint.h>

#define KERNEL extern "C" __global__ void

extern "C" __device__ void *__nv_aligned_device_malloc(size_t size, size_t align);

struct node {
	node *next;
	int value;
};

__device__ int thread_number()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* A list for each thread, which a later kernel sums up and gives back. */
KERNEL list_make(node **heads, int n)
{
	int t = thread_number();
	node *head = 0;

	for (int i = 0; i < n; i++) {
		node *fresh = new node;
		fresh->next = head;
		fresh->value = t + i;
		head = fresh;
	}
	heads[t] = head;
}

KERNEL list_sum(node **heads, int *out)
{
	int t = thread_number(), sum = 0;

	for (node *at = heads[t]; at;) {
		node *next = at->next;
		sum += at->value;
		delete at;
		at = next;
	}
	out[t] = sum;
}

/* Pieces of many sizes, each filled with its thread's number, looked at after others were given back. */
KERNEL churn(int *out, int rounds)
{
	int t = thread_number(), wrong = 0;
	unsigned int seed = t * 2654435761u + 1;

	for (int r = 0; r < rounds; r++) {
		int *mine[4], n[4];

		for (int i = 0; i < 4; i++) {
			seed = seed * 1664525u + 1013904223u;
			n[i] = 1 + (seed >> 16) % (i == 3 ? 1500 : 60);
			mine[i] = (int *)malloc(n[i] * sizeof(int));
			for (int k = 0; mine[i] && k < n[i]; k++)
				mine[i][k] = t * 64 + i;
		}
		free(mine[1]);
		for (int i = 0; i < 4; i++) {
			for (int k = 0; i != 1 && mine[i] && k < n[i]; k++)
				wrong += mine[i][k] != t * 64 + i;
			if (i != 1)
				free(mine[i]);
			wrong += !mine[i];
		}
	}
	out[t] = wrong;
}

KERNEL take(void **out, size_t size)
{
	out[thread_number()] = malloc(size);
}

KERNEL take_aligned(void **out, size_t size, size_t align)
{
	out[thread_number()] = __nv_aligned_device_malloc(size, align);
}

KERNEL give(void **p)
{
	free(p[thread_number()]);
}

/* memset, memcpy inside a kernel */
KERNEL copies(char *out, const char *in, size_t n)
{
	char *own = (char *)malloc(2 * n);

	memset(own, 7, 2 * n);
	memcpy(own + n / 2, in, n);
	memcpy(out, own, 2 * n);
	free(own);
}

/* Each thread takes another number of ints from its stack. */
KERNEL stack_sum(int *out, int n)
{
	int t = threadIdx.x, sum = 0;
	int *p = (int *)alloca((size_t)(n + t) * sizeof(int));

	for (int i = 0; i < n + t; i++)
		p[i] = i * t;
	for (int i = 0; i < n + t; i += 3)
		sum += p[i];
	out[t] = sum;
}

/* Each level keeps memory of its own while the deeper ones run. */
__device__ __noinline__ int descend(int depth, int *above)
{
	int *p = (int *)alloca(depth * sizeof(int) + 4), below;

	for (int i = 0; i <= depth; i++)
		p[i] = depth + above[0];
	below = depth ? descend(depth - 1, p) : 0;
	for (int i = 0; i <= depth; i++)
		below += p[i] == depth + above[0];
	return below + above[0];
}

KERNEL stack_recursion(int *out, int n)
{
	int one = 1;

	out[threadIdx.x] = descend(n + threadIdx.x % 5, &one);
}
#endif
