/*
 * virtual.c - what a driver answers about addresses that are reserved and memory that is mapped there, as lines of
 * "case step answer", which virtual.expected has. The same program runs natively on a GPU, and under the library.
 *
 *   virtual            all cases, each in a process of its own, so that none is in another's context
 *   virtual CASE       this one, here
 *   virtual --list     their names
 *   virtual quota|zero|over-the-end|free|context|hold    what only the library says: see there
 *   virtual host-quota|host-refused|host-alone|host-soak|host-hold    likewise, of memory of the host
 *
 * An answer is a CUresult, a count, or what was read back. Nothing that is printed depends on addresses or on time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/integ/answers.h"
#include "tests/unit/tenant.h"

#define UNIT	(2ull << 20)
#define WORDS	(UNIT / 4)
#define N_TURNS 4

/* add: n is added to each of count words, by one thread each. */
static const char ptx[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry add(.param .u64 words, .param .u32 count, .param .u32 n)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %i, %b, %t, %c, %n, %old;\n\t.reg .b64 %at, %off;\n"
	"\tld.param.u64 %at, [words];\n\tld.param.u32 %c, [count];\n\tld.param.u32 %n, [n];\n"
	"\tmov.u32 %b, %ctaid.x;\n\tmov.u32 %i, %ntid.x;\n\tmov.u32 %t, %tid.x;\n"
	"\tmad.lo.u32 %i, %b, %i, %t;\n\tsetp.ge.u32 %p, %i, %c;\n\t@%p ret;\n"
	"\tmul.wide.u32 %off, %i, 4;\n\tadd.u64 %at, %at, %off;\n"
	"\tld.global.u32 %old, [%at];\n\tadd.u32 %old, %old, %n;\n\tst.global.u32 [%at], %old;\n"
	"\tret;\n}\n"
	".visible .entry look(.param .u64 from, .param .u64 to)\n{\n"
	"\t.reg .b32 %v;\n\t.reg .b64 %from, %to;\n"
	"\tld.param.u64 %from, [from];\n\tld.param.u64 %to, [to];\n"
	"\tld.global.u32 %v, [%from];\n\tst.global.u32 [%to], %v;\n\tret;\n}\n";

static struct cu cu;
static CUcontext ctx;
static CUmodule module;
static CUfunction add, look;

static void say(const char *step, long answer)
{
	printf("%s %s %ld\n", running, step, answer);
}

/* ---- tools ---- */

static const CUmemAllocationProp prop = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};
static const CUmemAccessDesc both = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
				     CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc reading = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
					CU_MEM_ACCESS_FLAGS_PROT_READ};
static const CUmemAccessDesc none = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
				     CU_MEM_ACCESS_FLAGS_PROT_NONE};

static CUdeviceptr reserve(size_t units)
{
	CUdeviceptr at = 0;

	must(cu.cuMemAddressReserve(&at, units * UNIT, 0, 0, 0));
	return at;
}

static CUmemGenericAllocationHandle create(size_t units)
{
	CUmemGenericAllocationHandle h = 0;

	must(cu.cuMemCreate(&h, units * UNIT, &prop, 0));
	return h;
}

static void map(CUdeviceptr at, size_t units, CUmemGenericAllocationHandle h)
{
	must(cu.cuMemMap(at, units * UNIT, 0, h, 0));
	must(cu.cuMemSetAccess(at, units * UNIT, &both, 1));
}

/* Addresses with memory of their own, one handle a unit, which only the mappings keep. */
static CUdeviceptr make(size_t units)
{
	CUdeviceptr at = reserve(units);

	for (size_t i = 0; i < units; i++) {
		CUmemGenericAllocationHandle h = create(1);

		map(at + i * UNIT, 1, h);
		must(cu.cuMemRelease(h));
	}
	return at;
}

static CUresult launch_add(CUdeviceptr at, uint32_t count, uint32_t n)
{
	void *params[] = {&at, &count, &n};

	return cu.cuLaunchKernel(add, (count + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
}

static CUresult launch_look(CUdeviceptr from, CUdeviceptr to)
{
	void *params[] = {&from, &to};

	return cu.cuLaunchKernel(look, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

static uint32_t word(CUdeviceptr at)
{
	uint32_t w = 0;

	must(cu.cuMemcpyDtoH_v2(&w, at, sizeof(w)));
	return w;
}

static long device_attribute(int which)
{
	int value = -1;

	must(cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)which, 0));
	return value;
}

/* ---- cases ---- */

static void case_device(void)
{
	size_t least = 0, best = 0;
	CUmemAllocationProp p = prop;

	say("supported", device_attribute(102));
	say("minimum", cu.cuMemGetAllocationGranularity(&least, &prop, 0));
	say("minimum-bytes", (long)least);
	say("recommended", cu.cuMemGetAllocationGranularity(&best, &prop, 1));
	say("recommended-bytes", (long)best);
	say("option", cu.cuMemGetAllocationGranularity(&best, &prop, 2));
	say("null", cu.cuMemGetAllocationGranularity(NULL, &prop, 0));
	say("null-prop", cu.cuMemGetAllocationGranularity(&best, NULL, 0));
	p.location.id = 77;
	say("no-device", cu.cuMemGetAllocationGranularity(&best, &p, 0));
	p = prop;
	p.type = 0;
	say("no-type", cu.cuMemGetAllocationGranularity(&best, &p, 0));
}

static void case_reserve(void)
{
	CUdeviceptr a = 0, b = 0;

	say("some", cu.cuMemAddressReserve(&a, 4 * UNIT, 0, 0, 0));
	say("aligned", a % UNIT == 0);
	say("nothing", cu.cuMemAddressReserve(&b, 0, 0, 0, 0));
	say("no-page", cu.cuMemAddressReserve(&b, 4095, 0, 0, 0));
	say("flags", cu.cuMemAddressReserve(&b, UNIT, 0, 0, 1));
	say("no-power", cu.cuMemAddressReserve(&b, UNIT, 3 * UNIT, 0, 0));
	say("null", cu.cuMemAddressReserve(NULL, UNIT, 0, 0, 0));
	say("far", cu.cuMemAddressReserve(&b, 4 * UNIT, 1ull << 33, 0, 0));
	say("far-aligned", b % (1ull << 33) == 0);
	say("free-part", cu.cuMemAddressFree(a, 2 * UNIT));
	say("free-inside", cu.cuMemAddressFree(a + UNIT, 3 * UNIT));
	say("free-more", cu.cuMemAddressFree(a, 8 * UNIT));
	say("free", cu.cuMemAddressFree(a, 4 * UNIT));
	say("free-again", cu.cuMemAddressFree(a, 4 * UNIT));
	say("free-far", cu.cuMemAddressFree(b, 4 * UNIT));
}

/* A program that grows a range asks for what lies right behind it. */
static void case_hint(void)
{
	CUdeviceptr a = 0, b = 0, c = 0;

	must(cu.cuMemAddressReserve(&a, 64 * UNIT, 0, 0, 0));
	must(cu.cuMemAddressFree(a, 64 * UNIT));
	must(cu.cuMemAddressReserve(&b, 32 * UNIT, 0, a, 0));
	say("where-it-was", a == b);
	must(cu.cuMemAddressReserve(&c, 32 * UNIT, 0, b + 32 * UNIT, 0));
	say("behind", c == b + 32 * UNIT);
	must(cu.cuMemAddressReserve(&a, 32 * UNIT, 0, b, 0));
	say("taken", a != b && a != c);
}

static void case_huge(void)
{
	size_t total = 0, bytes;
	CUdeviceptr at[3] = {0};

	must(cu.cuDeviceTotalMem_v2(&total, 0));
	bytes = (total + total / 8) / UNIT * UNIT;
	for (int i = 0; i < 3; i++)
		say("reserve", cu.cuMemAddressReserve(&at[i], bytes, 0, 0, 0));
	map(at[1] + bytes - UNIT, 1, create(1));
	must(cu.cuMemsetD32_v2(at[1] + bytes - UNIT, 9, WORDS));
	say("end", word(at[1] + bytes - 4));
	for (int i = 0; i < 3; i += 2)
		say("free", cu.cuMemAddressFree(at[i], bytes));
}

static void case_create(void)
{
	CUmemGenericAllocationHandle h = 0;
	CUmemAllocationProp p = prop, got;
	size_t total = 0;

	must(cu.cuDeviceTotalMem_v2(&total, 0));
	say("one", cu.cuMemCreate(&h, UNIT, &prop, 0));
	say("prop", cu.cuMemGetAllocationPropertiesFromHandle(&got, h));
	say("prop-type", got.type);
	say("prop-place", got.location.type);
	say("prop-id", got.location.id);
	say("prop-handles", got.requestedHandleTypes);
	say("prop-null", cu.cuMemGetAllocationPropertiesFromHandle(NULL, h));
	say("release", cu.cuMemRelease(h));
	say("nothing", cu.cuMemCreate(&h, 0, &prop, 0));
	say("half", cu.cuMemCreate(&h, UNIT / 2, &prop, 0));
	say("flags", cu.cuMemCreate(&h, UNIT, &prop, 1));
	say("null", cu.cuMemCreate(NULL, UNIT, &prop, 0));
	say("null-prop", cu.cuMemCreate(&h, UNIT, NULL, 0));
	say("too-much", cu.cuMemCreate(&h, total / UNIT * UNIT + 1024 * UNIT, &prop, 0));
	p.location.id = 77;
	say("no-device", cu.cuMemCreate(&h, UNIT, &p, 0));
	p = prop;
	p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	say("exportable", cu.cuMemCreate(&h, UNIT, &p, 0));
	must(cu.cuMemGetAllocationPropertiesFromHandle(&got, h));
	say("exportable-handles", got.requestedHandleTypes);
	say("exportable-release", cu.cuMemRelease(h));
	say("release-none", cu.cuMemRelease(0));
}

static void case_map(void)
{
	CUmemGenericAllocationHandle h = create(2);
	CUdeviceptr at = reserve(8);

	say("offset", cu.cuMemMap(at, UNIT, UNIT, h, 0));
	say("flags", cu.cuMemMap(at, 2 * UNIT, 0, h, 1));
	say("nothing", cu.cuMemMap(at, 0, 0, h, 0));
	say("half", cu.cuMemMap(at, UNIT / 2, 0, h, 0));
	say("odd", cu.cuMemMap(at + UNIT / 2, 2 * UNIT, 0, h, 0));
	say("too-long", cu.cuMemMap(at, 4 * UNIT, 0, h, 0));
	say("nowhere", cu.cuMemMap(at + 64 * UNIT, 2 * UNIT, 0, h, 0));
	say("whole", cu.cuMemMap(at, 2 * UNIT, 0, h, 0));
	say("again", cu.cuMemMap(at, 2 * UNIT, 0, h, 0));
	say("over", cu.cuMemMap(at + UNIT, 2 * UNIT, 0, h, 0));
	say("unmap-part", cu.cuMemUnmap(at, UNIT));
	say("unmap-inside", cu.cuMemUnmap(at + UNIT, UNIT));
	say("free-mapped", cu.cuMemAddressFree(at, 8 * UNIT));
	say("unmap-more", cu.cuMemUnmap(at, 4 * UNIT));
	say("unmap-again", cu.cuMemUnmap(at, 2 * UNIT));
	say("release", cu.cuMemRelease(h));
	say("free", cu.cuMemAddressFree(at, 8 * UNIT));
}

/* A part of what a handle has: its beginning. */
static void case_part(void)
{
	CUmemGenericAllocationHandle h = create(2);
	CUdeviceptr at = reserve(4);
	CUresult result = cu.cuMemMap(at, UNIT, 0, h, 0);

	say("map", result);
	if (result)
		return;
	say("access", cu.cuMemSetAccess(at, UNIT, &both, 1));
	must(cu.cuMemsetD32_v2(at, 5, WORDS));
	map(at + 2 * UNIT, 2, h);
	say("same", word(at + 2 * UNIT));
	say("unmap", cu.cuMemUnmap(at, UNIT));
	say("unmap-whole", cu.cuMemUnmap(at + 2 * UNIT, 2 * UNIT));
}

static void case_access(void)
{
	CUdeviceptr at = reserve(4);
	CUmemAccessDesc odd = both;
	CUmemLocation where = both.location;
	unsigned long long flags = 99;

	must(cu.cuMemMap(at, UNIT, 0, create(1), 0));
	must(cu.cuMemMap(at + UNIT, UNIT, 0, create(1), 0));
	say("get-first", cu.cuMemGetAccess(&flags, &where, at));
	say("get-first-flags", (long)flags);
	say("null", cu.cuMemSetAccess(at, UNIT, NULL, 1));
	say("none-described", cu.cuMemSetAccess(at, UNIT, &both, 0));
	say("nothing", cu.cuMemSetAccess(at, 0, &both, 1));
	say("half", cu.cuMemSetAccess(at, UNIT / 2, &both, 1));
	say("gap", cu.cuMemSetAccess(at, 3 * UNIT, &both, 1));
	say("unmapped", cu.cuMemSetAccess(at + 2 * UNIT, UNIT, &both, 1));
	odd.location.id = 77;
	say("no-device", cu.cuMemSetAccess(at, UNIT, &odd, 1));
	odd = both;
	odd.flags = 2;
	say("no-flags", cu.cuMemSetAccess(at, UNIT, &odd, 1));
	say("two", cu.cuMemSetAccess(at, 2 * UNIT, &both, 1));
	say("get", cu.cuMemGetAccess(&flags, &where, at + UNIT + 100));
	say("get-flags", (long)flags);
	say("get-null", cu.cuMemGetAccess(NULL, &where, at));
	say("get-unmapped", cu.cuMemGetAccess(&flags, &where, at + 2 * UNIT));
	say("take-away", cu.cuMemSetAccess(at, UNIT, &none, 1));
	must(cu.cuMemGetAccess(&flags, &where, at));
	say("take-away-flags", (long)flags);
	say("give-back", cu.cuMemSetAccess(at, UNIT, &both, 1));
	must(cu.cuMemsetD32_v2(at, 3, 2 * WORDS));
	say("works", word(at + 2 * UNIT - 4));
}

static void case_read_only(void)
{
	CUdeviceptr at = reserve(1);
	CUmemLocation where = both.location;
	unsigned long long flags = 99;
	CUresult result;

	map(at, 1, create(1));
	must(cu.cuMemsetD32_v2(at, 3, WORDS));
	must(cu.cuCtxSynchronize());
	result = cu.cuMemSetAccess(at, UNIT, &reading, 1);
	say("set", result);
	if (result)
		return;
	must(cu.cuMemGetAccess(&flags, &where, at));
	say("flags", (long)flags);
	say("read", word(at));
	say("write", launch_add(at, 1, 1));
	say("write-end", cu.cuCtxSynchronize());
}

static void case_use(void)
{
	static uint32_t host[4 * WORDS], back[4 * WORDS];
	CUdeviceptr at = make(4), other = make(4), plain = 0;
	long wrong = 0;

	for (uint32_t i = 0; i < 4 * WORDS; i++)
		host[i] = i * 7;
	say("to", cu.cuMemcpyHtoD_v2(at, host, sizeof(host)));
	say("kernel", launch_add(at, 4 * WORDS, 5));
	say("between", cu.cuMemcpyDtoD_v2(other, at, sizeof(host)));
	say("from", cu.cuMemcpyDtoH_v2(back, other, sizeof(back)));
	for (uint32_t i = 0; i < 4 * WORDS; i++)
		wrong += back[i] != host[i] + 5;
	say("wrong", wrong);
	say("fill", cu.cuMemsetD8_v2(other + UNIT - 100, 0x11, 200));
	say("before", word(other + UNIT - 104) == host[WORDS - 26] + 5);
	say("filled-first", word(other + UNIT - 100) == 0x11111111);
	say("filled-last", word(other + UNIT + 96) == 0x11111111);
	say("behind", word(other + UNIT + 100) == host[WORDS + 25] + 5);
	must(cu.cuMemAlloc_v2(&plain, 2 * UNIT));
	say("to-plain", cu.cuMemcpyDtoD_v2(plain, at + UNIT, 2 * UNIT));
	say("plain", word(plain) == host[WORDS] + 5);
	say("free", cu.cuMemFree_v2(at));
	must(cu.cuMemFree_v2(plain));
	say("unmap-all", cu.cuMemUnmap(at, 4 * UNIT));
	say("free-addresses", cu.cuMemAddressFree(at, 4 * UNIT));
}

/* Rows over several mappings. */
static void case_rows(void)
{
	CUdeviceptr at = make(3);
	static uint32_t back[3][4];
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = at + 64,
			      .srcPitch = UNIT,
			      .dstMemoryType = CU_MEMORYTYPE_HOST,
			      .dstHost = back,
			      .dstPitch = 16,
			      .WidthInBytes = 16,
			      .Height = 3};

	for (unsigned i = 0; i < 3; i++)
		must(cu.cuMemsetD32_v2(at + i * UNIT, i + 1, WORDS));
	say("copy", cu.cuMemcpy2D_v2(&copy));
	say("rows", back[0][3] * 100 + back[1][0] * 10 + back[2][3]);
	say("fill", cu.cuMemsetD2D32_v2(at + 8, UNIT, 6, 2, 3));
	say("filled", word(at + 2 * UNIT + 12) * 10 + word(at + 2 * UNIT + 16));
}

static void case_alias(void)
{
	CUmemGenericAllocationHandle h = create(1);
	CUdeviceptr a = reserve(1), b = reserve(1);

	map(a, 1, h);
	map(b, 1, h);
	must(cu.cuMemsetD32_v2(a, 4, WORDS));
	say("same", word(b + 4000));
	must(launch_add(b, WORDS, 3));
	say("written", word(a + 4000));
	say("unmap", cu.cuMemUnmap(a, UNIT));
	say("left", word(b));
	say("access-left", launch_add(b, 1, 1));
	say("end", word(b));
}

/* A ring: what runs over the end comes in at the beginning. */
static void case_ring(void)
{
	CUmemGenericAllocationHandle h = create(1);
	CUdeviceptr at = reserve(2);

	must(cu.cuMemMap(at, UNIT, 0, h, 0));
	must(cu.cuMemMap(at + UNIT, UNIT, 0, h, 0));
	say("access", cu.cuMemSetAccess(at, 2 * UNIT, &both, 1));
	say("release", cu.cuMemRelease(h));
	must(cu.cuMemsetD32_v2(at, 1, WORDS));
	must(cu.cuMemsetD32_v2(at + UNIT - 40, 8, 20));
	say("begin", word(at));
	say("ninth", word(at + 36));
	say("tenth", word(at + 40));
	say("unmap-first", cu.cuMemUnmap(at, UNIT));
	say("second", word(at + UNIT));
	say("unmap-second", cu.cuMemUnmap(at + UNIT, UNIT));
}

/* Memory lives as long as a handle or a mapping does. */
static void case_life(void)
{
	CUmemGenericAllocationHandle h = create(1), again = 0;
	CUdeviceptr a = reserve(1), b = reserve(1);

	map(a, 1, h);
	must(cu.cuMemsetD32_v2(a, 6, WORDS));
	say("unmap", cu.cuMemUnmap(a, UNIT));
	map(b, 1, h);
	say("kept-by-handle", word(b));
	say("release", cu.cuMemRelease(h));
	say("kept-by-mapping", word(b));
	say("retain", cu.cuMemRetainAllocationHandle(&again, (void *)(b + 100)));
	say("unmap-b", cu.cuMemUnmap(b, UNIT));
	map(a, 1, again);
	say("kept-by-retained", word(a));
	say("release-retained", cu.cuMemRelease(again));
	say("retain-unmapped", cu.cuMemRetainAllocationHandle(&again, (void *)b));
	say("retain-null", cu.cuMemRetainAllocationHandle(NULL, (void *)a));
	say("end", cu.cuMemUnmap(a, UNIT));
}

/* Twice retained, twice to be released. */
static void case_count(void)
{
	CUmemGenericAllocationHandle h = create(1), again = 0;
	CUdeviceptr a = reserve(1);

	map(a, 1, h);
	must(cu.cuMemRetainAllocationHandle(&again, (void *)a));
	say("first", cu.cuMemRelease(again));
	say("second", cu.cuMemRelease(h));
	must(cu.cuMemsetD32_v2(a, 2, WORDS));
	say("mapped", word(a));
	say("unmap", cu.cuMemUnmap(a, UNIT));
}

static void say_attribute(const char *step, CUdeviceptr at, CUpointer_attribute which)
{
	uint64_t value = 0;
	char name[64];

	snprintf(name, sizeof(name), "%s-%d", step, which);
	say(name, cu.cuPointerGetAttribute(&value, which, at));
	snprintf(name, sizeof(name), "%s-%d-is", step, which);
	say(name, (long)value);
}

static void case_pointer(void)
{
	CUdeviceptr at = reserve(4), base = 0, start = 0;
	size_t size = 0, range = 0;

	say("range-unmapped", cu.cuMemGetAddressRange_v2(&base, &size, at));
	say_attribute("unmapped", at, CU_POINTER_ATTRIBUTE_MAPPED);
	map(at + UNIT, 1, create(1));
	map(at + 2 * UNIT, 1, create(1));
	say("range", cu.cuMemGetAddressRange_v2(&base, &size, at + 2 * UNIT + 100));
	say("range-base", base == at + 2 * UNIT);
	say("range-units", (long)(size / UNIT));
	say("start", cu.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
					      at + UNIT + 100));
	say("start-is-reservation", start == at);
	say("size", cu.cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at + UNIT));
	say("size-units", (long)(range / UNIT));
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_IS_MANAGED);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_MAPPED);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
}

/* What is not mapped, or may not be accessed, is a fault of the kernel. */
static void case_fault_unmapped(void)
{
	CUdeviceptr at = reserve(2);

	map(at, 1, create(1));
	say("last", launch_add(at + UNIT - 4, 1, 1));
	say("last-end", cu.cuCtxSynchronize());
	say("launch", launch_add(at + UNIT, 1, 1));
	say("end", cu.cuCtxSynchronize());
}

static void case_fault_no_access(void)
{
	CUdeviceptr at = reserve(1), to = make(1);

	must(cu.cuMemMap(at, UNIT, 0, create(1), 0));
	say("launch", launch_look(at, to));
	say("end", cu.cuCtxSynchronize());
}

static void case_fault_after_unmap(void)
{
	CUdeviceptr at = make(1);

	must(launch_add(at, WORDS, 1));
	must(cu.cuCtxSynchronize());
	must(cu.cuMemUnmap(at, UNIT));
	say("launch", launch_add(at, WORDS, 1));
	say("end", cu.cuCtxSynchronize());
}

/* PyTorch's segments: piece after piece into one reservation, given back from the end, and again. */
static void case_segment(void)
{
	CUmemGenericAllocationHandle handles[8];
	CUdeviceptr at = reserve(80);
	size_t before = 0, during = 0, after = 0, total;

	must(cu.cuMemGetInfo_v2(&before, &total));
	for (unsigned turn = 0; turn < N_TURNS; turn++) {
		for (unsigned i = 0; i < 8; i++) {
			handles[i] = create(10);
			map(at + i * 10 * UNIT, 10, handles[i]);
		}
		if (!turn)
			must(cu.cuMemGetInfo_v2(&during, &total));
		must(cu.cuMemsetD32_v2(at, turn, 80 * WORDS));
		must(launch_add(at, 80 * WORDS, 1));
		if (word(at + 80 * UNIT - 4) != turn + 1 || word(at + 37 * UNIT) != turn + 1)
			say("wrong", turn);
		for (unsigned i = 8; i--;) {
			must(cu.cuMemUnmap(at + i * 10 * UNIT, 10 * UNIT));
			must(cu.cuMemRelease(handles[i]));
		}
	}
	must(cu.cuMemGetInfo_v2(&after, &total));
	say("taken-units", (long)((before - during) / UNIT));
	say("lost-units", (long)((before - after) / UNIT));
	say("free", cu.cuMemAddressFree(at, 80 * UNIT));
}

/* The addresses in between stay free for what comes back. */
static void case_middle(void)
{
	CUdeviceptr at = make(3);
	uint32_t w;

	for (unsigned i = 0; i < 3; i++)
		must(cu.cuMemsetD32_v2(at + i * UNIT, i + 1, WORDS));
	say("unmap", cu.cuMemUnmap(at + UNIT, UNIT));
	say("first", word(at + UNIT - 4));
	say("third", word(at + 2 * UNIT));
	say("around", cu.cuMemUnmap(at, 3 * UNIT));
	say("gone", cu.cuMemcpyDtoH_v2(&w, at, sizeof(w)));
	map(at + UNIT, 1, create(1));
	must(cu.cuMemsetD32_v2(at + UNIT, 7, WORDS));
	say("second", word(at + UNIT));
	say("all", cu.cuMemUnmap(at, 3 * UNIT));
	say("free", cu.cuMemAddressFree(at, 3 * UNIT));
}

static void *in_thread(void *arg)
{
	*(CUdeviceptr *)arg = make(2);
	return NULL;
}

/* No context is needed, not even in the thread that asks. */
static void case_thread(void)
{
	CUdeviceptr at = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, in_thread, &at);
	pthread_join(thread, NULL);
	must(cu.cuMemsetD32_v2(at, 4, 2 * WORDS));
	say("made", word(at + UNIT));
}

static void case_async(void)
{
	CUdeviceptr at = make(2);
	CUstream s[2];

	for (int i = 0; i < 2; i++)
		must(cu.cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 2; i++)
		must(cu.cuMemsetD32Async(at + (uint64_t)i * UNIT, (unsigned)i + 1, WORDS, s[i]));
	for (int i = 0; i < 2; i++)
		must(cu.cuStreamSynchronize(s[i]));
	say("first", word(at));
	say("second", word(at + UNIT));
}

/* ---- memory of the host, as programs make it for their pinned memory ---- */

/* That of the device, if it has one. */
static CUmemLocation host_node(void)
{
	const long id = device_attribute(134); /* HOST_NUMA_ID */

	return (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, id < 0 ? 0 : (int)id};
}

static CUmemAllocationProp host_prop(void)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = host_node()};
}

static CUmemGenericAllocationHandle create_of_host(size_t units)
{
	const CUmemAllocationProp p = host_prop();
	CUmemGenericAllocationHandle h = 0;

	must(cu.cuMemCreate(&h, units * UNIT, &p, 0));
	return h;
}

static CUresult allow_two(CUdeviceptr at, size_t units)
{
	const CUmemAccessDesc two[] = {both, {host_node(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};

	return cu.cuMemSetAccess(at, units * UNIT, two, 2);
}

static void map_host(CUdeviceptr at, size_t units, CUmemGenericAllocationHandle h)
{
	must(cu.cuMemMap(at, units * UNIT, 0, h, 0));
	must(allow_two(at, units));
}

static volatile uint32_t *words_at(CUdeviceptr at)
{
	return (volatile uint32_t *)(uintptr_t)at;
}

static void case_host(void)
{
	const CUmemAllocationProp p = host_prop();
	CUmemGenericAllocationHandle h = 0;
	CUmemAllocationProp got;
	CUdeviceptr at = reserve(2);
	size_t bytes = 0;

	say("supported", device_attribute(141));
	say("minimum", cu.cuMemGetAllocationGranularity(&bytes, &p, 0));
	say("minimum-bytes", (long)bytes);
	say("recommended", cu.cuMemGetAllocationGranularity(&bytes, &p, 1));
	say("recommended-bytes", (long)bytes);
	say("create", cu.cuMemCreate(&h, 2 * UNIT, &p, 0));
	say("prop", cu.cuMemGetAllocationPropertiesFromHandle(&got, h));
	say("prop-place", got.location.type);
	say("prop-same-node", got.location.id == p.location.id);
	say("map", cu.cuMemMap(at, 2 * UNIT, 0, h, 0));
	say("access", allow_two(at, 2));
	for (uint32_t i = 0; i < 2 * WORDS; i++)
		words_at(at)[i] = i;
	say("kernel", launch_add(at, 2 * WORDS, 5));
	say("kernel-end", cu.cuCtxSynchronize());
	say("first", words_at(at)[0]);
	say("last", words_at(at)[2 * WORDS - 1]);
	say("release", cu.cuMemRelease(h));
	words_at(at)[WORDS] = 77;
	say("released", word(at + UNIT));
	say("unmap", cu.cuMemUnmap(at, 2 * UNIT));
	say("free", cu.cuMemAddressFree(at, 2 * UNIT));
}

static void case_host_copies(void)
{
	static uint32_t pageable[2 * WORDS];
	CUdeviceptr at = reserve(2), plain = 0;
	void *words = (void *)(uintptr_t)at;
	CUstream s;
	long wrong = 0;

	map_host(at, 2, create_of_host(2));
	must(cu.cuMemAlloc_v2(&plain, 2 * UNIT));
	must(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 0; i < 2 * WORDS; i++)
		words_at(at)[i] = i * 3;
	say("to", cu.cuMemcpyHtoDAsync_v2(plain, words, 2 * UNIT, s));
	say("to-end", cu.cuStreamSynchronize(s));
	must(launch_add(plain, 2 * WORDS, 1));
	say("from", cu.cuMemcpyDtoH_v2(words, plain, 2 * UNIT));
	for (uint32_t i = 0; i < 2 * WORDS; i++)
		wrong += words_at(at)[i] != i * 3 + 1;
	say("wrong", wrong);
	say("fill", cu.cuMemsetD32_v2(at, 9, WORDS));
	say("filled", words_at(at)[WORDS - 1]);
	say("not-filled", words_at(at)[WORDS] == WORDS * 3 + 1);
	say("device-to-it", cu.cuMemcpyDtoD_v2(at + UNIT, plain, UNIT));
	must(cu.cuCtxSynchronize());
	say("first", words_at(at)[WORDS]);
	say("it-to-pageable", cu.cuMemcpyDtoH_v2(pageable, at, 2 * UNIT));
	say("pageable", pageable[WORDS + 1]);
	say("unknown-direction", cu.cuMemcpy(plain, at, 4));
	say("word", word(plain));
	say("unmap", cu.cuMemUnmap(at, 2 * UNIT));
}

/* It grows by what lies right behind it: copies and kernels run over the seam. */
static void case_host_grow(void)
{
	CUdeviceptr at = reserve(8), plain = 0;
	long wrong = 0;

	must(cu.cuMemAddressFree(at, 8 * UNIT));
	must(cu.cuMemAddressReserve(&at, UNIT, 0, at, 0));
	map_host(at, 1, create_of_host(1));
	for (unsigned i = 1; i < 4; i++) {
		CUdeviceptr more = 0;

		must(cu.cuMemAddressReserve(&more, UNIT, 0, at + i * UNIT, 0));
		say("behind", more == at + i * UNIT);
		map_host(more, 1, create_of_host(1));
	}
	must(cu.cuMemAlloc_v2(&plain, 4 * UNIT));
	for (uint32_t i = 0; i < 4 * WORDS; i++)
		words_at(at)[i] = i;
	say("to", cu.cuMemcpyHtoD_v2(plain, (void *)(uintptr_t)at, 4 * UNIT));
	say("from", cu.cuMemcpyDtoH_v2((void *)(uintptr_t)(at + 4), plain + 4, 4 * UNIT - 8));
	say("kernel", launch_add(at, 4 * WORDS, 1));
	must(cu.cuCtxSynchronize());
	for (uint32_t i = 1; i < 4 * WORDS - 1; i++)
		wrong += words_at(at)[i] != i + 1;
	say("wrong", wrong);
	for (unsigned i = 4; i--;) {
		must(cu.cuMemUnmap(at + i * UNIT, UNIT));
		say("free", cu.cuMemAddressFree(at + i * UNIT, UNIT));
	}
}

static void case_host_alias(void)
{
	CUmemGenericAllocationHandle h = create_of_host(1), again = 0;
	CUdeviceptr a = reserve(1), b = reserve(1);

	map_host(a, 1, h);
	map_host(b, 1, h);
	words_at(a)[7] = 4;
	say("same", words_at(b)[7]);
	must(launch_add(b, WORDS, 3));
	must(cu.cuCtxSynchronize());
	say("written", words_at(a)[7]);
	say("unmap", cu.cuMemUnmap(a, UNIT));
	say("release", cu.cuMemRelease(h));
	say("retain", cu.cuMemRetainAllocationHandle(&again, (void *)(b + 100)));
	say("unmap-last", cu.cuMemUnmap(b, UNIT));
	map_host(a, 1, again);
	say("kept", words_at(a)[7]);
	say("release-last", cu.cuMemRelease(again));
	say("end", cu.cuMemUnmap(a, UNIT));
}

/* A driver fills no range of two such mappings. */
static void case_host_seam(void)
{
	CUdeviceptr at = reserve(2);

	map_host(at, 1, create_of_host(1));
	map_host(at + UNIT, 1, create_of_host(1));
	say("fill", cu.cuMemsetD32_v2(at, 6, 2 * WORDS));
	say("filled", words_at(at)[WORDS - 1] == 6 && words_at(at)[2 * WORDS - 1] == 6);
}

/* The device is named, and the host is not: under a driver the program dies where it writes. */
static void case_host_unsaid(void)
{
	CUdeviceptr at = reserve(1);

	must(cu.cuMemMap(at, UNIT, 0, create_of_host(1), 0));
	say("access", cu.cuMemSetAccess(at, UNIT, &both, 1));
	words_at(at)[3] = 4;
	must(launch_add(at, WORDS, 3));
	must(cu.cuCtxSynchronize());
	say("word", words_at(at)[3]);
}

static void case_host_pointer(void)
{
	CUdeviceptr at = reserve(2), found = 0;
	void *host = NULL;
	CUmemLocation node = host_node();
	unsigned long long flags = 99;

	map_host(at, 2, create_of_host(2));
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_IS_MANAGED);
	say_attribute("mapped", at + UNIT, CU_POINTER_ATTRIBUTE_MAPPED);
	say("device",
	    cu.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at + UNIT));
	say("device-same", found == at + UNIT);
	say("host", cu.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at + UNIT));
	say("host-same", (CUdeviceptr)(uintptr_t)host == at + UNIT);
	say("get-device", cu.cuMemGetAccess(&flags, &both.location, at));
	say("get-device-flags", (long)flags);
	say("get-host", cu.cuMemGetAccess(&flags, &node, at));
	say("get-host-flags", (long)flags);
}

/* Of no node, or of the thread's. */
static void case_host_create(void)
{
	CUmemAllocationProp p = host_prop(), got;
	CUmemGenericAllocationHandle h = 0;

	say("half", cu.cuMemCreate(&h, UNIT / 2, &p, 0));
	p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	say("current-node", cu.cuMemCreate(&h, UNIT, &p, 0));
	p.location.type = CU_MEM_LOCATION_TYPE_HOST;
	say("no-node", cu.cuMemCreate(&h, UNIT, &p, 0));
	must(cu.cuMemGetAllocationPropertiesFromHandle(&got, h));
	say("no-node-place", got.location.type);
	say("release", cu.cuMemRelease(h));
	p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	say("no-node-exportable", cu.cuMemCreate(&h, UNIT, &p, 0));
}

/* What the host alone may access. */
static void case_fault_host_alone(void)
{
	const CUmemAccessDesc host = {host_node(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at = reserve(1), to = make(1);

	must(cu.cuMemMap(at, UNIT, 0, create_of_host(1), 0));
	say("access", cu.cuMemSetAccess(at, UNIT, &host, 1));
	words_at(at)[0] = 3;
	say("word", words_at(at)[0]);
	say("launch", launch_look(at, to));
	say("end", cu.cuCtxSynchronize());
}

/* ---- what only the library says ---- */

/* Under a limit of 32 MiB: what is made counts, once, and what is reserved does not. */
static void other_quota(void)
{
	CUmemGenericAllocationHandle h = 0, big;
	CUdeviceptr at = reserve(1024), plain;

	say("too-much", cu.cuMemCreate(&big, 17 * UNIT, &prop, 0));
	big = create(12);
	say("rest", cu.cuMemCreate(&h, 5 * UNIT, &prop, 0));
	map(at, 12, big);
	map(at + 100 * UNIT, 12, big);
	say("alias-counts-once", cu.cuMemCreate(&h, 4 * UNIT, &prop, 0));
	say("alloc", cu.cuMemAlloc_v2(&plain, UNIT));
	must(cu.cuMemRelease(h));
	say("alloc-then", cu.cuMemAlloc_v2(&plain, UNIT));
	must(cu.cuMemRelease(big));
	say("mapped-counts", cu.cuMemCreate(&h, 12 * UNIT, &prop, 0));
	must(cu.cuMemUnmap(at, 12 * UNIT));
	must(cu.cuMemUnmap(at + 100 * UNIT, 12 * UNIT));
	say("unmapped-does-not", cu.cuMemCreate(&h, 12 * UNIT, &prop, 0));
}

/* What the last owner left is never read, nor is it by this program's own next handle. */
static void other_zero(void)
{
	for (unsigned i = 0; i < 4; i++) {
		CUdeviceptr at = make(2);

		say("fresh", word(at + i * 4096) | word(at + 2 * UNIT - 4));
		must(cu.cuMemsetD32_v2(at, 0xabcdef, 2 * WORDS));
		must(cu.cuMemUnmap(at, 2 * UNIT));
		must(cu.cuMemAddressFree(at, 2 * UNIT));
	}
}

/* A driver maps over the end of what was reserved, into addresses that may be somebody's. */
static void other_over_the_end(void)
{
	CUdeviceptr at = reserve(2);

	say("map", cu.cuMemMap(at + UNIT, 2 * UNIT, 0, create(2), 0));
	say("unmap-nowhere", cu.cuMemUnmap(at + 1024 * UNIT, UNIT));
	say("free", cu.cuMemAddressFree(at, 2 * UNIT));
}

static void other_free(void)
{
	size_t bytes = 0, total;

	must(cu.cuMemGetInfo_v2(&bytes, &total));
	say("units", (long)(bytes / UNIT));
}

/* Its own context ends and the next one still finds what is mapped: it is the process's. */
static void other_context(void)
{
	CUdeviceptr at = make(1);

	must(cu.cuMemsetD32_v2(at, 5, WORDS));
	must(cu.cuCtxSynchronize());
	must(cu.cuDevicePrimaryCtxReset_v2(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	say("kept", word(at));
	must(cu.cuCtxCreate_v2(&ctx, 0, 0));
	say("in-another", word(at));
	say("unmap", cu.cuMemUnmap(at, UNIT));
}

/* Under a limit of 16 MiB of pinned memory, which other pinned memory takes of, too. */
static void other_host_quota(void)
{
	const CUmemAllocationProp p = host_prop();
	CUmemGenericAllocationHandle h = 0, big;
	CUdeviceptr at = reserve(2);
	void *pinned = NULL;

	say("too-much", cu.cuMemCreate(&big, 9 * UNIT, &p, 0));
	big = create_of_host(6);
	say("rest", cu.cuMemCreate(&h, 3 * UNIT, &p, 0));
	say("pinned", cu.cuMemHostAlloc(&pinned, 3 * UNIT, 0));
	h = create_of_host(2);
	map_host(at, 2, h);
	must(cu.cuMemRelease(h));
	must(cu.cuMemRelease(big));
	say("mapped-counts", cu.cuMemCreate(&h, 7 * UNIT, &p, 0));
	must(cu.cuMemUnmap(at, 2 * UNIT));
	say("unmapped-does-not", cu.cuMemCreate(&h, 8 * UNIT, &p, 0));
	say("device-has-its-own", cu.cuMemCreate(&big, 16 * UNIT, &prop, 0));
}

/* What it can have only of the device, and what only of the host. */
static void other_host_refused(void)
{
	const CUmemAccessDesc host = {host_node(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAllocationProp p = host_prop();
	CUmemGenericAllocationHandle h = 0;
	unsigned long long flags = 99;
	CUdeviceptr at = make(1);
	int fd = -1;

	say("device-for-the-host", cu.cuMemSetAccess(at, UNIT, &host, 1));
	say("device-asked", cu.cuMemGetAccess(&flags, &host.location, at));
	p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	say("exportable", cu.cuMemCreate(&h, UNIT, &p, 0));
	say("export",
	    cu.cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	must(cu.cuMemMap(at = reserve(1), UNIT, 0, h, 0));
	say("register", cu.cuMemHostRegister_v2((void *)(uintptr_t)at, UNIT, 0));
	p.location.id = -1;
	say("no-node", cu.cuMemCreate(&h, UNIT, &p, 0));
}

/* Without access of the device's it is memory of the program's as any other; and what the host may do follows what it is told. */
static void other_host_alone(void)
{
	CUmemAccessDesc host = {host_node(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at = reserve(1), plain = 0;
	void *words = (void *)(uintptr_t)at;
	unsigned long long flags = 99;
	int ends[2];

	must(cu.cuMemAlloc_v2(&plain, UNIT));
	must(cu.cuMemMap(at, UNIT, 0, create_of_host(1), 0));
	must(cu.cuMemGetAccess(&flags, &host.location, at));
	say("before", (long)flags);
	must(cu.cuMemSetAccess(at, UNIT, &host, 1));
	words_at(at)[5] = 31;
	say("to", cu.cuMemcpyHtoD_v2(plain, words, UNIT));
	must(launch_add(plain, WORDS, 2));
	say("from", cu.cuMemcpyDtoH_v2(words, plain, UNIT));
	say("word", words_at(at)[5]);
	say("as-the-device-s", cu.cuMemcpyDtoD_v2(plain, at, 4));
	host.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	say("take-away", cu.cuMemSetAccess(at, UNIT, &host, 1));
	must(pipe(ends) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
	say("readable", write(ends[1], words, 1));
	host.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	say("read", cu.cuMemSetAccess(at, UNIT, &host, 1));
	say("readable", write(ends[1], words, 1));
	say("writable", read(ends[0], words, 1));
	must(cu.cuMemUnmap(at, UNIT));
	say("unmapped", write(ends[1], words, 1));
}

/* Again and again under a limit that has room for two, by threads that do not know of each other; each time it is zero. */
static void *soak(void *arg)
{
	long *wrong = arg;
	CUdeviceptr at = reserve(2);

	must(cu.cuCtxSetCurrent(ctx));
	for (unsigned i = 0; i < 200; i++) {
		CUmemGenericAllocationHandle h = create_of_host(2);

		map_host(at, 2, h);
		must(cu.cuMemRelease(h));
		*wrong += words_at(at)[0] || words_at(at)[2 * WORDS - 1];
		words_at(at)[2 * WORDS - 1] = i;
		must(launch_add(at + 2 * UNIT - 4, 1, 1));
		must(cu.cuCtxSynchronize());
		*wrong += words_at(at)[2 * WORDS - 1] != i + 1;
		words_at(at)[0] = 1;
		must(cu.cuMemUnmap(at, 2 * UNIT));
	}
	return NULL;
}

static void other_host_soak(void)
{
	long wrong[2] = {0};
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, soak, &wrong[i]);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	say("wrong", wrong[0] + wrong[1]);
	say("all-is-back", create_of_host(8) != 0);
}

static void other_host_hold(void)
{
	CUdeviceptr at = reserve(8);

	for (unsigned i = 0; i < 8; i++)
		map_host(at + i * UNIT, 1, create_of_host(1));
	must(launch_add(at, 8 * WORDS, 1));
	say("holds", 8);
	fflush(stdout);
	pause();
}

/* Maps, says so, and waits to be killed. */
static void other_hold(void)
{
	make(8);
	say("holds", 8);
	fflush(stdout);
	pause();
}

static const struct answers_case cases[] =
	{
		{"device", case_device},
		{"reserve", case_reserve},
		{"hint", case_hint},
		{"huge", case_huge},
		{"create", case_create},
		{"map", case_map},
		{"part", case_part},
		{"access", case_access},
		{"read-only", case_read_only},
		{"use", case_use},
		{"rows", case_rows},
		{"alias", case_alias},
		{"ring", case_ring},
		{"life", case_life},
		{"count", case_count},
		{"pointer", case_pointer},
		{"fault-unmapped", case_fault_unmapped},
		{"fault-no-access", case_fault_no_access},
		{"fault-after-unmap", case_fault_after_unmap},
		{"segment", case_segment},
		{"middle", case_middle},
		{"thread", case_thread},
		{"async", case_async},
		{"host", case_host},
		{"host-copies", case_host_copies},
		{"host-grow", case_host_grow},
		{"host-alias", case_host_alias},
		{"host-pointer", case_host_pointer},
		{"host-create", case_host_create},
		{"fault-host-alone", case_fault_host_alone},
},
				 others[] = {
					 {"host-unsaid", case_host_unsaid},
					 {"host-seam", case_host_seam},
					 {"quota", other_quota},
					 {"zero", other_zero},
					 {"over-the-end", other_over_the_end},
					 {"free", other_free},
					 {"context", other_context},
					 {"hold", other_hold},
					 {"host-quota", other_host_quota},
					 {"host-refused", other_host_refused},
					 {"host-alone", other_host_alone},
					 {"host-soak", other_host_soak},
					 {"host-hold", other_host_hold},
};

static void set_up(void)
{
	cu_load(&cu);
	must(cu.cuInit(0));
	must(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	must(cu.cuCtxSetCurrent(ctx));
	must(cu.cuModuleLoadData(&module, ptx));
	must(cu.cuModuleGetFunction(&add, module, "add"));
	must(cu.cuModuleGetFunction(&look, module, "look"));
}

int main(int argc, char **argv)
{
	static const struct answers all = {
		.set_up = set_up,
		.cases = cases,
		.others = others,
		.n_cases = sizeof(cases) / sizeof(cases[0]),
		.n_others = sizeof(others) / sizeof(others[0]),
	};

	return answers_main(&all, argc, argv);
}
