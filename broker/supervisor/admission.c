/*
 * admission.c - see admission.h. Deny goes before allow; an empty allow list lets everybody in who
 * could open the socket.
 */
#include "broker/supervisor/admission.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

static bool any_group_in(const struct gsb_id_list *l, const struct gsb_admission_request *r)
{
	if (gsb_id_list_has(l, r->peer.gid))
		return true;
	for (unsigned i = 0; i < r->n_groups; i++)
		if (gsb_id_list_has(l, r->groups[i]))
			return true;
	return false;
}

int gsb_admission_check(const struct gsb_admission_config *a, const struct gsb_admission_request *r,
			char why[GSB_REASON_MAX])
{
	bool open = !a->allow_uid.n && !a->allow_gid.n;

	if (gsb_id_list_has(&a->deny_uid, r->peer.uid) || any_group_in(&a->deny_gid, r)) {
		snprintf(why, GSB_REASON_MAX,
			 "uid %u is barred by deny_uid or deny_gid in gsbroker.conf: ask the "
			 "administrator",
			 r->peer.uid);
		return -EACCES;
	}
	if (!open && !gsb_id_list_has(&a->allow_uid, r->peer.uid) &&
	    !any_group_in(&a->allow_gid, r)) {
		snprintf(why, GSB_REASON_MAX,
			 "uid %u is not in allow_uid or allow_gid of gsbroker.conf: ask the "
			 "administrator to add it",
			 r->peer.uid);
		return -EACCES;
	}
	if (r->n_tenants >= a->max_tenants) {
		snprintf(why, GSB_REASON_MAX,
			 "max_tenants is reached (%u of %u): wait until a tenant ends, or raise it "
			 "in gsbroker.conf",
			 r->n_tenants, (unsigned)a->max_tenants);
		return -EUSERS;
	}
	if (r->n_tenants_of_uid >= a->max_tenants_per_uid) {
		snprintf(why, GSB_REASON_MAX,
			 "max_tenants_per_uid is reached (%u of %u for uid %u): wait until one of "
			 "them ends, or raise it in gsbroker.conf",
			 r->n_tenants_of_uid, (unsigned)a->max_tenants_per_uid, r->peer.uid);
		return -EUSERS;
	}
	return 0;
}

bool gsb_admission_may_control(const struct gsb_admission_config *a,
			       const struct gsb_admission_request *r, uid_t own_uid)
{
	return r->peer.uid == 0 || r->peer.uid == own_uid || any_group_in(&a->control_gid, r);
}

bool gsb_admission_may_see_all(const struct gsb_admission_config *a,
			       const struct gsb_admission_request *r, uid_t own_uid)
{
	return gsb_admission_may_control(a, r, own_uid) || any_group_in(&a->status_gid, r);
}

int gsb_peer_groups(int fd, gid_t **out, unsigned *n)
{
	socklen_t bytes = 64 * sizeof(gid_t);
	gid_t *groups = NULL, *grown;

	/* ERANGE stores the bytes that it takes; the groups of a peer never change. */
	do {
		grown = realloc(groups, bytes ? bytes : 1);
		if (!grown) {
			free(groups);
			return -ENOMEM;
		}
		groups = grown;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) == 0) {
			*out = groups;
			*n = bytes / sizeof(gid_t);
			return 0;
		}
	} while (errno == ERANGE);
	free(groups);
	return -errno;
}
