/*
 * emu_watch.c - see emu_watch.h.
 */
#include "tests/unit/emu_watch.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TRAP_FLAG 0x100

static struct {
	char *from;
	size_t bytes;
	volatile unsigned long n;
	struct sigaction old_segv, old_trap;
} watch;

static void step(void *context, bool on)
{
	ucontext_t *uc = context;

	mprotect(watch.from, watch.bytes, on ? PROT_READ | PROT_WRITE : PROT_NONE);
	if (on)
		uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	else
		uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if ((uintptr_t)info->si_addr - (uintptr_t)watch.from >= watch.bytes) {
		watch.old_segv.sa_sigaction(sig, info, context);
		return;
	}
	watch.n++;
	step(context, true);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	step(context, false);
}

bool t_watch_start(void *at, size_t bytes)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct sigaction trap = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	uintptr_t from = (uintptr_t)at & ~(uintptr_t)(T_WATCH_PAGE - 1);
	uintptr_t end = ((uintptr_t)at + bytes + T_WATCH_PAGE - 1) & ~(uintptr_t)(T_WATCH_PAGE - 1);

	watch.from = (char *)from;
	watch.bytes = end - from;
	watch.n = 0;
	return !sigaction(SIGTRAP, &trap, &watch.old_trap) &&
	       !sigaction(SIGSEGV, &fault, &watch.old_segv) &&
	       !mprotect(watch.from, watch.bytes, PROT_NONE);
}

unsigned long t_watch_stop(void)
{
	mprotect(watch.from, watch.bytes, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &watch.old_segv, NULL);
	sigaction(SIGTRAP, &watch.old_trap, NULL);
	return watch.n;
}
#else
bool t_watch_start(void *at, size_t bytes)
{
	(void)at;
	(void)bytes;
	return false;
}

unsigned long t_watch_stop(void)
{
	return 0;
}
#endif
