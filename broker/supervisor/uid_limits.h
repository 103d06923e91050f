/*
 * uid_limits.h - how often each user may cause a line of the log.
 */
#ifndef GSB_BROKER_SUPERVISOR_UID_LIMITS_H
#define GSB_BROKER_SUPERVISOR_UID_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"

#define GSB_UID_LIMITS_MAX 64 /* past it, the user who was quiet longest is fresh again */

struct gsb_uid_limits {
	unsigned n;
	struct {
		uid_t uid;
		struct gsb_log_limit limit;
	} at[GSB_UID_LIMITS_MAX];
};

/* As gsb_log_limit_pass(), for one user. Zeroed is fresh for all. */
bool gsb_uid_limits_pass(struct gsb_uid_limits *l, uid_t uid, uint64_t now_ns, unsigned *n_held);

#endif
