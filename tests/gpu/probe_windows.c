/*
 * probe_windows.c - do the wire's address windows hold on a real GPU? (gsb/wire.h, GSB_*_WINDOW_*)
 *
 * What the wire rests on: the host windows of all 64 slots, made of SEALED memfds, can be mapped before and
 * after cuInit; the device windows of all 64 slots can be reserved at their bases while those are there; a
 * part of a sealed window can be registered with device pointer == host pointer; a copy and a fill work
 * between both. Prints one line a fact, "yes" or "NO", and exits 1 on any NO. Needs libcuda.so.1 at run time only.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsb/cuabi.h"
#include "shm/region.h"

#define WINDOW_BYTES   (1ull << 30)
#define REGISTER_BYTES (16ull << 20)
#define REGISTER_AT    (4ull << 20)
#define VMM_BYTES      (2ull << 20)

/* The driver's own layouts, as far as this probe needs them. */
struct allocation_prop {
	int type, handle_types;
	struct {
		int type, id;
	} location;
	void *win32;
	unsigned char flags[8];
};

struct access_desc {
	struct {
		int type, id;
	} location;
	int flags;
};

static struct {
	CUresult (*init)(unsigned);
	CUresult (*ctx_retain)(CUcontext *, CUdevice);
	CUresult (*ctx_set)(CUcontext);
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
	CUresult (*create)(unsigned long long *, size_t, const struct allocation_prop *,
			   unsigned long long);
	CUresult (*map)(CUdeviceptr, size_t, size_t, unsigned long long, unsigned long long);
	CUresult (*access)(CUdeviceptr, size_t, const struct access_desc *, size_t);
	CUresult (*host_register)(void *, size_t, unsigned);
	CUresult (*host_pointer)(CUdeviceptr *, void *, unsigned);
	CUresult (*fill)(CUdeviceptr, unsigned char, size_t);
	CUresult (*dtoh)(void *, CUdeviceptr, size_t);
	CUresult (*htod)(CUdeviceptr, const void *, size_t);
} cu;

static int n_failed;

static void fact(const char *what, int ok)
{
	printf("%-72s %s\n", what, ok ? "yes" : "NO");
	n_failed += !ok;
}

static int load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		return -1;
	*(void **)&cu.init = dlsym(lib, "cuInit");
	*(void **)&cu.ctx_retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&cu.ctx_set = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&cu.reserve = dlsym(lib, "cuMemAddressReserve");
	*(void **)&cu.create = dlsym(lib, "cuMemCreate");
	*(void **)&cu.map = dlsym(lib, "cuMemMap");
	*(void **)&cu.access = dlsym(lib, "cuMemSetAccess");
	*(void **)&cu.host_register = dlsym(lib, "cuMemHostRegister_v2");
	*(void **)&cu.host_pointer = dlsym(lib, "cuMemHostGetDevicePointer_v2");
	*(void **)&cu.fill = dlsym(lib, "cuMemsetD8_v2");
	*(void **)&cu.dtoh = dlsym(lib, "cuMemcpyDtoH_v2");
	*(void **)&cu.htod = dlsym(lib, "cuMemcpyHtoD_v2");
	return 0;
}

static int map_host_windows(uint32_t first, uint32_t end, int *fds)
{
	uint32_t i;

	for (i = first; i < end; i++)
		if (gsb_memfd_create("probe", WINDOW_BYTES, &fds[i]) ||
		    gsb_window_map(fds[i], gsb_host_window_base(i), WINDOW_BYTES))
			break;
	return i == end;
}

static int reserve_device_windows(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < GSB_N_SLOTS; i++) {
		CUdeviceptr at = 0, want = gsb_device_window_base(i);

		n += !cu.reserve(&at, GSB_DEVICE_WINDOW_SIZE, 0, want, 0) && at == want;
	}
	return n == GSB_N_SLOTS;
}

static int back_with_memory(CUdeviceptr at)
{
	const struct allocation_prop prop = {.type = 1, .location = {1, 0}};
	const struct access_desc access = {{1, 0}, 3};
	unsigned long long handle;

	return !cu.create(&handle, VMM_BYTES, &prop, 0) && !cu.map(at, VMM_BYTES, 0, handle, 0) &&
	       !cu.access(at, VMM_BYTES, &access, 1);
}

/* Device memory of a slot's window to its registered host window and back; a child sees the bytes. */
static int copies_work(uint32_t slot, int fd)
{
	unsigned char *host =
		(unsigned char *)(uintptr_t)(gsb_host_window_base(slot) + REGISTER_AT);
	CUdeviceptr device = gsb_device_window_base(slot), seen;
	int status;
	pid_t pid;

	if (!back_with_memory(device) || cu.host_register(host, REGISTER_BYTES, 1) ||
	    cu.host_pointer(&seen, host, 0) || seen != (CUdeviceptr)(uintptr_t)host)
		return 0;
	if (cu.fill(device, 0x5a, VMM_BYTES) || cu.dtoh(host, device, VMM_BYTES) ||
	    host[VMM_BYTES - 1] != 0x5a)
		return 0;
	pid = fork(); /* another process with the memfd at the same address, as a tenant has it */
	if (!pid)
		_exit(gsb_window_map(fd, gsb_host_window_base(slot), WINDOW_BYTES) ||
		      host[77] != 0x5a);
	waitpid(pid, &status, 0);
	memset(host, 0x33, VMM_BYTES);
	return !status && !cu.htod(device, host, VMM_BYTES) &&
	       !cu.dtoh(host + VMM_BYTES, device, 16) && host[VMM_BYTES] == 0x33;
}

int main(void)
{
	int fds[GSB_N_SLOTS];
	CUcontext ctx;

	if (load_driver()) {
		printf("no libcuda.so.1: this probe needs a GPU and its driver\n");
		return 77;
	}
	fact("host windows of slots 0-31, sealed memfds, before cuInit",
	     map_host_windows(0, GSB_N_SLOTS / 2, fds));
	fact("cuInit and a primary context beside them",
	     !cu.init(0) && !cu.ctx_retain(&ctx, 0) && !cu.ctx_set(ctx));
	fact("host windows of slots 32-63 after it",
	     map_host_windows(GSB_N_SLOTS / 2, GSB_N_SLOTS, fds));
	fact("64 device windows of 384 GiB at their bases", reserve_device_windows());
	fact("slot 0: VMM memory, registered sealed memfd, copies both ways",
	     copies_work(0, fds[0]));
	fact("slot 31: the same", copies_work(31, fds[31]));
	fact("slot 63: the same", copies_work(63, fds[63]));
	return n_failed ? 1 : 0;
}
