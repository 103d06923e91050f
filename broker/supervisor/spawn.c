/*
 * spawn.c - an engine as a process: its arguments, its environment, its descriptors.
 *
 * gsb-engine has no configuration of its own: all it needs stands on its command line. It must not
 * inherit what would change which driver it loads: a gsbrokerd that was itself started under
 * LD_PRELOAD=libgsbroker.so would otherwise make an engine that is its own tenant.
 */
#include "broker/supervisor/spawn.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

#define ENGINE_CONTROL_FD 3
#define ENGINE_ARGS_MAX	  32

struct args {
	char *argv[ENGINE_ARGS_MAX];
	unsigned n;
	char room[8192];
	size_t used;
};

/* Append one argument; everything fits, by the limits of the configuration's texts. */
GSB_PRINTF(2, 3)
static void add(struct args *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(a->room + a->used, sizeof(a->room) - a->used, fmt, ap);
	va_end(ap);
	if (n < 0 || a->used + (size_t)n >= sizeof(a->room) || a->n == ENGINE_ARGS_MAX - 1)
		return;
	a->argv[a->n++] = a->room + a->used;
	a->argv[a->n] = NULL;
	a->used += (size_t)n + 1;
}

static void add_resize_args(const struct gsb_resize_config *r, struct args *a)
{
	add(a, "--resize-cache=%s", r->cache); /* measured times are kept there, too */
	add(a, "--resize-cache-size=%" PRIu64, r->cache_size);
	if (r->mode == GSB_RESIZE_MODE_OFF)
		return;
	add(a, "--resize=%s", gsb_config_resize_name(r->mode));
	add(a, "--resize-force=%s", r->force);
	add(a, "--resize-allow=%s", r->allow);
	add(a, "--resize-deny=%s", r->deny);
	add(a, "--resize-max-loss=%" PRIu64, r->max_loss);
	add(a, "--resize-shadow-every=%" PRIu64, r->shadow_every);
	add(a, "--resize-shadow-memory=%" PRIu64, r->shadow_memory);
	add(a, "--resize-shadow-limit-ms=%" PRIu64, r->shadow_limit_ms);
}

static void fill_args(const struct gsb_spawn *p, struct args *a)
{
	const struct gsb_device_config *c = p->config;
	const char *flip = secure_getenv("GSB_TEST_FLIP");

	add(a, "gsb-engine");
	add(a, "--control-fd=%d", ENGINE_CONTROL_FD);
	add(a, "--device=%s", p->spec);
	add(a, "--policy=%s", gsb_config_policy_name(c->policy));
	add(a, "--workers=%" PRIu64, c->workers);
	add(a, "--mem-limit=%" PRIu64, c->memory);
	if (c->clock == GSB_CLOCK_REAL)
		add(a, "--real-clock");
	add(a, "--host-call-ns=%" PRIu64, c->host_call_ns);
	add(a, "--gate-timeout-ms=%" PRIu64, c->gate_timeout_ms);
	add(a, "--kernel-limit-ms=%" PRIu64, c->kernel_limit_ms);
	add(a, "--start-line=%" PRIu64, c->start_line);
	add(a, "--start-line-ms=%" PRIu64, c->start_line_ms);
	if (c->trace)
		add(a, "--trace");
	add_resize_args(p->resize, a);
	add(a, "--log-level=%s", gsb_config_level_name(p->log));
	if (flip)
		add(a, "--flip=%.64s", flip);
}

/*
 * What an engine gets of our environment: names and prefixes. Nothing that loads code (LD_*), and
 * nothing that re-directs the driver.
 */
static const char *const kept_env[] = {
	"PATH=",	  "HOME=",	   "LANG=",	   "LC_ALL=",		"TZ=",
	"TMPDIR=",	  "GSB_DEBUG=",	   "LTTNG_HOME=",  "GSB_REAL_LIBCUDA=", "ASAN_OPTIONS=",
	"UBSAN_OPTIONS=", "TSAN_OPTIONS=", "LSAN_OPTIONS="};

static void fill_env(char *env[GSB_ARRAY_LEN(kept_env) + 1])
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(kept_env); i++)
		for (char **v = environ; *v; v++)
			if (!strncmp(*v, kept_env[i], strlen(kept_env[i]))) {
				env[n++] = *v;
				break;
			}
	env[n] = NULL;
}

int gsb_spawn_engine(const struct gsb_spawn *p, pid_t *pid)
{
	char *env[GSB_ARRAY_LEN(kept_env) + 1];
	struct args args = {.n = 0};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	fill_args(p, &args);
	fill_env(env);
	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (err)
		goto out_actions;
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err) /* gsbrun's user owns standard output: it is for his program alone */
		err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, p->control_fd, ENGINE_CONTROL_FD);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!err)
		err = posix_spawn(pid, p->program, &actions, &attr, args.argv, env);
	posix_spawnattr_destroy(&attr);
out_actions:
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}
