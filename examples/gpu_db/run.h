/*
 * run.h - `gpu_db run` and `gpu_db counter`: the subcommands that use the GPU.
 */
#ifndef GPU_DB_RUN_H
#define GPU_DB_RUN_H

#include "report.h"

struct run_options {
	const char *data_dir;
	const char *query; /* "q1".."q5" or "all" */
	unsigned repeat;   /* runs of each query, if loop_s is 0 */
	double loop_s;	   /* else: repeat for this long, once at least */
	enum report_form form;
	bool kernel_share; /* say it */
	struct session_options session;
};

bool run_knows_query(const char *name);

/* Exit status: 0, or 1 if a verification failed. Errors of files and driver end the program with 2. */
int run_main(const struct run_options *options);

/**
 * counter_main() - increment a counter in a module's global memory and read it back
 * @n:     increments in all        @batch: increments per launch, 1 to 1024
 *
 * The counter belongs to the module as this process has loaded it: whatever else runs on the device,
 * n increments make n. Exit status: 0, or 1 if the counter says otherwise.
 */
int counter_main(uint64_t n, unsigned batch);

#endif
