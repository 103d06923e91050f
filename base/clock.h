/*
 * clock.h - the two real clocks. Virtual time belongs to the device (device/ops.h).
 */
#ifndef GSB_BASE_CLOCK_H
#define GSB_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns; never goes back. Any thread. */
uint64_t gsb_clock_ns(void);

/* CPU time of the calling thread in ns. */
uint64_t gsb_clock_thread_ns(void);

#endif
