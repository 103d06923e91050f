/*
 * thread.c - see thread.h.
 *
 * A thread takes its slot at its first call and gives it back when it ends. The key's destructor is the only
 * thing that runs then; in a forked child it must touch nothing shared.
 */
#include "interpose/core/thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "interpose/core/process.h"
#include "shm/wait.h"

__thread struct gsb_self gsb_self __attribute__((tls_model("initial-exec")));

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void (*at_end)(struct gsb_self *self);

void gsb_self_at_end(void (*end)(struct gsb_self *self))
{
	at_end = end;
}

static void on_thread_end(void *arg)
{
	struct gsb_self *self = arg;

	if (gsb_is_alive()) {
		at_end(self);
		gsb_thread_release(gsb_proc.region, self->slot);
	}
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
	uint32_t slot;

	if (gsb_self.is_suspended)
		return CUDA_ERROR_NOT_PERMITTED;
	/* Without a key nobody would give the slot back, and the number of a key would be another library's. */
	pthread_once(&key_once, make_key);
	if (!has_key)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (gsb_thread_acquire(gsb_proc.region, &slot)) {
		gsb_log(GSB_LOG_ERROR, "thread",
			"more than %d threads of this process use the device at the same time: this "
			"call fails",
			GSB_N_THREADS);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	gsb_self.slot = slot;
	gsb_self.is_known = true;
	/* The slot's former owner has counted; a lower number would look answered. */
	gsb_self.call =
		atomic_load_explicit(&gsb_proc.region->threads[slot].call, memory_order_acquire);
	if (pthread_setspecific(key, &gsb_self)) {
		gsb_self.is_known = false;
		gsb_thread_release(gsb_proc.region, slot);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
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
