/* The other file of managed_linked.cu. */
#include "check.h"

extern __managed__ int shared_by_all;
static __managed__ long own[3] = {1, 2, 3};

__global__ void change_more()
{
	shared_by_all++;
	own[2] += shared_by_all;
}

void more_of_it()
{
	EXPECT(own[2] == 3 && shared_by_all == 41);
	change_more<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	EXPECT(own[2] == 45);
}
