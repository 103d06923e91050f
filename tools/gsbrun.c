/*
 * gsbrun.c - run a program as a tenant: a broker, a preloaded library, the program.
 *
 * With a running broker gsbrun becomes the program (exec): nothing stands between them. Without one
 * it starts a private broker, stays as the program's parent to pass signals on, and ends the broker
 * after it. The program is never run on a broker other than the one that was asked for: a running
 * broker with another device or policy is an error that says so.
 *
 * Exit status: the program's; if it was ended by a signal, gsbrun ends by the same. 125: gsbrun
 * itself failed, 126: the program cannot be run, 127: it is not found, 2: wrong usage.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/program.h"
#include "gsb/tenant_name.h"
#include "tools/ask.h"
#include "tools/private_broker.h"

#define EXIT_GSBRUN	125
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND	127
#define PATH_BYTES	4096

struct arguments {
	const char *policy, *tenant, *device, *socket, *config, *gate;
	bool fallback, private, verbose;
	char **command;
};

/* ---- where things are ---- */

/* In a build tree `built` is beside this program's folder; else it is where it was installed. */
static bool locate(const char *built, const char *installed, char out[PATH_BYTES])
{
	char exe[PATH_BYTES / 2];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = 0;
	for (int up = 0; up < 2 && strrchr(exe, '/'); up++)
		*strrchr(exe, '/') = 0;
	snprintf(out, PATH_BYTES, "%s/%s", exe, built);
	if (access(out, R_OK) == 0)
		return true;
	snprintf(out, PATH_BYTES, "%s", installed);
	return access(out, R_OK) == 0;
}

/* ---- environment ---- */

/* Whether `item` is one of the items of list, which ':' (and for LD_PRELOAD ' ') separates. */
static bool has_item(const char *list, const char *item)
{
	size_t length = strlen(item);

	while (*list) {
		size_t n = strcspn(list, ": ");

		if (n == length && !strncmp(list, item, n))
			return true;
		list += n + (list[n] != 0);
	}
	return false;
}

/* Add item to a list variable: first, or last. What is there stays; twice is once. */
static void add_to_list(const char *name, const char *item, bool first)
{
	const char *old = getenv(name);
	char *list;

	if (!old || !*old) {
		setenv(name, item, 1);
		return;
	}
	if (has_item(old, item))
		return;
	if (asprintf(&list, "%s:%s", first ? item : old, first ? old : item) < 0)
		return;
	setenv(name, list, 1);
	free(list);
}

/* ---- NVIDIA's runtime works with NVIDIA's driver only: on a device of ours, ours stands in for it ---- */

static bool is_emulated(const char *device)
{
	return !strncmp(device, "emu:", 4) || !strcmp(device, "emu") || !strcmp(device, "null");
}

/* A broker that does not answer now is the library's to report. */
static bool has_emulated_device(const char *socket)
{
	struct gsb_answers answers = {0};
	bool is = !gsb_ask(socket, GSB_QUERY_STATUS, 0, &answers) &&
		  is_emulated(answers.broker.device);

	gsb_answers_finish(&answers);
	return is;
}

/* First of all: the program's own folders may have NVIDIA's. */
static void put_runtime_in_place(const struct arguments *a)
{
	char library[PATH_BYTES];

	if (!locate("cudart/lib/libcudart.so.13", GSB_PRIVDIR "/cudart/libcudart.so.13", library)) {
		fprintf(stderr,
			"gsbrun: %s is not there: a program with a shared CUDA runtime will get "
			"NVIDIA's, which needs NVIDIA's driver\n",
			library);
		return;
	}
	*strrchr(library, '/') = 0;
	add_to_list("LD_LIBRARY_PATH", library, true);
	if (a->verbose)
		fprintf(stderr,
			"gsbrun: the device is emulated: libcudart.so.12 and .13 are gsbroker's, "
			"in %s\n",
			library);
}

/*
 * A cubin is of no use there. Of the compilers that a program brings with it, those that answer by their names are
 * answered by a library of ours; CuPy, which opens them by their files, has a documented variable.
 */
static void put_toolkit_in_place(const struct arguments *a)
{
	char library[PATH_BYTES];

	if (!locate("toolkit/libgsbtoolkit.so", GSB_PRIVDIR "/libgsbtoolkit.so", library)) {
		fprintf(stderr,
			"gsbrun: %s is not there: a cubin of NVRTC or nvJitLink will be machine code, "
			"which an emulated device cannot run\n",
			library);
		return;
	}
	add_to_list("LD_PRELOAD", library, false);
	setenv("CUPY_COMPILE_WITH_PTX", "1", 0);
	if (a->verbose)
		fprintf(stderr,
			"gsbrun: the device is emulated: cubins of NVRTC and nvJitLink are PTX, by %s "
			"and CUPY_COMPILE_WITH_PTX=%s\n",
			library, getenv("CUPY_COMPILE_WITH_PTX"));
}

static int prepare_environment(const struct arguments *a, const char *socket)
{
	char library[PATH_BYTES], dir[PATH_BYTES];

	if (!locate("interpose/libgsbroker.so", GSB_PRIVDIR "/libgsbroker.so", library)) {
		fprintf(stderr,
			"gsbrun: %s is not there: install gsbroker completely, or run from its "
			"build tree\n",
			library);
		return -ENOENT;
	}
	if (strpbrk(library, ": ")) {
		fprintf(stderr,
			"gsbrun: %s: LD_PRELOAD cannot name a path with a blank or a colon: "
			"install elsewhere\n",
			library);
		return -EINVAL;
	}
	strcpy(dir, library);
	*strrchr(dir, '/') = 0;
	/* Ours last: a sanitizer's runtime must stay first. */
	add_to_list("LD_PRELOAD", library, false);
	/* Ours first: a program that opens libcuda.so by name must not find another. */
	add_to_list("LD_LIBRARY_PATH", dir, true);
	/* Ranges that the program names belong in a trace; a tool of the user's own has precedence. */
	setenv("NVTX_INJECTION64_PATH", library, 0);
	if (has_emulated_device(socket)) {
		put_runtime_in_place(a);
		put_toolkit_in_place(a);
	}
	setenv("GSB_SOCKET", socket, 1);
	if (a->tenant)
		setenv("GSB_TENANT", a->tenant, 1);
	return 0;
}

/* ---- the command ---- */

GSB_NORETURN static void become(char **command)
{
	execvp(command[0], command);
	fprintf(stderr, "gsbrun: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static const int passed_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static void passed_set(sigset_t *set)
{
	sigemptyset(set);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(passed_signals); i++)
		sigaddset(set, passed_signals[i]);
	sigaddset(set, SIGCHLD);
}

/* The child dies with gsbrun even where gsbrun is killed: its broker does, too. */
static pid_t start_command(char **command, const sigset_t *old_mask)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	sigprocmask(SIG_SETMASK, old_mask, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_GSBRUN);
	become(command);
}

/* Pass on what was sent to us by a process; the terminal sends to the command by itself. */
static int wait_for_command(pid_t pid, const sigset_t *set)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(set, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			if (info.si_code <= 0)
				kill(pid, info.si_signo);
			continue;
		}
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
	}
}

/* End as the command did, so that whoever waits for us sees the same. */
GSB_NORETURN static void end_like(int status)
{
	struct rlimit no_core = {0, 0};
	sigset_t set;
	int sig;

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &no_core); /* the command's core is the one of interest */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + sig);
}

GSB_NORETURN static void run_on_private_broker(const struct arguments *a,
					       struct gsb_private_broker *b)
{
	sigset_t set, old;
	pid_t pid;
	int status;

	passed_set(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = start_command(a->command, &old);
	if (pid < 0) {
		fprintf(stderr, "gsbrun: cannot fork: %s\n", strerror(errno));
		gsb_private_broker_stop(b);
		exit(EXIT_GSBRUN);
	}
	status = wait_for_command(pid, &set);
	gsb_private_broker_stop(b);
	end_like(status);
}

/* ---- the broker ---- */

/* Whether the running broker is what was asked for. */
static bool suits(const struct arguments *a, const struct gsb_answer_broker *b)
{
	if ((!a->device || !strcmp(a->device, b->device)) &&
	    (!a->policy || !strcmp(a->policy, b->policy)))
		return true;
	fprintf(stderr,
		"gsbrun: the broker that runs on %.107s has device %.127s and policy %.31s: leave "
		"--device and --policy out, or add --private\n",
		b->socket, b->device, b->policy);
	return false;
}

/*
 * Look for a running broker. Return: 0, -ENOENT (none; a private one may be started), -errno (said
 * on standard error).
 */
static int find_running(const struct arguments *a, char *path, size_t size)
{
	struct gsb_answers answers = {0};
	char why[512];
	int err;

	if (a->private || a->config || a->gate)
		return -ENOENT;
	err = gsb_channel_path(a->socket, path, size);
	if (!err)
		err = gsb_ask(path, GSB_QUERY_STATUS, 0, &answers);
	gsb_answers_finish(&answers);
	if (!err)
		return suits(a, &answers.broker) ? 0 : -EINVAL;
	if ((err == -ENOENT || err == -ECONNREFUSED) && !a->socket)
		return -ENOENT;
	gsb_ask_explain(err, path, why, sizeof(why));
	fprintf(stderr, "gsbrun: %s\n", why);
	return err == -ENOENT ? -ECONNREFUSED : err;
}

static int start_private(const struct arguments *a, struct gsb_private_broker *b)
{
	char program[PATH_BYTES];
	struct gsb_private_settings s = {
		.program = program,
		.config = a->config,
		.device = a->device,
		.policy = a->policy,
		.gate = a->gate,
	};

	if (locate("broker/gsbrokerd", GSB_SBINDIR "/gsbrokerd", program))
		return gsb_private_broker_start(b, &s);
	fprintf(stderr, "gsbrun: no broker runs, and %s is not there to start one\n", program);
	return -ENOENT;
}

static int run(const struct arguments *a)
{
	struct gsb_private_broker broker;
	char path[PATH_BYTES] = "";
	bool is_private;
	int err = find_running(a, path, sizeof(path));

	is_private = err == -ENOENT;
	if (is_private)
		err = start_private(a, &broker);
	if (err) {
		if (!a->fallback || err == -EINVAL)
			return EXIT_GSBRUN;
		fprintf(stderr, "gsbrun: no broker: %s runs without one\n", a->command[0]);
		become(a->command);
	}
	if (prepare_environment(a, is_private ? broker.socket : path)) {
		if (is_private)
			gsb_private_broker_stop(&broker);
		return EXIT_GSBRUN;
	}
	if (is_private)
		run_on_private_broker(a, &broker);
	become(a->command);
}

/* ---- arguments ---- */

enum { OPT_POLICY = 256, OPT_FALLBACK, OPT_PRIVATE, OPT_GATE };

static const struct argp_option options[] = {
	{"tenant", 't', "NAME", 0,
	 "name of the tenant, for its section in gsbroker.conf and gsbctl ps", 0},
	{"socket", 's', "PATH", 0, "of the broker to use; it must run", 0},
	{"private", OPT_PRIVATE, NULL, 0, "start a private broker although one runs", 0},
	{"device", 'd', "SPEC", 0, "device of a private broker (default emu:h200)", 0},
	{"policy", OPT_POLICY, "NAME", 0, "policy of a private broker (default fifo)", 0},
	{"gate", OPT_GATE, "N", 0,
	 "a private broker holds all work until N processes of the command have some", 0},
	{"config", 'c', "FILE", 0, "configuration of a private broker", 0},
	{"verbose", 'v', NULL, 0, "say what the command finds in place of NVIDIA's libraries", 0},
	{"fallback", OPT_FALLBACK, NULL, 0, "without a broker, run the command as it is", 0},
	{0},
};

/* Options that contradict each other, and a name that nobody would take. */
static void check_together(struct argp_state *state, const struct arguments *a)
{
	if (!a->command)
		argp_error(state, "there is no command");
	if (a->config && (a->device || a->policy || a->gate))
		argp_error(state, "--config says device, policy and start_line already");
	if (a->socket && a->gate)
		argp_error(state, "--gate is for a private broker; one that runs has start_line "
				  "in its configuration");
	if (a->socket && (a->private || a->config))
		argp_error(state, "--socket is for a broker that runs, --private and --config "
				  "start one");
	if (a->tenant && !gsb_tenant_name_ok(a->tenant))
		argp_error(state, "--tenant %.80s: must be " GSB_TENANT_NAME_RULE, a->tenant);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 't': a->tenant = arg; return 0;
	case 's': a->socket = arg; return 0;
	case 'd': a->device = arg; return 0;
	case 'c': a->config = arg; return 0;
	case 'v': a->verbose = true; return 0;
	case OPT_POLICY: a->policy = arg; return 0;
	case OPT_GATE: a->gate = arg; return 0;
	case OPT_PRIVATE: a->private = true; return 0;
	case OPT_FALLBACK: a->fallback = true; return 0;
	case ARGP_KEY_ARG: /* the rest is the command's */
		a->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END: check_together(state, a); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.args_doc = "[--] COMMAND [ARGUMENT...]",
		.doc = "Run a CUDA program as a tenant of a GPU broker."
		       "\vIt uses the broker that runs on $GSB_SOCKET or the usual path, else a "
		       "private one that ends with the command. Exit status: the command's; 125 when "
		       "gsbrun itself failed, 126 when the command cannot be run, 127 when it is not "
		       "found, 2 for wrong usage. See gsbrun(1).",
	};
	struct arguments a = {0};

	gsb_program_init("gsbrun", argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	return run(&a);
}
