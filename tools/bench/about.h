/*
 * about.h - what a measurement is of, so that a file of figures says it itself: GPU, driver, when, and by which command.
 */
#ifndef GSB_TOOLS_BENCH_ABOUT_H
#define GSB_TOOLS_BENCH_ABOUT_H

#include <stddef.h>

struct gsb_about {
	char gpu[128];	   /* as the driver names it to a program */
	char driver[32];   /* of NVIDIA's kernel module; empty without one */
	char time[32];	   /* UTC, when it began */
	char command[512]; /* words with spaces between */
};

/* All but the GPU, which a program under the broker asks for. */
void gsb_about_begin(struct gsb_about *a, int argc, char **argv);

/*
 * gsb_about_driver() - the version in the first line of /proc/driver/nvidia/version
 * @out: empty when there is none in it
 */
void gsb_about_driver(const char *line, char *out, size_t size);

#endif
