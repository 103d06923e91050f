/*
 * litmus.h - litmus tests of the PTX memory model: small concurrent programs with the outcomes that the model
 * forbids, run very often on the emulated device (test_litmus.c) and on a real GPU (tests/gpu/litmus.c).
 *
 * A row of litmus.def is a shape: what each thread does, and what must never be seen. With a width, a
 * placement of its threads, a scope and a state space it is a case; a case is one kernel in PTX, made by
 * ptx.c. One launch runs thousands of instances of it, each on locations of its own; outcome.c sorts what they
 * saw into a histogram. Whoever runs the kernels is a litmus_machine.
 */
#ifndef GSB_TESTS_LITMUS_H
#define GSB_TESTS_LITMUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITMUS_MAX_THREADS  4
#define LITMUS_MAX_OPS	    5 /* of a thread */
#define LITMUS_MAX_REGS	    4
#define LITMUS_MAX_LOCS	    3
#define LITMUS_MAX_SEEN	    (LITMUS_MAX_REGS + LITMUS_MAX_LOCS)
#define LITMUS_TEXT	    32768
#define LITMUS_TORN	    15 /* a value whose bytes come from two writes */
#define LITMUS_MAX_OUTCOMES 256

/* ---- rows and cases ---- */

enum litmus_width {
	LITMUS_B8,
	LITMUS_B16,
	LITMUS_B32,
	LITMUS_B64,
	LITMUS_B128,
	LITMUS_V4B8,
	LITMUS_V2B16,
	LITMUS_V2B32,
	LITMUS_V4B32,
	LITMUS_V2B64,
	LITMUS_N_WIDTHS,
};

enum litmus_place { LITMUS_WARP, LITMUS_BLOCK, LITMUS_GRID, LITMUS_N_PLACES };
enum litmus_scope { LITMUS_CTA, LITMUS_GPU, LITMUS_SYS, LITMUS_N_SCOPES };
enum litmus_space { LITMUS_GLOBAL, LITMUS_SHARED, LITMUS_GENERIC, LITMUS_N_SPACES };

/* As it stands in litmus.def: see there. */
struct litmus_row {
	const char *name, *threads, *forbidden, *weak, *witness, *why;
	unsigned int widths, places, scopes; /* bits of the enums */
};

struct litmus_case {
	const struct litmus_row *row;
	enum litmus_width width;
	enum litmus_place place;
	enum litmus_scope scope;
	enum litmus_space space;
};

extern const struct litmus_row litmus_rows[];
extern const unsigned int litmus_n_rows;

/* The case after @c, which begins zeroed, with a row of NULL; false: there are no more. */
bool litmus_next_case(struct litmus_case *c);
void litmus_case_name(const struct litmus_case *c, char *out, size_t size);

/* ---- a row, taken apart ---- */

enum litmus_act {
	LITMUS_LD,
	LITMUS_ST,
	LITMUS_ATOM,
	LITMUS_RED,
	LITMUS_FENCE,
	LITMUS_BAR,
	LITMUS_BAR_WARP,
};

struct litmus_op {
	enum litmus_act act;
	char opcode[16];		/* "fence.acq_rel"; else ld, st, atom, red */
	char sem[12], scope[8], sub[8]; /* "" where there is none */
	int reg, loc;			/* that is read into, that is accessed */
	unsigned int n_values;
	int value[2];  /* what is written, */
	bool from_reg; /* or the register of this number */
};

struct litmus_program {
	unsigned int n_threads, n_regs, n_locs;
	unsigned int n_ops[LITMUS_MAX_THREADS];
	struct litmus_op ops[LITMUS_MAX_THREADS][LITMUS_MAX_OPS];
};

/* False: the row is misspelt, and *at is where. */
bool litmus_parse(const char *threads, struct litmus_program *out, const char **at);

/* ---- kernels ---- */

/* The one parameter of every kernel. */
struct litmus_params {
	uint64_t mem, res,
		sync;	   /* locations, what was seen, rendezvous counters; each zeroed but res */
	uint64_t region;   /* bytes from a location's array to the next one's */
	uint32_t n, iters; /* instances; of one thread */
	uint32_t stride, flip; /* bytes from instance to instance; which are exchanged */
	uint32_t seed, spin, nap,
		skew; /* delays: their source, longest, every which sleeps, lanes alike */
	uint32_t patience,
		doze; /* looks at the rendezvous, at most, and the bits that say when to sleep */
};

unsigned int litmus_width_bytes(enum litmus_width w);
/* Threads of one instance that a block has, and instances that are at work in it at once. */
unsigned int litmus_per_block(const struct litmus_case *c, unsigned int n_threads,
			      unsigned int block);
/* PTX of the case, its kernel is "litmus"; false: it does not fit. */
bool litmus_ptx(const struct litmus_case *c, const struct litmus_program *p, char *out,
		size_t size);

/* ---- outcomes ---- */

struct litmus_outcome {
	uint8_t value[LITMUS_MAX_SEEN]; /* registers, then locations at the end */
	uint64_t n;
};

struct litmus_histogram {
	unsigned int n_regs, n_locs, n_outcomes;
	struct litmus_outcome outcomes[LITMUS_MAX_OUTCOMES];
	uint64_t n_lost; /* of more outcomes than there is room for */
};

void litmus_note(struct litmus_histogram *h, const uint8_t value[LITMUS_MAX_SEEN]);
/* What was written as a value: its byte all over, or LITMUS_TORN. */
uint8_t litmus_value(const unsigned char *p, unsigned int bytes);
/* How many instances saw what a condition says: "r0=1 r1=0 or x=2"; "torn" is any torn value. */
uint64_t litmus_count(const struct litmus_histogram *h, const char *condition);
/* The condition names only what the program has. */
bool litmus_condition_ok(const struct litmus_program *p, const char *condition);
void litmus_histogram_print(const struct litmus_histogram *h, char *out, size_t size);

/* ---- running ---- */

struct litmus_launch {
	uint32_t grid, block, smem;
	struct litmus_params params; /* whose addresses the machine fills in */
	void *mem, *res, *sync;	     /* host copies: mem and sync go in, mem and res come out */
	size_t mem_bytes, res_bytes, sync_bytes;
};

/* What runs kernels. Each returns false with a line in @log. */
struct litmus_machine {
	bool (*load)(struct litmus_machine *m, const char *text, const char *kernel, char *log,
		     size_t size);
	bool (*run)(struct litmus_machine *m, struct litmus_launch *l, char *log, size_t size);
};

struct litmus_result {
	struct litmus_histogram seen;
	uint64_t n, n_forbidden, n_weak, n_witness, n_torn;
	char log[512]; /* of what failed */
};

/* At least @n instances. False: it could not be run, and why stands in out->log. */
bool litmus_run(struct litmus_machine *m, const struct litmus_case *c, uint64_t n, uint32_t seed,
		struct litmus_result *out);

/* ---- programs: locks, barriers, counters, look-back ---- */

/* As it stands in programs.def. */
struct litmus_task {
	const char *name, *why;
	const char *body; /* PTX, between what every kernel begins and ends with */
	uint32_t grid, block;
	bool (*check)(const struct litmus_launch *l, char *log, size_t size);
};

extern const struct litmus_task litmus_tasks[];
extern const unsigned int litmus_n_tasks;

/* About @n turns of all threads together; @n_done: how many it were. False: it went wrong, see @log. */
bool litmus_task_run(struct litmus_machine *m, const struct litmus_task *t, uint64_t n,
		     uint64_t *n_done, char *log, size_t size);

#endif
