/*
 * loops.h - one load, run once: processes of examples/gpu_loop, each of which launches its kernel again and again.
 *
 * On a GPU each says when it is ready, and begins when all are, or so much later as its load says. On an emulated device they begin at the
 * start line, in virtual time, and nobody later. How far each was, and when, is what its own events of the device say.
 */
#ifndef GSB_TOOLS_COMPARE_LOOPS_H
#define GSB_TOOLS_COMPARE_LOOPS_H

#include "tools/compare/loads.h"
#include "tools/compare/site.h"

#define GSB_ANSWERS_MAX 2000

struct gsb_loop_program {
	const char *path; /* gpu_loop */
	unsigned
		work_ms; /* what each does takes so long alone, beside what the delay of another takes */
	unsigned n_answers;    /* launches of a critical one */
	unsigned pause_us;     /* of it, between one and the next; on a GPU */
	unsigned critical_sms; /* that it has blocks for */
};

struct gsb_loop_outcome {
	struct gsb_progress_of progress[GSB_LOOPS_MAX]; /* alone is the caller's */
	unsigned n_answers; /* of the critical one; answers in us, as its caller sees them */
	double answers[GSB_ANSWERS_MAX];
};

/* The turns of a kernel's loop that make a launch as long as it is to be, alone. 0: told. */
unsigned long long gsb_loop_calibrate(const struct gsb_bench_site *s,
				      const struct gsb_loop_program *p, const struct gsb_looper *l);

/* @turns: of each tenant. Return: 0; -1: told on stderr. */
int gsb_load_run(const struct gsb_bench_site *s, const struct gsb_loop_program *p,
		 const struct gsb_tenant_load *load, const unsigned long long *turns,
		 const struct gsb_compared_way *way, struct gsb_loop_outcome *out);

#endif
