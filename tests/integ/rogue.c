/*
 * rogue.c - processes that a broker would rather not meet: each says a genuine hello and then breaks one rule.
 *
 *   rogue SOCKET KIND SEED ROUNDS
 *
 * Each round is a process of its own with the next seed, which decides all it does. It prints how its attack
 * ended, the last line counts the ends. Exits 0 when broker and engine behaved in every round: the attack
 * was harmless and the engine still answers, or the culprit was cut off with a reason, or it hung up and was
 * let go. It never hangs: the end of the engine ends a round at once, and a limit ends one that nobody answers.
 */
#include "tests/integ/rogue.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "shm/channel.h"
#include "shm/wait.h"

#define LIMIT_S 60

static const char *const end_names[ROGUE_N_ENDS] = {
	[ROGUE_ANSWERED] = "answered", [ROGUE_FAILED] = "FAILED",   [ROGUE_CUT] = "cut off",
	[ROGUE_LET_GO] = "let go",     [ROGUE_REFUSED] = "refused",
};

const char rogue_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n.visible .global .u32 x[4];\n"
	".visible .entry inc(.param .u64 p, .param .u64 n)\n{\n"
	"\t.reg .b64 %a, %n;\n\t.reg .b32 %v;\n\t.reg .pred %go;\n"
	"\tld.param.u64 %a, [p];\n\tld.param.u64 %n, [n];\nloop:\n"
	"\tld.global.u32 %v, [%a];\n\tadd.u32 %v, %v, 1;\n\tst.global.u32 [%a], %v;\n"
	"\tadd.s64 %a, %a, 4;\n\tsub.s64 %n, %n, 1;\n"
	"\tsetp.gt.s64 %go, %n, 0;\n\t@%go bra loop;\n\tret;\n}\n";

/* ---- chance ---- */

uint64_t rogue_random(struct rogue *r)
{
	uint64_t z = r->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void rogue_random_bytes(struct rogue *r, void *to, size_t size)
{
	uint8_t *bytes = to;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)rogue_random(r);
}

/* ---- ends ---- */

void rogue_end(struct rogue *r, enum rogue_end end, const char *how)
{
	bool right = r->allowed & ROGUE_MAY(end);

	printf("%s %llu, pid %d: %s%s%s%s\n", r->kind, (unsigned long long)r->seed, (int)getpid(),
	       end_names[end], *how ? ": " : "", how, right ? "" : " (which is WRONG)");
	fflush(stdout);
	_exit(right ? end : ROGUE_FAILED); /* what it mapped and started is torn down as it is */
}

void rogue_fail(struct rogue *r, const char *what)
{
	r->allowed = 0;
	rogue_end(r, ROGUE_FAILED, what);
}

/* The region says that this is the end; the message on the socket says why. */
void rogue_await_cut(struct rogue *r)
{
	union {
		struct gsb_msg msg;
		struct gsb_msg_cut cut;
	} m;
	ssize_t n;

	do
		n = gsb_channel_recv(r->kt.socket, &m, sizeof(m), NULL, NULL);
	while (n > 0 && m.msg.type != GSB_MSG_CUT);
	rogue_end(r, ROGUE_CUT, n > 0 ? m.cut.reason : "without a word");
}

void rogue_await_farewell(struct rogue *r)
{
	const _Atomic uint32_t *fatal = &r->kt.region->header.fatal;

	while (!atomic_load(fatal))
		sched_yield();
	rogue_end(r, ROGUE_LET_GO, "");
}

/* ---- life with the engine ---- */

static void *watch_engine(void *arg)
{
	struct rogue *r = arg;
	struct pollfd p = {.fd = r->fds[ROGUE_FD_ENGINE], .events = POLLIN};

	while (poll(&p, 1, -1) < 1)
		;
	rogue_fail(r, "the engine is dead");
}

static void wait_for(struct rogue *r, const struct gsb_wait *w)
{
	if (gsb_thread_wait(r->kt.region, r->kt.slot, w, NULL, NULL))
		rogue_await_cut(r);
}

/* The engine serves others at the same time: it has done what concerns us when our last call is answered. */
static void settle(struct kit_tenant *kt)
{
	wait_for(gsb_container_of(kt, struct rogue, kt),
		 &(struct gsb_wait){.kind = GSB_WAIT_REPLY, .value = kt->n_calls});
}

static void say_hello(struct rogue *r)
{
	struct gsb_msg_hello hello = {
		.features_wanted = GSB_FEATURE_STAGING | GSB_FEATURE_HOST_WINDOW,
		.pid = (uint32_t)getpid(),
		.tenant = "rogue",
	};

	gsb_msg_init(&hello.msg, GSB_MSG_HELLO, sizeof(hello));
	snprintf(hello.program, sizeof(hello.program), "%s", r->kind);
	if (gsb_channel_connect(r->path, &r->kt.socket) ||
	    gsb_channel_send(r->kt.socket, &hello.msg, NULL, 0))
		rogue_fail(r, "no connection to the broker");
}

void rogue_enter(struct rogue *r)
{
	pthread_t watcher;

	say_hello(r);
	kit_tenant_attach(&r->kt, r->fds);
	r->kt.settle = settle;
	if (pthread_create(&watcher, NULL, watch_engine, r))
		rogue_fail(r, "no thread");
}

void rogue_settle_in(struct rogue *r)
{
	struct gsb_rec_ctx_create body = {.ctx = kit_ctx(0), .legacy = kit_stream(0)};

	if (kit_call(&r->kt, GSB_REC_CTX_CREATE, &body, sizeof(body), NULL, 0))
		rogue_fail(r, "no context");
	r->mem = kit_alloc(&r->kt, 256);
	if (kit_load(&r->kt, 0, 0, rogue_ptx, strlen(rogue_ptx)))
		rogue_fail(r, "no module");
}

void rogue_hold(struct rogue *r)
{
	struct gsb_ring_producer *p = &r->kt.producer;

	atomic_store(&r->shadow.head, atomic_load(&p->header->head));
	p->header = &r->shadow;
}

void rogue_publish(struct rogue *r, uint64_t tail)
{
	struct gsb_region_header *header = &r->kt.region->header;
	const uint64_t one = 1;

	r->kt.producer.header = header;
	atomic_store(&header->doorbell, (uint32_t)r->kt.doorbell + 1);
	atomic_store(&header->tail, tail);
	/* Whatever became of the words that say whether it sleeps. */
	if (write(r->kt.doorbell, &one, sizeof(one)) < 0)
		rogue_fail(r, "the doorbell does not ring");
}

void rogue_probe(struct rogue *r)
{
	struct gsb_rec_ctx body = {kit_ctx(0)};

	kit_call(&r->kt, GSB_REC_MEM_INFO, &body, sizeof(body), NULL, 0);
}

void rogue_drain(struct rogue *r)
{
	wait_for(r, &(struct gsb_wait){.kind = GSB_WAIT_RING, .value = r->kt.producer.tail});
}

void rogue_answer_host_func(struct rogue *r, uint64_t cookie)
{
	struct gsb_msg_host_func m;
	ssize_t n = gsb_channel_recv(r->kt.socket, &m, sizeof(m), NULL, NULL);

	if (n != sizeof(m) || m.msg.type != GSB_MSG_HOST_FUNC || m.cookie != cookie)
		rogue_fail(r, "another message than the host function's");
	if (gsb_channel_send(r->kt.socket, &m.msg, NULL, 0))
		rogue_fail(r, "the socket does not take the answer");
}

void rogue_synchronize(struct rogue *r)
{
	wait_for(r, &(struct gsb_wait){.kind = GSB_WAIT_STREAM, .value = r->kt.n_posted[0]});
}

/* ---- rounds ---- */

static const struct rogue_kind *find_kind(const char *name)
{
	const struct rogue_kind *const lists[] = {rogue_region_kinds, rogue_socket_kinds,
						  rogue_linger_kinds, rogue_code_kinds};

	for (size_t i = 0; i < GSB_ARRAY_LEN(lists); i++)
		for (const struct rogue_kind *k = lists[i]; k->name; k++)
			if (!strcmp(k->name, name))
				return k;
	return NULL;
}

static _Noreturn void run(const char *path, const struct rogue_kind *kind, uint64_t seed)
{
	static struct rogue r;

	r = (struct rogue){.path = path, .kind = kind->name, .seed = seed, .random = seed};
	r.allowed = ROGUE_MAY_EITHER;
	alarm(LIMIT_S);
	if (kind->from == ROGUE_INSIDE) {
		rogue_enter(&r);
		rogue_settle_in(&r);
	}
	kind->attack(&r);
	rogue_probe(&r);
	rogue_end(&r, ROGUE_ANSWERED, "");
}

static enum rogue_end round_of(const char *path, const struct rogue_kind *kind, uint64_t seed)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		run(path, kind, seed);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) < ROGUE_N_ENDS)
		return (enum rogue_end)WEXITSTATUS(status);
	printf("%s %llu, pid %d: FAILED: wait status %#x%s\n", kind->name, (unsigned long long)seed,
	       (int)pid, (unsigned)status,
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ", nobody answered" : "");
	return ROGUE_FAILED;
}

int main(int argc, char **argv)
{
	const struct rogue_kind *kind = argc == 5 ? find_kind(argv[2]) : NULL;
	unsigned n[ROGUE_N_ENDS] = {0};
	uint64_t seed, n_rounds;

	if (!kind) {
		fprintf(stderr, "usage: rogue SOCKET KIND SEED ROUNDS\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* nothing is in it when a round begins */
	seed = strtoull(argv[3], NULL, 0);
	n_rounds = strtoull(argv[4], NULL, 0);
	for (uint64_t i = 0; i < n_rounds; i++)
		n[round_of(argv[1], kind, seed + i)]++;
	printf("%s:", kind->name);
	for (unsigned i = 0; i < ROGUE_N_ENDS; i++)
		printf(" %u %s", n[i], end_names[i]);
	putchar('\n');
	return n[ROGUE_FAILED] != 0;
}
