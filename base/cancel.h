/*
 * cancel.h - a thread that pthread_cancel() ends does so where it happens to wait, with the locks that it has: nobody would
 * give these back. Where the library may wait with one, ending is put off.
 */
#ifndef GSB_BASE_CANCEL_H
#define GSB_BASE_CANCEL_H

#include <pthread.h>

/* Return: for gsb_cancel_let_go() */
static inline int gsb_cancel_hold(void)
{
	int was = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

static inline void gsb_cancel_let_go(int was)
{
	pthread_setcancelstate(was, NULL);
}

#endif
