/*
 * crew.h - threads of the library's own that copy beside the one that was asked to.
 *
 * One processor copies less than the bus brings. So a large copy from the device is taken out of its chunks by several: the
 * thread of the program does its part, and returns when all is done. They are made when the first such copy comes, spin a moment
 * for the next part, and sleep then. One copy has them at a time; another that runs beside it does all of its own.
 */
#ifndef GSB_INTERPOSE_CORE_CREW_H
#define GSB_INTERPOSE_CORE_CREW_H

#define GSB_CREW_MAX 3

/* How many there are, at most @most: made now if there were none. */
unsigned gsb_crew_hire(unsigned most);

/*
 * gsb_crew_run() - do n jobs at once, and return when all are done
 * @n: at most 1 + GSB_CREW_MAX; what is too much for those that there are this thread does, too
 */
void gsb_crew_run(void (*run)(void *job), void *const *jobs, unsigned n);

#endif
