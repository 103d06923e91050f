/*
 * mix.h - which queries run at once: the sets that are compared.
 */
#ifndef GSB_TOOLS_COMPARE_MIX_H
#define GSB_TOOLS_COMPARE_MIX_H

#include <stdbool.h>

#define GSB_MIX_MAX   16 /* tenants in a mix */
#define GSB_N_QUERIES 5	 /* q1 to q5 of the sample database */

struct gsb_mix {
	char name[24];
	unsigned n;
	unsigned query[GSB_MIX_MAX]; /* 0 is q1 */
	unsigned repeat;	     /* how often each process runs its query; 0: once */
};

/*
 * The i-th mix: each query alone, pairs, N of them cyclically as in Li, Tu, Zeng 2019, q1 and q2 in turn, eight of q1 that repeat it.
 * @full: all pairs and all N up to 16; else a few. False: there are no more.
 */
bool gsb_mix_at(unsigned i, bool full, struct gsb_mix *out);

#endif
