/*
 * helper.c - see helper.h.
 */
#include "interpose/core/helper.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define N_LOOKS 5

static _Atomic unsigned
	n_own; /* that run nothing of the program's; they end with the engine, if ever */

/* How many the kernel knows. 0: nobody can tell. */
static unsigned count_threads(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned n = 0;
	char line[128];

	while (status && !n && fgets(line, sizeof(line), status))
		if (sscanf(line, "Threads: %u", &n) != 1)
			n = 0;
	if (status)
		fclose(status);
	return n;
}

/* One that was joined may be counted for a moment. */
bool gsb_is_only_thread(void)
{
	unsigned n = count_threads();

	for (unsigned i = 0; i < N_LOOKS && n > atomic_load(&n_own) + 1; i++) {
		usleep(1000);
		n = count_threads();
	}
	return n && n <= atomic_load(&n_own) + 1;
}

int gsb_helper_start(void *(*run)(void *), bool for_program)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!r && !for_program)
		atomic_fetch_add(&n_own, 1);
	return -r;
}
