/*
 * matching.h - all in pairs, so that the sum of what pairs cost is least.
 *
 * Exact, by subsets: the first that is not placed is alone or with any of the others. Edmonds' blossoms would be polynomial; for as many as
 * are ever put beside each other this takes milliseconds, in forty lines.
 */
#ifndef GSB_MODEL_SOLVERS_MATCHING_H
#define GSB_MODEL_SOLVERS_MATCHING_H

#include <stdint.h>

#define GSB_MATCHING_MAX 20

/**
 * gsb_matching_least() - who with whom
 * @n:       1 .. GSB_MATCHING_MAX
 * @cost:    n rows of n, symmetric; the diagonal is who stays alone. INFINITY: that may not be
 * @partner: n, of each the other one, or itself; of equal sums the one that has early ones together
 *
 * Context: pure but for memory (16 MiB for 20), any thread. Steps: 2^(n-1) n.
 * Return:  0, -EINVAL: n; a cost that is no number; nothing is allowed. -ENOMEM.
 */
int gsb_matching_least(uint32_t n, const double *cost, uint32_t *partner);

#endif
