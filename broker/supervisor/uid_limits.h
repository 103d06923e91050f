/*
 * uid_limits.h - how often each user may cause a line of the log.
 */
#ifndef GSB_BROKER_SUPERVISOR_UID_LIMITS_H
#define GSB_BROKER_SUPERVISOR_UID_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
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

/* gsb_log() of a line that one of uid's has caused, unless they cause too many; with how many were held back before it. */
void gsb_uid_log(struct gsb_uid_limits *l, uid_t uid, enum gsb_log_level level, const char *topic,
		 const char *fmt, ...) GSB_PRINTF(5, 6);

/* No more of them come: say how many were held back since the last ones. */
void gsb_uid_log_end(struct gsb_uid_limits *l, enum gsb_log_level level, const char *topic);

#endif
