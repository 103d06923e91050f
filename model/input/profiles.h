/*
 * profiles.h - what was seen of kernels beside probes (model/time/probes.h), as text, and what follows for those that never met.
 *
 * A line a pair, fields separated by tabs, as tests/gpu/real_measure writes them; from # on a line is a comment:
 *
 *   1  OLDER,YOUNGER      names
 *   2  2,6                parts of every SM that each has; all lines with the same two are one division
 *   3  0.91,0.20          speeds while both run, 1: alone on all SMs
 *   4  (how far two measurements differ; not read)
 *   5  0.98,0.83          the same alone in that division
 *   6  (where the blocks were; not read)
 *   7  1.43               makespan of equal work, 1: the time of one alone on all SMs
 *
 * A probe is who was beside everybody, itself included, in both orders and all divisions; so a text that ends early has fewer of them. A pair that was seen is predicted all the same.
 *
 * Context: pure but for memory, any thread.
 */
#ifndef GSB_MODEL_INPUT_PROFILES_H
#define GSB_MODEL_INPUT_PROFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/gpu/text.h"
#include "model/time/kriging.h"

#define GSB_PROFILES_KERNELS_MAX   GSB_PROBES_MAX /* all of them may have met all */
#define GSB_PROFILES_DIVISIONS_MAX GSB_KRIGING_DIVISIONS_MAX
#define GSB_PROFILES_NAME_MAX	   64

struct gsb_profiles;

/* -EINVAL with line and reason in @err; -ENOMEM. */
int gsb_profiles_read(const char *text, size_t len, struct gsb_profiles **out,
		      struct gsb_text_error *err);
void gsb_profiles_free(struct gsb_profiles *p); /* NULL is fine */

/* Kernels and probes, in the order of the text. */
uint32_t gsb_profiles_n(const struct gsb_profiles *p);
uint32_t gsb_profiles_n_probes(const struct gsb_profiles *p);
bool gsb_profiles_is_probe(const struct gsb_profiles *p, uint32_t kernel);
uint32_t gsb_profiles_n_divisions(const struct gsb_profiles *p);
const char *gsb_profiles_name(const struct gsb_profiles *p, uint32_t kernel);
uint32_t gsb_profiles_find(const struct gsb_profiles *p, const char *name); /* n: no such one */

/* Of a division, the part of every SM that the older one has: over 0, under 1. */
double gsb_profiles_share(const struct gsb_profiles *p, uint32_t division);
uint32_t gsb_profiles_division(const struct gsb_profiles *p,
			       double share); /* n_divisions: no such one */

/* Two beside each other in a division; and the speeds that they have alone there, 1: on all SMs. */
void gsb_profiles_predict(const struct gsb_profiles *p, uint32_t older, uint32_t younger,
			  uint32_t division, struct gsb_encounter *out, double alone[2]);

#endif
