/*
 * memory.c - the fake driver's memory: device memory is files in memory, mapped where cuMemMap() says. A handle says which file.
 *
 * What is mapped or registered is pinned in the space of the device that executes, so that its kernels and copies reach it, and
 * nothing else: an access beside it is a fault, as on a GPU.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/fake/state.h"

#define RESERVE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define UNIT	      (2ull << 20)

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static bool is_reachable(uint64_t addr)
{
	return addr >= FAKE_HOST_BASE && addr < FAKE_DEVICE_BASE;
}

static void unpin(uint64_t addr, uint64_t size)
{
	if (is_reachable(addr))
		fake.device->ops->host_unpin(fake.space, addr, size);
}

static CUresult pin(uint64_t addr, uint64_t size)
{
	if (is_reachable(addr) && fake.device->ops->host_pin(fake.space, addr, size))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*total_bytes = *free_bytes = fake.device->ops->info(fake.device)->total_mem_bytes;
	for (struct fake_object *o = fake.objects; o; o = o->hh.next)
		*free_bytes -= o->key.kind == FAKE_HANDLE ? o->size : 0;
	return fake_leave(CUDA_SUCCESS);
}

/* ---- addresses ---- */

CUresult cuMemAddressReserve(CUdeviceptr *addr, size_t size, size_t alignment, CUdeviceptr hint,
			     unsigned long long flags)
{
	CUresult result = fake_enter(__func__);
	void *at;

	if (result)
		return result;
	at = mmap(to_pointer(hint), size, PROT_NONE, RESERVE_FLAGS, -1, 0);
	if (at == MAP_FAILED)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*addr = fake_handle(at);
	fake_add(FAKE_RESERVATION, *addr, size);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemAddressFree(CUdeviceptr addr, size_t size)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_RESERVATION, addr);
	if (!result)
		munmap(to_pointer(addr), size);
	return fake_leave_anyway(__func__, result);
}

/* ---- memory ---- */

static CUmemGenericAllocationHandle add_handle(int fd, size_t size)
{
	static uint32_t last;
	CUmemGenericAllocationHandle handle =
		(CUmemGenericAllocationHandle)++last << 32 | (unsigned)fd;

	fake_add(FAKE_HANDLE, handle, size);
	return handle;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUresult result = fake_enter(__func__);
	int fd;

	if (result)
		return result;
	if (!size || size % UNIT)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	if (prop->requestedHandleTypes && fake.no_descriptors)
		return fake_leave(CUDA_ERROR_NOT_SUPPORTED);
	fd = memfd_create("fake", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		abort();
	/* As somebody has left it. */
	for (size_t at = 0; at < size; at += UNIT)
		if (pwrite(fd, "left", 4, (off_t)at) != 4 ||
		    pwrite(fd, "left", 4, (off_t)(at + UNIT - 4)) != 4)
			abort();
	*handle = add_handle(fd, size);
	fake_find(FAKE_HANDLE, *handle)->exports =
		prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult result = fake_enter(__func__);
	const struct fake_object *o;
	int fd;

	if (result)
		return result;
	o = fake_find(FAKE_HANDLE, handle);
	if (!o || !o->exports || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	fd = fcntl((int)(uint32_t)handle, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		abort();
	*(int *)shareable = fd;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
					CUmemAllocationHandleType type)
{
	CUresult result = fake_enter(__func__);
	struct stat st;
	int fd;

	if (result)
		return result;
	fd = fcntl((int)(uintptr_t)shareable, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
		close(fd);
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	}
	*handle = add_handle(fd, (size_t)st.st_size);
	fake_find(FAKE_HANDLE, *handle)->exports = true;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_HANDLE, handle);
	if (!result)
		close((int)(uint32_t)handle);
	return fake_leave_anyway(__func__, result);
}

CUresult cuMemMap(CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (fake_find(FAKE_HANDLE, handle) && size != fake_find(FAKE_HANDLE, handle)->size)
		return fake_leave(CUDA_ERROR_NOT_SUPPORTED);
	if (offset || !fake_find(FAKE_HANDLE, handle) || fake_within(FAKE_REGISTERED, addr, 1) ||
	    fake_cuts(FAKE_REGISTERED, addr, size) || !fake_within(FAKE_RESERVATION, addr, size) ||
	    fake_find(FAKE_MAPPING, addr))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	if (mmap(to_pointer(addr), size, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)(uint32_t)handle,
		 0) == MAP_FAILED)
		abort();
	fake_add(FAKE_MAPPING, addr, size);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (!fake_find(FAKE_MAPPING, addr) || desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
	    mprotect(to_pointer(addr), size, desc->flags ? PROT_READ | PROT_WRITE : PROT_NONE))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	unpin(addr, size);
	return fake_leave(desc->flags ? pin(addr, size) : CUDA_SUCCESS);
}

CUresult cuMemUnmap(CUdeviceptr addr, size_t size)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_MAPPING, addr);
	if (!result) {
		fake_retire(addr, size);
		unpin(addr, size);
		mmap(to_pointer(addr), size, PROT_NONE, RESERVE_FLAGS | MAP_FIXED, -1, 0);
	}
	return fake_leave_anyway(__func__, result);
}

/* ---- memory of the host ---- */

CUresult cuMemHostAlloc(void **addr, size_t size, unsigned flags)
{
	static uint64_t next = FAKE_HOST_BASE + (1ull << 40); /* where nobody else maps */
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*addr = mmap(to_pointer(next), size, PROT_READ | PROT_WRITE, RESERVE_FLAGS, -1, 0);
	if (*addr == MAP_FAILED)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	next += size / UNIT * UNIT + UNIT;
	fake_add(FAKE_HOST, fake_handle(*addr), size);
	return fake_leave(pin(fake_handle(*addr), size));
}

CUresult cuMemFreeHost(void *addr)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct fake_object *o;

	fake_lock();
	o = fake_find(FAKE_HOST, fake_handle(addr));
	if (o) {
		size_t size = o->size;

		fake_retire(o->key.at, size);
		unpin(o->key.at, size);
		result = fake_remove(FAKE_HOST, o->key.at);
		munmap(addr, size);
	}
	return fake_leave_anyway(__func__, result);
}

/* By the kernel: nothing is mapped there any more. */
static bool is_there(uint64_t addr)
{
	char byte;
	const struct iovec here = {&byte, 1}, there = {to_pointer(addr), 1};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

CUresult cuMemHostRegister_v2(void *addr, size_t size, unsigned flags)
{
	uint64_t at = fake_handle(addr);
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (fake_within(FAKE_REGISTERED, at, 1))
		return fake_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	result = pin(at, size);
	if (!result)
		fake_add(FAKE_REGISTERED, at, size);
	return fake_leave(result);
}

CUresult cuMemHostUnregister(void *addr)
{
	uint64_t at = fake_handle(addr);
	struct fake_object *o;
	CUresult result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;

	fake_lock();
	o = fake_find(FAKE_REGISTERED, at);
	if (o) {
		fake.n_early += !is_there(at);
		fake_retire(at, o->size);
		unpin(at, o->size);
		result = fake_remove(FAKE_REGISTERED, at);
	}
	return fake_leave_anyway(__func__, result);
}
