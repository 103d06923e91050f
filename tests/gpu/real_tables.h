/*
 * real_tables.h - the law of contention on kernels that do real work: what is predicted, and how far it was right. Parts of
 * model_tables.c, which says what the files are.
 *
 * Speeds are against a kernel alone with all eighths of every SM, makespans against the work that takes a kernel 1 so.
 */
#ifndef GSB_TESTS_GPU_REAL_TABLES_H
#define GSB_TESTS_GPU_REAL_TABLES_H

#define REAL_EIGHTHS	 8
#define REAL_KERNELS_MAX 32
#define REAL_BESIDE_MAX	 3
#define REAL_NAMES_LEN	 128

/* Who says it. A constant is a slowdown, of all kernels and at any residency, while others run. */
enum real_way {
	REAL_LAW, /* law.h, of the demands and the curves */
	REAL_CURVE, /* as fast as alone with its own eighths, as measured: nobody is in anybody's way */
	REAL_ROUNDS, /* Cruz: speed in proportion to blocks, whose rounds are counted */
	REAL_PROBES, /* as each gets on with the probes: probes.h */
	REAL_BEFORE, /* what an earlier release said so, put behind the others in the file of predictions */
	REAL_ONE,
	REAL_TWO,
	REAL_WAYS
};

/* What a file of predictions has; the rest needs none. The last two are there where the kernels were measured beside the probes. */
#define REAL_PREDICTED (REAL_BEFORE + 1)

/* predict GPU ALONE DEMANDS [PROFILES]: of all pairs, and of the triples that are drawn; measured ones are not seen. */
int tables_predict(char **paths);
/* real PREDICTIONS MEASURED */
int tables_real(char **paths);

#endif
