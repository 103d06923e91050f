/*
 * process.c - see process.h.
 */
#include "interpose/core/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include "shm/wait.h"

struct gsb_process gsb_proc = {.socket = -1};

static _Atomic uint32_t never;
_Atomic uint32_t *gsb_alive = &never;

CUresult gsb_process_come_alive(void)
{
	long page = sysconf(_SC_PAGESIZE);
	_Atomic uint32_t *word = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (word == MAP_FAILED || madvise(word, (size_t)page, MADV_WIPEONFORK))
		return CUDA_ERROR_OPERATING_SYSTEM;
	atomic_store_explicit(word, 1, memory_order_release);
	gsb_alive = word;
	return CUDA_SUCCESS;
}

bool gsb_process_is_orphan(void)
{
	return gsb_alive != &never && !gsb_is_alive();
}

bool gsb_process_has(int fd)
{
	if (gsb_keep_has(&gsb_proc.keep, fd))
		return true;
	gsb_ring_closed(&gsb_proc.region->header);
	gsb_wake_waiters(gsb_proc.region);
	return false;
}

void gsb_process_set_fatal(CUresult result)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong(&gsb_proc.region->header.fatal, &none, (uint32_t)result);
	gsb_wake_waiters(gsb_proc.region);
}
