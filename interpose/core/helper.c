/*
 * helper.c - see helper.h.
 */
#include "interpose/core/helper.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

int gsb_helper_start(void *(*run)(void *))
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
	return -r;
}
