/*
 * test_proofs.c - what is known of an image's kernels: made from its text, hidden from programs, kept in files, and never taken
 * from one that is not what was written.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "broker/engine/code/proofs.h"
#include "broker/engine/code/resizing.h"
#include "broker/engine/work/times.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/code/variants_make.h"
#include "broker/policy/estimate.h"
#include "gsb/device_info.h"

#define ALL (GSB_SHAPE_BIT(GSB_N_SHAPES) - 1)

static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry inc(.param .u64 p)\n{\n"
	"\t.reg .b32 %r<5>;\n\t.reg .b64 %a<5>;\n"
	"\tld.param.u64 %a4, [p];\n\tcvta.to.global.u64 %a1, %a4;\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmad.lo.u32 %r4, %r1, %r2, %r3;\n\tmul.wide.u32 %a2, %r4, 4;\n"
	"\tadd.s64 %a3, %a1, %a2;\n\tst.global.u32 [%a3], %r4;\n\tret;\n}\n"
	".visible .entry waits(.param .u64 p)\n{\n"
	"\t.reg .b32 %r<2>;\n\t.reg .b64 %a<2>;\n\t.reg .pred %p1;\n"
	"\tld.param.u64 %a1, [p];\n"
	"again:\n\tld.volatile.global.u32 %r1, [%a1];\n\tsetp.eq.u32 %p1, %r1, 0;\n"
	"\t@%p1 bra again;\n\tret;\n}\n";

struct fixture {
	char dir[64];
	struct gsb_resizing r;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/gsb-proofs-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->r = (struct gsb_resizing){
		.mode = GSB_RESIZE_MODE_SAFE, .cache = f->dir, .cache_bytes = 1 << 24};
	*state = f;
	return 0;
}

static void each_file(const struct fixture *f, void (*what)(int dir, const char *name, void *arg),
		      void *arg)
{
	DIR *d = opendir(f->dir);
	struct dirent *e;

	while ((e = readdir(d)))
		if (*e->d_name != '.')
			what(dirfd(d), e->d_name, arg);
	closedir(d);
}

static void drop(int dir, const char *name, void *arg)
{
	unlinkat(dir, name, 0);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	each_file(f, drop, NULL);
	assert_int_equal(rmdir(f->dir), 0);
	free(f);
	return 0;
}

static struct gsb_variants *make(const struct fixture *f, const char *ptx)
{
	struct gsb_variants *v = NULL;

	assert_int_equal(gsb_variants_make(&f->r, ptx, strlen(ptx), 90, ALL, &v), 0);
	return v;
}

static void count_proofs(int dir, const char *name, void *arg)
{
	*(unsigned *)arg += strstr(name, ".proof") != NULL;
}

static unsigned n_files(const struct fixture *f)
{
	unsigned n = 0;

	each_file(f, count_proofs, &n);
	return n;
}

/* ---- what is made ---- */

static void test_variants_have_what_is_proven_of_each_kernel(void **state)
{
	struct gsb_variants *v = make(*state, text);
	const struct gsb_proof *inc = gsb_variants_find(v, "inc");
	const struct gsb_proof *waits = gsb_variants_find(v, "waits");

	assert_int_equal(v->n_kernels, 2);
	assert_string_equal(v->names[0], "inc");
	assert_string_equal(v->names[1], "waits");
	assert_int_equal(inc->shapes, ALL & ~GSB_SHAPE_BIT(GSB_SHAPE_AS_ASKED));
	assert_int_equal(waits->shapes & GSB_SHAPE_BIT(GSB_SHAPE_SLICE), 0);
	assert_int_equal(waits->shapes & GSB_SHAPE_BIT(GSB_SHAPE_PERSISTENT), 0);
	assert_int_equal(inc->launch.reshape_axes & 1, 1);
	assert_true(inc->n_count_words > 0);
	assert_non_null(strstr(v->text, ".entry inc("));
	assert_non_null(strstr(v->text, ".entry inc$slice("));
	assert_null(strstr(v->text, ".entry waits$slice("));
	gsb_variants_destroy(v);
}

static void expect_refusals(const struct gsb_proof *p, unsigned reshape, unsigned slice,
			    unsigned persistent)
{
	assert_int_equal(p->refusals[GSB_SHAPE_RESHAPE], reshape);
	assert_int_equal(p->refusals[GSB_SHAPE_SLICE], slice);
	assert_int_equal(p->refusals[GSB_SHAPE_PERSISTENT], persistent);
}

static void test_variants_have_a_reason_for_each_form_that_is_not_proven(void **state)
{
	const struct fixture *f = *state;
	struct gsb_variants *v = make(f, text);

	expect_refusals(gsb_variants_find(v, "inc"), GSB_TRACE_REFUSAL_NONE, GSB_TRACE_REFUSAL_NONE,
			GSB_TRACE_REFUSAL_NONE);
	expect_refusals(gsb_variants_find(v, "waits"), GSB_TRACE_REFUSAL_SPIN,
			GSB_TRACE_REFUSAL_SPIN, GSB_TRACE_REFUSAL_SPIN);
	gsb_variants_destroy(v);
	assert_int_equal(gsb_variants_make(&f->r, text, strlen(text), 90,
					   GSB_SHAPE_BIT(GSB_SHAPE_SLICE), &v),
			 0);
	expect_refusals(gsb_variants_find(v, "inc"), GSB_TRACE_REFUSAL_OFF, GSB_TRACE_REFUSAL_NONE,
			GSB_TRACE_REFUSAL_OFF);
	assert_int_equal(gsb_variants_find(v, "inc")->shapes, GSB_SHAPE_BIT(GSB_SHAPE_SLICE));
	gsb_variants_destroy(v);
}

/* What fails in it says where: the numbers of another block. */
static void test_variants_of_a_kernel_that_asserts_are_none(void **state)
{
	static const char asserting[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
		".param .b64 e);\n"
		".visible .entry checks()\n{\n\t.reg .b64 %a1;\n\t.reg .b32 %r1;\n"
		"\tmov.u64 %a1, 0;\n\tmov.u32 %r1, 0;\n"
		"\t{\n\t.param .b64 a;\n\tst.param.b64 [a+0], %a1;\n"
		"\t.param .b64 b;\n\tst.param.b64 [b+0], %a1;\n"
		"\t.param .b32 c;\n\tst.param.b32 [c+0], %r1;\n"
		"\t.param .b64 d;\n\tst.param.b64 [d+0], %a1;\n"
		"\t.param .b64 e;\n\tst.param.b64 [e+0], %a1;\n"
		"\tcall.uni __assertfail, (a, b, c, d, e);\n\t}\n\tret;\n}\n";
	struct gsb_variants *v = make(*state, asserting);
	const struct gsb_proof *p = gsb_variants_find(v, "checks");

	assert_int_equal(
		p->shapes & ~(GSB_SHAPE_BIT(GSB_SHAPE_COUNT) | GSB_SHAPE_BIT(GSB_SHAPE_HINT)), 0);
	assert_int_equal(p->refusals[GSB_SHAPE_SLICE], GSB_TRACE_REFUSAL_ASSERTS);
	gsb_variants_destroy(v);
}

/* A trace says the reasons of rules.def by their own words. */
static void test_refusals_of_the_trace_are_the_rules(void **state)
{
	const struct gsb_trace_event *kernel = gsb_trace_event(GSB_TRACE_KERNEL);
	const struct gsb_trace_choice *c = NULL;

	for (unsigned i = 0; i < kernel->n_fields; i++)
		if (!strcmp(kernel->fields[i].name, "no_slice"))
			c = kernel->fields[i].choice;
	assert_non_null(c);
	for (unsigned rule = 0; rule < GSB_RESIZE_N_RULES; rule++) {
		const char *told = gsb_trace_choice_name(c, GSB_TRACE_REFUSAL_UNSUPPORTED + rule);
		char word[64];

		snprintf(word, sizeof(word), "%s", gsb_resize_rule_word(rule));
		for (char *at = word; *at; at++)
			*at = *at == '-' ? '_' : *at;
		assert_string_equal(told, word);
	}
	assert_null(gsb_trace_choice_name(c, GSB_TRACE_REFUSAL_UNSUPPORTED + GSB_RESIZE_N_RULES));
}

static void test_variants_are_hidden_by_their_names_alone(void **state)
{
	struct gsb_variants *v = make(*state, text);
	char name[GSB_NAME_MAX + 1];

	assert_true(gsb_variant_name("inc", GSB_SHAPE_SLICE, name));
	assert_string_equal(name, "inc$slice");
	assert_true(gsb_variants_hide(v, name));
	assert_false(gsb_variants_hide(v, "inc"));
	assert_true(gsb_variant_name("inc", GSB_SHAPE_RESHAPE, name));
	assert_string_equal(name, "inc");
	gsb_variants_destroy(v);
}

/* A kernel that the program itself called so is its own. */
static void test_kernel_with_such_a_name_stays_visible(void **state)
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".visible .entry a$slice()\n{\n\tret;\n}\n"
				  ".visible .entry a()\n{\n\tret;\n}\n";
	struct gsb_variants *v = make(*state, ptx);

	assert_false(gsb_variants_hide(v, "a$slice"));
	assert_true(gsb_variants_hide(v, "a$hint"));
	assert_int_equal(gsb_variants_find(v, "a")->shapes & GSB_SHAPE_BIT(GSB_SHAPE_SLICE), 0);
	gsb_variants_destroy(v);
}

static void test_image_that_is_not_understood_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v = NULL;
	static const char bad[] = ".version 7.0\n.target sm_70\n.address_size 64\nnonsense\n";
	static const char none[] = ".version 7.0\n.target sm_70\n.address_size 64\n";

	assert_int_not_equal(gsb_variants_make(&f->r, bad, strlen(bad), 90, ALL, &v), 0);
	assert_int_equal(gsb_variants_make(&f->r, none, strlen(none), 90, ALL, &v), -ENOENT);
	assert_int_not_equal(gsb_variants_make(&f->r, "\177ELF", 4, 90, ALL, &v), 0);
	assert_null(v);
	assert_int_equal(n_files(f), 0);
}

/* Kernels that reach the same code, again and again. */
static char *text_of_many(unsigned n_kernels, unsigned n_insns)
{
	char *made = malloc((size_t)n_insns * 16 + n_kernels * 40 + 200), *p = made;

	p += sprintf(p, ".version 7.0\n.target sm_70\n.address_size 64\n"
			".func all() { .reg .b32 r;\n");
	for (unsigned i = 0; i < n_insns; i++)
		p += sprintf(p, "mov.u32 r, 1;\n");
	p += sprintf(p, "ret; }\n");
	for (unsigned i = 0; i < n_kernels; i++)
		p += sprintf(p, ".entry e%u() { call all; ret; }\n", i);
	return made;
}

static void test_image_made_to_be_slow_is_left_alone(void **state)
{
	struct fixture *f = *state;
	char *few = text_of_many(2, 100), *many = text_of_many(90, 100000);
	struct gsb_variants *v = NULL;

	assert_int_equal(gsb_variants_make(&f->r, many, strlen(many), 90, ALL, &v), -E2BIG);
	assert_null(v);
	gsb_variants_destroy(make(f, few));
	free(many);
	free(few);
}

/* ---- what is kept ---- */

static void expect_same(const struct gsb_variants *a, const struct gsb_variants *b)
{
	assert_string_equal(a->hash, b->hash);
	assert_int_equal(a->wanted, b->wanted);
	assert_int_equal(a->n_kernels, b->n_kernels);
	assert_int_equal(a->text_bytes, b->text_bytes);
	assert_memory_equal(a->text, b->text, a->text_bytes);
	assert_memory_equal(a->proofs, b->proofs, a->n_kernels * sizeof(*a->proofs));
	for (uint32_t i = 0; i < a->n_kernels; i++)
		assert_string_equal(a->names[i], b->names[i]);
}

static void test_kept_is_what_was_made(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v = make(f, text), *kept = NULL;

	assert_int_equal(n_files(f), 1);
	assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), 0);
	expect_same(v, kept);
	gsb_variants_destroy(kept);
	assert_int_equal(gsb_proofs_read(&f->r, v->hash, 1, &kept), -ENOENT);
	gsb_variants_destroy(v);
}

/* What is in the file is what is taken: nothing is proven anew. */
static void test_kept_is_used(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v = make(f, text);

	v->proofs[0].order = 77;
	gsb_proofs_write(&f->r, v);
	gsb_variants_destroy(v);
	v = make(f, text);
	assert_int_equal(v->proofs[0].order, 77);
	gsb_variants_destroy(v);
}

static void flip(int dir, const char *name, void *arg)
{
	int fd = openat(dir, name, O_RDWR);
	uint8_t byte;

	if (strcmp(name, "lock") != 0) {
		assert_int_equal(pread(fd, &byte, 1, *(off_t *)arg), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, *(off_t *)arg), 1);
	}
	close(fd);
}

static void size_of(int dir, const char *name, void *arg)
{
	struct stat st;

	if (strstr(name, ".proof") && !fstatat(dir, name, &st, 0))
		*(off_t *)arg = st.st_size;
}

/* Wherever a bit has turned over: it is dropped, and made again. */
static void test_damaged_file_is_dropped_and_made_again(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v = make(f, text), *kept = NULL;
	off_t size = 0;

	each_file(f, size_of, &size);
	assert_true(size > 1000);
	for (off_t at = 0; at < size; at += at < 200 ? 1 : 97) {
		each_file(f, flip, &at);
		assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), -EBADMSG);
		assert_int_equal(n_files(f), 0);
		gsb_proofs_write(&f->r, v);
		assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), 0);
		expect_same(v, kept);
		gsb_variants_destroy(kept);
	}
	gsb_variants_destroy(v);
}

static void cut(int dir, const char *name, void *arg)
{
	int fd = openat(dir, name, O_RDWR);

	if (strstr(name, ".proof"))
		assert_int_equal(ftruncate(fd, *(off_t *)arg), 0);
	close(fd);
}

static void test_file_that_is_cut_off_is_dropped(void **state)
{
	static const off_t sizes[] = {0, 1, 50, 200, 1000};
	struct fixture *f = *state;
	struct gsb_variants *v = make(f, text), *kept = NULL;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		off_t size = sizes[i];

		each_file(f, cut, &size);
		assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), -EBADMSG);
		gsb_proofs_write(&f->r, v);
	}
	gsb_variants_destroy(v);
}

/* ---- what is learnt ---- */

static struct gsb_proof demand(uint32_t n_threads, uint32_t refuted)
{
	struct gsb_proof p = {.refuted = refuted};

	p.demands[0] =
		(struct gsb_warp_demand){.n_threads = n_threads, .sum.n_warps = n_threads / 32};
	return p;
}

static void test_what_is_learnt_is_added_to_what_others_learnt(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v = make(f, text), *kept;
	struct gsb_proof a = demand(64, 2), b = demand(128, 4), again = demand(64, 0);
	const struct gsb_proof *p;

	again.demands[0].sum.n_warps = 999; /* what is known stays */
	gsb_proofs_add(&f->r, v, "inc", &a);
	gsb_proofs_add(&f->r, v, "inc", &b);
	gsb_proofs_add(&f->r, v, "inc", &again);
	assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), 0);
	p = gsb_variants_find(kept, "inc");
	assert_int_equal(p->refuted, 6);
	assert_int_equal(p->demands[0].n_threads, 64);
	assert_int_equal(p->demands[0].sum.n_warps, 2);
	assert_int_equal(p->demands[1].n_threads, 128);
	assert_int_equal(p->demands[2].n_threads, 0);
	assert_int_equal(gsb_variants_find(kept, "waits")->refuted, 0);
	gsb_variants_destroy(kept);
	gsb_variants_destroy(v);
}

/* Four processes add eight things each at once: nothing that one of them has learnt is lost. */
static void test_brokers_that_add_at_once_lose_nothing(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v = make(f, text), *kept;
	int status;

	for (uint32_t i = 0; i < 4; i++)
		if (!fork()) {
			for (uint32_t n = 0; n < 8; n++) {
				struct gsb_proof p = demand(32 * (i + 1), 1u << (8 * i + n));

				gsb_proofs_add(&f->r, v, "inc", &p);
			}
			_exit(0);
		}
	for (int i = 0; i < 4; i++) {
		wait(&status);
		assert_int_equal(status, 0);
	}
	assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), 0);
	assert_int_equal(gsb_variants_find(kept, "inc")->refuted, UINT32_MAX);
	for (int i = 0; i < 4; i++)
		assert_int_not_equal(gsb_variants_find(kept, "inc")->demands[i].n_threads, 0);
	gsb_variants_destroy(kept);
	gsb_variants_destroy(v);
}

/* ---- the folder ---- */

static void age(int dir, const char *name, void *arg)
{
	const struct timespec times[2] = {{.tv_sec = *(long *)arg}, {.tv_sec = *(long *)arg}};

	if (strstr(name, ".proof"))
		assert_int_equal(utimensat(dir, name, times, 0), 0);
}

/* Three images where there is room for two: the one that was not used longest goes. */
static void test_longest_unused_file_makes_room(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v[3], *kept = NULL;
	char other[sizeof(text) + 32];
	off_t size = 0;

	for (int i = 0; i < 3; i++) {
		long when = 1000 + i;

		snprintf(other, sizeof(other), "%s// %d\n", text, i);
		if (i == 2) {
			each_file(f, size_of, &size);
			f->r.cache_bytes = (uint64_t)size * 5 / 2;
			assert_int_equal(gsb_proofs_read(&f->r, v[0]->hash, ALL, &kept), 0);
			gsb_variants_destroy(kept); /* it is used now */
		}
		v[i] = make(f, other);
		if (i < 2)
			each_file(f, age, &when);
	}
	assert_int_equal(n_files(f), 2);
	assert_int_equal(gsb_proofs_read(&f->r, v[1]->hash, ALL, &kept), -ENOENT);
	assert_int_equal(gsb_proofs_read(&f->r, v[0]->hash, ALL, &kept), 0);
	gsb_variants_destroy(kept);
	for (int i = 0; i < 3; i++)
		gsb_variants_destroy(v[i]);
}

static void test_folder_that_others_may_write_to_is_not_used(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v, *kept = NULL;

	assert_int_equal(chmod(f->dir, 0777), 0);
	v = make(f, text);
	assert_int_equal(n_files(f), 0);
	assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), -ENOENT);
	assert_int_equal(chmod(f->dir, 0700), 0);
	gsb_variants_destroy(v);
}

static void test_no_folder_keeps_nothing(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v, *kept = NULL;

	f->r.cache = "";
	v = make(f, text);
	assert_int_equal(gsb_proofs_read(&f->r, v->hash, ALL, &kept), -ENOENT);
	gsb_variants_destroy(v);
}

/* Who ended while he wrote has left a part of a file: it is in nobody's way. */
static void test_half_a_file_is_in_nobodys_way(void **state)
{
	struct fixture *f = *state;
	struct gsb_variants *v;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/fresh", f->dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	v = make(f, text);
	assert_int_equal(n_files(f), 1);
	assert_int_equal(access(path, F_OK), -1);
	gsb_variants_destroy(v);
}

/* ---- times ---- */

static struct gsb_estimates *times_of(const struct fixture *f, const struct gsb_device_info *info)
{
	struct gsb_estimates *e;

	assert_int_equal(gsb_estimates_create(&e), 0);
	gsb_times_read(&f->r, info, e);
	return e;
}

static uint32_t n_known(const struct fixture *f, const struct gsb_device_info *info)
{
	struct gsb_estimates *e = times_of(f, info);
	uint32_t n = gsb_estimates_alone(e, 7).n;

	gsb_estimates_destroy(e);
	return n;
}

/* One kernel, that took so long. */
static void write_times(const struct fixture *f, const struct gsb_device_info *info)
{
	struct gsb_work w = {.kind = GSB_WORK_KERNEL, .code = 7, .launch = 7, .blocks_per_sm = 1};
	struct gsb_estimates *e = times_of(f, info);

	gsb_estimates_note(e, &info->arch, &(struct gsb_run){.work = &w, .took_ns = 1000});
	gsb_times_write(&f->r, info, e);
	gsb_estimates_destroy(e);
}

static void test_times_are_found_by_the_next_engine_on_such_a_device(void **state)
{
	static struct gsb_device_info h200 = {.name = "NVIDIA H200", .arch = {.n_sms = 132}};
	static struct gsb_device_info other = {.name = "NVIDIA H100", .arch = {.n_sms = 132}};
	struct fixture *f = *state;

	assert_int_equal(n_known(f, &h200), 0);
	write_times(f, &h200);
	assert_int_equal(n_known(f, &h200), 1);
	write_times(f, &h200);
	assert_int_equal(n_known(f, &h200), 2);
	assert_int_equal(n_known(f, &other), 0);
	f->r.cache = "";
	assert_int_equal(n_known(f, &h200), 0);
}

static void test_damaged_times_are_dropped(void **state)
{
	static struct gsb_device_info h200 = {.name = "NVIDIA H200", .arch = {.n_sms = 132}};
	struct fixture *f = *state;

	for (off_t at = 0; at < 100; at++) {
		write_times(f, &h200);
		assert_int_equal(n_known(f, &h200), 1);
		each_file(f, flip, &at);
		assert_int_equal(n_known(f, &h200), 0);
	}
}

/* It makes room like all other files. */
static void test_times_take_room(void **state)
{
	static struct gsb_device_info h200 = {.name = "NVIDIA H200", .arch = {.n_sms = 132}};
	struct fixture *f = *state;

	f->r.cache_bytes = 50;
	write_times(f, &h200);
	assert_int_equal(n_known(f, &h200), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_variants_have_what_is_proven_of_each_kernel),
		CASE(test_variants_have_a_reason_for_each_form_that_is_not_proven),
		CASE(test_variants_of_a_kernel_that_asserts_are_none),
		CASE(test_refusals_of_the_trace_are_the_rules),
		CASE(test_variants_are_hidden_by_their_names_alone),
		CASE(test_kernel_with_such_a_name_stays_visible),
		CASE(test_image_that_is_not_understood_is_left_alone),
		CASE(test_image_made_to_be_slow_is_left_alone),
		CASE(test_kept_is_what_was_made),
		CASE(test_kept_is_used),
		CASE(test_damaged_file_is_dropped_and_made_again),
		CASE(test_file_that_is_cut_off_is_dropped),
		CASE(test_what_is_learnt_is_added_to_what_others_learnt),
		CASE(test_brokers_that_add_at_once_lose_nothing),
		CASE(test_longest_unused_file_makes_room),
		CASE(test_folder_that_others_may_write_to_is_not_used),
		CASE(test_no_folder_keeps_nothing),
		CASE(test_half_a_file_is_in_nobodys_way),
		CASE(test_times_are_found_by_the_next_engine_on_such_a_device),
		CASE(test_damaged_times_are_dropped),
		CASE(test_times_take_room),
	};

	gsb_log_init("test_proofs", GSB_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
