/*
 * crowd.h - of connections that cost room until they say something, or read, which one goes when there are too many. Pure.
 */
#ifndef GSB_BROKER_SUPERVISOR_CROWD_H
#define GSB_BROKER_SUPERVISOR_CROWD_H

#include <stddef.h>

#include "shm/channel.h"

#define GSB_CROWD_MAX 257 /* that there are ever at one time, the one that is too many included */

/*
 * gsb_crowd_first_to_go() - the oldest connection of the process that has most, of the user who has most
 * @peers: n of them, at least one, in order of arrival
 */
size_t gsb_crowd_first_to_go(const struct gsb_peer *peers, size_t n);

#endif
