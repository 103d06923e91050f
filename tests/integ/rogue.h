/*
 * rogue.h - a tenant of a real broker that means no good: what its attacks share. The attacks stand in
 * rogue_region.c (ring, words, seals), rogue_socket.c, rogue_linger.c and rogue_code.c.
 *
 * An attack runs in a process of its own and ends in one of the ways below. It says which of them are right,
 * and says it before it does harm, because the engine may cut it off at any record from then on.
 */
#ifndef GSB_TESTS_ROGUE_H
#define GSB_TESTS_ROGUE_H

#include <stdint.h>

#include "tests/unit/tenant_kit.h"

/* How an attack ends: exit statuses of its process. */
enum rogue_end {
	ROGUE_ANSWERED, /* the engine still answers: what was done is harmless */
	ROGUE_FAILED,	/* neither broker nor engine behaved */
	ROGUE_CUT,	/* the engine cut it off, and said why */
	ROGUE_LET_GO,	/* it hung up: it is a tenant no more, and no culprit */
	ROGUE_REFUSED,	/* gsbrokerd refused it at its door, or hung up */
	ROGUE_N_ENDS
};

#define ROGUE_MAY(end)	 (1u << (end))
#define ROGUE_MAY_EITHER (ROGUE_MAY(ROGUE_ANSWERED) | ROGUE_MAY(ROGUE_CUT))

struct rogue {
	const char *path; /* of the broker's socket */
	const char *kind;
	uint64_t seed, random;
	unsigned allowed; /* ROGUE_MAY() of the ends that are right */
	struct kit_tenant kt;
	int fds[KIT_N_FDS];
	uint64_t mem; /* 256 bytes on the device */
	struct gsb_region_header shadow;
};

/* Where the descriptors of a welcome stand. */
enum rogue_fd {
	ROGUE_FD_REGION,
	ROGUE_FD_STAGING,
	ROGUE_FD_HOST,
	ROGUE_FD_DOORBELL,
	ROGUE_FD_ENGINE
};

/* Numbers that follow from the seed alone. */
uint64_t rogue_random(struct rogue *r);
void rogue_random_bytes(struct rogue *r, void *to, size_t size);

/* End this process: with a line that says how, and ROGUE_FAILED when that is not allowed. */
_Noreturn void rogue_end(struct rogue *r, enum rogue_end end, const char *how);
_Noreturn void rogue_fail(struct rogue *r, const char *what);

/* A genuine hello, until the welcome; kt.socket is connected. */
void rogue_enter(struct rogue *r);
/* Context 0 with its legacy stream, 256 bytes, "inc" as function 0. */
void rogue_settle_in(struct rogue *r);

/* Records that are posted from here on stay unseen, until the tail is published. */
void rogue_hold(struct rogue *r);
void rogue_publish(struct rogue *r, uint64_t tail);

/* Until the engine has taken all records. */
void rogue_drain(struct rogue *r);
/* Take the request for the host function `cookie` from the socket and say that it has run. */
void rogue_answer_host_func(struct rogue *r, uint64_t cookie);

/* End by the engine's last message; it is waited for. */
_Noreturn void rogue_await_cut(struct rogue *r);
/* End by hanging up, when the engine has noticed. */
_Noreturn void rogue_await_farewell(struct rogue *r);
/* A call that the engine answers unless it cut this tenant off; does not return when it did. */
void rogue_probe(struct rogue *r);
/* Until the legacy stream has done all that was posted. */
void rogue_synchronize(struct rogue *r);

struct rogue_kind {
	const char *name;
	enum { ROGUE_OUTSIDE, ROGUE_INSIDE } from; /* without a hello, or with one */
	void (*attack)(struct rogue *r);
};

extern const struct rogue_kind rogue_region_kinds[], rogue_socket_kinds[], rogue_linger_kinds[],
	rogue_code_kinds[];

/* The kernel "inc" as PTX; see struct kit_inc. */
extern const char rogue_ptx[];

#endif
