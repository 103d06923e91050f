/*
 * process.c - see process.h.
 */
#include "interpose/core/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include "shm/wait.h"

struct gsb_process gsb_proc = {.socket = -1};

static _Atomic uint32_t never;
_Atomic uint32_t *gsb_tenancy = &never;

CUresult gsb_process_come_alive(void)
{
	long page = sysconf(_SC_PAGESIZE);
	_Atomic uint32_t *word = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (word == MAP_FAILED || madvise(word, (size_t)page, MADV_WIPEONFORK))
		return CUDA_ERROR_OPERATING_SYSTEM;
	atomic_store_explicit(word, GSB_TENANT_SERVED, memory_order_release);
	gsb_tenancy = word;
	return CUDA_SUCCESS;
}

bool gsb_process_is_orphan(void)
{
	return gsb_tenancy != &never && !gsb_is_alive();
}

GSB_COLD CUresult gsb_enter_refused(void)
{
	return gsb_is_alive() ? gsb_fatal() : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult gsb_process_give_up(void)
{
	uint32_t served = GSB_TENANT_SERVED;

	atomic_compare_exchange_strong(gsb_tenancy, &served, GSB_TENANT_GIVEN_UP);
	gsb_wake_waiters(gsb_proc.region);
	return gsb_fatal();
}

bool gsb_process_has(int fd)
{
	if (gsb_keep_has(gsb_proc.keep, fd))
		return true;
	gsb_ring_closed(&gsb_proc.region->header);
	gsb_process_give_up();
	return false;
}

void gsb_process_set_fatal(CUresult result)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong(&gsb_proc.region->header.fatal, &none, (uint32_t)result);
	gsb_process_give_up();
}
