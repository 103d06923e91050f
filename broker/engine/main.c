/*
 * engine_main.c - gsb-engine: arguments, signals, and the loop of turns and sleeps.
 *
 * Started by gsbrokerd only (control.h says with what), so it has no --help of its own beyond
 * naming that. It exits 0 when it was told to, 1 when the device could not be opened or was lost,
 * 2 for arguments that it does not understand.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "broker/engine/engine.h"
#include "broker/engine/control.h"
#include "broker/engine/loop.h"
#include "broker/engine/trace/tp.h"

#define TURNS_PER_LISTEN 64 /* a busy engine looks at its descriptors this often */

struct arguments {
	struct gsb_device_params device;
	struct gsb_engine_params engine;
	const char *policy;
	uint64_t control_fd, n_workers, gate_timeout_ms, kernel_limit_ms;
	enum gsb_log_level level;
	bool trace;
};

enum argument {
	OPT_CONTROL_FD = 1,
	OPT_DEVICE,
	OPT_POLICY,
	OPT_WORKERS,
	OPT_MEM_LIMIT,
	OPT_REAL_CLOCK,
	OPT_HOST_CALL_NS,
	OPT_GATE_TIMEOUT_MS,
	OPT_KERNEL_LIMIT_MS,
	OPT_FLIP,
	OPT_TRACE,
	OPT_LOG_LEVEL
};

static const struct option options[] = {
	{"control-fd", required_argument, NULL, OPT_CONTROL_FD},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"policy", required_argument, NULL, OPT_POLICY},
	{"workers", required_argument, NULL, OPT_WORKERS},
	{"mem-limit", required_argument, NULL, OPT_MEM_LIMIT},
	{"real-clock", no_argument, NULL, OPT_REAL_CLOCK},
	{"host-call-ns", required_argument, NULL, OPT_HOST_CALL_NS},
	{"gate-timeout-ms", required_argument, NULL, OPT_GATE_TIMEOUT_MS},
	{"kernel-limit-ms", required_argument, NULL, OPT_KERNEL_LIMIT_MS},
	{"flip", required_argument, NULL, OPT_FLIP},
	{"trace", no_argument, NULL, OPT_TRACE},
	{"log-level", required_argument, NULL, OPT_LOG_LEVEL},
	{0},
};

static int parse_number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || v > max)
		return -EINVAL;
	*out = v;
	return 0;
}

static int set_option(struct arguments *a, enum argument opt, const char *value)
{
	switch (opt) {
	case OPT_CONTROL_FD: return parse_number(value, INT32_MAX, &a->control_fd);
	case OPT_DEVICE: a->device.spec = value; return 0;
	case OPT_POLICY:
		a->engine.policy = gsb_policy_find(value);
		return a->engine.policy ? 0 : -EINVAL;
	case OPT_WORKERS: return parse_number(value, 1024, &a->n_workers);
	case OPT_MEM_LIMIT: return parse_number(value, UINT64_MAX, &a->device.mem_limit_bytes);
	case OPT_REAL_CLOCK: a->device.real_clock = true; return 0;
	case OPT_HOST_CALL_NS: return parse_number(value, UINT32_MAX, &a->engine.host_call_ns);
	case OPT_GATE_TIMEOUT_MS: return parse_number(value, UINT32_MAX, &a->gate_timeout_ms);
	case OPT_KERNEL_LIMIT_MS: return parse_number(value, UINT32_MAX, &a->kernel_limit_ms);
	case OPT_FLIP: a->device.flip = value; return 0;
	case OPT_TRACE: a->trace = true; return 0;
	case OPT_LOG_LEVEL: return gsb_log_level_parse(value, &a->level) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int parse(int argc, char **argv, struct arguments *a)
{
	int opt, index = 0;

	while ((opt = getopt_long(argc, argv, "", options, &index)) > 0) {
		if (opt != '?' && !set_option(a, (enum argument)opt, optarg))
			continue;
		if (opt != '?')
			fprintf(stderr, "gsb-engine: --%s %s: not a valid value\n",
				options[index].name, optarg);
		return -EINVAL;
	}
	if (optind == argc && a->control_fd && a->device.spec)
		return 0;
	fprintf(stderr, "gsb-engine is started by gsbrokerd: --control-fd N --device SPEC ...\n");
	return -EINVAL;
}

/* ---- signals ---- */

struct signals {
	struct gsb_watch watch;
	bool stop;
};

static void on_signal(struct gsb_watch *w, uint32_t events)
{
	gsb_container_of(w, struct signals, watch)->stop = true;
}

/* Before any thread is made: all of them inherit the mask, so that only the signalfd sees SIGTERM. */
static void block_signals(sigset_t *set)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

static int watch_signals(struct gsb_engine *e, struct signals *s)
{
	sigset_t set;

	block_signals(&set);
	*s = (struct signals){.watch = {signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_signal}};
	return s->watch.fd < 0 ? -errno : gsb_watches_add(&e->watches, &s->watch, EPOLLIN);
}

/* ---- the loop ---- */

static void run(struct gsb_engine *e, const struct gsb_control *c, const struct signals *s)
{
	unsigned busy = 0;

	while (!c->stop && !s->stop && !e->scheduler.lost && !(e->draining && !e->n_tenants)) {
		if (!gsb_engine_turn(e))
			gsb_engine_sleep(e);
		else if (++busy % TURNS_PER_LISTEN == 0)
			gsb_engine_listen(e, 0);
	}
}

/* Consumes dev. */
static int serve(struct gsb_device *dev, const struct arguments *a)
{
	struct gsb_engine *e = NULL;
	struct gsb_control control;
	struct signals signals;
	int err = gsb_engine_create(dev, &a->engine, &e), lost;

	if (err) {
		gsb_control_failed((int)a->control_fd, err,
				   "the engine has no memory or descriptors");
		dev->ops->close(dev);
		return 1;
	}
	err = watch_signals(e, &signals);
	if (!err)
		err = gsb_control_init(&control, e, (int)a->control_fd);
	if (!err) {
		run(e, &control, &signals);
		gsb_control_finish(&control);
	}
	lost = gsb_engine_destroy(e);
	close(signals.watch.fd);
	if (!lost)
		dev->ops->close(dev);
	return err || lost;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.engine = {.policy = &gsb_policy_fifo, .host_call_ns = GSB_DEFAULT_HOST_CALL_NS},
		.gate_timeout_ms = GSB_DEFAULT_GATE_TIMEOUT_NS / 1000000,
		.level = GSB_LOG_WARN,
	};
	struct gsb_device *dev;
	char why[256] = "";
	sigset_t set;
	int err;

	block_signals(&set);
	gsb_log_init("gsb-engine", a.level);
	if (parse(argc, argv, &a))
		return 2;
	gsb_log_init("gsb-engine", a.level);
	gsb_log_never_wait();
	if (a.trace)
		gsb_tp_start(); /* without events is still better than without an engine */
	a.device.n_workers = (unsigned)a.n_workers;
	a.engine.gate_timeout_ns = a.gate_timeout_ms * 1000000;
	a.engine.kernel_limit_ns = a.kernel_limit_ms * 1000000;
	err = gsb_device_open(&a.device, &dev, why, sizeof(why));
	if (err) {
		gsb_log(GSB_LOG_ERROR, "device", "%s", why);
		gsb_control_failed((int)a.control_fd, err, why);
		return 1;
	}
	return serve(dev, &a);
}
