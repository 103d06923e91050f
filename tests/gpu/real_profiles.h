/*
 * real_profiles.h - what `real_measure profiles` saw of kernels beside the probes of probes.def, and what follows for two of them beside
 * each other (model/time/probes.h).
 */
#ifndef GSB_TESTS_GPU_REAL_PROFILES_H
#define GSB_TESTS_GPU_REAL_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/time/probes.h"

struct profiles;

/* A file of pairs, in which each probe is beside each, and others beside all of them, as the older and as the younger one. Whatever is
 * wrong with it ends the program. It is never let go. */
const struct profiles *profiles_read(const char *path);

/* False: not both are in the file, beside all probes. @eighths: of an SM, that the older one has; the other one has the rest. */
bool profiles_predict(const struct profiles *p, const char *older, const char *younger,
		      uint32_t eighths, struct gsb_encounter *out);

#endif
