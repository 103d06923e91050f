/*
 * aside.c - see aside.h.
 */
#include "interpose/cu/aside.h"

#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NEAR_BYTES  65536ull
#define STACK_BYTES 65536u

struct aside {
	ucontext_t back, there;
	void (*call)(void *arg);
	void *arg;
};

bool gsb_is_underfoot(uint64_t addr, uint64_t bytes)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);

	return addr < here + NEAR_BYTES && here < addr + bytes + NEAR_BYTES;
}

/* What makecontext() hands over are ints. */
static void enter(unsigned low, unsigned high)
{
	struct aside *a = (struct aside *)((uint64_t)high << 32 | low);

	a->call(a->arg);
}

static void call_on(void *stack, void (*call)(void *), void *arg)
{
	struct aside *a = stack;
	uint64_t word = (uint64_t)a;

	a->call = call;
	a->arg = arg;
	getcontext(&a->there);
	a->there.uc_link = &a->back;
	a->there.uc_stack.ss_sp = a + 1;
	a->there.uc_stack.ss_size = STACK_BYTES - sizeof(*a);
	makecontext(&a->there, (void (*)(void))enter, 2, (unsigned)word, (unsigned)(word >> 32));
	swapcontext(&a->back, &a->there);
}

bool gsb_call_aside(uint64_t addr, uint64_t bytes, void (*call)(void *), void *arg)
{
	void *stack;

	if (!gsb_is_underfoot(addr, bytes)) {
		call(arg);
		return true;
	}
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return false;
	call_on(stack, call, arg);
	munmap(stack, STACK_BYTES);
	return true;
}
