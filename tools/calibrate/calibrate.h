/*
 * calibrate.h - gsb-model calibrate: what kernels on one SM leave each other is measured on a device, and written as the file of a GPU.
 */
#ifndef GSB_TOOLS_CALIBRATE_CALIBRATE_H
#define GSB_TOOLS_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

struct cal_options {
	const char *device;  /* as gsb_device_params has it */
	const char *path;    /* of the file; NULL: standard output */
	const char *command; /* that is run, for the file to say */
	uint32_t units;	     /* a bit of enum gsb_unit each; 0: all that there are kernels for */
	bool quick;
};

/* "sfu,dram": 0; -1: there is no such unit, or no kernel of it: told on stderr. */
int cal_parse_units(const char *names, uint32_t *units);

/* The exit status: 0; 1: told on stderr, and no file is written. */
int cal_run(const struct cal_options *o);

#endif
