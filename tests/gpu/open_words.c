/*
 * open_words.c - what a real GPU does where PTX leaves it open, beside what the interpreter does: shuffles from
 * lanes that are elsewhere, masks that leave out their own lane, what of shared memory is reserved; and the programs
 * of cooperative groups on both.
 *
 * The idea: a question may hang a GPU, or the interpreter. So each is put by a process of its own that has some time
 * for it, and its answer stands in the output before the next is put.
 *
 * Usage: open_words [WORD]: all questions, or those that have WORD in them. Start it where tests/ptx lies, or with srcdir set;
 * without a driver it exits 77. One row of words each: those that differ are marked.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "gpu.h"
#include "tests/unit/emu_harness.h"

#define N_WORDS	     64
#define BUFFER_BYTES (1u << 18)
#define LOG_BYTES    1024
#define LIMIT_S	     60 /* of a question: start of the driver, its compiler, the interpreter */

#define HEAD(target) ".version 9.0\n.target " target "\n.address_size 64\n"

/* A kernel that writes one word a lane; %r1 is 100 and the lane's number, %r2 is what it writes. */
#define LANES(body)                                                     \
	HEAD("sm_90")                                                   \
	".visible .entry k(.param .u64 io) {\n"                         \
	".reg .pred %p<6>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"       \
	"ld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x;\n"               \
	"mad.wide.u32 %rd0, %r0, 4, %rd1; ld.global.u32 %r1, [%rd0];\n" \
	"mov.u32 %r2, 0xffffffff;\n" body "\nst.global.u32 [%rd0], %r2; ret; }\n"

/* A kernel that writes what one thread reads: up to 8 words. */
#define WORD(n, what) "mov.u32 %r1, " what "; st.global.u32 [%rd1+" #n "], %r1;\n"
static const struct {
	const char *what, *text;
} open[] = {
	{"shfl.down 16 8 4 2 1 of lanes 0-3 in a branch, mask 15: the sum",
	 LANES("setp.ge.u32 %p1, %r0, 4; @%p1 bra out; mov.u32 %r2, %r1;\n"
	       "shfl.sync.down.b32 %r3, %r2, 16, 31, 15; add.u32 %r2, %r2, %r3;\n"
	       "shfl.sync.down.b32 %r3, %r2, 8, 31, 15; add.u32 %r2, %r2, %r3;\n"
	       "shfl.sync.down.b32 %r3, %r2, 4, 31, 15; add.u32 %r2, %r2, %r3;\n"
	       "shfl.sync.down.b32 %r3, %r2, 2, 31, 15; add.u32 %r2, %r2, %r3;\n"
	       "shfl.sync.down.b32 %r3, %r2, 1, 31, 15; add.u32 %r2, %r2, %r3;\nout:")},
	{"shfl.idx from lane 20, lanes 0-15 in one arm, the others in another with stores",
	 LANES("setp.ge.u32 %p1, %r0, 16; @%p1 bra other;\n"
	       "shfl.sync.idx.b32 %r2, %r1, 20, 31, 0xffff; bra out;\n"
	       "other: add.u32 %r2, %r1, 1000; st.global.u32 [%rd0], %r2; bar.warp.sync 0xffff0000;\n"
	       "shfl.sync.idx.b32 %r2, %r2, 3, 31, 0xffff0000;\nout:")},
	{"shfl.idx from lane 31 that exited, full mask",
	 LANES("setp.ge.u32 %p1, %r0, 30; @%p1 exit;\n"
	       "shfl.sync.idx.b32 %r2, %r1, 31, 31, 0xffffffff;")},
	{"shfl.bfly 16, each half names itself, all at the instruction",
	 LANES("and.b32 %r4, %r0, 16; shl.b32 %r4, 0xffff, %r4;\n"
	       "shfl.sync.bfly.b32 %r2, %r1, 16, 31, %r4;")},
	{"shfl.down 1, groups of 8 name themselves",
	 LANES("and.b32 %r4, %r0, 24; shl.b32 %r4, 0xff, %r4;\n"
	       "shfl.sync.down.b32 %r2, %r1, 1, 31, %r4;")},
	{"vote.ballot, groups of 8 name themselves",
	 LANES("and.b32 %r4, %r0, 24; shl.b32 %r4, 0xff, %r4; and.b32 %r5, %r1, 1;\n"
	       "setp.ne.u32 %p1, %r5, 0; vote.sync.ballot.b32 %r2, %p1, %r4;")},
	{"redux.add, odd and even lanes name themselves",
	 LANES("and.b32 %r4, %r0, 1; shl.b32 %r4, 0x55555555, %r4;\n"
	       "redux.sync.add.u32 %r2, %r1, %r4;")},
	{"match.any, odd and even lanes name themselves",
	 LANES("and.b32 %r4, %r0, 1; shl.b32 %r4, 0x55555555, %r4; and.b32 %r5, %r1, 12;\n"
	       "match.any.sync.b32 %r2, %r5, %r4;")},
	{"elect, groups of 8 name themselves",
	 LANES("and.b32 %r4, %r0, 24; shl.b32 %r4, 0xff, %r4; elect.sync %r2|%p1, %r4;")},
	{"activemask in an arm of lanes 0-9, and behind the arms",
	 LANES("setp.ge.u32 %p1, %r0, 10; @%p1 bra out; activemask.b32 %r2;\n"
	       "st.global.u32 [%rd0], %r2;\nout: activemask.b32 %r3; add.u32 %r2, %r2, %r3;")},
	{"reserved shared memory: begin end cap offset_0 offset_1",
	 HEAD("sm_90") ".visible .entry k(.param .u64 io) {\n"
		       ".reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [io];\n" WORD(
			       0, "%reserved_smem_offset_begin") WORD(4,
								      "%reserved_smem_offset_end")
			       WORD(8, "%reserved_smem_offset_cap")
				       WORD(12, "%reserved_smem_offset_0")
					       WORD(16, "%reserved_smem_offset_1") "ret; }\n"},
	{"shared: address of the first variable, total, dynamic, aggregate; envreg1, envreg2",
	 HEAD("sm_90") ".visible .entry k(.param .u64 io) {\n"
		       ".reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 8 .b8 own[24];\n"
		       "ld.param.u64 %rd1, [io];\n" WORD(0, "own") WORD(4, "%total_smem_size")
			       WORD(8, "%dynamic_smem_size") WORD(12, "%aggr_smem_size")
				       WORD(16, "%envreg1") WORD(20, "%envreg2") "ret; }\n"},
	{"shfl.idx from lane 5, mask 0, all at the instruction",
	 LANES("mov.u32 %r4, 0; shfl.sync.idx.b32 %r2, %r1, 5, 31, %r4;")},
	{"vote.ballot of all lanes, mask 3",
	 LANES("setp.lt.u32 %p1, %r0, 4; vote.sync.ballot.b32 %r2, %p1, 3;")},
};

static void tell(const char *what, const uint32_t *gpu, const uint32_t *ours, unsigned int n)
{
	bool same = !memcmp(gpu, ours, n * sizeof(*gpu));

	printf("%s\t%s\n", same ? "same" : "DIFFER", what);
	for (unsigned int i = 0; i < n; i++) {
		printf("%s%" PRIx32, i ? " " : "\tgpu  ", gpu[i]);
	}
	putchar('\n');
	for (unsigned int i = 0; i < n && !same; i++)
		printf("%s%" PRIx32 "%s", i ? " " : "\tours ", ours[i], i + 1 < n ? "" : "\n");
}

static void run_open(const char *what, const char *text)
{
	uint32_t start[N_WORDS], theirs[N_WORDS], *ours;
	char log[LOG_BYTES];
	struct gpu_call call = {.kernel = "k", .grid = {1, 1}, .block = {32, 1}};
	CUdeviceptr on_gpu;
	void *args[] = {&on_gpu};
	CUmodule module;
	struct t_gpu g;

	for (uint32_t i = 0; i < N_WORDS; i++)
		start[i] = 100 + i;
	if (!gpu_compile(text, &module, log, sizeof(log))) {
		printf("refused\t%s\t%s\n", what, log);
		return;
	}
	t_gpu_init(&g, text);
	ours = t_copy(&g, start, sizeof(start));
	on_gpu = gpu_copy_in(start, sizeof(start));
	call.args = args;
	gpu_call(module, &call);
	gpu_copy_out(theirs, on_gpu, sizeof(theirs));
	if (t_launch(&g, &(struct t_launch){.kernel = "k", .block = {32}, .args = {&ours}}))
		printf("fault\t%s\t%s\n", what, g.fault.text);
	tell(what, theirs, ours, 32);
	gpu_unload(module);
	t_gpu_finish(&g);
}

/* ---- cooperative groups ---- */

static void run_groups(const char *file, const char *kernel, unsigned int block)
{
	static uint32_t theirs[BUFFER_BYTES / 4];
	uint32_t *in, *out, n = 0;
	struct gpu_call call = {.kernel = kernel, .grid = {2, 1}, .block = {block, 1}};
	CUdeviceptr on_gpu[2];
	void *args[] = {&on_gpu[0], &on_gpu[1]};
	CUmodule module = gpu_load_file(file);
	struct t_gpu g;

	t_gpu_init_file(&g, file);
	in = t_alloc(&g, BUFFER_BYTES);
	out = t_alloc(&g, BUFFER_BYTES);
	for (uint32_t i = 0; i < BUFFER_BYTES / 4; i++)
		in[i] = i * 37 % 599;
	on_gpu[0] = gpu_copy_in(in, BUFFER_BYTES);
	on_gpu[1] = gpu_copy_in(out, BUFFER_BYTES);
	call.args = args;
	gpu_call(module, &call);
	gpu_copy_out(theirs, on_gpu[1], sizeof(theirs));
	gpu_free(on_gpu[0]);
	if (t_launch(&g,
		     &(struct t_launch){
			     .kernel = kernel, .grid = {2}, .block = {block}, .args = {&in, &out}}))
		printf("fault\t%s %s\t%s\n", file, kernel, g.fault.text);
	for (uint32_t i = 0; i < BUFFER_BYTES / 4; i++)
		n += theirs[i] != out[i];
	printf("%s\t%s %s: %" PRIu32 " words differ\n", n ? "DIFFER" : "same", file, kernel, n);
	gpu_unload(module);
	t_gpu_finish(&g);
}

/* ---- each in a process of its own ---- */

static const char *const group_files[] = {"tests/ptx/groups.nvcc.ptx",
					  "tests/ptx/groups.sm90.nvcc.ptx"};
static const struct {
	const char *kernel;
	unsigned int block;
} groups[] = {{"tile_1", 128},	 {"tile_2", 128},   {"tile_4", 128},  {"tile_8", 128},
	      {"tile_16", 128},	 {"tile_32", 128},  {"tile_64", 512}, {"tile_128", 512},
	      {"tile_256", 512}, {"tile_512", 512}, {"labels", 128},  {"block_sync", 320}};

#define N_GROUPS    (GSB_ARRAY_LEN(group_files) * GSB_ARRAY_LEN(groups))
#define N_QUESTIONS (GSB_ARRAY_LEN(open) + N_GROUPS)

static void name_question(size_t nth, char *out, size_t size)
{
	size_t k = nth - GSB_ARRAY_LEN(open);

	if (nth < GSB_ARRAY_LEN(open))
		snprintf(out, size, "%s", open[nth].what);
	else
		snprintf(out, size, "%s %s", group_files[k / GSB_ARRAY_LEN(groups)],
			 groups[k % GSB_ARRAY_LEN(groups)].kernel);
}

static void put_question(size_t nth)
{
	size_t k = nth - GSB_ARRAY_LEN(open);

	gpu_start(NULL);
	if (nth < GSB_ARRAY_LEN(open))
		run_open(open[nth].what, open[nth].text);
	else
		run_groups(group_files[k / GSB_ARRAY_LEN(groups)],
			   groups[k % GSB_ARRAY_LEN(groups)].kernel,
			   groups[k % GSB_ARRAY_LEN(groups)].block);
}

/* Its exit status; -1: it was killed, for its time was up or by a fault. */
static int await(pid_t child)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
	int status;

	if (end.fd < 0 || poll(&end, 1, LIMIT_S * 1000) != 1)
		kill(child, SIGKILL);
	close(end.fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* False: there is no GPU to ask. */
static bool ask(size_t nth)
{
	char what[128];
	pid_t child;
	int status;

	name_question(nth, what, sizeof(what));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		put_question(nth);
		exit(0);
	}
	status = child < 0 ? -1 : await(child);
	if (status && status != 77)
		printf("%s\t%s\n", status < 0 ? "KILLED" : "FAILED", what);
	fflush(stdout);
	return status != 77;
}

static bool is_asked(size_t nth, const char *word)
{
	char what[128];

	name_question(nth, what, sizeof(what));
	return !word || strstr(what, word);
}

int main(int argc, char **argv)
{
	printf("verdict\twhat\twords\n");
	for (size_t i = 0; i < N_QUESTIONS; i++) {
		if (is_asked(i, argc > 1 ? argv[1] : NULL) && !ask(i))
			return 77;
	}
	return 0;
}
