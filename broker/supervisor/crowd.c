/*
 * crowd.c - see crowd.h.
 */
#include "broker/supervisor/crowd.h"

struct share {
	size_t of_user, of_process;
};

static struct share share_of(const struct gsb_peer *peers, size_t n, const struct gsb_peer *peer)
{
	struct share s = {0};

	for (size_t i = 0; i < n; i++) {
		if (peers[i].uid != peer->uid)
			continue;
		s.of_user++;
		s.of_process += peers[i].pid == peer->pid;
	}
	return s;
}

size_t gsb_crowd_first_to_go(const struct gsb_peer *peers, size_t n)
{
	struct share most = {0};
	size_t worst = 0;

	for (size_t i = 0; i < n; i++) {
		struct share s = share_of(peers, n, &peers[i]);

		if (s.of_user > most.of_user ||
		    (s.of_user == most.of_user && s.of_process > most.of_process)) {
			most = s;
			worst = i;
		}
	}
	return worst;
}
