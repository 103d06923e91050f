/*
 * rt.c - both versions of the runtime that gsbrun puts in place, by the interface alone: what nvcc's code would register
 * is registered by hand, so that no toolkit is needed. Run under gsbrun by runtime.sh.
 *
 *   rt 12|13  the version
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/unit/fatbin.h"

#define assert_rt(call)		 assert_int_equal(call, 0)
#define assert_rt_is(want, call) assert_int_equal(call, want)

enum { /* of cudaError */
       INVALID_VALUE = 1,
       INVALID_CONFIGURATION = 9,
       INVALID_SYMBOL = 13,
       INVALID_DIRECTION = 21,
       INVALID_FILTER = 26,
       MISSING_CONFIGURATION = 52,
       DEPTH_EXCEEDED = 65,
       INVALID_FUNCTION = 98,
       INVALID_DEVICE = 101,
       INVALID_PTX = 218,
       INVALID_HANDLE = 400,
       ILLEGAL_ADDRESS = 700,
       NOT_SUPPORTED = 801
};
enum { TO_DEVICE = 1, TO_HOST = 2, DEFAULT = 4 };

typedef struct {
	unsigned x, y, z;
} dim3;

/* out[i] = in[i] * factor, and hits counts the threads. */
static const char ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .const .u32 factor = 3;\n.visible .global .u32 hits;\n"
	".visible .entry scale(.param .u64 out, .param .u64 in)\n{\n"
	"\t.reg .b32 %i, %x, %f;\n\t.reg .b64 %o, %a, %d, %h;\n"
	"\tld.param.u64 %o, [out];\n\tld.param.u64 %a, [in];\n\tmov.u32 %i, %tid.x;\n"
	"\tmul.wide.u32 %d, %i, 4;\n\tadd.u64 %a, %a, %d;\n\tadd.u64 %o, %o, %d;\n"
	"\tld.global.u32 %x, [%a];\n\tld.const.u32 %f, [factor];\n\tmul.lo.u32 %x, %x, %f;\n"
	"\tst.global.u32 [%o], %x;\n\tmov.u64 %h, hits;\n\tred.global.add.u32 [%h], 1;\n\tret;\n}\n";

static struct {
	void **(*register_image)(const void *code);
	void (*register_end)(void **image);
	void (*unregister)(void **image);
	void (*register_function)(void **image, const void *host, char *device, const char *name,
				  int, void *, void *, void *, void *, int *);
	void (*register_var)(void **image, const void *host, char *device, const char *name, int,
			     size_t, int, int);
	unsigned (*push)(dim3 grid, dim3 block, size_t smem, void *stream);
	int (*pop)(dim3 *grid, dim3 *block, size_t *smem, void *stream);
	int (*get_kernel)(void **kernel, const void *func);
	int (*launch_stub)(void *kernel, dim3 grid, dim3 block, void **args, size_t smem,
			   void *stream);
	int (*launch)(const void *func, dim3 grid, dim3 block, void **args, size_t smem,
		      void *stream);
	int (*malloc)(void **ptr, size_t n);
	int (*free)(void *ptr);
	int (*memcpy)(void *dst, const void *src, size_t n, int kind);
	int (*to_symbol)(const void *symbol, const void *src, size_t n, size_t offset, int kind);
	int (*from_symbol)(void *dst, const void *symbol, size_t n, size_t offset, int kind);
	int (*synchronize)(void);
	int (*reset)(void);
	int (*last)(void);
	int (*peek)(void);
	int (*set_device)(int device);
	int (*version)(int *version);
	int (*properties)(void *prop, int device);
	int (*attribute)(int *value, int attr, int device);
	int (*destroy_external)(void *memory);
	const char *(*error_name)(int error);
} rt;
static int version;
static void *library;
static void **image; /* the program that is registered */

/* What stands for a kernel and a variable on the host's side. */
static char scale_stub, nowhere_stub, factor_host, hits_host, not_registered;

static struct wrapper {
	uint32_t magic, version;
	const void *data;
	void *more;
} wrapper = {0x466243b1, 1, NULL, NULL};

static void find(void *slot, const char *name)
{
	*(void **)slot = dlsym(library, name);
	if (!*(void **)slot)
		fprintf(stderr, "%s: %s\n", name, dlerror());
}

static void load_library(void)
{
	char name[32];

	snprintf(name, sizeof(name), "libcudart.so.%d", version);
	library = dlopen(name, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	find(&rt.register_image, "__cudaRegisterFatBinary");
	find(&rt.register_end, "__cudaRegisterFatBinaryEnd");
	find(&rt.unregister, "__cudaUnregisterFatBinary");
	find(&rt.register_function, "__cudaRegisterFunction");
	find(&rt.register_var, "__cudaRegisterVar");
	find(&rt.push, "__cudaPushCallConfiguration");
	find(&rt.pop, "__cudaPopCallConfiguration");
	find(&rt.get_kernel, "__cudaGetKernel");
	find(&rt.launch_stub, "__cudaLaunchKernel");
	find(&rt.launch, "cudaLaunchKernel");
	find(&rt.malloc, "cudaMalloc");
	find(&rt.free, "cudaFree");
	find(&rt.memcpy, "cudaMemcpy");
	find(&rt.to_symbol, "cudaMemcpyToSymbol");
	find(&rt.from_symbol, "cudaMemcpyFromSymbol");
	find(&rt.synchronize, "cudaDeviceSynchronize");
	find(&rt.reset, "cudaDeviceReset");
	find(&rt.last, "cudaGetLastError");
	find(&rt.peek, "cudaPeekAtLastError");
	find(&rt.set_device, "cudaSetDevice");
	find(&rt.version, "cudaRuntimeGetVersion");
	find(&rt.properties,
	     version == 12 ? "cudaGetDeviceProperties_v2" : "cudaGetDeviceProperties");
	find(&rt.attribute, "cudaDeviceGetAttribute");
	find(&rt.destroy_external, "cudaDestroyExternalMemory");
	find(&rt.error_name, "cudaGetErrorName");
}

static void **register_program(const char *text)
{
	static uint8_t fatbin[16384];
	void **made;

	make_fatbin(fatbin, text);
	wrapper.data = fatbin;
	made = rt.register_image(&wrapper);
	rt.register_function(made, &scale_stub, &scale_stub, "scale", -1, NULL, NULL, NULL, NULL,
			     NULL);
	rt.register_function(made, &nowhere_stub, &nowhere_stub, "nowhere", -1, NULL, NULL, NULL,
			     NULL, NULL);
	rt.register_var(made, &factor_host, &factor_host, "factor", 0, 4, 1, 0);
	rt.register_var(made, &hits_host, &hits_host, "hits", 0, 4, 0, 0);
	rt.register_end(made);
	return made;
}

/* As the compiler's code does it: the configuration is pushed, and a stub pops it and launches. */
static int call_scale(unsigned threads, uint32_t *out, uint32_t *in)
{
	dim3 grid, block;
	size_t smem;
	void *stream, *kernel, *args[] = {&out, &in};

	assert_int_equal(rt.push((dim3){1, 1, 1}, (dim3){threads, 1, 1}, 0, NULL), 0);
	rt.get_kernel(&kernel, &scale_stub);
	assert_rt(rt.pop(&grid, &block, &smem, &stream));
	return rt.launch_stub(kernel, grid, block, args, smem, stream);
}

static void expect_scaled(uint32_t factor)
{
	uint32_t in[8], out[8] = {0}, *dev;

	for (uint32_t i = 0; i < 8; i++)
		in[i] = i + 1;
	assert_rt(rt.malloc((void **)&dev, sizeof(in)));
	assert_rt(rt.memcpy(dev, in, sizeof(in), TO_DEVICE));
	assert_rt(call_scale(8, dev, dev));
	assert_rt(rt.memcpy(out, dev, sizeof(out), TO_HOST));
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(out[i], (i + 1) * factor);
	assert_rt(rt.free(dev));
}

/* ---- cases ---- */

static void test_rt_program_runs_and_its_variables_are_its_own(void **state)
{
	uint32_t five = 5, hits = 0;

	expect_scaled(3);
	assert_rt(rt.to_symbol(&factor_host, &five, 4, 0, TO_DEVICE));
	expect_scaled(5);
	assert_rt(rt.from_symbol(&hits, &hits_host, 4, 0, TO_HOST));
	assert_int_equal(hits, 16);
}

static void test_rt_versions_are_those_of_the_library(void **state)
{
	int got = 0;

	assert_rt(rt.version(&got));
	assert_int_equal(got / 1000, version);
	assert_rt_is(INVALID_VALUE, rt.version(NULL));
}

/* Sizes are those of the versions' headers; what lies behind is the program's. */
static void test_rt_properties_fill_their_structure_and_no_more(void **state)
{
	size_t size = version == 12 ? 1032 : 1008;
	uint8_t prop[2048];
	int warp = 0;

	memset(prop, 0xa5, sizeof(prop));
	assert_rt(rt.properties(prop, 0));
	assert_int_equal(prop[size - 1], 0);
	assert_int_equal(prop[size], 0xa5);
	assert_rt(rt.attribute(&warp, 10, 0));
	assert_int_equal(*(int *)(prop + 308), warp);
	assert_rt_is(INVALID_DEVICE, rt.properties(prop, 1));
	rt.last();
}

/* Programs of CUDA 11 call the old name with the old, shorter structure. */
static void test_rt_old_properties_are_shorter(void **state)
{
	int (*old)(void *prop, int device);
	uint8_t prop[2048];

	if (version != 12)
		return;
	find(&old, "cudaGetDeviceProperties");
	memset(prop, 0xa5, sizeof(prop));
	assert_rt(old(prop, 0));
	assert_int_equal(*(int *)(prop + 308), 32);
	assert_int_equal(prop[728], 0xa5);
}

static void test_rt_calls_that_are_wrong_say_how(void **state)
{
	uint32_t word = 0;
	void *args[2] = {&word, &word};
	const dim3 one = {1, 1, 1};
	const int impossible = version < 13 ? INVALID_CONFIGURATION : INVALID_VALUE;

	assert_rt_is(INVALID_SYMBOL, rt.to_symbol(&not_registered, &word, 4, 0, TO_DEVICE));
	assert_rt_is(INVALID_SYMBOL, rt.to_symbol(&scale_stub, &word, 4, 0, TO_DEVICE));
	assert_rt_is(INVALID_VALUE, rt.to_symbol(&factor_host, &word, 4, 1, TO_DEVICE));
	assert_rt_is(INVALID_DIRECTION, rt.to_symbol(&factor_host, &word, 4, 0, TO_HOST));
	assert_rt_is(INVALID_DIRECTION, rt.from_symbol(&word, &factor_host, 4, 0, TO_DEVICE));
	assert_rt_is(INVALID_DIRECTION, rt.memcpy(&word, &word, 4, 5));
	assert_rt_is(INVALID_FUNCTION, rt.launch(&not_registered, one, one, args, 0, NULL));
	assert_rt_is(INVALID_FUNCTION, rt.launch(&factor_host, one, one, args, 0, NULL));
	assert_rt_is(INVALID_FUNCTION, rt.launch(&nowhere_stub, one, one, args, 0, NULL));
	assert_rt_is(INVALID_HANDLE, rt.launch(&scale_stub, one, one, args, 0, &word));
	assert_rt_is(impossible, rt.launch(&scale_stub, (dim3){0, 1, 1}, one, args, 0, NULL));
	assert_rt_is(impossible, rt.launch(&scale_stub, one, (dim3){32, 33, 1}, args, 0, NULL));
	assert_rt_is(INVALID_VALUE, rt.launch(&scale_stub, one, one, args, 1 << 20, NULL));
	assert_rt_is(INVALID_VALUE, rt.launch(&scale_stub, one, one, args, (size_t)1 << 32, NULL));
	assert_rt_is(INVALID_VALUE, rt.last());
	assert_rt(rt.last());
	assert_string_equal(rt.error_name(INVALID_CONFIGURATION), "cudaErrorInvalidConfiguration");
}

/* The forms whose default stream is the thread's own know it by NULL; the others by its number. */
static void test_rt_null_stream_is_the_one_of_the_form(void **state)
{
	int (*id_of)(void *stream, unsigned long long *id),
		(*id_pt)(void *stream, unsigned long long *id);
	unsigned long long legacy, own, null, null_pt;

	find(&id_of, "cudaStreamGetId");
	find(&id_pt, "cudaStreamGetId_ptsz");
	assert_rt(id_of((void *)1, &legacy));
	assert_rt(id_of((void *)2, &own));
	assert_rt(id_of(NULL, &null));
	assert_rt(id_pt(NULL, &null_pt));
	assert_int_not_equal(legacy, own);
	assert_int_equal(null, legacy);
	assert_int_equal(null_pt, own);
}

static void *last_error(void *out)
{
	*(int *)out = rt.peek();
	return NULL;
}

static void test_rt_last_error_is_the_threads_own_and_taken_once(void **state)
{
	pthread_t thread;
	int other = -1;

	assert_rt_is(INVALID_DEVICE, rt.set_device(7));
	assert_int_equal(pthread_create(&thread, NULL, last_error, &other), 0);
	pthread_join(thread, NULL);
	assert_int_equal(other, 0);
	assert_rt_is(INVALID_DEVICE, rt.peek());
	assert_rt(rt.synchronize());
	assert_rt_is(INVALID_DEVICE, rt.last());
	assert_rt(rt.last());
}

static void test_rt_configurations_are_a_stack(void **state)
{
	dim3 grid, block;
	size_t smem;
	void *stream;

	assert_rt(rt.push((dim3){1, 2, 3}, (dim3){4, 5, 6}, 7, (void *)1));
	assert_rt(rt.push((dim3){9, 1, 1}, (dim3){9, 1, 1}, 9, (void *)2));
	assert_rt(rt.pop(&grid, &block, &smem, &stream));
	assert_int_equal(grid.x, 9);
	assert_rt(rt.pop(&grid, &block, &smem, &stream));
	assert_int_equal(grid.z * 100 + block.y * 10 + smem, 357);
	assert_ptr_equal(stream, (void *)1);
	assert_rt_is(MISSING_CONFIGURATION, rt.pop(&grid, &block, &smem, &stream));
	for (int i = 0; i < 64; i++)
		assert_rt(rt.push((dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, NULL));
	assert_rt_is(DEPTH_EXCEEDED, rt.push((dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, NULL));
	for (int i = 0; i < 64; i++)
		assert_rt(rt.pop(&grid, &block, &smem, &stream));
	rt.last();
}

/* As on a GPU: what a fault has ended is the process's. The last, for nothing works behind it. */
static void test_rt_fault_is_not_mended_by_a_reset(void **state)
{
	uint32_t word;

	assert_rt(call_scale(1, NULL, NULL));
	assert_rt_is(ILLEGAL_ADDRESS, rt.synchronize());
	assert_rt_is(ILLEGAL_ADDRESS, rt.memcpy(&word, &word, 4, DEFAULT));
	assert_rt_is(ILLEGAL_ADDRESS, rt.last());
	assert_rt(rt.last());
	assert_rt_is(ILLEGAL_ADDRESS, rt.synchronize());
	assert_rt(rt.reset());
	assert_rt(rt.last());
	assert_rt_is(ILLEGAL_ADDRESS, rt.synchronize());
}

static void *scale_elsewhere(void *unused)
{
	expect_scaled(3);
	return NULL;
}

/* A thread that stood in the context of before works in the new one. */
static void test_rt_reset_is_seen_by_other_threads(void **state)
{
	pthread_t thread;

	assert_rt(rt.reset());
	expect_scaled(3); /* the variables begin anew, too */
	assert_rt(rt.reset());
	assert_int_equal(pthread_create(&thread, NULL, scale_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	expect_scaled(3);
}

static void test_rt_image_that_is_bad_fails_at_each_use_with_its_reason(void **state)
{
	void **bad;

	rt.unregister(image);
	assert_rt_is(INVALID_FUNCTION, call_scale(1, NULL, NULL));
	bad = register_program(".version 6.4\n.target sm_50\n.address_size 64\nnonsense\n");
	assert_rt_is(INVALID_PTX, call_scale(1, NULL, NULL));
	assert_rt_is(INVALID_PTX, call_scale(1, NULL, NULL));
	rt.unregister(bad);
	rt.last();
	image = register_program(ptx);
	expect_scaled(3);
}

static void test_rt_what_is_not_carried_is_refused(void **state)
{
	(void)state;
	assert_rt_is(NOT_SUPPORTED, rt.destroy_external(NULL));
	assert_rt_is(NOT_SUPPORTED, rt.destroy_external(NULL));
	assert_rt_is(NOT_SUPPORTED, rt.last());
}

/* A resource's description begins with its type, and the array or the memory follows; it ends elsewhere in the versions. */
union resource {
	struct {
		int type;
		uint64_t array;
	};
	struct {
		int type_;
		void *memory;
		struct channels {
			int x, y, z, w, kind;
		} channels;
		size_t width, height, pitch;
	};
	uint8_t bytes[256];
};

struct texture {
	int address[3], filter, read_mode, srgb;
	float border[4];
	int normalized;
	uint8_t rest[28];
	uint8_t behind[64];
};

static void test_rt_arrays_and_textures_have_the_layout_of_the_version(void **state)
{
	int (*malloc_array)(uint64_t * array, const struct channels *c, size_t w, size_t h,
			    unsigned flags);
	int (*to_array)(uint64_t array, size_t x, size_t y, const void *src, size_t pitch, size_t w,
			size_t h, int kind);
	int (*run_from)(void *dst, uint64_t array, size_t x, size_t y, size_t n, int kind);
	int (*free_array)(uint64_t array), (*destroy)(uint64_t texture);
	int (*create)(uint64_t * texture, const union resource *r, const struct texture *t,
		      const void *view);
	int (*get_resource)(union resource * out, uint64_t texture);
	int (*get_texture)(struct texture * out, uint64_t texture);
	const struct channels two_shorts = {16, 16, 0, 0, 0};
	size_t end = version == 12 ? 64 : 144;
	uint16_t texels[6][8], back[20];
	struct texture t = {.address = {1, 1, 1},
			    .filter = 1,
			    .read_mode = 1,
			    .border = {0.25f, 0.5f, 0.75f, 1},
			    .normalized = 5},
		       got_t;
	union resource r, got;
	uint64_t array, texture;

	find(&malloc_array, "cudaMallocArray");
	find(&to_array, "cudaMemcpy2DToArray");
	find(&run_from, "cudaMemcpyFromArray");
	find(&free_array, "cudaFreeArray");
	find(&create, "cudaCreateTextureObject");
	find(&destroy, "cudaDestroyTextureObject");
	find(&get_resource, "cudaGetTextureObjectResourceDesc");
	find(&get_texture, "cudaGetTextureObjectTextureDesc");
	for (int i = 0; i < 48; i++)
		texels[i / 8][i % 8] = (uint16_t)(i * 999);
	assert_rt(malloc_array(&array, &two_shorts, 4, 6, 0));
	assert_rt(to_array(array, 0, 0, texels, 16, 16, 6, TO_DEVICE));
	assert_rt(run_from(back, array, 6, 2, sizeof(back), TO_HOST));
	assert_memory_equal(back, &texels[2][3], sizeof(back));
	memset(&r, 0xa5, sizeof(r));
	memset(r.bytes, 0, end);
	r.array = array;
	assert_rt(create(&texture, &r, &t, NULL));
	memset(&got, 0xa5, sizeof(got));
	assert_rt(get_resource(&got, texture));
	assert_memory_equal(&got, &r, sizeof(r));
	memset(&got_t, 0xa5, sizeof(got_t));
	assert_rt(get_texture(&got_t, texture));
	t.normalized = 1;
	assert_memory_equal(&got_t, &t, offsetof(struct texture, behind));
	assert_int_equal(got_t.behind[0], 0xa5);
	assert_rt(destroy(texture));
	t.read_mode = 0;
	assert_rt_is(INVALID_FILTER, create(&texture, &r, &t, NULL));
	assert_rt(free_array(array));
	assert_rt_is(INVALID_HANDLE, free_array(array));
	rt.last();
}

static int begin(void **state)
{
	image = register_program(ptx);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rt_program_runs_and_its_variables_are_its_own),
		cmocka_unit_test(test_rt_versions_are_those_of_the_library),
		cmocka_unit_test(test_rt_properties_fill_their_structure_and_no_more),
		cmocka_unit_test(test_rt_old_properties_are_shorter),
		cmocka_unit_test(test_rt_calls_that_are_wrong_say_how),
		cmocka_unit_test(test_rt_arrays_and_textures_have_the_layout_of_the_version),
		cmocka_unit_test(test_rt_null_stream_is_the_one_of_the_form),
		cmocka_unit_test(test_rt_last_error_is_the_threads_own_and_taken_once),
		cmocka_unit_test(test_rt_configurations_are_a_stack),
		cmocka_unit_test(test_rt_reset_is_seen_by_other_threads),
		cmocka_unit_test(test_rt_image_that_is_bad_fails_at_each_use_with_its_reason),
		cmocka_unit_test(test_rt_what_is_not_carried_is_refused),
		cmocka_unit_test(test_rt_fault_is_not_mended_by_a_reset),
	};

	version = argc > 1 ? atoi(argv[1]) : 13;
	load_library();
	return cmocka_run_group_tests(tests, begin, NULL);
}
