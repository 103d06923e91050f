/*
 * amounts.h - times and sizes as people read them.
 */
#ifndef GSB_TOOLS_TRACE_AMOUNTS_H
#define GSB_TOOLS_TRACE_AMOUNTS_H

#include <stdint.h>

#define GSB_AMOUNT_MAX 32

void gsb_ns_text(uint64_t ns, char out[GSB_AMOUNT_MAX]);       /* "1.23 ms" */
void gsb_bytes_text(uint64_t bytes, char out[GSB_AMOUNT_MAX]); /* "4.0 KiB" */

/* A moment in ms since another, which may be the later one. */
static inline double gsb_ms_since(uint64_t ns, uint64_t begin_ns)
{
	return (double)(int64_t)(ns - begin_ns) / 1e6;
}

static inline double gsb_us(uint64_t ns)
{
	return (double)ns / 1000;
}

/* part of whole in percent; 0 of nothing */
static inline double gsb_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

#endif
