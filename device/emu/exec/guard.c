/*
 * guard.c - turns a memory fault of a kernel into an error of its block.
 *
 * Ranges are checked before each access, but inside them lie pages that are free and therefore
 * PROT_NONE; the processor finds those. The handler looks whether this thread executes a block and
 * whether the address is in that block's memory; then it jumps back into gsb_emu_block_run(). Anything
 * else belongs to whoever had the signal before us. Nothing that the interrupted handlers hold needs to
 * be undone: they take no lock and allocate nothing while they touch a kernel's memory.
 */
#include "device/emu/exec/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "device/emu/exec/exec.h"

struct guard {
	const struct gsb_emu_memory *memory; /* NULL: this thread executes no block */
	sigjmp_buf *env;
	uint64_t address;
};

static _Thread_local volatile struct guard guard;
static struct sigaction old_segv, old_bus;

static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *old = sig == SIGBUS ? &old_bus : &old_segv;

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, info, context);
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
	} else {
		/* The access is done again when we return, and now has its default effect. */
		sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const struct gsb_emu_memory *m = guard.memory;
	uint64_t addr = (uintptr_t)info->si_addr;

	if (!m || info->si_code <= 0 || !gsb_emu_in_memory(m, addr, 1)) {
		pass_on(sig, info, context);
		return;
	}
	guard.address = addr;
	guard.memory = NULL;
	siglongjmp(*guard.env, 1);
}

static int take(int sig, struct sigaction *old)
{
	struct sigaction sa = {.sa_sigaction = on_fault,
			       .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
	struct sigaction now;

	sigemptyset(&sa.sa_mask);
	if (sigaction(sig, NULL, &now))
		return -errno;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
		return 0;
	*old = now; /* before ours can be called and needs it */
	return sigaction(sig, &sa, NULL) ? -errno : 0;
}

int gsb_emu_guard_install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int err;

	pthread_mutex_lock(&lock);
	err = take(SIGSEGV, &old_segv);
	if (!err)
		err = take(SIGBUS, &old_bus);
	pthread_mutex_unlock(&lock);
	return err;
}

void gsb_emu_guard_enter(const struct gsb_emu_memory *memory, sigjmp_buf *env)
{
	guard.env = env;
	guard.memory = memory;
}

void gsb_emu_guard_leave(void)
{
	guard.memory = NULL;
}

uint64_t gsb_emu_guard_address(void)
{
	return guard.address;
}
