/*
 * main.c - gsb-engine: arguments, signals, and the loop of turns and sleeps.
 *
 * Started by gsbrokerd only (control.h says with what). It exits 0 when it was told to, 1 when the
 * device could not be opened or was lost, 2 for arguments that it does not understand.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "broker/engine/code/cache.h"
#include "broker/engine/engine.h"
#include "broker/engine/control.h"
#include "broker/engine/loop.h"
#include "broker/engine/trace/trace.h"
#include "broker/engine/tracing.h"
#include "broker/engine/watchdog.h"
#include "broker/policy/bound.h"

#define TURNS_PER_LISTEN 64 /* a busy engine looks at its descriptors this often */

struct arguments {
	struct gsb_device_params device;
	struct gsb_engine_params engine;
	const char *policy;
	uint64_t control_fd, n_workers, gate_timeout_ms, kernel_limit_ms, orphan_limit_ms,
		shadow_limit_ms;
	uint64_t critical_wait_us, critical_sms_percent;
	uint64_t start_line, start_line_ms, spare_lanes, connections;
	enum gsb_log_level level;
	bool trace, mps;
};

enum argument {
	OPT_CONTROL_FD = 256,
	OPT_DEVICE,
	OPT_POLICY,
	OPT_CRITICAL_WAIT_US,
	OPT_CRITICAL_SMS_PERCENT,
	OPT_WORKERS,
	OPT_MEM_LIMIT,
	OPT_REAL_CLOCK,
	OPT_HOST_CALL_NS,
	OPT_GATE_TIMEOUT_MS,
	OPT_KERNEL_LIMIT_MS,
	OPT_ORPHAN_LIMIT_MS,
	OPT_START_LINE,
	OPT_START_LINE_MS,
	OPT_RESIZE,
	OPT_RESIZE_FORCE,
	OPT_RESIZE_ALLOW,
	OPT_RESIZE_DENY,
	OPT_RESIZE_MAX_LOSS,
	OPT_RESIZE_CACHE,
	OPT_RESIZE_CACHE_SIZE,
	OPT_RESIZE_SHADOW_EVERY,
	OPT_RESIZE_SHADOW_MEMORY,
	OPT_RESIZE_SHADOW_LIMIT_MS,
	OPT_FLIP,
	OPT_SINGLE,
	OPT_SPARE_LANES,
	OPT_CONNECTIONS,
	OPT_MPS,
	OPT_TRACE,
	OPT_LOG_LEVEL,
	OPT_END
};

static const struct argp_option options[] = {
	{"control-fd", OPT_CONTROL_FD, "N", 0, "its end of the socket pair", 0},
	{"device", OPT_DEVICE, "SPEC", 0,
	 "cuda:N, emu:NAME, emu:/FILE, null, or lanes: and one of them", 0},
	{"policy", OPT_POLICY, "NAME", 0, "order of issue", 0},
	{"critical-wait-us", OPT_CRITICAL_WAIT_US, "N", 0,
	 "SMs come free for a critical tenant within this", 0},
	{"critical-sms-percent", OPT_CRITICAL_SMS_PERCENT, "N", 0,
	 "of the SMs, kept free for critical tenants", 0},
	{"workers", OPT_WORKERS, "N", 0, "threads that execute blocks; 0: one for each CPU", 0},
	{"mem-limit", OPT_MEM_LIMIT, "BYTES", 0, "device memory to offer; 0: what there is", 0},
	{"real-clock", OPT_REAL_CLOCK, NULL, 0, "device time is real time", 0},
	{"host-call-ns", OPT_HOST_CALL_NS, "N", 0, "virtual time: what a driver call costs", 0},
	{"gate-timeout-ms", OPT_GATE_TIMEOUT_MS, "N", 0,
	 "virtual time: how long a busy tenant is waited for", 0},
	{"kernel-limit-ms", OPT_KERNEL_LIMIT_MS, "N", 0, "a kernel that runs longer is ended", 0},
	{"orphan-limit-ms", OPT_ORPHAN_LIMIT_MS, "N", 0,
	 "one of a program that has left longer ago sends new programs elsewhere", 0},
	{"start-line", OPT_START_LINE, "N", 0, "tenants that begin together", 0},
	{"start-line-ms", OPT_START_LINE_MS, "N", 0, "how long they wait for each other", 0},
	{"resize", OPT_RESIZE, "MODE", 0, "off, safe or shadow", 0},
	{"resize-force", OPT_RESIZE_FORCE, "SHAPE", 0, "of every launch that admits it", 0},
	{"resize-allow", OPT_RESIZE_ALLOW, "NAMES", 0, "kernels that may be resized", 0},
	{"resize-deny", OPT_RESIZE_DENY, "NAMES", 0, "kernels that may not", 0},
	{"resize-max-loss", OPT_RESIZE_MAX_LOSS, "PERCENT", 0,
	 "of the resident threads that a form may lose", 0},
	{"resize-cache", OPT_RESIZE_CACHE, "FOLDER", 0, "where to keep what was found out", 0},
	{"resize-cache-size", OPT_RESIZE_CACHE_SIZE, "BYTES", 0, "what that may come to", 0},
	{"resize-shadow-every", OPT_RESIZE_SHADOW_EVERY, "N", 0,
	 "one launch in so many is run both ways", 0},
	{"resize-shadow-memory", OPT_RESIZE_SHADOW_MEMORY, "BYTES", 0,
	 "contexts with more are not copied", 0},
	{"resize-shadow-limit-ms", OPT_RESIZE_SHADOW_LIMIT_MS, "N", 0,
	 "kernels that took longer are not run twice", 0},
	{"flip", OPT_FLIP, "SPEC", 0, "fault injection, for tests", 0},
	{"single", OPT_SINGLE, NULL, 0, "it serves one process", 0},
	{"connections", OPT_CONNECTIONS, "N", 0,
	 "device cuda:N: commands that run without standing behind others", 0},
	{"spare-lanes", OPT_SPARE_LANES, "N", 0, "device lanes:SPEC: ready before they are wanted",
	 0},
	{"mps", OPT_MPS, NULL, 0, "it is a client of MPS", 0},
	{"trace", OPT_TRACE, NULL, 0, "offer LTTng-UST events", 0},
	{"log-level", OPT_LOG_LEVEL, "LEVEL", 0, "off, error, warn, info or debug", 0},
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

static int parse_mode(const char *text, enum gsb_resize_mode *out)
{
	static const char *const words[] = {"off", "safe", "shadow"};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(words); i++)
		if (!strcmp(text, words[i])) {
			*out = (enum gsb_resize_mode)i;
			return 0;
		}
	return -EINVAL;
}

static int set_option(struct arguments *a, enum argument opt, const char *value)
{
	struct gsb_resizing *r = &a->engine.resizing;

	switch (opt) {
	case OPT_CONTROL_FD: return parse_number(value, INT32_MAX, &a->control_fd);
	case OPT_DEVICE: a->device.spec = value; return 0;
	case OPT_POLICY:
		a->engine.policy = gsb_policy_find(value);
		return a->engine.policy ? 0 : -EINVAL;
	case OPT_CRITICAL_WAIT_US: return parse_number(value, 1000000, &a->critical_wait_us);
	case OPT_CRITICAL_SMS_PERCENT: return parse_number(value, 90, &a->critical_sms_percent);
	case OPT_WORKERS: return parse_number(value, 1024, &a->n_workers);
	case OPT_MEM_LIMIT: return parse_number(value, UINT64_MAX, &a->device.mem_limit_bytes);
	case OPT_REAL_CLOCK: a->device.real_clock = true; return 0;
	case OPT_HOST_CALL_NS: return parse_number(value, UINT32_MAX, &a->engine.host_call_ns);
	case OPT_GATE_TIMEOUT_MS: return parse_number(value, UINT32_MAX, &a->gate_timeout_ms);
	case OPT_KERNEL_LIMIT_MS: return parse_number(value, UINT32_MAX, &a->kernel_limit_ms);
	case OPT_ORPHAN_LIMIT_MS: return parse_number(value, UINT32_MAX, &a->orphan_limit_ms);
	case OPT_START_LINE: return parse_number(value, GSB_N_SLOTS, &a->start_line);
	case OPT_START_LINE_MS: return parse_number(value, UINT32_MAX, &a->start_line_ms);
	case OPT_RESIZE: return parse_mode(value, &r->mode);
	case OPT_RESIZE_FORCE: return gsb_shape_parse(value, &r->force);
	case OPT_RESIZE_ALLOW: r->allow = value; return 0;
	case OPT_RESIZE_DENY: r->deny = value; return 0;
	case OPT_RESIZE_MAX_LOSS: return parse_number(value, 100, &r->max_loss_percent);
	case OPT_RESIZE_CACHE: r->cache = value; return 0;
	case OPT_RESIZE_CACHE_SIZE: return parse_number(value, UINT64_MAX, &r->cache_bytes);
	case OPT_RESIZE_SHADOW_EVERY: return parse_number(value, UINT32_MAX, &r->shadow_every);
	case OPT_RESIZE_SHADOW_MEMORY: return parse_number(value, UINT64_MAX, &r->shadow_bytes);
	case OPT_RESIZE_SHADOW_LIMIT_MS:
		return parse_number(value, UINT32_MAX, &a->shadow_limit_ms);
	case OPT_FLIP: a->device.flip = value; return 0;
	case OPT_SINGLE: a->device.single = true; return 0;
	case OPT_CONNECTIONS: return parse_number(value, GSB_N_QUEUES, &a->connections);
	case OPT_SPARE_LANES: return parse_number(value, GSB_N_SLOTS, &a->spare_lanes);
	case OPT_MPS: a->mps = true; return 0;
	case OPT_TRACE: a->trace = true; return 0;
	case OPT_LOG_LEVEL: return gsb_log_level_parse(value, &a->level) ? 0 : -EINVAL;
	case OPT_END: break;
	}
	return -EINVAL;
}

static const char *name_of(int key)
{
	const struct argp_option *o = options;

	while (o->key != key)
		o++;
	return o->name;
}

static error_t on_option(int key, char *value, struct argp_state *state)
{
	struct arguments *a = state->input;

	if (key == ARGP_KEY_ARG)
		argp_error(state, "'%s' is no option", value);
	if (key == ARGP_KEY_END && (!a->control_fd || !a->device.spec))
		argp_error(state, "it is started by gsbrokerd, with --control-fd and --device");
	if (key < OPT_CONTROL_FD || key >= OPT_END)
		return ARGP_ERR_UNKNOWN;
	if (set_option(a, (enum argument)key, value))
		argp_error(state, "--%s %s: not a valid value", name_of(key), value);
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = on_option,
	.doc = "Own one device and serve the tenants of one trust domain."
	       "\vgsbrokerd starts it; see gsb-engine(8). Exit status: 0 when it was told to end, 1 when "
	       "the device could not be opened or was lost, 2 for wrong usage.",
};

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
	signal(SIGXFSZ, SIG_IGN); /* a trace that may not grow is an error of its recording */
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

/* The exit of a client of MPS with a kernel on the device is told to all other clients, as a fault of theirs. */
static _Noreturn void end_stuck(const struct arguments *a)
{
	if (a->mps)
		gsb_control_stuck((int)a->control_fd);
	_exit(1); /* exit() would wait for the driver, too */
}

static void on_stuck(void *arg)
{
	gsb_log(GSB_LOG_ERROR, "device",
		"the driver has not come back for longer than two kernel_limit_ms; the engine ends");
	end_stuck(arg);
}

/* A launch may have to wait for a kernel that ends in time, and a load for the next. */
static uint64_t turn_limit_ns(const struct gsb_engine *e)
{
	return e->ops->space_cancel ? 0 : 2 * e->params.kernel_limit_ns;
}

static bool turn(struct gsb_engine *e, struct gsb_watchdog *w)
{
	bool any;

	gsb_watchdog_begin(w);
	any = gsb_engine_turn(e);
	gsb_watchdog_end(w);
	return any;
}

static void run(struct gsb_engine *e, const struct gsb_control *c, const struct signals *s,
		struct arguments *a)
{
	struct gsb_watchdog watchdog;
	unsigned busy = 0;

	if (gsb_watchdog_start(&watchdog, turn_limit_ns(e), on_stuck, a))
		gsb_log(GSB_LOG_WARN, "device", "no thread to watch the driver can be made");
	while (!c->stop && !s->stop && !e->scheduler.lost && !(e->draining && !e->n_tenants)) {
		if (!turn(e, &watchdog))
			gsb_engine_sleep(e);
		else if (++busy % TURNS_PER_LISTEN == 0)
			gsb_engine_listen(e, 0);
	}
	gsb_watchdog_stop(&watchdog);
}

/* Consumes dev. */
static int serve(struct gsb_device *dev, struct arguments *a)
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
	if (a->trace)
		gsb_tracing_offer(e); /* without events is still better than without an engine */
	err = watch_signals(e, &signals);
	if (!err)
		err = gsb_control_init(&control, e, (int)a->control_fd);
	if (!err) {
		run(e, &control, &signals, a);
		gsb_control_finish(&control);
	}
	lost = gsb_engine_destroy(e);
	gsb_trace_finish(); /* who was dismissed is in the file, too */
	close(signals.watch.fd);
	if (lost && e->scheduler.stuck)
		end_stuck(a);
	if (lost)
		_exit(1); /* exit() would have the driver wait for what it has lost */
	dev->ops->close(dev);
	return err;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.device = {.virtual_base = GSB_VIRTUAL_BASE, .virtual_size = GSB_VIRTUAL_SIZE},
		.engine = {.policy = &gsb_policy_fifo, .host_call_ns = GSB_DEFAULT_HOST_CALL_NS},
		.gate_timeout_ms = GSB_DEFAULT_GATE_TIMEOUT_NS / 1000000,
		.critical_sms_percent = GSB_RESERVED_PERCENT,
		.level = GSB_LOG_WARN,
	};
	struct gsb_device *dev;
	char why[640] = "", compiled[PATH_MAX];
	sigset_t set;
	int err;

	gsb_program_init("gsb-engine", argv);
	block_signals(&set);
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	gsb_log_init("gsb-engine", a.level);
	gsb_log_never_wait();
	a.device.hears_driver = true;
	a.device.n_workers = (unsigned)a.n_workers;
	a.device.n_connections = (unsigned)a.connections;
	a.device.n_spare_lanes = (unsigned)a.spare_lanes;
	a.engine.gate_timeout_ns = a.gate_timeout_ms * 1000000;
	a.engine.kernel_limit_ns = a.kernel_limit_ms * 1000000;
	a.engine.orphan_limit_ns = a.orphan_limit_ms * 1000000;
	a.engine.critical_wait_ns = a.critical_wait_us * 1000;
	a.engine.critical_sms_percent = (unsigned)a.critical_sms_percent;
	a.engine.start_line = (unsigned)a.start_line;
	a.engine.start_line_ns = a.start_line_ms * 1000000;
	a.engine.resizing.shadow_limit_ns = a.shadow_limit_ms * 1000000;
	err = gsb_cache_compiled(&a.engine.resizing, compiled, sizeof(compiled));
	if (!err) {
		a.device.code_folder = compiled;
		a.device.code_folder_bytes = a.engine.resizing.cache_bytes;
	} else if (err != -ENOENT) { /* why there is no cache is said by whoever looks for it */
		gsb_log(GSB_LOG_WARN, "resize",
			"[resize] cache has no folder for compiled code: %s", strerror(-err));
	}
	err = gsb_device_open(&a.device, &dev, why, sizeof(why));
	if (err) {
		gsb_log(GSB_LOG_ERROR, "device", "%s", why);
		gsb_control_failed((int)a.control_fd, err, why);
		return 1;
	}
	return serve(dev, &a);
}
