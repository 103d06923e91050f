/*
 * launch_steps.c - how many instructions a launch takes in the device, NVIDIA's driver included: counted by stepping through
 * them one by one, because valgrind knows nothing of that driver's device files. With what tests/integ/engine_path.sh and launch_path.sh
 * count of the engine and of its tenant that is the path of a launch, on which recording is to cost little.
 *
 * Usage: launch_steps [cuda:0]
 *
 * One line a figure, by launch: what, least, median, most of N_ROUNDS. What the kernel of the machine does is not counted, nor what is
 * waited: the device is asked when it has had the time to end.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "device/cuda/cuda.h"
#include "device/ops.h"
#include "tests/gpu/bound_kernels.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 36)
#define N_ROUNDS    15
#define RUN	    16 /* as many as the device tells of at once */
#define WARM	    64
#define ENOUGH_US   5000

/* Of both processes: whether the one steps that the other counts, and how many there were. */
struct steps {
	volatile bool counted;
	volatile long n;
};

static struct steps *steps;

static void need(const char *what, int err, const char *text)
{
	if (!err)
		return;
	fprintf(stderr, "launch_steps: %s: %s (%s)\n", what, strerror(err < 0 ? -err : err), text);
	_exit(1);
}

/* ---- who counts ---- */

/* Steps until the other says that it is enough; false: it has ended. */
static bool count(pid_t child)
{
	int status;

	for (steps->n = 0; steps->counted; steps->n++) {
		need("step", ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0 ? errno : 0,
		     "ptrace");
		if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
			return false;
	}
	return true;
}

static int watch(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		long sig = WSTOPSIG(status);

		if (sig == SIGSTOP && steps->counted) {
			sig = 0;
			if (!count(child))
				break;
		}
		ptrace(PTRACE_CONT, child, NULL, (void *)sig);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- who is counted ---- */

static void begin(void)
{
	steps->counted = true;
	raise(SIGSTOP);
}

static long end(void)
{
	steps->counted = false;
	raise(SIGCONT); /* the count is there when this returns */
	return steps->n;
}

struct bench {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_function *spin;
	long nothing; /* of a count of nothing */
};

static void set_up(struct bench *b, const char *spec)
{
	const struct gsb_device_params p = {.spec = spec, .real_clock = true};
	const struct gsb_space_params s = {.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE};
	struct gsb_module *m = NULL;
	static struct gsb_function_info info;
	char text[512] = "";

	need("device", gsb_cuda_ops.open(&p, &b->dev, text, sizeof(text)), text);
	b->ops = b->dev->ops;
	need("space", b->ops->space_create(b->dev, &s, &b->space), "");
	need("module",
	     b->ops->module_load(b->space, bound_ptx, strlen(bound_ptx), &m, text, sizeof(text)),
	     text);
	need("kernel", b->ops->function_get(m, "spin", &b->spin, &info), "");
	need("kernel", b->ops->function_prepare(b->spin, text, sizeof(text)), text);
	need("queue",
	     b->ops->queue_create(b->dev, 0,
				  (struct gsb_sm_range){0, b->ops->info(b->dev)->arch.n_sms},
				  &b->queue),
	     "");
}

static void launch(struct bench *b, bool more)
{
	const uint64_t params[] = {0, 1};
	const struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
				    .space = b->space,
				    .more = more,
				    .launch = {.function = b->spin,
					       .grid = {1, 1, 1},
					       .block = {32, 1, 1},
					       .params = params,
					       .params_bytes = sizeof(params)}};

	need("launch", b->ops->issue(b->queue, &cmd), "");
}

static void collect(struct bench *b, unsigned n)
{
	struct gsb_completion c[RUN];

	for (unsigned got = 0, now; got < n; got += now) {
		now = b->ops->poll(b->dev, c, RUN);
		for (unsigned i = 0; i < now; i++)
			need("kernel", (int)c[i].result, "the driver's code");
	}
}

/* By launch, of n that follow each other: to issue them, and to ask of them when they have ended. */
static void count_run(struct bench *b, unsigned n, double *issue, double *poll)
{
	begin();
	for (unsigned i = 0; i < n; i++)
		launch(b, i + 1 < n);
	*issue = (double)(end() - b->nothing) / n;
	usleep(ENOUGH_US);
	begin();
	collect(b, n);
	*poll = (double)(end() - b->nothing) / n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, double v[N_ROUNDS])
{
	qsort(v, N_ROUNDS, sizeof(*v), by_size);
	printf("%-48s %9.0f %9.0f %9.0f\n", what, v[0], v[N_ROUNDS / 2], v[N_ROUNDS - 1]);
}

static void say_runs(struct bench *b, const char *what, unsigned n)
{
	double issue[N_ROUNDS], poll[N_ROUNDS], both[N_ROUNDS];

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		count_run(b, n, &issue[i], &poll[i]);
		both[i] = issue[i] + poll[i];
	}
	printf("%s\n", what);
	say("  issue", issue);
	say("  poll that tells of it", poll);
	say("  both", both);
}

static int work(const char *spec)
{
	struct bench b = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	need("being stepped through", ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0,
	     "ptrace");
	set_up(&b, spec);
	for (unsigned i = 0; i < WARM; i++) {
		launch(&b, false);
		collect(&b, 1);
	}
	begin();
	b.nothing = end();
	printf("instructions by launch, least, median and most of %d (%ld of each count taken off)\n",
	       N_ROUNDS, b.nothing);
	say_runs(&b, "one that comes alone", 1);
	say_runs(&b, "one of 16 that follow each other", RUN);
	fflush(stdout);
	_exit(0); /* the driver ends with the process */
}

int main(int argc, char **argv)
{
	const char *spec = argc > 1 ? argv[1] : "cuda:0";
	pid_t child;

	steps = mmap(NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	need("memory", steps == MAP_FAILED ? errno : 0, "mmap");
	child = fork();
	need("process", child < 0 ? errno : 0, "fork");
	return child ? watch(child) : work(spec);
}
