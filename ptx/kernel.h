/*
 * kernel.h - what is needed to launch one entry: its memory layout and metadata.
 *
 * Shared memory belongs to a launch, not to a function: the variables that an entry can reach
 * through calls are laid out together here, dynamic shared memory (extern, unsized) behind them.
 */
#ifndef GSB_PTX_KERNEL_H
#define GSB_PTX_KERNEL_H

#include "ptx/ptx.h"

/* Static shared memory of a block: what the compiler takes, for any target and for those of one architecture only
 * (sm_90a). */
#define GSB_PTX_MAX_SHARED	((uint64_t)48 << 10)
#define GSB_PTX_MAX_SHARED_ARCH ((uint64_t)227 << 10)

struct gsb_ptx_shared {
	const struct gsb_ptx_var *var;
	uint64_t offset; /* in the block's shared memory; all unsized ones share dynamic_offset */
};

struct gsb_ptx_kernel {
	const struct gsb_ptx_func *entry;
	const struct gsb_ptx_func *const *funcs; /* reachable bodies, the entry first */
	uint32_t n_funcs;
	const struct gsb_ptx_shared
		*shared; /* by function, as in funcs, then the module's; each by index */
	uint32_t n_shared;
	uint64_t static_shared_bytes;
	uint64_t dynamic_offset; /* where dynamic shared memory begins: static bytes, aligned for it
				  */
	uint64_t local_bytes;	 /* deepest chain of frames without recursion */
	uint64_t const_bytes;	 /* .const variables of the module */
	uint32_t regs;		 /* estimate, the largest of the functions; live.h */
	uint32_t target_sm;	 /* of the module that it came from, before it was linked: 75 */
	uint32_t max_threads;	 /* .maxntid or .reqntid, multiplied; 0 = no limit given */
	bool recursive;		 /* a cycle of calls */
	bool indirect; /* an indirect call: all functions whose address is taken are reachable */
	const struct gsb_ptx_func *refused_in; /* holds an unsupported instruction; NULL = none */
	const struct gsb_ptx_insn *refused;    /* that instruction: ->spelling, ->line */
};

/**
 * gsb_ptx_kernel_build() - layout and metadata of an entry
 * @arena: everything in @out lives there
 *
 * Context: pure. Return: 0, -EINVAL (not an entry with a body), -E2BIG (see gsb_ptx_live_build()), -ENOMEM.
 */
int gsb_ptx_kernel_build(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
			 struct gsb_arena *arena, struct gsb_ptx_kernel *out);

/**
 * gsb_ptx_check_shared() - does a block hold the static shared memory of every entry, as far as that can be found out in seconds?
 * @log: when not, one line: which entry, how much, what to do
 *
 * Context: pure; next to nothing when all variables of the module together are small enough.
 * Return: 0, -EILSEQ (one has too much), -ENOMEM.
 */
int gsb_ptx_check_shared(const struct gsb_ptx_module *m, char *log, size_t log_size);

#endif
