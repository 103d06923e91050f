/*
 * admission.h - who may be a tenant, and who may control: the rules of [admission], without a socket
 * or a clock in them.
 */
#ifndef GSB_BROKER_SUPERVISOR_ADMISSION_H
#define GSB_BROKER_SUPERVISOR_ADMISSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "broker/config/config.h"
#include "broker/supervisor/supervisor.h"
#include "shm/channel.h"

/* Who asks, and how many there are already. */
struct gsb_admission_request {
	struct gsb_peer peer;
	const gid_t *groups; /* of the peer, beside its gid */
	unsigned n_groups;
	unsigned n_tenants, n_tenants_of_uid;
};

/* Return: 0, -EACCES, -EUSERS; then why is one sentence with the remedy. */
int gsb_admission_check(const struct gsb_admission_config *a, const struct gsb_admission_request *r,
			char why[GSB_REASON_MAX]);
/* Whether the peer may reload and shut down. */
bool gsb_admission_may_control(const struct gsb_admission_config *a,
			       const struct gsb_admission_request *r, uid_t own_uid);
/* Whether the peer sees the tenants of all users. */
bool gsb_admission_may_see_all(const struct gsb_admission_config *a,
			       const struct gsb_admission_request *r, uid_t own_uid);
/* Supplementary groups of a socket's peer; free() them. A failure must refuse: deny_gid needs them. */
int gsb_peer_groups(int fd, gid_t **groups, unsigned *n);

#endif
