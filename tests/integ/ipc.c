/*
 * ipc.c - what a driver answers about memory of one process in another one, as lines of "case who step answer", which ipc.expected has.
 * The same program runs natively on a GPU, and under the library. Cases: answers.h.
 *
 *   ipc quota|killed|strange|closed    what only the library says: see there
 *
 * Each case is two processes, A that has memory and B that opens it, which speak by turns.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/answers.h"
#include "tests/unit/tenant.h"

#define UNIT	(2ull << 20)
#define N_WORDS 750u
#define N_MANY	200

/* add: n is added to each of count words, by one thread each. */
static const char ptx[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry add(.param .u64 words, .param .u32 count, .param .u32 n)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %i, %b, %t, %c, %n, %old;\n\t.reg .b64 %at, %off;\n"
	"\tld.param.u64 %at, [words];\n\tld.param.u32 %c, [count];\n\tld.param.u32 %n, [n];\n"
	"\tmov.u32 %b, %ctaid.x;\n\tmov.u32 %i, %ntid.x;\n\tmov.u32 %t, %tid.x;\n"
	"\tmad.lo.u32 %i, %b, %i, %t;\n\tsetp.ge.u32 %p, %i, %c;\n\t@%p ret;\n"
	"\tmul.wide.u32 %off, %i, 4;\n\tadd.u64 %at, %at, %off;\n"
	"\tatom.global.add.u32 %old, [%at], %n;\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;
static CUfunction add;
static const char *who;
static int peer; /* socket to the other process */

static void say(const char *step, long answer)
{
	printf("%s %s %s %ld\n", running, who, step, answer);
}

/* ---- the two ---- */

static void give_with(const void *bytes, size_t n, int fd)
{
	struct iovec part = {(void *)(uintptr_t)bytes, n};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(fd))] = {0};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)room;

		m.msg_control = room;
		m.msg_controllen = sizeof(room);
		*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS,
				      .cmsg_len = CMSG_LEN(sizeof(fd))};
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	if (sendmsg(peer, &m, 0) != (ssize_t)n)
		_exit(3);
}

static void give(const void *bytes, size_t n)
{
	give_with(bytes, n, -1);
}

/* Returns the descriptor that came with it, -1: none did. */
static int take(void *bytes, size_t n)
{
	struct iovec part = {bytes, n};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(peer, &m, 0) != (ssize_t)n)
		_exit(4);
	c = CMSG_FIRSTHDR(&m);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* The other one's turn, until it is this one's again. */
static void pass(void)
{
	must(cu.cuCtxSynchronize());
	give("t", 1);
}

static void await_turn(void)
{
	char c;

	take(&c, 1);
}

static void let_other(void)
{
	pass();
	await_turn();
}

static void begin(void)
{
	CUmodule module;

	cu_load(&cu);
	must(cu.cuInit(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuModuleLoadData(&module, ptx));
	must(cu.cuModuleGetFunction(&add, module, "add"));
}

/* A is a child, so that B, who goes on without it, is who ends last. Returns how A ended. */
static int run_two(void (*a)(void), void (*b)(void))
{
	int ends[2], status = -1;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		_exit(5);
	child = fork();
	peer = ends[!child];
	close(ends[!!child]);
	alarm(50);
	who = child ? "B" : "A";
	begin();
	if (!child) {
		a();
		_exit(0);
	}
	b();
	close(peer);
	waitpid(child, &status, 0);
	return status;
}

static void two(void (*a)(void), void (*b)(void))
{
	int status = run_two(a, b);

	if (status)
		printf("%s A ended with 0x%x\n", running, (unsigned)status);
}

/* ---- tools ---- */

static CUdeviceptr make(size_t bytes, uint32_t value)
{
	CUdeviceptr at = 0;

	must(cu.cuMemAlloc_v2(&at, bytes));
	must(cu.cuMemsetD32_v2(at, value, bytes / 4));
	must(cu.cuCtxSynchronize());
	return at;
}

static CUipcMemHandle handle_of(CUdeviceptr at)
{
	CUipcMemHandle h;

	must(cu.cuIpcGetMemHandle(&h, at));
	return h;
}

static CUdeviceptr open_next(void)
{
	CUipcMemHandle h;
	CUdeviceptr at = 0;

	take(&h, sizeof(h));
	must(cu.cuIpcOpenMemHandle_v2(&at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	return at;
}

/* 1000000 and the error, if it cannot be read. */
static long word(CUdeviceptr at)
{
	uint32_t w = 0;
	CUresult result = cu.cuMemcpyDtoH_v2(&w, at, sizeof(w));

	return result ? 1000000 + (long)result : (long)w;
}

static CUresult launch_add(CUdeviceptr at, uint32_t count, uint32_t n)
{
	void *params[] = {&at, &count, &n};

	return cu.cuLaunchKernel(add, (count + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
}

static long attribute(CUpointer_attribute which, CUdeviceptr at)
{
	uint64_t value = 0;
	CUresult result = cu.cuPointerGetAttribute(&value, which, at);

	return result ? -(long)result : (long)value;
}

static void say_attributes(CUdeviceptr at)
{
	CUdeviceptr base = 0;
	size_t size = 0;

	say("type", attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
	say("has-context", attribute(CU_POINTER_ATTRIBUTE_CONTEXT, at) != 0);
	say("legacy", attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
	say("handle-types", attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at));
	say("access", attribute(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at));
	say("in-pool", attribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at) != 0);
	say("range", cu.cuMemGetAddressRange_v2(&base, &size, at));
	say("range-offset", (long)(at - base));
	say("range-size", (long)size);
	say("start",
	    (long)(at - (CUdeviceptr)attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at)));
	say("size", attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at));
}

/* ---- allocations ---- */

static void a_allocation(void)
{
	CUdeviceptr at[3] = {make(1000, 11), make(3000, 12), make(5 * UNIT + 100, 13)};
	CUipcMemHandle h, inside;

	for (int i = 0; i < 3; i++) {
		h = handle_of(at[i]);
		say("get-inside", cu.cuIpcGetMemHandle(&inside, at[i] + 64));
		say("is-the-same", !memcmp(&h, &inside, sizeof(h)));
		give(&h, sizeof(h));
	}
	say_attributes(at[0]);
	let_other();
	for (int i = 0; i < 3; i++)
		say("word", word(at[i]));
	say("end", word(at[2] + 5 * UNIT + 96));
	pass();
}

static void b_allocation(void)
{
	CUdeviceptr at[3] = {open_next(), open_next(), open_next()};

	await_turn();
	for (int i = 0; i < 3; i++) {
		say("word", word(at[i]));
		must(cu.cuMemsetD32_v2(at[i], 101 + (uint32_t)i, 1));
	}
	must(cu.cuMemsetD32_v2(at[2] + 5 * UNIT + 96, 104, 1));
	say_attributes(at[0]);
	say_attributes(at[2]);
	let_other();
	say("word", word(at[1]));
}

static void case_allocation(void)
{
	two(a_allocation, b_allocation);
}

static void a_get(void)
{
	CUdeviceptr at = make(4096, 1), async = 0;
	CUipcMemHandle h = {{0}}, good = handle_of(at);
	CUdeviceptr opened = 0;
	void *host = NULL;

	must(cu.cuMemHostAlloc(&host, 4096, 0));
	must(cu.cuMemAllocAsync(&async, 4096, NULL));
	must(cu.cuCtxSynchronize());
	say("null", cu.cuIpcGetMemHandle(NULL, at));
	say("nothing", cu.cuIpcGetMemHandle(&h, 0));
	say("of-program", cu.cuIpcGetMemHandle(&h, (CUdeviceptr)(uintptr_t)&h));
	say("pinned", cu.cuIpcGetMemHandle(&h, (CUdeviceptr)(uintptr_t)host));
	say("async", cu.cuIpcGetMemHandle(&h, async));
	say("open-own", cu.cuIpcOpenMemHandle_v2(&opened, good, 1));
	say("open-zeroes", cu.cuIpcOpenMemHandle_v2(&opened, h, 1));
	say("open-null", cu.cuIpcOpenMemHandle_v2(NULL, good, 1));
	say("close-own", cu.cuIpcCloseMemHandle(at));
	say("close-nothing", cu.cuIpcCloseMemHandle(0));
	give(&good, sizeof(good));
	await_turn();
	say("word", word(at));
}

static void b_get(void)
{
	CUdeviceptr at = 0;
	CUipcMemHandle good, h;

	take(&good, sizeof(good));
	say("no-flags", cu.cuIpcOpenMemHandle_v2(&at, good, 0));
	say("open", cu.cuIpcOpenMemHandle_v2(&at, good, 1));
	say("export", cu.cuIpcGetMemHandle(&h, at));
	say("free", cu.cuMemFree_v2(at));
	say("free-async", cu.cuMemFreeAsync(at, NULL));
	say("close-inside", cu.cuIpcCloseMemHandle(at + 4));
	say("word", word(at));
	pass();
}

static void case_get(void)
{
	two(a_get, b_get);
}

static void a_again(void)
{
	CUdeviceptr at = make(3 * UNIT, 7);
	CUipcMemHandle h = handle_of(at), again = handle_of(at);

	say("same-handle", !memcmp(&h, &again, sizeof(h)));
	give(&h, sizeof(h));
	await_turn();
	say("word", word(at));
}

static void b_again(void)
{
	CUipcMemHandle h;
	CUdeviceptr at = 0, again = 0;

	take(&h, sizeof(h));
	must(cu.cuIpcOpenMemHandle_v2(&at, h, 1));
	say("again", cu.cuIpcOpenMemHandle_v2(&again, h, 1));
	say("same-address", at == again);
	say("close", cu.cuIpcCloseMemHandle(at));
	say("word", word(at));
	say("close-last", cu.cuIpcCloseMemHandle(at));
	say("close-more", cu.cuIpcCloseMemHandle(at));
	say("closed-word", word(at));
	say("open-later", cu.cuIpcOpenMemHandle_v2(&at, h, 1));
	say("word", word(at));
	pass();
}

static void case_again(void)
{
	two(a_again, b_again);
}

/* What others have open stays theirs, as it was, whatever becomes of its first owner's. */
static void a_freed(void)
{
	CUdeviceptr at = make(5 * UNIT, 13), next;
	CUipcMemHandle h = handle_of(at);

	give(&h, sizeof(h));
	await_turn();
	say("free", cu.cuMemFree_v2(at));
	next = make(5 * UNIT, 99);
	h = handle_of(next);
	give(&h, sizeof(h));
	await_turn();
	say("word", word(next));
	must(cu.cuMemFree_v2(next));
	let_other();
}

static void b_freed(void)
{
	CUdeviceptr at = open_next(), next = 0;
	CUipcMemHandle h;

	pass();
	take(&h, sizeof(h));
	say("word", word(at));
	say("far", word(at + 5 * UNIT - 4));
	must(cu.cuMemsetD32_v2(at, 14, 1));
	say("open-next", cu.cuIpcOpenMemHandle_v2(&next, h, 1));
	say("next-word", word(next));
	say("close-next", cu.cuIpcCloseMemHandle(next));
	let_other();
	say("open-freed", cu.cuIpcOpenMemHandle_v2(&next, h, 1));
	say("word", word(at));
	say("close", cu.cuIpcCloseMemHandle(at));
	pass();
}

static void case_freed(void)
{
	two(a_freed, b_freed);
}

static void a_exit(void)
{
	CUdeviceptr at[2] = {make(1000, 11), make(5 * UNIT, 13)};

	for (int i = 0; i < 2; i++) {
		CUipcMemHandle h = handle_of(at[i]);

		give(&h, sizeof(h));
	}
	await_turn();
}

static void await_exit(void)
{
	char c;

	pass();
	while (read(peer, &c, 1) > 0)
		;
}

static void b_exit(void)
{
	CUdeviceptr at[2] = {open_next(), open_next()};
	CUdeviceptr own;

	await_exit();
	own = make(5 * UNIT, 77); /* not the other's memory */
	for (int i = 0; i < 2; i++) {
		say("word", word(at[i]));
		say("launch", launch_add(at[i], 250, 5));
		say("added", word(at[i]));
	}
	say("own", word(own));
	for (int i = 0; i < 2; i++)
		say("close", cu.cuIpcCloseMemHandle(at[i]));
	say("synchronize", cu.cuCtxSynchronize());
}

static void case_exit(void)
{
	two(a_exit, b_exit);
}

/* Kernels of both at once. */
static void a_kernels(void)
{
	CUdeviceptr at = make(4 * N_WORDS, 0);
	CUipcMemHandle h = handle_of(at);
	long wrong = 0;

	give(&h, sizeof(h));
	await_turn();
	for (int i = 0; i < 50; i++)
		must(launch_add(at, N_WORDS, 1));
	must(cu.cuCtxSynchronize());
	await_turn();
	for (unsigned i = 0; i < N_WORDS; i++)
		wrong += word(at + 4ull * i) != 50 + 50 * 1000;
	say("wrong", wrong);
}

static void b_kernels(void)
{
	CUdeviceptr at = open_next();

	pass();
	for (int i = 0; i < 50; i++)
		must(launch_add(at, N_WORDS, 1000));
	must(cu.cuCtxSynchronize());
	pass();
}

static void case_kernels(void)
{
	two(a_kernels, b_kernels);
}

static void a_many(void)
{
	CUdeviceptr at[N_MANY];
	long wrong = 0;

	for (uint32_t i = 0; i < N_MANY; i++) {
		CUipcMemHandle h;

		at[i] = make(256 + 64 * i, i);
		h = handle_of(at[i]);
		give(&h, sizeof(h));
		await_turn();
	}
	await_turn();
	for (uint32_t i = 0; i < N_MANY; i++)
		wrong += word(at[i]) != 2 * (long)i;
	say("wrong", wrong);
}

static void b_many(void)
{
	CUdeviceptr at[N_MANY];
	long wrong = 0;

	for (uint32_t i = 0; i < N_MANY; i++) {
		at[i] = open_next();
		wrong += word(at[i]) != (long)i || word(at[i] + 252 + 64ull * i) != (long)i;
		pass();
	}
	for (uint32_t i = 0; i < N_MANY; i++)
		must(launch_add(at[i], 64, i));
	must(cu.cuCtxSynchronize());
	for (uint32_t i = 0; i < N_MANY; i += 2)
		must(cu.cuIpcCloseMemHandle(at[i]));
	for (uint32_t i = 1; i < N_MANY; i += 2)
		wrong += word(at[i]) != 2 * (long)i;
	say("wrong", wrong);
	pass();
}

static void case_many(void)
{
	two(a_many, b_many);
}

/* What a context has opened goes with it, and is its owner's as before. */
static void a_context(void)
{
	CUdeviceptr at = make(UNIT, 3);
	CUipcMemHandle h = handle_of(at);

	give(&h, sizeof(h));
	await_turn();
	say("word", word(at));
	pass();
}

static void b_context(void)
{
	CUcontext other;
	CUipcMemHandle h;
	CUdeviceptr at = 0;

	take(&h, sizeof(h));
	must(cu.cuCtxCreate_v2(&other, 0, 0));
	say("open", cu.cuIpcOpenMemHandle_v2(&at, h, 1));
	must(cu.cuMemsetD32_v2(at, 4, 1));
	must(cu.cuCtxSynchronize());
	must(cu.cuCtxDestroy_v2(other));
	must(cu.cuCtxSetCurrent(ctx));
	say("close", cu.cuIpcCloseMemHandle(at));
	say("open-in-primary", cu.cuIpcOpenMemHandle_v2(&at, h, 1));
	say("word", word(at));
	let_other();
	say("close", cu.cuIpcCloseMemHandle(at));
}

static void case_context(void)
{
	two(a_context, b_context);
}

/* ---- memory without an address ---- */

static const CUmemAccessDesc both = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
				     CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static CUmemGenericAllocationHandle create(size_t bytes, CUmemAllocationHandleType types)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .requestedHandleTypes = types,
					  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle h = 0;

	must(cu.cuMemCreate(&h, bytes, &prop, 0));
	return h;
}

static CUdeviceptr map(CUmemGenericAllocationHandle h, size_t bytes)
{
	CUdeviceptr at = 0;

	must(cu.cuMemAddressReserve(&at, bytes, 0, 0, 0));
	must(cu.cuMemMap(at, bytes, 0, h, 0));
	must(cu.cuMemSetAccess(at, bytes, &both, 1));
	return at;
}

static CUresult import(CUmemGenericAllocationHandle *h, int fd, int type)
{
	return cu.cuMemImportFromShareableHandle(h, (void *)(intptr_t)fd,
						 (CUmemAllocationHandleType)type);
}

static void a_descriptor(void)
{
	CUmemGenericAllocationHandle h = create(2 * UNIT, 1), plain = create(UNIT, 0), own = 0;
	CUdeviceptr at = map(h, 2 * UNIT);
	CUipcMemHandle legacy;
	int fd = -1, other = -1;

	must(cu.cuMemsetD32_v2(at, 21, 2 * UNIT / 4));
	must(cu.cuCtxSynchronize());
	say("legacy", cu.cuIpcGetMemHandle(&legacy, at));
	say("plain", cu.cuMemExportToShareableHandle(&other, plain, 1, 0));
	say("export", cu.cuMemExportToShareableHandle(&fd, h, 1, 0));
	say("close-on-exec", fcntl(fd, F_GETFD));
	say("flags", cu.cuMemExportToShareableHandle(&other, h, 1, 1));
	say("type-0", cu.cuMemExportToShareableHandle(&other, h, 0, 0));
	say("type-2", cu.cuMemExportToShareableHandle(&other, h, 2, 0));
	say("null", cu.cuMemExportToShareableHandle(NULL, h, 1, 0));
	say("import-own", import(&own, fd, 1));
	say("own-differs", own != h);
	give_with("f", 1, fd);
	await_turn();
	say("word", word(at));
	say("far", word(at + UNIT));
	say("own-word", word(map(own, 2 * UNIT) + UNIT));
	pass();
}

static void b_descriptor(void)
{
	CUmemGenericAllocationHandle h = 0, none = 0;
	CUmemAllocationProp prop = {0};
	CUdeviceptr at;
	char c;
	int fd = take(&c, 1), other = open("/dev/null", O_RDWR | O_CLOEXEC);

	say("import", import(&h, fd, 1));
	say("no-descriptor", import(&none, 999, 1));
	say("something-else", import(&none, other, 1));
	say("type-2", import(&none, fd, 2));
	say("null", import(NULL, fd, 1));
	close(fd);
	say("prop", cu.cuMemGetAllocationPropertiesFromHandle(&prop, h));
	say("prop-type", prop.type);
	say("prop-handles", prop.requestedHandleTypes);
	say("prop-where", prop.location.type);
	say("export", cu.cuMemExportToShareableHandle(&other, h, 1, 0));
	at = map(h, 2 * UNIT);
	say("word", word(at));
	must(cu.cuMemsetD32_v2(at, 22, 1));
	say("launch", launch_add(at + UNIT, 256, 2));
	say("handle-types", attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at));
	must(cu.cuCtxSynchronize());
	let_other();
	say("unmap", cu.cuMemUnmap(at, 2 * UNIT));
	say("release", cu.cuMemRelease(h));
}

static void case_descriptor(void)
{
	two(a_descriptor, b_descriptor);
}

/* A descriptor is enough to keep the memory; and so is what was imported. */
static void a_kept(void)
{
	CUmemGenericAllocationHandle h = create(UNIT, 1);
	CUdeviceptr at = map(h, UNIT);
	int fd = -1;

	must(cu.cuMemsetD32_v2(at, 31, UNIT / 4));
	must(cu.cuCtxSynchronize());
	must(cu.cuMemExportToShareableHandle(&fd, h, 1, 0));
	must(cu.cuMemUnmap(at, UNIT));
	must(cu.cuMemRelease(h));
	h = create(UNIT, 1); /* not the same again */
	must(cu.cuMemsetD32_v2(map(h, UNIT), 32, UNIT / 4));
	give_with("f", 1, fd);
	close(fd);
	await_turn();
	h = create(UNIT, 1);
	must(cu.cuMemsetD32_v2(map(h, UNIT), 33, UNIT / 4));
	let_other();
}

static void b_kept(void)
{
	CUmemGenericAllocationHandle h = 0;
	CUdeviceptr at;
	char c;
	int fd = take(&c, 1);

	say("import", import(&h, fd, 1));
	close(fd);
	at = map(h, UNIT);
	say("word", word(at));
	let_other();
	say("word", word(at));
	pass();
	while (read(peer, &c, 1) > 0)
		;
	say("alone", word(at));
}

static void case_kept(void)
{
	two(a_kept, b_kept);
}

/* ---- pools ---- */

static CUmemoryPool make_pool(CUmemAllocationHandleType types)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .handleTypes = types,
				      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemoryPool pool = NULL;

	must(cu.cuMemPoolCreate(&pool, &props));
	return pool;
}

static void a_pool(void)
{
	CUmemoryPool pool = make_pool(1), usual = NULL, own = NULL;
	CUmemPoolPtrExportData data, other = {{0}};
	CUdeviceptr at = 0, async = 0, plain = make(4096, 1);
	int fd = -1, none = -1;

	must(cu.cuMemAllocFromPoolAsync(&at, 8192, pool, NULL));
	must(cu.cuMemsetD32Async(at, 31, 2048, NULL));
	must(cu.cuMemAllocAsync(&async, 4096, NULL));
	must(cu.cuCtxSynchronize());
	must(cu.cuDeviceGetDefaultMemPool(&usual, 0));
	say("export", cu.cuMemPoolExportToShareableHandle(&fd, pool, 1, 0));
	say("export-default", cu.cuMemPoolExportToShareableHandle(&none, usual, 1, 0));
	say("export-flags", cu.cuMemPoolExportToShareableHandle(&none, pool, 1, 1));
	say("export-type-0", cu.cuMemPoolExportToShareableHandle(&none, pool, 0, 0));
	say("pointer", cu.cuMemPoolExportPointer(&data, at));
	say("pointer-default", cu.cuMemPoolExportPointer(&other, async));
	say("pointer-plain", cu.cuMemPoolExportPointer(&other, plain));
	say("pointer-inside", cu.cuMemPoolExportPointer(&other, at + 256));
	say("import-own", cu.cuMemPoolImportFromShareableHandle(&own, (void *)(intptr_t)fd, 1, 0));
	say("legacy", cu.cuIpcGetMemHandle((CUipcMemHandle *)&other, at));
	say_attributes(at);
	give_with(&data, sizeof(data), fd);
	await_turn();
	say("word", word(at));
	say("free", cu.cuMemFreeAsync(at, NULL));
	must(cu.cuCtxSynchronize());
}

static void b_pool(void)
{
	CUmemPoolPtrExportData data, junk = {{0}};
	CUmemoryPool pool = NULL, own = make_pool(1);
	CUdeviceptr at = 0, again = 0, none = 0;
	int fd = take(&data, sizeof(data));

	must(cu.cuCtxSetCurrent(NULL));
	say("import", cu.cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, 1, 0));
	say("pointer-without-context", cu.cuMemPoolImportPointer(&at, pool, &data));
	must(cu.cuCtxSetCurrent(ctx));
	say("word", word(at));
	say("alloc", cu.cuMemAllocFromPoolAsync(&none, 4096, pool, NULL));
	say("again", cu.cuMemPoolImportPointer(&again, pool, &data));
	say("same-address", at == again);
	say("export", cu.cuMemPoolExportPointer(&junk, at));
	memset(&junk, 0, sizeof(junk));
	say("zeroes", cu.cuMemPoolImportPointer(&none, pool, &junk));
	say("own-pool", cu.cuMemPoolImportPointer(&none, own, &data));
	say_attributes(at);
	say("launch", launch_add(at, 2048, 100));
	say("free", cu.cuMemFreeAsync(at, NULL));
	say("synchronize", cu.cuCtxSynchronize());
	say("free-again", cu.cuMemFree_v2(at));
	say("destroy", cu.cuMemPoolDestroy(pool));
	pass();
}

static void case_pool(void)
{
	two(a_pool, b_pool);
}

/* ---- events ---- */

static void a_events(void)
{
	CUevent e, plain, own;
	CUipcEventHandle h, none = {{0}};
	float ms = 0;

	say("timed", cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS));
	must(cu.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	must(cu.cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	say("get", cu.cuIpcGetEventHandle(&h, e));
	say("get-plain", cu.cuIpcGetEventHandle(&none, plain));
	say("get-nothing", cu.cuIpcGetEventHandle(&none, NULL));
	say("get-null", cu.cuIpcGetEventHandle(NULL, e));
	memset(&none, 0, sizeof(none));
	say("open-own", cu.cuIpcOpenEventHandle(&own, h));
	say("open-zeroes", cu.cuIpcOpenEventHandle(&own, none));
	say("query", cu.cuEventQuery(e));
	say("elapsed", cu.cuEventElapsedTime(&ms, e, e));
	must(cu.cuEventRecord(e, NULL));
	say("elapsed-recorded", cu.cuEventElapsedTime(&ms, e, e));
	must(cu.cuCtxSynchronize());
	give(&h, sizeof(h));
	await_turn();
	say("query", cu.cuEventQuery(e));
	say("destroy", cu.cuEventDestroy_v2(e));
	pass();
}

static void b_events(void)
{
	CUevent e, again;
	CUipcEventHandle h, other;

	take(&h, sizeof(h));
	say("open", cu.cuIpcOpenEventHandle(&e, h));
	say("query", cu.cuEventQuery(e));
	say("synchronize", cu.cuEventSynchronize(e));
	say("record", cu.cuEventRecord(e, NULL));
	say("get", cu.cuIpcGetEventHandle(&other, e));
	say("again", cu.cuIpcOpenEventHandle(&again, h));
	say("again-is-another", e != again);
	other = h;
	memset(other.reserved, 0x5a, sizeof(other.reserved));
	say("rubbish", cu.cuIpcOpenEventHandle(&again, other));
	let_other();
	say("query", cu.cuEventQuery(e));
	say("record", cu.cuEventRecord(e, NULL));
	say("synchronize", cu.cuEventSynchronize(e));
	say("wait", cu.cuStreamWaitEvent(NULL, e, 0));
	say("destroy", cu.cuEventDestroy_v2(e));
	say("synchronize-all", cu.cuCtxSynchronize());
}

static void case_events(void)
{
	two(a_events, b_events);
}

/* ---- what only the library says ---- */

#define MIB (1ull << 20)

static CUresult allocate(size_t bytes, CUdeviceptr *at)
{
	return cu.cuMemAlloc_v2(at, bytes);
}

/* Of a tenant that may have 32 MiB: memory is in the account of the first who has it. */
static void a_quota(void)
{
	CUdeviceptr at = 0, more = 0;
	CUipcMemHandle h;

	must(allocate(24 * MIB, &at));
	h = handle_of(at);
	say("more", allocate(16 * MIB, &more));
	give(&h, sizeof(h));
	await_turn();
	must(cu.cuMemFree_v2(at));
	say("freed", allocate(30 * MIB, &more));
	let_other();
}

static void b_quota(void)
{
	CUdeviceptr at = open_next(), own = 0, more = 0;

	say("opened", allocate(30 * MIB, &own));
	must(cu.cuMemFree_v2(own));
	let_other();
	say("inherited", allocate(16 * MIB, &more));
	say("close", cu.cuIpcCloseMemHandle(at));
	say("closed", allocate(30 * MIB, &more));
	pass();
}

static void case_quota(void)
{
	two(a_quota, b_quota);
}

static void a_killed(void)
{
	a_exit();
	kill(getpid(), SIGKILL);
}

static void case_killed(void)
{
	int status = run_two(a_killed, b_exit);

	say("killed", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
}

/* Whoever does not know the secret has nothing. */
static void a_strange(void)
{
	CUdeviceptr at = make(4096, 5);
	CUipcMemHandle h = handle_of(at);

	give(&h, sizeof(h));
	await_turn();
	say("word", word(at));
}

static void b_strange(void)
{
	CUipcMemHandle good, h;
	CUdeviceptr at;
	long n = 0;

	take(&good, sizeof(good));
	for (unsigned bit = 0; bit < 8 * 40; bit++) {
		if (bit / 8 >= 12 && bit / 8 < 16) /* whose it is, which is for messages */
			continue;
		h = good;
		h.reserved[bit / 8] = (char)(h.reserved[bit / 8] ^ 1 << bit % 8);
		n += cu.cuIpcOpenMemHandle_v2(&at, h, 1) != CUDA_ERROR_INVALID_VALUE;
	}
	say("opened", n);
	say("good", cu.cuIpcOpenMemHandle_v2(&at, good, 1));
	pass();
}

static void case_strange(void)
{
	two(a_strange, b_strange);
}

/* A program that closes what it has not opened loses what only a descriptor has kept, and nothing else. */
static void case_closed(void)
{
	CUmemGenericAllocationHandle h, other = 0;
	int fd = -1, low;

	who = "A";
	begin();
	h = create(UNIT, 1);
	low = dup(0);
	close(low);
	must(cu.cuMemExportToShareableHandle(&fd, h, 1, 0));
	for (int i = low; i < fd; i++)
		close(i);
	low = open("/dev/null", O_RDWR | O_CLOEXEC); /* one of the numbers */
	say("create", cu.cuMemCreate(&other, UNIT,
				     &(CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
							    .location = both.location},
				     0));
	say("still-open", fcntl(low, F_GETFD) == FD_CLOEXEC);
	say("release", cu.cuMemRelease(h));
	say("import", import(&other, fd, 1));
}

static const struct answers_case cases[] = {
	{"allocation", case_allocation},
	{"get", case_get},
	{"again", case_again},
	{"freed", case_freed},
	{"exit", case_exit},
	{"kernels", case_kernels},
	{"many", case_many},
	{"context", case_context},
	{"descriptor", case_descriptor},
	{"kept", case_kept},
	{"pool", case_pool},
	{"events", case_events},
};
static const struct answers_case others[] = {
	{"quota", case_quota},
	{"killed", case_killed},
	{"strange", case_strange},
	{"closed", case_closed},
};

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	const struct answers all = {
		.set_up = nothing,
		.cases = cases,
		.others = others,
		.n_cases = sizeof(cases) / sizeof(cases[0]),
		.n_others = sizeof(others) / sizeof(others[0]),
	};

	return answers_main(&all, argc, argv);
}
