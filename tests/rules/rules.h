/*
 * rules.h - what the programs of tests/rules share: one device, its primary context current, kernels of a few lines, and a gate
 * on which kernels wait until the program lets them go, so that "still running" is no matter of time.
 *
 * A line is "program.step = OUTCOME". A step whose call crashes says CRASH and ends its program: such steps come last.
 */
#ifndef GSB_TESTS_RULES_H
#define GSB_TESTS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integ/answers.h"
#include "tests/unit/tenant.h"

#define PROGRAM(name) void rules_##name(void);
#define BARE(name)    void rules_##name(void);
#include "programs.def"
#define PROGRAM(name) void rules_##name(void)

extern struct cu cu;
extern CUcontext ctx;
extern CUmodule module;
extern CUfunction k_add, k_hold, k_store, k_look, k_trap, k_assert;
extern const char rules_ptx[];

/* ---- lines ---- */

void say(const char *step, CUresult result); /* its name, without CUDA_ERROR_ */
void say_n(const char *step, long long n);

/* The next line's step, for a call that crashes. */
extern const char *asking;
#define ask(step, call) (asking = (step), say(step, cu.call))

/* ---- things; what fails here ends the program ---- */

CUstream stream(unsigned flags);
CUevent event(unsigned flags);
CUdeviceptr words(size_t n); /* of the device, all 0 */
uint32_t word(CUdeviceptr at);
uint32_t *pinned(size_t n); /* words of pinned memory, all 0 */
/* A context of its own, current no more; and the kernels of another module in the current context. */
CUcontext other_context(void);
CUfunction kernel_here(const char *name);
void settle(void); /* until all of the current context is done */

static inline CUdeviceptr at(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

/* ---- work ---- */

CUresult launch(CUfunction f, CUstream s, void **params);
CUresult add(CUstream s, CUdeviceptr word, uint32_t n);	     /* *word += n */
CUresult look(CUstream s, CUdeviceptr from, CUdeviceptr to); /* *to = *from */
CUresult store(CUstream s, CUdeviceptr at);		     /* *at = 1: at a bad address a fault */
void hold(CUstream s);					     /* what is in s from here on waits */
void let_go(void);					     /* all that is held */
void *on_thread(void *(*f)(void *), void *data); /* f(data), by another thread, to its end */

#endif
