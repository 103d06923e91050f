/*
 * watch.h - the library's one thread: it runs host functions and sees the engine die.
 */
#ifndef GSB_INTERPOSE_WATCH_H
#define GSB_INTERPOSE_WATCH_H

/* Start the thread; all signals are blocked in it. 0, -errno. */
int gsb_watch_start(void);

#endif
