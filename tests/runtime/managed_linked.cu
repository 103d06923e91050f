/* __managed__ variables of two files, linked: one that both use, and one of each that has the same name. */
#include "check.h"

__managed__ int shared_by_all = 40;
static __managed__ int own = 9;

void more_of_it();

__global__ void change()
{
	shared_by_all++;
	own *= 2;
}

/* The first use of one may be the last thing that a program does. */
struct late {
	int expected;
	~late()
	{
		EXPECT(shared_by_all == expected);
	}
};

int main()
{
	static late at_exit = {42};

	change<<<1, 1>>>();
	CHECK(cudaDeviceSynchronize());
	EXPECT(shared_by_all == 41 && own == 18);
	more_of_it();
	EXPECT(shared_by_all == 42 && own == 18);
	return 0;
}
