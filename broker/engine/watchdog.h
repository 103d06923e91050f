/*
 * watchdog.h - a second thread that sees when the engine's is caught in a call of the driver; see watchdog.c.
 */
#ifndef GSB_BROKER_ENGINE_WATCHDOG_H
#define GSB_BROKER_ENGINE_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gsb_watchdog {
	uint64_t limit_ns;
	void (*on_stuck)(void *arg); /* on its thread, once */
	void *arg;
	_Atomic uint64_t n_turns; /* odd: in one */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	_Atomic bool dozing; /* nothing is to be watched: it waits for `change` */
	bool stop;	     /* under lock */
	bool started;
};

/*
 * gsb_watchdog_start() - watch, from now on, turns of the thread that calls the two below
 * @limit_ns: a turn that lasts longer is stuck; 0: nobody watches, and the calls below cost a comparison
 * Return: 0, -errno when no thread can be made. gsb_watchdog_stop() is right for a zeroed one, too.
 */
int gsb_watchdog_start(struct gsb_watchdog *w, uint64_t limit_ns, void (*on_stuck)(void *arg),
		       void *arg);
void gsb_watchdog_stop(struct gsb_watchdog *w);

void gsb_watchdog_begin(struct gsb_watchdog *w);
void gsb_watchdog_end(struct gsb_watchdog *w);

#endif
