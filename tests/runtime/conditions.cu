/* Graphs that decide while they run: a loop, and a choice in it, through the runtime. */
#include "check.h"

__global__ void turn(int *left, int *turns, cudaGraphConditionalHandle again, cudaGraphConditionalHandle even)
{
	++*turns;
	cudaGraphSetConditional(even, *left % 2 == 0);
	cudaGraphSetConditional(again, --*left > 0);
}

__global__ void add(int *sum, int n)
{
	*sum += n;
}

static cudaGraph_t choice(cudaGraph_t g, const cudaGraphNode_t *after, cudaGraphConditionalHandle handle,
			  cudaGraphConditionalNodeType type)
{
	cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
	cudaGraphNode_t node;

	p.conditional.handle = handle;
	p.conditional.type = type;
	p.conditional.size = 1;
#if CUDART_VERSION >= 13000
	CHECK(cudaGraphAddNode(&node, g, after, NULL, after != NULL, &p));
#else
	CHECK(cudaGraphAddNode(&node, g, after, after != NULL, &p));
#endif
	return p.conditional.phGraph_out[0];
}

int main()
{
	cudaGraph_t g, body, then;
	cudaGraphConditionalHandle again, even;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaStream_t s;
	int *words, got[3], n = 10;

	CHECK(cudaMalloc(&words, sizeof(got)));
	CHECK(cudaStreamCreate(&s));
	CHECK(cudaGraphCreate(&g, 0));
	CHECK(cudaGraphConditionalHandleCreate(&again, g, 1, cudaGraphCondAssignDefault));
	body = choice(g, NULL, again, cudaGraphCondTypeWhile);
	CHECK(cudaGraphConditionalHandleCreate(&even, body, 0, cudaGraphCondAssignDefault));

	int *left = words, *turns = words + 1, *sum = words + 2;
	void *turn_args[] = {&left, &turns, &again, &even}, *add_args[] = {&sum, &n};
	cudaKernelNodeParams k = {(void *)turn, dim3(1), dim3(1), 0, turn_args, NULL};

	CHECK(cudaGraphAddKernelNode(&node, body, NULL, 0, &k));
	then = choice(body, &node, even, cudaGraphCondTypeIf);
	k.func = (void *)add;
	k.kernelParams = add_args;
	CHECK(cudaGraphAddKernelNode(&node, then, NULL, 0, &k));
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 1; i < 4; i++) {
		const int from[3] = {2 * i + 1, 0, 0};

		CHECK(cudaMemcpyAsync(words, from, sizeof(from), cudaMemcpyHostToDevice, s));
		CHECK(cudaGraphLaunch(exec, s));
		CHECK(cudaMemcpyAsync(got, words, sizeof(got), cudaMemcpyDeviceToHost, s));
		CHECK(cudaStreamSynchronize(s));
		EXPECT(got[0] == 0 && got[1] == 2 * i + 1 && got[2] == 10 * i);
	}
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(g));
}
