/*
 * test_crew.c - threads that do parts of a copy: each part is done once, and all are when they are said to be; how many threads there
 * are follows what is to spare.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "interpose/core/crew.h"
#include "interpose/core/spare.h"

#define LARGE	 (16u << 20)
#define N_ROUNDS 500
#define N_USERS	 3

/* The machine, as the crew sees it at its next look, and whenever it looks again. */
static struct gsb_spare machine, machine_then;
static unsigned n_looks;
static _Atomic long n_preempted; /* times, of each thread */

void __wrap_gsb_spare_look(struct gsb_spare *s);
void __wrap_gsb_spare_look(struct gsb_spare *s)
{
	n_looks++;
	*s = machine;
	machine = machine_then;
}

int __wrap_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage)
{
	assert_int_equal(who, RUSAGE_THREAD);
	*usage = (struct rusage){.ru_nivcsw = atomic_load(&n_preempted)};
	return 0;
}

/* What was seen is old then. */
static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* For what comes: so many processors, of which the program may use some, and threads that run. */
static void see(unsigned n_online, unsigned n_usable, unsigned n_running)
{
	machine = (struct gsb_spare){n_online, n_usable, n_running};
	machine_then = machine;
	pause_ms(30);
}

struct job {
	struct gsb_crew_part part;
	_Atomic unsigned n_done;
	pthread_t by;
};

static void do_job(struct gsb_crew_part *part)
{
	struct job *j = gsb_container_of(part, struct job, part);

	j->by = pthread_self();
	atomic_fetch_add(&j->n_done, 1);
}

#define N_JOBS_MAX 200

struct round {
	unsigned size;	   /* of the crew, in the end */
	unsigned n_others; /* jobs that others have done */
	unsigned n_wrong;  /* jobs that were not done once */
};

/* Only a part that is begun is waited for; a slow one leaves more to the crew. */
static void await(struct gsb_crew *c, struct gsb_crew_part *part, bool helps)
{
	while (!gsb_crew_has_done(part))
		if (!gsb_crew_help(c))
			gsb_crew_wait(part);
		else if (!helps)
			sched_yield();
}

/* As a copy does: some are in hand at a time, and the oldest is waited for. */
static struct round run(unsigned n, uint64_t bytes, unsigned n_most, bool helps)
{
	struct job jobs[N_JOBS_MAX] = {0};
	struct round r = {0};
	struct gsb_crew c;
	unsigned first = 0;

	gsb_crew_take(&c, bytes, n_most);
	for (unsigned i = 0; i < n; i++) {
		jobs[i].part.run = do_job;
		if (i - first == GSB_CREW_PARTS_MAX)
			await(&c, &jobs[first++].part, helps);
		gsb_crew_give(&c, &jobs[i].part);
	}
	for (; first < n; first++)
		await(&c, &jobs[first].part, helps);
	r.size = gsb_crew_size(&c);
	gsb_crew_release(&c);
	for (unsigned i = 0; i < n; i++) {
		r.n_wrong += atomic_load(&jobs[i].n_done) != 1;
		r.n_others += !pthread_equal(jobs[i].by, pthread_self());
	}
	return r;
}

static unsigned n_not_ours; /* of a sanitizer */

static unsigned n_threads(void)
{
	unsigned n = 0;
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %u", &n) == 1)
			break;
	fclose(f);
	return n - n_not_ours;
}

/* The cases go from a process without threads to one that has all: one behind the other. */
static void test_without_a_crew_the_giver_does_all(void **state)
{
	struct round r = run(40, LARGE, 0, true);

	assert_int_equal(r.n_others + r.n_wrong + r.size, 0);
	see(1, 1, 1);
	r = run(40, LARGE, 7, true);
	assert_int_equal(r.n_others + r.n_wrong + r.size, 0);
	see(16, 16, 17);
	r = run(40, LARGE, 7, true);
	assert_int_equal(r.n_others + r.n_wrong + r.size, 0);
	assert_int_equal(n_threads(), 1);
}

static void test_small_copies_have_none(void **state)
{
	unsigned before = n_looks;

	see(16, 16, 1);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(run(4, (1u << 20) - 1, 7, true).size, 0);
	assert_int_equal(n_looks, before);
	assert_int_equal(n_threads(), 1);
}

static _Atomic unsigned n_slow_begun, n_slow_done;
static pthread_t abandoner; /* who waits in gsb_crew_abandon_parts() does so by sched_yield() */
static _Atomic bool abandons, waits_for_begun;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	if (atomic_load(&abandons) && pthread_equal(pthread_self(), abandoner))
		atomic_store(&waits_for_begun, true);
	return __real_sched_yield();
}

/* Until the giver waits for it: by then all others are taken. */
static void do_slowly(struct gsb_crew_part *part)
{
	atomic_fetch_add(&n_slow_begun, 1);
	while (!atomic_load(&waits_for_begun))
		__real_sched_yield();
	pause_ms(20);
	atomic_fetch_add(&n_slow_done, 1);
}

/* They may be anywhere, and their memory with them, when the giver does not come back. */
static void test_nobody_is_at_parts_that_were_abandoned(void **state)
{
	struct gsb_crew_part parts[GSB_CREW_PARTS_MAX] = {0};
	struct gsb_crew c;
	unsigned n;

	abandoner = pthread_self();
	see(16, 16, 1);
	gsb_crew_take(&c, LARGE, 7);
	assert_int_not_equal(gsb_crew_size(&c), 0);
	for (unsigned i = 0; i < GSB_CREW_PARTS_MAX; i++) {
		parts[i].run = do_slowly;
		gsb_crew_give(&c, &parts[i]);
	}
	while (!atomic_load(&n_slow_begun))
		sched_yield();
	atomic_store(&abandons, true);
	gsb_crew_abandon_parts(&c);
	n = atomic_load(&n_slow_done);
	atomic_store(&abandons, false);
	atomic_store(&waits_for_begun, true); /* for those that nobody waited for */
	assert_int_equal(atomic_load(&n_slow_begun), n);
	assert_in_range(n, 1, GSB_CREW_PARTS_MAX - 1);
	pause_ms(50);
	assert_int_equal(atomic_load(&n_slow_begun), n);
	gsb_crew_release(&c);
	assert_int_equal(run(100, LARGE, 7, true).n_wrong, 0);
}

/* Of what is left, half. */
static void test_as_many_as_are_to_spare_do_what_is_given(void **state)
{
	struct round r;

	see(8, 8, 5);
	r = run(100, LARGE, 2, false); /* the slower it is, the more there were */
	assert_int_equal(r.size, 2);
	assert_int_equal(r.n_wrong, 0);
	assert_int_equal(n_threads(), 3);
}

static void test_more_are_made_while_there_are_more_to_spare(void **state)
{
	unsigned size = 0;

	see(16, 16, 13);
	machine_then = machine;
	for (unsigned i = 0; i < 1000 && size < GSB_CREW_MAX; i++) {
		struct round r = run(100, LARGE, 9, true);

		assert_int_equal(r.n_wrong, 0);
		size = r.size;
		pause_ms(3);
	}
	assert_int_equal(size, GSB_CREW_MAX);
	assert_int_equal(n_threads(), 1 + GSB_CREW_MAX);
}

/* Those that are not wanted leave what is given to others. */
static void test_fewer_are_used_when_there_are_fewer_to_spare(void **state)
{
	see(16, 3, 5);
	assert_int_equal(run(100, LARGE, 7, false).size, 2);
	see(16, 16, 1);
	assert_int_equal(run(100, LARGE, 7, false).size, 7);
	machine_then = machine = (struct gsb_spare){16, 16, 16};
	atomic_fetch_add(&n_preempted, 1);
	run(100, LARGE, 7, false); /* they notice */
	pause_ms(3);
	assert_in_range(run(100, LARGE, 7, false).size, 0, 3);
	assert_int_equal(n_threads(), 1 + GSB_CREW_MAX);
}

static void *use(void *arg)
{
	for (unsigned i = 0; i < N_ROUNDS; i++)
		if (run(1 + i % N_JOBS_MAX, LARGE, 7, i % 2).n_wrong)
			return arg;
	return NULL;
}

/* One has the crew, and the others do their own. */
static void test_several_users_get_all_their_jobs_done(void **state)
{
	pthread_t users[N_USERS];
	static char failed;
	void *wrong;

	see(16, 16, 5);
	for (int i = 0; i < N_USERS; i++)
		assert_int_equal(pthread_create(&users[i], NULL, use, &failed), 0);
	for (int i = 0; i < N_USERS; i++) {
		assert_int_equal(pthread_join(users[i], &wrong), 0);
		assert_null(wrong);
	}
}

/* It has none of the threads, and makes its own when it copies much. */
static void test_child_begins_anew(void **state)
{
	pid_t child;
	int status;

	see(16, 16, 5);
	child = fork();
	if (!child) {
		struct round r;

		atomic_store(&n_preempted, 0);
		if ((int)n_threads() > 1)
			_exit(1);
		if (run(100, 4u << 20, 7, false).size)
			_exit(2);
		r = run(100, LARGE, 7, false);
		_exit(r.n_wrong ? 3 : r.size < 6 ? 4 : 0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(run(100, LARGE, 7, true).n_wrong, 0);
}

static void *finish_late(void *arg)
{
	struct gsb_crew_part *part = arg;

	pause_ms(30);
	atomic_store_explicit(&part->state, GSB_CREW_DONE, memory_order_release);
	return NULL;
}

static void test_who_waits_for_a_part_has_it_done(void **state)
{
	struct gsb_crew_part part = {0};
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, finish_late, &part), 0);
	gsb_crew_wait(&part);
	assert_true(gsb_crew_has_done(&part));
	pthread_join(other, NULL);
}

/* ---- memory of the program's that cannot be touched ---- */

#define N_PAGES 64

static long page_bytes;
static pthread_t giver;
static unsigned n_faults, n_faults_elsewhere;
static int file; /* is made longer for a SIGBUS */

struct touch {
	struct gsb_crew_part part;
	pthread_t by;
};

/* As a program does that brings in memory when it is used. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~((uintptr_t)page_bytes - 1);

	n_faults++;
	n_faults_elsewhere += !pthread_equal(pthread_self(), giver);
	if (signal == SIGBUS ? ftruncate(file, N_PAGES * page_bytes)
			     : mprotect((void *)page, (size_t)page_bytes, PROT_READ | PROT_WRITE))
		_exit(99);
}

static void do_touch(struct gsb_crew_part *part)
{
	struct touch *t = gsb_container_of(part, struct touch, part);
	volatile uint8_t *byte = part->at;

	t->by = pthread_self();
	if (part->writes)
		*byte = 1;
	else
		(void)*byte;
}

/* Each page by a part. Return: how many others did. */
static unsigned touch_all(uint8_t *pages, bool writes)
{
	struct touch touches[N_PAGES];
	unsigned first = 0, n_others = 0;
	struct gsb_crew c;

	gsb_crew_take(&c, LARGE, 7);
	for (unsigned i = 0; i < N_PAGES; i++) {
		touches[i].part = (struct gsb_crew_part){.run = do_touch,
							 .at = pages + i * page_bytes + 8,
							 .bytes = 64,
							 .writes = writes};
		if (i - first == GSB_CREW_PARTS_MAX)
			await(&c, &touches[first++].part, false);
		gsb_crew_give(&c, &touches[i].part);
		sched_yield();
	}
	for (; first < N_PAGES; first++)
		await(&c, &touches[first].part, false);
	gsb_crew_release(&c);
	for (unsigned i = 0; i < N_PAGES; i++)
		n_others += !pthread_equal(touches[i].by, giver);
	return n_others;
}

static void watch_faults(struct sigaction before[2])
{
	const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	page_bytes = sysconf(_SC_PAGESIZE);
	giver = pthread_self();
	n_faults = n_faults_elsewhere = 0;
	sigaction(SIGSEGV, &action, &before[0]);
	sigaction(SIGBUS, &action, &before[1]);
	see(16, 16, 1);
}

static void unwatch_faults(const struct sigaction before[2])
{
	sigaction(SIGSEGV, &before[0], NULL);
	sigaction(SIGBUS, &before[1], NULL);
}

static void expect_faults_of_giver(uint8_t *pages, bool writes, unsigned n)
{
	unsigned n_others = touch_all(pages, writes);

	assert_int_equal(n_faults, n);
	assert_int_equal(n_faults_elsewhere, 0);
	assert_true(n_others <= N_PAGES - n);
	n_faults = 0;
}

static void test_faults_are_the_givers_where_the_program_handles_them(void **state)
{
	const size_t size = (size_t)(N_PAGES * sysconf(_SC_PAGESIZE));
	struct sigaction before[2];
	uint8_t *pages = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *shared;

	assert_true(pages != MAP_FAILED);
	watch_faults(before);
	expect_faults_of_giver(pages, false, N_PAGES);
	mprotect(pages, size, PROT_READ);
	expect_faults_of_giver(pages, false, 0);
	expect_faults_of_giver(pages, true, N_PAGES);
	munmap(pages, size);

	file = memfd_create("short", MFD_CLOEXEC);
	shared = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
	assert_true(file >= 0 && shared != MAP_FAILED);
	touch_all(shared, false);
	assert_in_range(n_faults, 1, N_PAGES); /* the first makes all of it */
	assert_int_equal(n_faults_elsewhere, 0);
	unwatch_faults(before);
	munmap(shared, size);
	close(file);
}

/* With a handler for this one alone; the library of these tests has its own. */
static bool is_guarded(int signal)
{
	const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	const struct sigaction none = {.sa_handler = SIG_DFL};
	struct sigaction before[3];
	struct gsb_crew c;

	sigaction(SIGSEGV, &none, &before[0]);
	sigaction(SIGBUS, &none, &before[1]);
	sigaction(signal, &action, &before[2]);
	gsb_crew_take(&c, LARGE, 7);
	gsb_crew_release(&c);
	sigaction(signal, &before[2], NULL);
	unwatch_faults(before);
	return c.is_guarded;
}

static void test_handler_of_either_signal_counts(void **state)
{
	see(16, 16, 1);
	assert_false(is_guarded(SIGUSR1));
	assert_true(is_guarded(SIGSEGV));
	assert_true(is_guarded(SIGBUS));
}

/* The crew does what can be touched, whoever handles faults. */
static void test_memory_in_order_is_touched_by_the_crew_beside_a_handler(void **state)
{
	const size_t size = (size_t)(N_PAGES * sysconf(_SC_PAGESIZE));
	struct sigaction before[2];
	uint8_t *pages =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned n_others = 0;

	assert_true(pages != MAP_FAILED);
	watch_faults(before);
	for (unsigned i = 0; i < N_ROUNDS && !n_others; i++)
		n_others = touch_all(pages, true);
	unwatch_faults(before);
	assert_int_not_equal(n_others, 0);
	assert_int_equal(n_faults, 0);
	munmap(pages, size);
}

/* ---- how many ---- */

static unsigned helpers(unsigned n_online, unsigned n_usable, unsigned n_running, unsigned n_now)
{
	const struct gsb_spare s = {n_online, n_usable, n_running};

	return gsb_spare_helpers(&s, n_now, false, 7);
}

static void test_helpers_are_half_of_what_is_left(void **state)
{
	assert_int_equal(helpers(16, 16, 1, 0), 7);
	assert_int_equal(helpers(8, 8, 1, 0), 4);
	assert_int_equal(helpers(8, 8, 5, 4), 6);
	assert_int_equal(helpers(8, 8, 8, 3), 3);
	assert_int_equal(helpers(8, 8, 9, 3), 1);
	assert_int_equal(helpers(8, 8, 20, 1), 0);
	assert_int_equal(helpers(16, 2, 1, 0), 1);
	assert_int_equal(helpers(16, 1, 1, 0), 0);
	assert_int_equal(helpers(8, 8, 0, 0), 4); /* nobody knows how many run */
}

static void test_helpers_that_were_in_the_way_are_given_up(void **state)
{
	const struct gsb_spare idle = {16, 16, 1};

	assert_int_equal(gsb_spare_helpers(&idle, 6, true, 7), 3);
	assert_int_equal(gsb_spare_helpers(&idle, 6, true, 2), 2);
	assert_int_equal(gsb_spare_helpers(&idle, 1, true, 7), 0);
}

static void test_running_threads_are_read_from_what_the_kernel_says(void **state)
{
	assert_int_equal(gsb_spare_read_running("0.20 0.18 0.12 3/80 11206\n"), 3);
	assert_int_equal(gsb_spare_read_running("0.20 0.18 0.12 12/80"), 12);
	assert_int_equal(gsb_spare_read_running("0.20 0.18"), 0);
	assert_int_equal(gsb_spare_read_running("0.20 0.18 0.12 /80"), 0);
	assert_int_equal(gsb_spare_read_running("0.20 0.18 0.12 12"), 0);
	assert_int_equal(gsb_spare_read_running(""), 0);
	assert_int_equal(gsb_spare_read_running("0.20 0.18 0.12 99999999999/80"), 0);
}

/* ---- quotas ---- */

static char root[] = "/tmp/gsb-crew-XXXXXX";

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "mkdir -p %s%s", root, folder);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_quota_is_the_least_of_a_group_and_those_above(void **state)
{
	write_file("/a/b", "cpu.max", "max 100000\n");
	assert_int_equal(gsb_spare_read_quota(root, "0::/a/b\n"), UINT_MAX);
	write_file("/a", "cpu.max", "250000 100000\n");
	assert_int_equal(gsb_spare_read_quota(root, "0::/a/b\n"), 3);
	assert_int_equal(gsb_spare_read_quota(root, "0::/a/b"), 3);
	write_file("/a/b", "cpu.max", "20000 100000\n");
	assert_int_equal(gsb_spare_read_quota(root, "0::/a/b\n"), 1);
	assert_int_equal(gsb_spare_read_quota(root, "0::/a\n"), 3);
	assert_int_equal(gsb_spare_read_quota(root, "0::/\n"), UINT_MAX);
}

/* A container sees its own group as the root, and the name that it has outside. */
static void test_quota_of_the_root_is_for_who_cannot_see_its_group(void **state)
{
	write_file("", "cpu.max", "400000 100000\n");
	assert_int_equal(gsb_spare_read_quota(root, "0::/outside/of/it\n"), 4);
	assert_int_equal(gsb_spare_read_quota(root, "0::/\n"), 4);
}

static void test_quota_of_the_older_groups_is_read(void **state)
{
	static const char groups[] =
		"4:memory:/x\n3:cpuset:/y\n2:cpu,cpuacct:/a\n1:name=systemd:/\n";

	write_file("/cpu/a", "cpu.cfs_period_us", "50000\n");
	write_file("/cpu/a", "cpu.cfs_quota_us", "-1\n");
	assert_int_equal(gsb_spare_read_quota(root, groups), UINT_MAX);
	write_file("/cpu/a", "cpu.cfs_quota_us", "100001\n");
	assert_int_equal(gsb_spare_read_quota(root, groups), 3);
	assert_int_equal(gsb_spare_read_quota(root, "3:cpuset:/a\n"), UINT_MAX);
	assert_int_equal(gsb_spare_read_quota(root, "2:cpuacct,cpu:/a\n"), 3);
}

static void test_groups_that_are_none_leave_no_quota(void **state)
{
	char *name = malloc(8192);

	memset(name, 'x', 8191);
	memcpy(name, "0::/", 4);
	name[8191] = 0;
	assert_int_equal(gsb_spare_read_quota(root, name), UINT_MAX);
	free(name);
	assert_int_equal(gsb_spare_read_quota(root, ""), UINT_MAX);
	assert_int_equal(gsb_spare_read_quota(root, "\n:\n0:\nno group\n"), UINT_MAX);
	assert_int_equal(gsb_spare_read_quota("/nowhere", "0::/a\n"), UINT_MAX);
	write_file("/a", "cpu.max", "nonsense\n");
	assert_int_equal(gsb_spare_read_quota(root, "0::/a\n"), UINT_MAX);
	write_file("/a", "cpu.max", "100000 0\n");
	assert_int_equal(gsb_spare_read_quota(root, "0::/a\n"), UINT_MAX);
}

static int make_root(void **state)
{
	strcpy(root, "/tmp/gsb-crew-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

void __real_gsb_spare_look(struct gsb_spare *s);

static void test_look_sees_this_machine(void **state)
{
	struct gsb_spare s;

	__real_gsb_spare_look(&s);
	assert_in_range(s.n_usable, 1, s.n_online);
	assert_in_range(s.n_running, 1, 1u << 20); /* this thread does */
}

static void *do_nothing(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_t first; /* with which a sanitizer begins its own */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_crew_the_giver_does_all),
		cmocka_unit_test(test_small_copies_have_none),
		cmocka_unit_test(test_as_many_as_are_to_spare_do_what_is_given),
		cmocka_unit_test(test_more_are_made_while_there_are_more_to_spare),
		cmocka_unit_test(test_fewer_are_used_when_there_are_fewer_to_spare),
		cmocka_unit_test(test_several_users_get_all_their_jobs_done),
		cmocka_unit_test(test_child_begins_anew),
		cmocka_unit_test(test_who_waits_for_a_part_has_it_done),
		cmocka_unit_test(test_nobody_is_at_parts_that_were_abandoned),
		cmocka_unit_test(test_faults_are_the_givers_where_the_program_handles_them),
		cmocka_unit_test(test_handler_of_either_signal_counts),
		cmocka_unit_test(test_memory_in_order_is_touched_by_the_crew_beside_a_handler),
		cmocka_unit_test(test_helpers_are_half_of_what_is_left),
		cmocka_unit_test(test_helpers_that_were_in_the_way_are_given_up),
		cmocka_unit_test(test_running_threads_are_read_from_what_the_kernel_says),
		cmocka_unit_test_setup_teardown(test_quota_is_the_least_of_a_group_and_those_above,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(
			test_quota_of_the_root_is_for_who_cannot_see_its_group, make_root,
			remove_root),
		cmocka_unit_test_setup_teardown(test_quota_of_the_older_groups_is_read, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_groups_that_are_none_leave_no_quota, make_root,
						remove_root),
		cmocka_unit_test(test_look_sees_this_machine),
	};

	assert_int_equal(pthread_create(&first, NULL, do_nothing, NULL), 0);
	pthread_join(first, NULL);
	n_not_ours = n_threads() - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
