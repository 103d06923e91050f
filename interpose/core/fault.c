/*
 * fault.c - see fault.h.
 */
#include "interpose/core/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static const char *const states[GSB_N_FAULT_STATES] = {
	[GSB_FAULT_HELLO] = "hello",
	[GSB_FAULT_RECORD] = "record",
	[GSB_FAULT_POSTED] = "posted",
	[GSB_FAULT_WAITING] = "waiting",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum gsb_fault_state armed;
static _Atomic unsigned long left;

/* Reads GSB_TEST_DIE; a value that is not STATE:N is named and ignored. */
static void arm(void)
{
	const char *text = getenv("GSB_TEST_DIE"), *colon = text ? strchr(text, ':') : NULL;
	unsigned long n = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (!text)
		return;
	for (int i = GSB_FAULT_HELLO; n && i < GSB_N_FAULT_STATES; i++)
		if (strlen(states[i]) == (size_t)(colon - text) &&
		    !strncmp(states[i], text, (size_t)(colon - text))) {
			atomic_store(&left, n);
			armed = (enum gsb_fault_state)i;
			return;
		}
	gsb_log(GSB_LOG_ERROR, "fault", "GSB_TEST_DIE=%s: write hello|record|posted|waiting:N",
		text);
}

void gsb_fault_point(enum gsb_fault_state state)
{
	pthread_once(&once, arm);
	if (armed == state && atomic_fetch_sub(&left, 1) == 1)
		kill(getpid(), SIGKILL);
}
