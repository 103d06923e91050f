/*
 * model_input.h - what gsb-model is asked about: the GPU and the kernels, from words, files and drivers.
 */
#ifndef GSB_TOOLS_MODEL_INPUT_H
#define GSB_TOOLS_MODEL_INPUT_H

#include "model/gpu/arch.h"
#include "model/input/kernels.h"
#include "model/input/profiles.h"
#include "sim/random.h"
#include "tools/calibrate/calibrate.h"

/* What gsb-model replay runs, and under what. */
struct model_replay {
	const char *policy; /* its name, or "all" */
	bool together;	    /* all tenants begin at once */
	bool cold;	    /* the policy has seen none of it before */
	bool drawn;	    /* the load is: random says how */
	struct gsb_random_load random;
};

struct model_input {
	struct gsb_arch arch;
	struct gsb_interference law; /* of it */
	bool arch_given;
	struct model_replay replay;
	struct cal_options calibrate;
	const struct gsb_rules *rules;
	bool json;
	bool cover;	  /* T x B may grow */
	bool keep;	  /* geometries as they came, where all fit so */
	const char *plot; /* file to draw into; NULL = none */
	double launch_us; /* launch overhead of Cruz, Algorithm 1; 0 = none */
	struct gsb_fraction_params fraction;
	size_t n_kernels;
	struct gsb_kernel_row kernels[GSB_PLAN_KERNELS_MAX];
};

/*
 * A GPU by name, by the path of a text file, or "driver", "driver:N" from the N-th device of the
 * driver. 0; -1: told on stderr.
 */
int model_input_arch(struct model_input *in, const char *word);

/*
 * Append kernels: "key=value,..." is one; "@FILE", "@FILE:KERNEL" and "@FILE...,key=value" are those of
 * a table, a cubin, a fatbin or PTX, with what follows set in each. 0; -1: told on stderr.
 */
int model_input_kernels(struct model_input *in, const char *word);

/* A load from a file, "-" for standard input. 0; -1: told on stderr. */
int model_input_load(const char *path, struct gsb_workload *out);
/* Profiles, likewise. */
int model_input_profiles(const char *path, struct gsb_profiles **out);

#endif
