/*
 * thread.c - see thread.h.
 *
 * A thread takes a slot at its first call and gives it back when it ends. The key's destructor is the only
 * thing of ours that runs then; in a forked child it must touch nothing shared. A program's own keys may have destructors that use CUDA, and
 * nobody says whose are first: so ours waits until all are asked for the last time.
 *
 * Who has a slot stands in a word of our own beside it: the thread's id, and whether it is in a call. Nobody touches a
 * slot that is in a call; one that is not may be taken over by who changes the word first.
 */
#include "interpose/core/thread.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "interpose/core/process.h"
#include "shm/wait.h"

#define IN_CALL 1u /* of a word of uses; the rest is the id; 0: nobody's */

__thread struct gsb_self gsb_self __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t uses[GSB_N_THREADS];
static _Atomic uint32_t last_id, n_waiting, n_given;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void (*at_end)(struct gsb_self *self);

void gsb_self_at_end(void (*end)(struct gsb_self *self))
{
	at_end = end;
}

/* ---- slots ---- */

static bool change_use(uint32_t slot, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&uses[slot], &from, to);
}

/* It is ours, and in a call. The one who had it has counted; a lower number would look answered. */
static void adopt(uint32_t slot)
{
	gsb_self.slot = slot;
	gsb_self.call =
		atomic_load_explicit(&gsb_proc.region->threads[slot].call, memory_order_acquire);
}

static bool take_free(void)
{
	uint32_t slot;

	if (gsb_thread_acquire(gsb_proc.region, &slot))
		return false;
	atomic_store(&uses[slot], gsb_self.id | IN_CALL);
	adopt(slot);
	return true;
}

/* From a thread that is in no call; from the one after the last time on, so that all lend in turn. */
static bool take_over(void)
{
	static _Atomic uint32_t next;
	uint32_t first = atomic_fetch_add(&next, 1);

	for (uint32_t i = 0; i < GSB_N_THREADS; i++) {
		uint32_t slot = (first + i) % GSB_N_THREADS;
		uint32_t use = atomic_load_explicit(&uses[slot], memory_order_relaxed);

		if (!use || use & IN_CALL || !change_use(slot, use, gsb_self.id | IN_CALL))
			continue;
		gsb_proc.region->threads[slot].tid = (uint32_t)syscall(SYS_gettid);
		adopt(slot);
		return true;
	}
	return false;
}

/* n_given is read before the last look: a slot that is given back after that look changes it. */
static void wait_for_slot(void)
{
	uint32_t seen;

	atomic_fetch_add(&n_waiting, 1);
	for (;;) {
		seen = atomic_load(&n_given);
		if (take_free() || take_over())
			break;
		syscall(SYS_futex, &n_given, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	}
	atomic_fetch_sub(&n_waiting, 1);
}

static void tell_waiting(void)
{
	if (!atomic_load(&n_waiting))
		return;
	atomic_fetch_add(&n_given, 1);
	syscall(SYS_futex, &n_given, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

CUresult gsb_self_take_slot(void)
{
	CUresult result = gsb_self_enter();

	if (result)
		return result;
	if (!gsb_self.n_uses && !change_use(gsb_self.slot, gsb_self.id, gsb_self.id | IN_CALL) &&
	    !take_free() && !take_over())
		wait_for_slot();
	gsb_self.n_uses++;
	return CUDA_SUCCESS;
}

void gsb_self_give_slot(void)
{
	if (--gsb_self.n_uses)
		return;
	atomic_store(&uses[gsb_self.slot], gsb_self.id);
	tell_waiting();
}

/* ---- a thread's life ---- */

static void release_slot(struct gsb_self *self)
{
	if (!change_use(self->slot, self->id, 0))
		return; /* lent for good */
	gsb_thread_release(gsb_proc.region, self->slot);
	tell_waiting();
}

/*
 * Once in each round of destructors: the program's may use its context and its streams until the last. They may also be the first of this thread to call anything;
 * then nobody says which round is the last, so each gives back what others count.
 */
static void on_thread_end(void *arg)
{
	struct gsb_self *self = arg;
	bool is_last =
		++self->n_ends >= PTHREAD_DESTRUCTOR_ITERATIONS || pthread_setspecific(key, self);

	if (is_last && gsb_is_alive())
		at_end(self);
	if (self->is_known && gsb_is_alive())
		release_slot(self);
	self->is_known = false;
	if (!is_last)
		return;
	free(self->streams);
	free(self->stack);
	*self = (struct gsb_self){0};
}

static void make_key(void)
{
	has_key = !pthread_key_create(&key, on_thread_end);
	if (!has_key)
		gsb_log(GSB_LOG_ERROR, "thread",
			"this process has used up its thread keys (%d) before its first call of CUDA: "
			"every call that needs the device fails",
			PTHREAD_KEYS_MAX);
}

CUresult gsb_self_register(void)
{
	if (gsb_self.is_suspended)
		return CUDA_ERROR_NOT_PERMITTED;
	/* Without a key nobody would give the slot back, and the number of a key would be another library's. */
	pthread_once(&key_once, make_key);
	if (!has_key || pthread_setspecific(key, &gsb_self))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!gsb_self.id)
		gsb_self.id = (atomic_fetch_add(&last_id, 1) + 1) << 1;
	gsb_self.is_known = true;
	if (take_free())
		atomic_store(&uses[gsb_self.slot], gsb_self.id);
	return CUDA_SUCCESS;
}

void gsb_self_suspend(void)
{
	gsb_self.is_suspended = true;
	gsb_self.was_known = gsb_self.is_known;
	gsb_self.is_known = false;
}

void gsb_self_resume(void)
{
	gsb_self.is_known = gsb_self.was_known;
	gsb_self.is_suspended = false;
}
