/*
 * worker.c - the threads that execute blocks and copies.
 *
 * One list of jobs, oldest first, so that blocks are begun in ascending order, which is what kernels
 * that look back at earlier blocks count on. A block runs for a quantum and goes to the end of the
 * list when it is not done: blocks that wait for each other all get on, whatever the number of
 * workers. Without jobs the workers sleep.
 *
 * A worker that finds no job while another is at one looks for it for a moment longer, awake: what the other has executed may let time
 * pass, and to be woken takes as long as many a block.
 *
 * Blocks that take little longer than a lock are taken several at a
 * time: at most a worker's share of those that are ready, and none while another worker has nothing to do.
 *
 * The list has a lock of its own, which is never held for long, so that jobs are had while the clock places the next ones. What has been
 * executed is told with the clock's lock. While the clock is busy, short blocks are kept, and more are executed.
 *
 * So are blocks that have reductions combined (exec/combine.h): the more of them there are, the fewer memory has to do. Before
 * anything is told, memory has all of them.
 */
#include "device/emu/clock/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compiler.h"

#define MAX_BATCH   32
#define MAX_KEPT    256
#define BRIEF_INSNS 2000 /* warp instructions of a block: some 20 microseconds */
#define LOOK_NS	    UINT64_C(100000)
/* Warp instructions: a millisecond or so. Whoever looks for reductions waits for so many, and for a quantum. */
#define COMBINED_INSNS 200000

/* What a worker has in its hands. */
struct hands {
	struct emu_job *jobs[MAX_KEPT];
	bool more[MAX_KEPT];
	unsigned n, n_executed; /* the rest is still to be executed */
	bool busy;		/* it counts in n_busy */
	uint64_t n_insns;	/* of these jobs */
	struct gsb_emu_combiner *combiner;
};

/* ---- the list ---- */

void emu_worker_add_all(struct emu_workers *w, struct emu_jobs *jobs, unsigned n)
{
	pthread_mutex_lock(&w->ready_lock);
	TAILQ_CONCAT(&w->ready, jobs, ready);
	w->n_ready += n;
	for (unsigned i = 0; i < n && i < w->n_idle; i++)
		pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->ready_lock);
}

void emu_worker_add(struct emu_workers *w, struct emu_job *job)
{
	struct emu_jobs one = TAILQ_HEAD_INITIALIZER(one);

	TAILQ_INSERT_TAIL(&one, job, ready);
	emu_worker_add_all(w, &one, 1);
}

static void take_out(struct emu_workers *w, struct emu_job *job)
{
	TAILQ_REMOVE(&w->ready, job, ready);
	w->n_ready--;
}

bool emu_worker_remove(struct emu_workers *w, struct emu_job *job)
{
	bool there;

	pthread_mutex_lock(&w->ready_lock);
	there = !job->running;
	if (there)
		take_out(w, job);
	pthread_mutex_unlock(&w->ready_lock);
	return there;
}

static void look_for_job(struct emu_workers *w)
{
	uint64_t end = gsb_clock_ns() + LOOK_NS;

	pthread_mutex_unlock(&w->ready_lock);
	while (!atomic_load_explicit(&w->n_ready, memory_order_relaxed) && gsb_clock_ns() < end)
		gsb_cpu_relax();
	pthread_mutex_lock(&w->ready_lock);
}

static void sleep_until_job(struct emu_workers *w)
{
	w->n_idle++;
	pthread_cond_wait(&w->work, &w->ready_lock);
	w->n_idle--;
}

/* False: the workers stop. */
static bool wait_for_job(struct emu_workers *w)
{
	if (TAILQ_EMPTY(&w->ready) && w->n_busy)
		look_for_job(w);
	while (TAILQ_EMPTY(&w->ready) && !w->stopping)
		sleep_until_job(w);
	return !w->stopping;
}

static bool may_take_more(const struct emu_workers *w, const struct emu_job *last, unsigned n)
{
	return last->cmd->brief && n < MAX_BATCH && !w->n_idle && w->n_ready > n * w->n_threads;
}

/* ---- how long a command has been executed ---- */

static void enter(struct emu_cmd *cmd)
{
	if (!cmd->n_running++)
		cmd->ran_from_ns = gsb_clock_ns();
}

static bool is_brief(const struct emu_job *job, bool more)
{
	return job->cmd->kind == GSB_CMD_LAUNCH && !more && job->work.n_insns <= BRIEF_INSNS;
}

static void leave(struct emu_cmd *cmd)
{
	if (!--cmd->n_running)
		cmd->ran_ns += gsb_clock_ns() - cmd->ran_from_ns;
}

uint64_t emu_worker_ran_ns(struct emu_workers *w, const struct emu_cmd *cmd)
{
	uint64_t ns;

	pthread_mutex_lock(&w->ready_lock);
	ns = cmd->ran_ns + (cmd->n_running ? gsb_clock_ns() - cmd->ran_from_ns : 0);
	pthread_mutex_unlock(&w->ready_lock);
	return ns;
}

/* ---- one turn of a worker ---- */

/* The oldest, one or more of them, if there are any. */
static void take_batch(struct emu_workers *w, struct hands *h)
{
	struct emu_job *job = TAILQ_FIRST(&w->ready);

	for (unsigned n = 1; job; n++) {
		take_out(w, job);
		job->running = true;
		enter(job->cmd);
		h->jobs[h->n++] = job;
		job = may_take_more(w, job, n) ? TAILQ_FIRST(&w->ready) : NULL;
	}
}

static void note_last(struct hands *h)
{
	if (h->n)
		h->jobs[h->n - 1]->cmd->brief = is_brief(h->jobs[h->n - 1], h->more[h->n - 1]);
}

static void count_busy(struct emu_workers *w, struct hands *h)
{
	bool busy = h->n;

	w->n_busy += busy - h->busy;
	h->busy = busy;
}

/* Waits for them if it has none; false: the workers stop. */
static bool take_jobs(struct emu_workers *w, struct hands *h)
{
	bool go_on;

	pthread_mutex_lock(&w->ready_lock);
	count_busy(w, h);
	note_last(h);
	go_on = h->n || wait_for_job(w);
	if (go_on)
		take_batch(w, h);
	count_busy(w, h);
	pthread_mutex_unlock(&w->ready_lock);
	return go_on;
}

static void execute(struct hands *h)
{
	for (; h->n_executed < h->n; h->n_executed++) {
		struct emu_job *job = h->jobs[h->n_executed];

		if (h->n_executed + 1 < h->n) /* mostly another worker has made it */
			gsb_prefetch(h->jobs[h->n_executed + 1], sizeof(*job));
		h->more[h->n_executed] = job->cmd->run(job, h->combiner);
		h->n_insns += job->work.n_insns;
	}
}

/* There are reductions that the next blocks may add to. */
static bool may_combine_more(const struct emu_workers *w, const struct hands *h)
{
	return gsb_emu_combiner_holds(h->combiner) && h->n_insns < COMBINED_INSNS &&
	       h->n + MAX_BATCH <= MAX_KEPT &&
	       atomic_load_explicit(&w->n_ready, memory_order_relaxed);
}

/* The clock has its lock for as long as a thousand blocks take to place, and there is something to do meanwhile. */
static bool may_keep(const struct emu_workers *w, const struct hands *h)
{
	return h->n + MAX_BATCH <= MAX_KEPT && is_brief(h->jobs[h->n - 1], h->more[h->n - 1]) &&
	       atomic_load_explicit(&w->n_ready, memory_order_relaxed);
}

static void tell(struct emu_workers *w, struct hands *h)
{
	if (may_combine_more(w, h))
		return;
	gsb_emu_combiner_flush(h->combiner);
	if (pthread_mutex_trylock(w->lock)) {
		if (may_keep(w, h))
			return;
		pthread_mutex_lock(w->lock);
	}
	pthread_mutex_lock(&w->ready_lock);
	note_last(h);
	for (unsigned i = 0; i < h->n; i++)
		leave(h->jobs[i]->cmd);
	pthread_mutex_unlock(&w->ready_lock);
	for (unsigned i = 0; i < h->n; i++) {
		h->jobs[i]->running = false;
		w->on_slice(w->ctx, h->jobs[i], h->more[i], i + 1 == h->n);
	}
	pthread_mutex_unlock(w->lock);
	h->n = h->n_executed = 0;
	h->n_insns = 0;
}

/* ---- threads ---- */

static void *worker(void *arg)
{
	struct emu_workers *w = arg;
	struct hands h = {.combiner = gsb_emu_combiner_create()};

	while (take_jobs(w, &h)) {
		execute(&h);
		tell(w, &h);
	}
	gsb_emu_combiner_destroy(h.combiner);
	return NULL;
}

/* Signals are for the program's own threads; what a kernel's bad access raises comes all the same,
 * because it is synchronous. */
static void block_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void emu_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void emu_workers_init(struct emu_workers *w, pthread_mutex_t *lock, emu_on_slice *on_slice,
		      void *ctx)
{
	*w = (struct emu_workers){.lock = lock, .on_slice = on_slice, .ctx = ctx};
	TAILQ_INIT(&w->ready);
	emu_lock_init(&w->ready_lock);
	pthread_cond_init(&w->work, NULL);
}

static void stop(struct emu_workers *w)
{
	pthread_mutex_lock(&w->ready_lock);
	w->stopping = true;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->ready_lock);
	for (unsigned i = 0; i < w->n_threads; i++)
		pthread_join(w->threads[i], NULL);
	free(w->threads);
	w->threads = NULL;
	w->n_threads = 0;
}

int emu_workers_start(struct emu_workers *w, unsigned n)
{
	sigset_t old;
	int err = 0;

	w->threads = calloc(n, sizeof(*w->threads));
	if (!w->threads)
		return -ENOMEM;
	block_signals(&old);
	while (w->n_threads < n && !err) {
		err = pthread_create(&w->threads[w->n_threads], NULL, worker, w);
		w->n_threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		stop(w);
	return -err;
}

void emu_workers_finish(struct emu_workers *w)
{
	stop(w);
	pthread_cond_destroy(&w->work);
	pthread_mutex_destroy(&w->ready_lock);
}
