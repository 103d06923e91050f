/*
 * loops.c - see loops.h.
 */
#include "tools/compare/loops.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/compare/record.h"

#define ARGS_MAX 24

/* ---- a tenant ---- */

/* One that runs: its words, so that they live as long as they are needed, and both ends that we have of it. */
struct tenant {
	char name[8], output[8];
	char numbers[5][24];
	struct gsb_seat seat;
	pid_t pid;
	int start_fd; /* -1: it waits for nobody */
	FILE *says;
};

struct argv {
	const char *words[ARGS_MAX];
	unsigned n;
	char (*rooms)[24];
};

static void add(struct argv *a, const char *option)
{
	a->words[a->n++] = option;
}

static void add_number(struct argv *a, const char *option, unsigned long long number)
{
	char *room = *a->rooms++;

	add(a, option);
	snprintf(room, sizeof(*a->rooms), "%llu", number);
	add(a, room);
}

/* Launches: of a critical one what is asked, of others so many that together they take their time alone. */
static unsigned n_launches(const struct gsb_loop_program *p, const struct gsb_tenant_load *load,
			   unsigned i)
{
	const struct gsb_looper *l = &load->of[i];
	unsigned ms = p->work_ms, n;

	if (l->critical)
		return p->n_answers;
	for (unsigned o = 0; o < load->n; o++)
		ms += o != i ? load->of[o].delay_ms : 0;
	n = (unsigned)(1000ull * ms / l->us);
	return n > GSB_LOOP_STEPS ? n : GSB_LOOP_STEPS;
}

static void fill_argv(const struct gsb_bench_site *s, const struct gsb_loop_program *p,
		      const struct gsb_looper *l, struct argv *a)
{
	add(a, p->path);
	add(a, "--kind");
	add(a, l->kind);
	add_number(a, "--rounds", l->rounds);
	if (l->critical)
		add_number(a, "--sms", p->critical_sms);
	if (l->critical && s->is_real && p->pause_us)
		add_number(a, "--pause", p->pause_us);
}

static void spawn(const struct gsb_bench_site *s, const char *const *argv, bool waits,
		  struct tenant *t)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};

	t->pid = -1;
	t->start_fd = -1;
	t->says = NULL;
	if ((waits && pipe2(in, O_CLOEXEC)) || pipe2(out, O_CLOEXEC))
		return;
	t->seat.in_fd = in[0];
	t->seat.out_fd = out[1];
	t->pid = gsb_site_spawn(s, &t->seat, argv);
	if (in[0] >= 0)
		close(in[0]);
	close(out[1]);
	t->start_fd = in[1];
	t->says = fdopen(out[0], "r");
}

static void start_tenant(const struct gsb_bench_site *s, const struct gsb_loop_program *p,
			 const struct gsb_tenant_load *load, unsigned i, unsigned long long turns,
			 const struct gsb_compared_way *way, const char *socket, struct tenant *t)
{
	struct argv a = {.rooms = t->numbers};

	snprintf(t->name, sizeof(t->name), "t%u", i + 1);
	snprintf(t->output, sizeof(t->output), "err%u", i);
	fill_argv(s, p, &load->of[i], &a);
	add_number(&a, "--turns", turns);
	add_number(&a, "--launches", n_launches(p, load, i));
	if (load->of[i].critical)
		add(&a, "--each");
	if (s->is_real)
		add(&a, "--wait");
	t->seat = (struct gsb_seat){way, socket, t->name, t->output, -1, -1};
	spawn(s, a.words, s->is_real, t);
}

static int end_tenant(const struct gsb_bench_site *s, struct tenant *t)
{
	if (t->start_fd >= 0)
		close(t->start_fd);
	if (t->says)
		fclose(t->says);
	return gsb_site_await(s, &t->seat, t->pid);
}

/* ---- what it says ---- */

static int read_steps(const char *line, struct gsb_progress_of *p)
{
	char *at = strchr(line, ' ');

	for (unsigned i = 1; i <= GSB_LOOP_STEPS; i++)
		p->at[i] = at ? strtod(at, &at) : 0;
	return p->at[GSB_LOOP_STEPS] > 0 ? 0 : -1;
}

static void read_answers(const char *line, struct gsb_loop_outcome *out)
{
	char *at = strchr(line, ' '), *end;

	for (out->n_answers = 0; at && out->n_answers < GSB_ANSWERS_MAX; at = end) {
		double us = strtod(at, &end);

		if (end == at)
			break;
		out->answers[out->n_answers++] = us;
	}
}

/* Until it ends. On a GPU answers are what the caller's clock says: the device's knows nothing of how they are called for. */
static int read_tenant(const struct gsb_bench_site *s, struct tenant *t, struct gsb_progress_of *p,
		       struct gsb_loop_outcome *out)
{
	const char *answers = s->is_real ? "host_us " : "device_us ";
	char *line = NULL;
	size_t room = 0;
	int err = -1;

	while (t->says && getline(&line, &room, t->says) > 0) {
		if (!strncmp(line, "stamps_ms ", 10))
			err = read_steps(line, p);
		else if (!strncmp(line, "host_ms ", 8))
			p->begin =
				p->asked + fmax(0, strtod(line + 8, NULL) - p->at[GSB_LOOP_STEPS]);
		else if (!strncmp(line, answers, strlen(answers)))
			read_answers(line, out);
	}
	free(line);
	return err;
}

/* ---- the load ---- */

/* All of them are ready: each says so. */
static int await_ready(struct tenant *t, unsigned n)
{
	char line[64];

	for (unsigned i = 0; i < n; i++)
		if (!t[i].says || !fgets(line, sizeof(line), t[i].says) || strcmp(line, "ready\n"))
			return -1;
	return 0;
}

static void let_begin(const struct gsb_tenant_load *load, struct tenant *t,
		      struct gsb_loop_outcome *out)
{
	uint64_t from = gsb_clock_ns();
	bool late[GSB_LOOPS_MAX] = {false};

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < load->n; i++) {
			late[i] = load->of[i].delay_ms;
			if (late[i] != pass)
				continue;
			if (late[i])
				usleep(load->of[i].delay_ms * 1000);
			out->progress[i].asked = (double)(gsb_clock_ns() - from) / 1e6;
			if (write(t[i].start_fd, "\n", 1) < 0)
				return; /* it has ended: that is found when it is waited for */
		}
}

static int run_at_once(const struct gsb_bench_site *s, const struct gsb_loop_program *p,
		       const struct gsb_tenant_load *load, const unsigned long long *turns,
		       const struct gsb_compared_way *way, const char *socket,
		       struct gsb_loop_outcome *out)
{
	struct tenant t[GSB_LOOPS_MAX];
	int err = 0;

	for (unsigned i = 0; i < load->n; i++)
		start_tenant(s, p, load, i, turns[i], way, socket, &t[i]);
	if (s->is_real)
		err = await_ready(t, load->n);
	if (s->is_real && !err)
		let_begin(load, t, out);
	for (unsigned i = 0; i < load->n; i++)
		err |= read_tenant(s, &t[i], &out->progress[i], out);
	for (unsigned i = 0; i < load->n; i++)
		err |= end_tenant(s, &t[i]);
	return err;
}

static int start_broker(const struct gsb_bench_site *s, const struct gsb_tenant_load *load,
			const char *policy, struct gsb_private_broker *b)
{
	FILE *conf = gsb_site_begin_conf(s, policy);

	if (!conf)
		return -1;
	if (!s->is_real && load->n > 1)
		fprintf(conf, "start_line = %u\n", load->n);
	for (unsigned i = 0; i < load->n; i++)
		fprintf(conf,
			"[tenant \"t%u\"]\nweight = %u\nslowdown_percent = %u\ncritical = %d\n",
			i + 1, load->of[i].weight, load->of[i].slowdown_percent,
			load->of[i].critical);
	return fclose(conf) ? -1 : gsb_site_start_broker(s, b);
}

/* In virtual time all ask at once; when each began follows from when it ended, as recorded. */
static int take_begins(const struct gsb_bench_site *s, const struct gsb_tenant_load *load,
		       struct gsb_loop_outcome *out)
{
	struct gsb_workload recorded;
	char name[8];
	double ns;
	int err = gsb_record_read(s, &recorded);

	if (err)
		return err;
	for (unsigned i = 0; !err && i < load->n; i++) {
		snprintf(name, sizeof(name), "t%u", i + 1);
		err = gsb_record_end_of(&recorded, name, &ns);
		out->progress[i].begin = ns / 1e6 - out->progress[i].at[GSB_LOOP_STEPS];
	}
	gsb_workload_finish(&recorded);
	return err;
}

static int run_under(const struct gsb_bench_site *s, const struct gsb_loop_program *p,
		     const struct gsb_tenant_load *load, const unsigned long long *turns,
		     const struct gsb_compared_way *way, const char *socket,
		     struct gsb_loop_outcome *out)
{
	double sm_ns;
	int err;

	if (s->is_real)
		return run_at_once(s, p, load, turns, way, socket, out);
	err = gsb_record_begin(s, socket);
	if (!err)
		err = run_at_once(s, p, load, turns, way, socket, out);
	if (!err)
		err = gsb_site_await_gone(socket, load->n, &sm_ns);
	if (!err)
		err = gsb_record_end(s, socket);
	return err ? err : take_begins(s, load, out);
}

int gsb_load_run(const struct gsb_bench_site *s, const struct gsb_loop_program *p,
		 const struct gsb_tenant_load *load, const unsigned long long *turns,
		 const struct gsb_compared_way *way, struct gsb_loop_outcome *out)
{
	struct gsb_private_broker broker;
	int err;

	*out = (struct gsb_loop_outcome){0};
	if (way->way != GSB_WAY_POLICY)
		return run_at_once(s, p, load, turns, way, NULL, out);
	if (start_broker(s, load, way->policy, &broker))
		return -1;
	err = run_under(s, p, load, turns, way, broker.socket, out);
	gsb_private_broker_stop(&broker);
	return err;
}

unsigned long long gsb_loop_calibrate(const struct gsb_bench_site *s,
				      const struct gsb_loop_program *p, const struct gsb_looper *l)
{
	struct gsb_tenant_load one = {.n = 1, .of = {*l}};
	struct tenant t = {.name = "t1", .output = "err0"};
	struct argv a = {.rooms = t.numbers};
	struct gsb_private_broker broker = {0};
	unsigned long long turns = 0;

	if (!s->is_real && start_broker(s, &one, "fifo", &broker))
		return 0;
	fill_argv(s, p, l, &a);
	add_number(&a, "--us", l->us);
	add(&a, "--calibrate");
	t.seat = (struct gsb_seat){NULL, s->is_real ? NULL : broker.socket, t.name, t.output, -1,
				   -1};
	spawn(s, a.words, false, &t);
	if (t.says && fscanf(t.says, "%llu", &turns) != 1)
		turns = 0;
	if (end_tenant(s, &t))
		turns = 0;
	if (broker.pid > 0)
		gsb_private_broker_stop(&broker);
	return turns;
}
