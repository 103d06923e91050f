/*
 * child.c - see child.h.
 *
 * A child must not inherit what would change which driver it loads: a gsbrokerd that was itself started under
 * LD_PRELOAD=libgsbroker.so would otherwise make an engine that is its own tenant. So the environment is a short list.
 */
#include "broker/supervisor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

#define MORE_MAX 4  /* variables beside the list */
#define HIGH_FD	 16 /* above all that a child is given */

/*
 * What a child gets of our environment: names and prefixes. Nothing that loads code (LD_*), and nothing that re-directs the
 * driver.
 */
static const char *const kept_env[] = {
	"PATH=",	  "HOME=",	   "LANG=",	   "LC_ALL=",		"TZ=",
	"TMPDIR=",	  "GSB_DEBUG=",	   "LTTNG_HOME=",  "GSB_REAL_LIBCUDA=", "ASAN_OPTIONS=",
	"UBSAN_OPTIONS=", "TSAN_OPTIONS=", "LSAN_OPTIONS="};

struct environment {
	char *at[GSB_ARRAY_LEN(kept_env) + MORE_MAX + 1];
};

static void fill_env(struct environment *env, const char *const *more)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(kept_env); i++)
		for (char **v = environ; *v; v++)
			if (!strncmp(*v, kept_env[i], strlen(kept_env[i]))) {
				env->at[n++] = *v;
				break;
			}
	for (unsigned i = 0; more && more[i] && i < MORE_MAX; i++)
		env->at[n++] = (char *)(uintptr_t)more[i];
	env->at[n] = NULL;
}

/* ---- in the child ---- */

static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool stand_apart(pid_t parent)
{
	return !setpgid(0, 0) && !prctl(PR_SET_PDEATHSIG, SIGTERM) &&
	       getppid() == parent; /* else it died before it could be asked for */
}

/* A descriptor above all that a child is given; -1 and errno. */
static int dup_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0 && errno == EINVAL) /* the limit is below */
		errno = EMFILE;
	return high;
}

/* By way of numbers above all of them: one may be where another has to be. */
static bool place_fds(const struct gsb_child *c)
{
	int high[GSB_CHILD_FDS];

	for (int i = 0; i < GSB_CHILD_FDS; i++) {
		int fd = c->fds[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : c->fds[i];

		high[i] = fd < 0 ? -1 : dup_high(fd);
		if (high[i] < 0)
			return false;
	}
	for (int i = 0; i < GSB_CHILD_FDS; i++)
		if (i <= STDERR_FILENO || c->fds[i] >= 0) {
			if (dup2(high[i], i) < 0)
				return false;
		} else {
			close(i);
		}
	return true;
}

static _Noreturn void become(const struct gsb_child *c, const struct environment *env, int report,
			     pid_t parent)
{
	int high, err;

	reset_signals();
	high = dup_high(report);
	if (high >= 0) {
		report = high;
		errno = EIO;
		if ((!c->apart || stand_apart(parent)) && place_fds(c))
			execvpe(c->program, c->argv, env->at);
	}
	err = errno;
	_exit(write(report, &err, sizeof(err)) < 0 ? 126 : 127);
}

/* ---- in the parent ---- */

/* What the child says: nothing, when it has become the program. Return: 0, -errno. */
static int hear(int report)
{
	int err = 0;
	ssize_t n;

	do
		n = read(report, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? -err : 0;
}

int gsb_child_start(const struct gsb_child *c, pid_t *pid)
{
	struct environment env;
	pid_t self = getpid(), child;
	int report[2], err;

	fill_env(&env, c->env);
	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (!child)
		become(c, &env, report[1], self);
	err = child < 0 ? -errno : 0;
	close(report[1]);
	if (!err)
		err = hear(report[0]);
	close(report[0]);
	if (err && child > 0)
		waitpid(child, NULL, 0);
	if (!err)
		*pid = child;
	return err;
}

void gsb_child_describe_end(const siginfo_t *info, char *out, size_t size)
{
	if (info->si_code == CLD_EXITED)
		snprintf(out, size, "exited with status %d", info->si_status);
	else
		snprintf(out, size, "was ended by signal %d (%s)", info->si_status,
			 strsignal(info->si_status));
}
