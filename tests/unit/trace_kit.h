/*
 * trace_kit.h - traces made by hand, for tests of what reads them: records one behind another, as chunks of a file in
 * memory. A test says tenants, kernels and what operations there are; times are in it as they will be found.
 */
#ifndef GSB_TESTS_UNIT_TRACE_KIT_H
#define GSB_TESTS_UNIT_TRACE_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "tests/unit/temp.h"
#include "tools/trace/traced.h"
#include "trace/event.h"

struct trace_kit {
	uint8_t *bytes;
	size_t n, room;
	uint64_t real_ns;     /* of the next record */
	uint64_t numbers[64]; /* of the words of streams, by stream */
};

void trace_kit_put(struct trace_kit *k, const void *record);
void trace_kit_finish(struct trace_kit *k);

#define PUT(k, NAME, name, who, ...)                                                               \
	trace_kit_put(k, &(struct gsb_trace_##name){.head = {GSB_TRACE_##NAME,                     \
							     sizeof(struct gsb_trace_##name), who, \
							     (k)->real_ns += 10},                  \
						    __VA_ARGS__})

/* An operation from queued to completed. What is 0 of kernel, on is not there. */
struct kit_op {
	uint32_t tenant, stream;
	uint64_t serial, kernel;
	uint64_t post, ready, issued, start, end;
	uint64_t n_blocks, n_blocks_after, bytes;
	uint64_t on, beside[4];
	enum gsb_trace_park park;
	uint64_t held, predicted_ns;
	uint32_t predicted_ppm;
	enum gsb_trace_place from, to; /* a copy, when bytes is not 0 */
};

void trace_kit_op(struct trace_kit *k, const struct kit_op *op);
void trace_kit_tenant(struct trace_kit *k, uint32_t number, const char *name);
void trace_kit_kernel(struct trace_kit *k, uint32_t tenant, uint64_t function, const char *name);

/* Two tenants, kernels alone, beside each other, waiting for each other: what the tests of all reports read. */
void trace_kit_story(struct trace_kit *k);

/* Three launches of alice's scan on stream 3 from 7000 to 7500, in compact records with parts: serials 20 to 22. */
void trace_kit_compact(struct trace_kit *k);

/* A file of it; ended in order unless torn. */
int trace_kit_file(const struct trace_kit *k, int torn);
/* What it means. Fails the test when it cannot be read. */
void trace_kit_load(const struct trace_kit *k, struct gsb_traced *t);

/* Standard output and error are nobody's between the two. */
void trace_kit_silence(int saved[2]);
void trace_kit_restore(const int saved[2]);

/* A folder for profiles, and away with it and all files in it. */
void trace_kit_folder(char path[TEMP_PATH_MAX]);
void trace_kit_remove(const char *path);

#endif
