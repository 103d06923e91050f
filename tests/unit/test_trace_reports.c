/*
 * test_trace_reports.c - what gsb-trace makes of a trace: chains of waits that add up, TAU files that a strict reader takes,
 * JSON that is whole, a page with the trace in it; and that no trace, however wrong, harms any of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "model/input/workload.h"
#include "tests/unit/temp.h"
#include "tests/unit/trace_kit.h"
#include "tools/trace/critical.h"
#include "tools/trace/export.h"
#include "tools/trace/find.h"
#include "tools/trace/forms.h"
#include "tools/trace/source.h"
#include "trace/read.h"

#define N_MUTATIONS 2000

struct loaded {
	struct gsb_traced t;
	struct gsb_accounts a;
};

static void load(struct loaded *l, struct trace_kit *k)
{
	trace_kit_load(k, &l->t);
	assert_int_equal(gsb_accounts_make(&l->a, &l->t), 0);
	trace_kit_finish(k);
}

static void load_story(struct loaded *l)
{
	struct trace_kit k = {0};

	trace_kit_story(&k);
	load(l, &k);
}

static void unload(struct loaded *l)
{
	gsb_accounts_finish(&l->a);
	gsb_traced_finish(&l->t);
}

static uint32_t index_of(const struct loaded *l, uint64_t serial)
{
	return (uint32_t)(gsb_traced_find(&l->t, serial) - l->t.ops);
}

/* ---- a program of two queries, one of which scans and joins ---- */

static void put_range(struct trace_kit *k, enum gsb_trace_range_step step, uint64_t device_ns,
		      const char *name)
{
	struct gsb_trace_range e = {
		.head = {GSB_TRACE_RANGE, sizeof(e), 1, k->real_ns += 10},
		.device_ns = device_ns,
		.step = (uint8_t)step,
	};

	snprintf(e.name, sizeof(e.name), "%s", name);
	trace_kit_put(k, &e);
}

#define PUSH(k, ns, name) put_range(k, GSB_TRACE_RANGE_STEP_PUSH, ns, name)
#define POP(k, ns)	  put_range(k, GSB_TRACE_RANGE_STEP_POP, ns, "")

static void put_launch(struct trace_kit *k, uint64_t serial, uint64_t kernel, uint64_t ns)
{
	trace_kit_op(k, &(struct kit_op){.tenant = 1,
					 .serial = serial,
					 .kernel = kernel,
					 .n_blocks = 1,
					 .post = ns,
					 .ready = ns,
					 .issued = ns,
					 .start = ns,
					 .end = ns + 500});
}

static void load_queries(struct loaded *l)
{
	struct trace_kit k = {0};

	trace_kit_tenant(&k, 1, "db");
	trace_kit_kernel(&k, 1, 5, "scan");
	trace_kit_kernel(&k, 1, 6, "join");
	put_launch(&k, 1, 5, 1000);
	PUSH(&k, 2000, "q1");
	put_launch(&k, 2, 5, 3000);
	POP(&k, 4000);
	PUSH(&k, 4000, "q2");
	PUSH(&k, 4500, "build");
	put_launch(&k, 3, 5, 5000);
	put_launch(&k, 4, 5, 6000);
	POP(&k, 7000);
	put_launch(&k, 5, 6, 7000);
	POP(&k, 8000);
	load(l, &k);
}

/* ---- the chain of waits ---- */

static void expect_joined(const struct loaded *l, const struct gsb_critical *c, uint32_t last)
{
	uint64_t sum = 0;

	assert_true(c->n_steps > 0);
	assert_int_equal(c->steps[c->n_steps - 1].to_ns, l->t.ops[last].completed_ns);
	for (uint32_t i = 0; i < c->n_steps; i++) {
		assert_true(c->steps[i].from_ns < c->steps[i].to_ns);
		if (i)
			assert_int_equal(c->steps[i].from_ns, c->steps[i - 1].to_ns);
	}
	for (unsigned cause = 0; cause < GSB_N_CRITICAL_CAUSES; cause++)
		sum += c->causes[cause];
	assert_int_equal(sum, c->steps[c->n_steps - 1].to_ns - c->steps[0].from_ns);
}

static void test_critical_follows_the_stream_to_its_first_post(void **state)
{
	struct gsb_critical c;
	struct loaded l;

	load_story(&l);
	assert_int_equal(gsb_critical_make(&c, &l.t, &l.a, index_of(&l, 5), 0), 0);
	expect_joined(&l, &c, index_of(&l, 5));
	assert_int_equal(c.steps[0].from_ns, 900);
	assert_int_equal(c.causes[GSB_CRITICAL_KERNEL], 1000 + 2000 + 300);
	assert_int_equal(c.causes[GSB_WAIT_POLICY], 50 + 900 + 600);
	assert_int_equal(c.causes[GSB_WAIT_DEVICE], 50 + 100 + 100);
	assert_int_equal(c.beyond_ns, 1000);
	gsb_critical_finish(&c);
	unload(&l);
}

static void test_critical_follows_an_event_into_another_stream(void **state)
{
	struct gsb_critical c;
	struct loaded l;

	load_story(&l);
	assert_int_equal(gsb_critical_make(&c, &l.t, &l.a, index_of(&l, 6), 0), 0);
	expect_joined(&l, &c, index_of(&l, 6));
	assert_int_equal(c.steps[0].op, index_of(&l, 2));
	assert_int_equal(c.causes[GSB_CRITICAL_KERNEL], 1000 + 2000 + 300 + 500);
	gsb_critical_finish(&c);
	unload(&l);
}

static void test_critical_blames_the_program_for_what_it_had_not_posted(void **state)
{
	struct trace_kit k = {0};
	struct gsb_critical c;
	struct loaded l;

	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .stream = 1,
					  .serial = 1,
					  .n_blocks = 1,
					  .post = 100,
					  .ready = 100,
					  .issued = 100,
					  .start = 100,
					  .end = 200});
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .stream = 2,
					  .serial = 2,
					  .n_blocks = 1,
					  .post = 700,
					  .ready = 700,
					  .issued = 700,
					  .start = 700,
					  .end = 900});
	load(&l, &k);
	assert_int_equal(gsb_critical_make(&c, &l.t, &l.a, 1, 0), 0);
	expect_joined(&l, &c, 1);
	assert_int_equal(c.n_steps, 3);
	assert_int_equal(c.causes[GSB_CRITICAL_PROGRAM], 500);
	assert_int_equal(c.causes[GSB_CRITICAL_KERNEL], 300);
	gsb_critical_finish(&c);
	unload(&l);
}

/* Each says that it waits for the other. */
static void test_critical_of_a_range_begins_with_it(void **state)
{
	struct gsb_critical c;
	struct loaded l;
	uint32_t last;

	load_queries(&l);
	last = index_of(&l, 5);
	assert_int_equal(gsb_critical_make(&c, &l.t, &l.a, last, 4000), 0);
	expect_joined(&l, &c, last);
	assert_int_equal(c.steps[0].from_ns, 4000);
	assert_int_equal(c.causes[GSB_CRITICAL_KERNEL], 1500);
	assert_int_equal(c.causes[GSB_CRITICAL_PROGRAM], 2000);
	gsb_critical_finish(&c);
	unload(&l);
}

static void test_filter_of_a_range_has_what_is_in_it(void **state)
{
	struct gsb_traced_filter f;
	struct loaded l;

	load_queries(&l);
	assert_int_equal(gsb_traced_filter_read(&f, &l.t, "q2"), 0);
	for (uint64_t serial = 1; serial <= 5; serial++)
		assert_int_equal(gsb_traced_matches(&f, &l.t, gsb_traced_find(&l.t, serial)),
				 serial >= 3);
	assert_int_equal(gsb_traced_filter_read(&f, &l.t, "build"), 0);
	assert_true(gsb_traced_matches(&f, &l.t, gsb_traced_find(&l.t, 4)));
	assert_false(gsb_traced_matches(&f, &l.t, gsb_traced_find(&l.t, 5)));
	unload(&l);
}

static void test_critical_ends_whatever_a_trace_says(void **state)
{
	struct trace_kit k = {0};
	struct gsb_critical c;
	struct loaded l;

	for (uint64_t serial = 1; serial <= 2; serial++)
		trace_kit_op(&k, &(struct kit_op){.tenant = 1,
						  .stream = (uint32_t)serial,
						  .serial = serial,
						  .n_blocks = 1,
						  .post = 100,
						  .ready = 200,
						  .issued = 200,
						  .start = 200,
						  .end = 200,
						  .on = 3 - serial,
						  .park = GSB_TRACE_PARK_EVENT});
	load(&l, &k);
	alarm(60); /* else it would be a hang */
	assert_int_equal(gsb_critical_make(&c, &l.t, &l.a, 1, 0), 0);
	alarm(0);
	expect_joined(&l, &c, 1);
	gsb_critical_finish(&c);
	unload(&l);
}

/* ---- words on the command line ---- */

static unsigned count_matches(const struct loaded *l, const char *word)
{
	struct gsb_traced_filter f;
	unsigned n = 0;

	assert_int_equal(gsb_traced_filter_read(&f, &l->t, word), 0);
	for (uint32_t i = 0; i < l->t.n_ops; i++)
		n += gsb_traced_matches(&f, &l->t, &l->t.ops[i]);
	return n;
}

static void test_filter_knows_tenants_kernels_and_serials(void **state)
{
	struct gsb_traced_filter f;
	struct loaded l;

	load_story(&l);
	assert_int_equal(count_matches(&l, "alice"), 3);
	assert_int_equal(count_matches(&l, "#2"), 3);
	assert_int_equal(count_matches(&l, "join"), 3);
	assert_int_equal(count_matches(&l, "scan"), 2);
	assert_int_equal(count_matches(&l, "4"), 1);
	assert_int_not_equal(gsb_traced_filter_read(&f, &l.t, "7"), 0);
	assert_int_not_equal(gsb_traced_filter_read(&f, &l.t, "4x"), 0);
	assert_int_not_equal(gsb_traced_filter_read(&f, &l.t, ""), 0);
	unload(&l);
}

/* ---- TAU ---- */

/* A profile as a strict reader sees it. Anything that is not as the format says fails the test. */
struct tau_row {
	char name[512], group[64];
	double calls, subrs, exclusive, inclusive;
};

struct tau_event {
	char name[128];
	double n, most, least, mean, squares;
};

struct tau_file {
	char metadata[4096];
	struct tau_row rows[64];
	struct tau_event events[32];
	unsigned n_rows, n_events;
};

static void tau_line(FILE *from, char line[4096])
{
	size_t n;

	assert_non_null(fgets(line, 4096, from));
	n = strlen(line);
	assert_int_equal(line[n - 1], '\n');
	line[n - 1] = '\0';
}

/* "name" and the rest of the line behind its blank. */
static const char *tau_quoted(const char *line, char *name, size_t size)
{
	const char *end;

	assert_int_equal(*line, '"');
	end = strchr(line + 1, '"');
	assert_non_null(end);
	assert_in_range(end - line, 2, size);
	memcpy(name, line + 1, (size_t)(end - line - 1));
	name[end - line - 1] = '\0';
	return end + 1;
}

static double tau_number(const char **at)
{
	char *end;
	double x;

	assert_int_equal(**at, ' ');
	x = strtod(*at + 1, &end);
	assert_ptr_not_equal(end, *at + 1);
	assert_true(x >= 0);
	*at = end;
	return x;
}

static void tau_row(FILE *from, struct tau_row *r)
{
	char line[4096];
	const char *at, *end;

	tau_line(from, line);
	at = tau_quoted(line, r->name, sizeof(r->name));
	r->calls = tau_number(&at);
	r->subrs = tau_number(&at);
	r->exclusive = tau_number(&at);
	r->inclusive = tau_number(&at);
	assert_true(tau_number(&at) == 0);
	assert_memory_equal(at, " GROUP=", 7);
	end = tau_quoted(at + 7, r->group, sizeof(r->group));
	assert_string_equal(end, "");
	assert_true(r->exclusive <= r->inclusive);
	assert_int_equal(strstr(r->name, " => ") != NULL, !strncmp(r->group, "TAU_CALLPATH|", 13));
}

static void tau_events(FILE *from, struct tau_file *f)
{
	char line[4096];
	const char *at;
	int n = 0;

	if (!fgets(line, sizeof(line), from))
		return;
	assert_int_equal(sscanf(line, "%u userevents\n%n", &f->n_events, &n), 1);
	assert_int_equal(n, strlen(line));
	assert_in_range(f->n_events, 1, GSB_ARRAY_LEN(f->events));
	tau_line(from, line);
	assert_string_equal(line, "# eventname numevents max min mean sumsqr");
	for (unsigned i = 0; i < f->n_events; i++) {
		struct tau_event *e = &f->events[i];

		tau_line(from, line);
		at = tau_quoted(line, e->name, sizeof(e->name));
		e->n = tau_number(&at);
		e->most = tau_number(&at);
		e->least = tau_number(&at);
		e->mean = tau_number(&at);
		e->squares = tau_number(&at);
		assert_string_equal(at, "");
		assert_true(e->n >= 1 && e->least <= e->mean && e->mean <= e->most);
	}
	assert_null(fgets(line, sizeof(line), from));
}

static void tau_read(const char *path, struct tau_file *f)
{
	FILE *from = fopen(path, "re");
	char line[4096];
	const char *head = "# Name Calls Subrs Excl Incl ProfileCalls # <metadata>";
	int n = 0;

	assert_non_null(from);
	*f = (struct tau_file){0};
	tau_line(from, line);
	assert_int_equal(sscanf(line, "%u templated_functions_MULTI_TIME%n", &f->n_rows, &n), 1);
	assert_int_equal(n, strlen(line));
	assert_in_range(f->n_rows, 1, GSB_ARRAY_LEN(f->rows));
	tau_line(from, line);
	assert_memory_equal(line, head, strlen(head));
	assert_string_equal(line + strlen(line) - 11, "</metadata>");
	snprintf(f->metadata, sizeof(f->metadata), "%s", line + strlen(head));
	for (unsigned i = 0; i < f->n_rows; i++)
		tau_row(from, &f->rows[i]);
	tau_line(from, line);
	assert_string_equal(line, "0 aggregates");
	tau_events(from, f);
	fclose(from);
}

static const struct tau_row *find_row(const struct tau_file *f, const char *name)
{
	for (unsigned i = 0; i < f->n_rows; i++)
		if (!strcmp(f->rows[i].name, name))
			return &f->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void test_tau_rows_are_what_the_stream_ran(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 32];
	struct tau_file f;
	struct loaded l;

	load_story(&l);
	trace_kit_folder(dir);
	assert_int_equal(gsb_export_tau(dir, &l.t, &l.a), 0);
	snprintf(path, sizeof(path), "%s/profile.0.0.0", dir);
	tau_read(path, &f);
	assert_non_null(strstr(f.metadata, "<name>Tenant</name><value>alice</value>"));
	assert_int_equal(f.n_rows, 7);
	assert_true(find_row(&f, "scan")->calls == 2);
	assert_true(find_row(&f, "scan")->inclusive == 3.0);
	assert_true(find_row(&f, ".TAU application => alice => join")->exclusive == 0.3);
	assert_true(find_row(&f, "alice")->inclusive == 5.1);
	assert_true(find_row(&f, ".TAU application")->exclusive == 0);
	snprintf(path, sizeof(path), "%s/profile.0.1.1", dir);
	tau_read(path, &f);
	assert_int_equal(f.n_rows, 5);
	snprintf(path, sizeof(path), "%s/profile.0.1.2", dir);
	assert_int_not_equal(access(path, F_OK), 0);
	trace_kit_remove(dir);
	unload(&l);
}

/* Exclusive times of the flat rows of a thread are its inclusive time: nothing is counted twice, nothing is left out. */
static void test_tau_exclusive_times_add_up(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 32];
	struct tau_file f;
	struct loaded l;

	load_story(&l);
	trace_kit_folder(dir);
	assert_int_equal(gsb_export_tau(dir, &l.t, &l.a), 0);
	for (unsigned c = 0; c < 2; c++) {
		double sum = 0;

		snprintf(path, sizeof(path), "%s/profile.0.%u.0", dir, c);
		tau_read(path, &f);
		for (unsigned i = 0; i < f.n_rows; i++)
			sum += strstr(f.rows[i].name, "=>") ? 0 : f.rows[i].exclusive;
		assert_true(sum > find_row(&f, ".TAU application")->inclusive - 1e-9);
		assert_true(sum < find_row(&f, ".TAU application")->inclusive + 1e-9);
	}
	trace_kit_remove(dir);
	unload(&l);
}

static void test_tau_paths_go_through_ranges(void **state)
{
	static const struct {
		const char *name;
		double calls, subrs, inclusive;
	} want[] = {
		{"db", 1, 3, 6.5},
		{"q1", 1, 1, 0.5},
		{"q2", 1, 2, 1.5},
		{"build", 1, 2, 1.0},
		{"scan", 4, 0, 2.0},
		{".TAU application => db => scan", 1, 0, 0.5},
		{".TAU application => db => q1", 1, 1, 0.5},
		{".TAU application => db => q1 => scan", 1, 0, 0.5},
		{".TAU application => db => q2 => build", 1, 2, 1.0},
		{".TAU application => db => q2 => build => scan", 2, 0, 1.0},
		{".TAU application => db => q2 => join", 1, 0, 0.5},
	};
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 32];
	struct tau_file f;
	struct loaded l;
	double sum = 0;

	load_queries(&l);
	trace_kit_folder(dir);
	assert_int_equal(gsb_export_tau(dir, &l.t, &l.a), 0);
	snprintf(path, sizeof(path), "%s/profile.0.0.0", dir);
	tau_read(path, &f);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(want); i++) {
		const struct tau_row *r = find_row(&f, want[i].name);

		assert_true(r->calls == want[i].calls);
		assert_true(r->subrs == want[i].subrs);
		assert_true(r->inclusive == want[i].inclusive);
	}
	for (unsigned i = 0; i < f.n_rows; i++)
		sum += strstr(f.rows[i].name, "=>") ? 0 : f.rows[i].exclusive;
	assert_true(sum > 6.5 - 1e-9 && sum < 6.5 + 1e-9);
	trace_kit_remove(dir);
	unload(&l);
}

/* A query that calls itself takes its time once. */
static void test_tau_range_in_its_like_counts_once(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 32];
	struct trace_kit k = {0};
	struct tau_file f;
	struct loaded l;

	trace_kit_tenant(&k, 1, "db");
	trace_kit_kernel(&k, 1, 5, "scan");
	PUSH(&k, 0, "q\"");
	PUSH(&k, 0, "q\"");
	put_launch(&k, 1, 5, 1000);
	load(&l, &k);
	trace_kit_folder(dir);
	assert_int_equal(gsb_export_tau(dir, &l.t, &l.a), 0);
	snprintf(path, sizeof(path), "%s/profile.0.0.0", dir);
	tau_read(path, &f);
	assert_true(find_row(&f, "q'")->inclusive == 0.5);
	assert_true(find_row(&f, ".TAU application => db => q' => q'")->inclusive == 0.5);
	trace_kit_remove(dir);
	unload(&l);
}

static void test_tau_names_and_metadata_cannot_break_a_line(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 32];
	struct trace_kit k = {0};
	struct tau_file f;
	struct loaded l;

	trace_kit_tenant(&k, 1, "a\"b\n<x>&");
	trace_kit_kernel(&k, 1, 5, "k\" => 1 2 3");
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .serial = 1,
					  .kernel = 5,
					  .n_blocks = 1,
					  .post = 1,
					  .ready = 1,
					  .issued = 1,
					  .start = 1,
					  .end = 9});
	load(&l, &k);
	trace_kit_folder(dir);
	assert_int_equal(gsb_export_tau(dir, &l.t, &l.a), 0);
	snprintf(path, sizeof(path), "%s/profile.0.0.0", dir);
	tau_read(path, &f);
	assert_non_null(strstr(f.metadata, "<value>a&quot;b?&lt;x&gt;&amp;</value>"));
	assert_true(find_row(&f, "k' =) 1 2 3")->calls == 1);
	trace_kit_remove(dir);
	unload(&l);
}

static const char golden[] =
	"7 templated_functions_MULTI_TIME\n"
	"# Name Calls Subrs Excl Incl ProfileCalls # <metadata>"
	"<attribute><name>Tenant</name><value>bob</value></attribute>"
	"<attribute><name>Program</name><value>db</value></attribute>"
	"<attribute><name>PID</name><value>102</value></attribute>"
	"<attribute><name>Stream</name><value>1</value></attribute>"
	"<attribute><name>Device</name><value>emu:h200</value></attribute>"
	"<attribute><name>Policy</name><value>fifo</value></attribute>"
	"<attribute><name>Broker version</name><value>1.2</value></attribute></metadata>\n"
	"\".TAU application\" 1 1 0 6.2 0 GROUP=\"TAU_USER\"\n"
	"\"bob\" 1 2 4.8 6.2 0 GROUP=\"TAU_USER\"\n"
	"\".TAU application => bob\" 1 2 4.8 6.2 0 GROUP=\"TAU_CALLPATH|TAU_USER\"\n"
	"\"copy, host to device\" 1 0 0.4 0.4 0 GROUP=\"TAU_GPU_MEMORY_COPY\"\n"
	"\".TAU application => bob => copy, host to device\" 1 0 0.4 0.4 0 "
	"GROUP=\"TAU_CALLPATH|TAU_GPU_MEMORY_COPY\"\n"
	"\"join\" 1 0 1 1 0 GROUP=\"TAU_KERNEL\"\n"
	"\".TAU application => bob => join\" 1 0 1 1 0 GROUP=\"TAU_CALLPATH|TAU_KERNEL\"\n"
	"0 aggregates\n"
	"3 userevents\n"
	"# eventname numevents max min mean sumsqr\n"
	"\"Bytes copied from Host to Device\" 1 1048576 1048576 1048576 1099511627776\n"
	"\"Microseconds waited for the policy\" 2 2.4 0.05 1.225 5.7625\n"
	"\"Microseconds waited for its way to the device, and room there\" 2 0.1 0.05 "
	"0.07500000000000001 0.0125\n";

static void test_tau_file_is_the_golden_one(void **state)
{
	char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX + 32], text[8192] = "";
	struct loaded l;
	FILE *from;

	load_story(&l);
	trace_kit_folder(dir);
	assert_int_equal(gsb_export_tau(dir, &l.t, &l.a), 0);
	snprintf(path, sizeof(path), "%s/profile.0.1.0", dir);
	from = fopen(path, "re");
	assert_non_null(from);
	assert_in_range(fread(text, 1, sizeof(text) - 1, from), 1, sizeof(text) - 2);
	fclose(from);
	assert_string_equal(text, golden);
	trace_kit_remove(dir);
	unload(&l);
}

/* ---- JSON and the page ---- */

/* Behind one JSON value; NULL: it is none. */
static const char *json_value(const char *s);

static const char *json_space(const char *s)
{
	return s + strspn(s, " \n\t");
}

static const char *json_text(const char *s)
{
	for (s++; *s && *s != '"'; s++) {
		if ((unsigned char)*s < ' ')
			return NULL;
		if (*s == '\\' && !strchr("\"\\/bfnrtu", *++s))
			return NULL;
	}
	return *s ? s + 1 : NULL;
}

static const char *json_members(const char *s, char end)
{
	s = json_space(s + 1);
	if (*s == end)
		return s + 1;
	for (;;) {
		if (end == '}') {
			s = *s == '"' ? json_text(s) : NULL;
			if (!s || *(s = json_space(s)) != ':')
				return NULL;
			s++;
		}
		s = json_value(s);
		if (!s)
			return NULL;
		s = json_space(s);
		if (*s == end)
			return s + 1;
		if (*s != ',')
			return NULL;
		s = json_space(s + 1);
	}
}

static const char *json_value(const char *s)
{
	static const char *const words[] = {"true", "false", "null"};
	char *end;

	s = json_space(s);
	if (*s == '{' || *s == '[')
		return json_members(s, *s == '{' ? '}' : ']');
	if (*s == '"')
		return json_text(s);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(words); i++)
		if (!strncmp(s, words[i], strlen(words[i])))
			return s + strlen(words[i]);
	if (*s != '-' && !isdigit((unsigned char)*s))
		return NULL;
	strtod(s, &end);
	return end;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static char *export_text(const struct loaded *l, int (*export)(FILE *, const struct gsb_traced *,
							       const struct gsb_accounts *))
{
	size_t size;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(export(to, &l->t, &l->a), 0);
	fclose(to);
	return text;
}

static void test_perfetto_is_json_with_every_run_and_arrow(void **state)
{
	struct loaded l;
	const char *end;
	char *text;

	load_story(&l);
	text = export_text(&l, gsb_export_perfetto);
	end = json_value(text);
	assert_non_null(end);
	assert_string_equal(end, "\n");
	assert_int_equal(count(text, "\"ph\": \"X\""), 6);
	assert_int_equal(count(text, "\"name\": \"process_name\""), 2);
	assert_int_equal(count(text, "\"ph\": \"s\""), 1);
	assert_non_null(strstr(text, "{\"ph\": \"f\", \"pid\": 2, \"tid\": 2, \"ts\": 6.100, "));
	assert_non_null(strstr(text, "{\"ph\": \"X\", \"pid\": 2, \"tid\": 1, \"ts\": 3.500, "
				     "\"dur\": 1.000, \"cat\": \"launch\", \"name\": \"join\""));
	assert_int_equal(count(text, "\"ph\": \"b\""), count(text, "\"ph\": \"e\""));
	free(text);
	unload(&l);
}

static void test_perfetto_has_ranges_as_spans_of_their_program(void **state)
{
	struct loaded l;
	char *text;

	load_queries(&l);
	text = export_text(&l, gsb_export_perfetto);
	assert_string_equal(json_value(text), "\n");
	assert_int_equal(count(text, "\"cat\": \"range\""), 6);
	assert_non_null(strstr(
		text, "{\"ph\": \"e\", \"pid\": 1, \"tid\": 0, \"ts\": 7.000, \"cat\": \"range\", "
		      "\"id\": \"range 2\", \"name\": \"build\", "
		      "\"args\": {\"thread\": 0, \"path\": \"q2 =\\u003e build\"}}"));
	assert_int_equal(count(text, "\"range\": \"q2 =\\u003e build\"}}"), 2);
	free(text);
	unload(&l);
}

/* ---- the picture of errors ---- */

static void test_error_plot_has_a_point_for_each_prediction(void **state)
{
	struct loaded l;
	char *text;

	load_story(&l);
	text = export_text(&l, gsb_export_error_plot);
	assert_non_null(strstr(text, "2 launches, 100 % within 20 %"));
	assert_non_null(strstr(text, "2 launches, 50 % within 20 %")); /* join: 1.1, it was 2 */
	assert_int_equal(count(text, "<title>scan: 1</title>"), 2);
	assert_int_equal(count(text, "<title>join: 1</title>"), 2);
	assert_int_equal(count(text, "<circle "), 4 + 2); /* and the key */
	assert_string_equal(strstr(text, "</svg>"), "</svg>\n");
	free(text);
	unload(&l);
}

/* Of a launch that took twice as long as predicted the point is below the diagonal, on the measured axis far right. */
static void test_error_plot_puts_measured_across_and_predicted_up(void **state)
{
	struct trace_kit k = {0};
	struct loaded l;
	char *text;

	trace_kit_tenant(&k, 1, "t");
	trace_kit_kernel(&k, 1, 5, "late");
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .serial = 1,
					  .kernel = 5,
					  .n_blocks = 1,
					  .post = 1,
					  .ready = 1,
					  .issued = 1,
					  .start = 1000,
					  .end = 3000,
					  .predicted_ns = 1000});
	load(&l, &k);
	text = export_text(&l, gsb_export_error_plot);
	assert_non_null(strstr(text, "1 launch, 0 % within 20 %"));
	/* of 1 and 2 us on axes from 1 e^-0.1 to 2 e^0.1 us */
	assert_non_null(strstr(text, "<circle cx=\"342.9\" cy=\"332.9\""));
	free(text);
	unload(&l);
}

static void test_error_plot_names_are_text(void **state)
{
	struct trace_kit k = {0};
	struct loaded l;
	char *text;

	trace_kit_tenant(&k, 1, "<script>");
	trace_kit_kernel(&k, 1, 5, "<a&b>");
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .serial = 1,
					  .kernel = 5,
					  .n_blocks = 1,
					  .start = 1,
					  .end = 9,
					  .predicted_ns = 9});
	load(&l, &k);
	text = export_text(&l, gsb_export_error_plot);
	assert_null(strstr(text, "<script"));
	assert_int_equal(count(text, "&#60;a&#38;b&#62;"), 2);
	free(text);
	unload(&l);
}

/* ---- the load ---- */

/* What was exported, as whoever replays it reads it: it must be a load, whatever the trace was. */
static void read_load(const struct gsb_traced *t, const struct gsb_accounts *a,
		      struct gsb_workload *out)
{
	struct gsb_text_error err = {0};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(gsb_export_workload(to, t, a), 0);
	fclose(to);
	if (gsb_workload_parse(text, size, out, &err))
		fail_msg("line %u: %s", err.line, err.what);
	free(text);
}

static void test_load_has_what_was_posted_and_what_was_measured(void **state)
{
	struct gsb_workload got;
	struct loaded l;

	load_story(&l);
	read_load(&l.t, &l.a, &got);
	assert_string_equal(got.device.name, "emu:h200");
	assert_int_equal(got.n_tenants, 2);
	assert_int_equal(got.n_streams, 3);
	assert_int_equal(got.n_kernels, 3);
	assert_int_equal(got.n_ops, 6);
	assert_int_equal(got.ops[0].kind, GSB_WORKLOAD_COPY);
	assert_int_equal(got.ops[0].bytes, 1 << 20);
	assert_int_equal(got.ops[0].from, GSB_WORKLOAD_HOST);
	assert_int_equal(got.ops[0].post_ns, 400);
	assert_int_equal(got.ops[0].think_ns, 400);
	assert_string_equal(got.kernels[got.ops[1].kernel_at].name, "scan");
	assert_int_equal(got.kernels[got.ops[1].kernel_at].regs, 32);
	assert_int_equal(got.ops[1].grid[0], 64);
	assert_int_equal(got.ops[1].block[0], 128);
	assert_int_equal(got.ops[1].start_ns, 1000);
	assert_int_equal(got.ops[1].end_ns, 2000);
	assert_int_equal(got.ops[1].alone_ns, 1000);
	assert_int_equal(got.ops[2].alone_ns, 1000); /* such a one ran alone before */
	assert_int_equal(got.ops[4].alone_ns, 300);
	gsb_workload_finish(&got);
	unload(&l);
}

/* A launch of 8 blocks that runs from start to start + 100, completed at once. */
static void put_run(struct trace_kit *k, uint32_t tenant, uint64_t serial, uint64_t post,
		    uint64_t start)
{
	trace_kit_op(k, &(struct kit_op){.tenant = tenant,
					 .stream = 1,
					 .serial = serial,
					 .kernel = 0xa1,
					 .n_blocks = 8,
					 .post = post,
					 .ready = post,
					 .issued = post,
					 .start = start,
					 .end = start + 100});
}

/* What completes at once. */
static void put_instant(struct trace_kit *k, uint32_t tenant, uint64_t serial, uint64_t ns)
{
	PUT(k, QUEUED, queued, tenant, .serial = serial, .stream = 1,
	    .kind = GSB_TRACE_OP_EVENT_RECORD, .post_device_ns = ns);
	PUT(k, RECORDS, records, tenant, .serial = serial, .number = 1);
	PUT(k, COMPLETED, completed, tenant, .serial = serial, .device_ns = ns,
	    .number = ++k->numbers[(tenant * 8 + 1) % 64], .stream = 1);
}

/* Who waits goes on after a command of his own; who never waits has all times from when he came. */
static void test_load_names_what_the_program_had_waited_for(void **state)
{
	static const struct {
		uint64_t after, think_ns;
	} want[] = {{0, 50}, {1, 20}, {0, 210}, {1, 30}, {1, 40}, {5, 40}, {1, 100}};
	struct trace_kit k = {0};
	struct gsb_workload got;
	struct loaded l;

	trace_kit_tenant(&k, 1, "alice");
	trace_kit_tenant(&k, 2, "bob");
	trace_kit_kernel(&k, 1, 0xa1, "scan");
	trace_kit_kernel(&k, 2, 0xa1, "scan");
	put_run(&k, 1, 1, 50, 100);
	put_instant(&k, 1, 2, 220);  /* an event on an idle stream */
	put_run(&k, 2, 3, 210, 300); /* of bob, of whom nothing is done */
	put_run(&k, 1, 4, 230, 400);
	put_run(&k, 1, 5, 240, 500); /* posted before 4 was done */
	put_run(&k, 1, 6, 640, 700);
	/* posted before that was done, as device time tells */
	put_run(&k, 1, 7, 300, 800);
	load(&l, &k);
	read_load(&l.t, &l.a, &got);
	assert_int_equal(got.n_ops, 7);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(want); i++) {
		assert_int_equal(got.ops[i].serial, i + 1);
		assert_int_equal(got.ops[i].after, want[i].after);
		assert_int_equal(got.ops[i].think_ns, want[i].think_ns);
	}
	gsb_workload_finish(&got);
	unload(&l);
}

/* The data of the page: a copy. */
static char *page_data(const char *page)
{
	const char *from = strstr(page, "type=\"application/json\">"), *to;

	assert_non_null(from);
	from = strchr(from, '>') + 1;
	to = strstr(from, "</script>");
	assert_non_null(to);
	return strndup(from, (size_t)(to - from));
}

static void test_timeline_holds_the_trace_as_json(void **state)
{
	char *text, *data;
	struct loaded l;

	load_story(&l);
	text = export_text(&l, gsb_export_timeline);
	data = page_data(text);
	assert_string_equal(json_space(json_value(data)), "");
	assert_non_null(strstr(data, "\"t0\": 400, \"span\": 6200"));
	assert_non_null(strstr(data, "\"serial\": [\"2\",\"3\",\"5\",\"1\",\"4\",\"6\"]"));
	assert_non_null(strstr(data, "\"row\": [0,0,0,1,1,2]"));
	assert_non_null(strstr(data, "\"sms\": [64,64,32,0,100,100]"));
	assert_non_null(strstr(data, "\"start\": [600,2600,5300,100,3100,5700]"));
	assert_null(strstr(text, "@DATA@"));
	assert_null(strstr(text, "src=")); /* nothing comes from elsewhere */
	assert_null(strstr(text, "://"));
	free(data);
	free(text);
	unload(&l);
}

static void test_timeline_has_a_row_for_each_depth_of_ranges(void **state)
{
	char *text, *data;
	struct loaded l;

	load_queries(&l);
	text = export_text(&l, gsb_export_timeline);
	data = page_data(text);
	assert_string_equal(json_space(json_value(data)), "");
	assert_non_null(strstr(data, "\"rows\": [{\"tenant\": 0, \"ranges\": 1, "));
	assert_non_null(strstr(data, "\"row\": [0,0,1,2,2,2,2,2]"));
	assert_non_null(strstr(data, "\"kind\": [255,255,255,0,0,0,0,0]"));
	assert_non_null(strstr(data, "\"start\": [1000,3000,3500,0,2000,4000,5000,6000]"));
	assert_non_null(strstr(data, "\"end\": [3000,7000,6000,500,2500,4500,5500,6500]"));
	assert_non_null(strstr(data, "\"fill\", \"q1\", \"q2\", \"build\"]"));
	free(data);
	free(text);
	unload(&l);
}

static void test_timeline_names_cannot_leave_the_data(void **state)
{
	struct trace_kit k = {0};
	char *text, *data;
	struct loaded l;

	trace_kit_tenant(&k, 1, "</script><script>alert(1)//");
	trace_kit_kernel(&k, 1, 5, "\"],\\<!--");
	trace_kit_op(&k, &(struct kit_op){.tenant = 1,
					  .serial = 1,
					  .kernel = 5,
					  .n_blocks = 1,
					  .post = 1,
					  .ready = 1,
					  .issued = 1,
					  .start = 1,
					  .end = 9});
	load(&l, &k);
	text = export_text(&l, gsb_export_timeline);
	data = page_data(text);
	assert_string_equal(json_space(json_value(data)), "");
	assert_null(strchr(data, '<'));
	free(data);
	free(text);
	unload(&l);
}

static void test_exports_of_an_empty_trace_are_whole(void **state)
{
	struct trace_kit k = {0};
	char *text, *data;
	struct loaded l;

	load(&l, &k);
	text = export_text(&l, gsb_export_perfetto);
	assert_string_equal(json_value(text), "\n");
	free(text);
	text = export_text(&l, gsb_export_timeline);
	data = page_data(text);
	assert_string_equal(json_space(json_value(data)), "");
	free(data);
	free(text);
	text = export_text(&l, gsb_export_error_plot);
	assert_int_equal(count(text, "no launch was both predicted and measured"), 2);
	free(text);
	unload(&l);
}

/* ---- hostile traces ---- */

static uint64_t seed = 7;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* A few bytes of records' fields become others; heads stay, so that the file is one. */
static void damage_records(struct trace_kit *k)
{
	static const uint64_t likely[] = {0, 1, 2, 3, 4, 5, 6, UINT64_MAX, 1ull << 63, 1ull << 32};
	unsigned n = 1 + (unsigned)(random64() % 8);

	for (size_t at = 0; at < k->n;) {
		struct gsb_trace_head head;
		size_t place;

		memcpy(&head, k->bytes + at, sizeof(head));
		place = sizeof(head) + (random64() % (head.bytes - sizeof(head))) / 8 * 8;
		if (random64() % 16 < n) {
			uint64_t value = random64() % 3 ? likely[random64() % GSB_ARRAY_LEN(likely)]
							: random64();

			memcpy(k->bytes + at + place, &value, 8);
		}
		at += head.bytes;
	}
}

/* Records in another order, some twice, some not at all. */
static void shuffle_records(struct trace_kit *k)
{
	struct trace_kit out = {0};
	size_t ats[256], n = 0;

	for (size_t at = 0; at < k->n && n < 256;) {
		struct gsb_trace_head head;

		ats[n++] = at;
		memcpy(&head, k->bytes + at, sizeof(head));
		at += head.bytes;
	}
	for (size_t i = 0; i < n; i++)
		trace_kit_put(&out, k->bytes + ats[random64() % 4 ? i : random64() % n]);
	trace_kit_finish(k);
	*k = out;
}

/* All that gsb-trace can say about a trace, to nobody. */
static void report_all(struct gsb_traced *t, const char *dir)
{
	static const char *const words[] = {"alice", "join", "4", "6"};
	struct gsb_trace_request q = {.path = "trace", .word = NULL, .output = "/dev/null"};
	struct gsb_accounts a;
	struct gsb_workload got;

	gsb_traced_warn(t, "trace");
	for (unsigned json = 0; json < 2; json++) {
		q.json = q.all = json;
		gsb_trace_summary(t, &q);
		gsb_trace_critical(t, &q);
		gsb_trace_model_error(t, &q);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(words); i++) {
		q.word = words[i];
		gsb_trace_explain(t, &q);
		gsb_trace_critical(t, &q);
	}
	assert_int_equal(gsb_accounts_make(&a, t), 0);
	read_load(t, &a, &got);
	gsb_workload_finish(&got);
	if (t->n_tenants < 4)
		gsb_export_tau(dir, t, &a);
	gsb_accounts_finish(&a);
	gsb_trace_timeline(t, &q);
	gsb_trace_perfetto(t, &q);
	gsb_trace_error_plot(t, &q);
}

static void report_file(int fd, const char *dir)
{
	struct gsb_traced t = {0};
	char why[GSB_TRACE_WHY_MAX];

	if (gsb_traced_load_fd(&t, fd, why))
		return;
	report_all(&t, dir);
	gsb_traced_finish(&t);
}

static void test_reports_survive_records_of_any_content(void **state)
{
	char dir[TEMP_PATH_MAX];
	int saved[2];

	trace_kit_folder(dir);
	trace_kit_silence(saved);
	for (unsigned i = 0; i < N_MUTATIONS; i++) {
		struct trace_kit k = {0};

		trace_kit_story(&k);
		if (i % 2)
			damage_records(&k);
		if (i % 3)
			shuffle_records(&k);
		report_file(trace_kit_file(&k, i % 5 == 0), dir);
		trace_kit_finish(&k);
	}
	trace_kit_restore(saved);
	trace_kit_remove(dir);
}

static void test_reports_survive_files_of_any_bytes(void **state)
{
	char dir[TEMP_PATH_MAX];
	struct trace_kit k = {0};
	int saved[2];

	trace_kit_folder(dir);
	trace_kit_story(&k);
	trace_kit_silence(saved);
	for (unsigned i = 0; i < N_MUTATIONS; i++) {
		int fd = trace_kit_file(&k, 0);
		off_t size = lseek(fd, 0, SEEK_END);

		for (unsigned n = 1 + (unsigned)(random64() % 4); n; n--) {
			uint8_t byte = (uint8_t)random64();

			if (pwrite(fd, &byte, 1, (off_t)(random64() % (uint64_t)size)) != 1)
				fail();
		}
		if (i % 4 == 0 && ftruncate(fd, (off_t)(random64() % (uint64_t)size)))
			fail();
		lseek(fd, 0, SEEK_SET);
		report_file(fd, dir);
	}
	trace_kit_restore(saved);
	trace_kit_finish(&k);
	trace_kit_remove(dir);
}

/* ---- forms ---- */

static void expect_forms(const struct trace_kit *k, const char *want)
{
	struct gsb_traced t;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	trace_kit_load(k, &t);
	gsb_trace_print_forms(to, &t, "scan");
	fclose(to);
	assert_string_equal(text, want);
	free(text);
	gsb_traced_finish(&t);
}

static void test_forms_are_said_once_for_all_who_have_the_same(void **state)
{
	struct trace_kit k = {0};

	trace_kit_tenant(&k, 1, "alice");
	trace_kit_tenant(&k, 2, "bob");
	trace_kit_tenant(&k, 3, "carol");
	trace_kit_kernel(&k, 1, 0xa1, "scan"); /* of an older broker: nothing is told */
	expect_forms(&k, "");
	for (uint32_t who = 1; who <= 2; who++)
		PUT(&k, KERNEL, kernel, who, .function = 0xb1, .name = "scan",
		    .shapes = 1u << GSB_TRACE_FORM_SLICE, .no_reshape = GSB_TRACE_REFUSAL_BARRIER,
		    .no_persistent = 255);
	PUT(&k, KERNEL, kernel, 3, .function = 0xb1, .name = "scan",
	    .no_reshape = GSB_TRACE_REFUSAL_OFF, .no_slice = GSB_TRACE_REFUSAL_OFF,
	    .no_persistent = GSB_TRACE_REFUSAL_OFF);
	PUT(&k, KERNEL, kernel, 3, .function = 0xc1, .name = "join", .shapes = 2);
	expect_forms(
		&k,
		"In which forms it may be launched, by alice:\n"
		"  in blocks of another size                 no: waits for the threads of its block\n"
		"  in slices                                 yes: proven\n"
		"  by few blocks that fetch the work of all  no: of a later version\n"
		"In which forms it may be launched, by carol:\n"
		"  in blocks of another size                 no: [resize] mode is off, or forces another form\n"
		"  in slices                                 no: [resize] mode is off, or forces another form\n"
		"  by few blocks that fetch the work of all  no: [resize] mode is off, or forces another form\n");
	trace_kit_finish(&k);
}

/* ---- check ---- */

/* What check says of the story, in which bob leaves and his broker says this of its predictions: 0: in order. */
static int check_story(const struct gsb_trace_tenant_model *model, uint64_t woken_by)
{
	struct trace_kit k = {0};
	char path[64];
	int fd, saved[2], status;

	trace_kit_story(&k);
	if (model)
		trace_kit_put(&k, model);
	PUT(&k, WOKEN, woken, 1, .n_threads = 1, .serial = woken_by,
	    .waited = GSB_TRACE_WAIT_EVENT);
	PUT(&k, TENANT_GONE, tenant_gone, 2, .n_records = 3, .n_launches = 2, .n_kernels = 2,
	    .n_copies = 1, .kernels_device_ns = 1500);
	fd = trace_kit_file(&k, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	trace_kit_silence(saved);
	status = gsb_trace_check(&(struct gsb_trace_request){.path = path});
	trace_kit_restore(saved);
	close(fd);
	trace_kit_finish(&k);
	return status;
}

static void test_check_compares_what_the_broker_says_of_its_predictions(void **state)
{
	struct gsb_trace_tenant_model model = {.head = {GSB_TRACE_TENANT_MODEL, sizeof(model), 2},
					       .n_predicted = 1,
					       .error_ppm = 100000};

	assert_int_equal(check_story(&model, 0), 0);
	assert_int_equal(check_story(NULL, 0), 0); /* of an older broker */
	model.error_ppm++;
	assert_int_equal(check_story(&model, 0), 1);
	model.error_ppm--;
	model.n_predicted++;
	assert_int_equal(check_story(&model, 0), 1);
}

static void test_check_finds_who_was_woken_for_nothing(void **state)
{
	assert_int_equal(check_story(NULL, 6), 0);
	assert_int_equal(check_story(NULL, 7), 1);
}

static void test_errors_are_of_launches_that_ran_to_their_end(void **state)
{
	struct gsb_traced_op op = {.kind = GSB_TRACE_OP_LAUNCH,
				   .steps = 1u << GSB_STEP_FINISHED,
				   .start_ns = 5,
				   .end_ns = 6,
				   .predicted_ns = 1};

	assert_true(gsb_traced_is_measured(&op));
	op.result = 700;
	assert_false(gsb_traced_is_measured(&op));
	op.result = 0;
	op.end_ns = 5;
	assert_false(gsb_traced_is_measured(&op));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_critical_follows_the_stream_to_its_first_post),
		cmocka_unit_test(test_critical_follows_an_event_into_another_stream),
		cmocka_unit_test(test_critical_blames_the_program_for_what_it_had_not_posted),
		cmocka_unit_test(test_critical_of_a_range_begins_with_it),
		cmocka_unit_test(test_filter_of_a_range_has_what_is_in_it),
		cmocka_unit_test(test_critical_ends_whatever_a_trace_says),
		cmocka_unit_test(test_filter_knows_tenants_kernels_and_serials),
		cmocka_unit_test(test_tau_rows_are_what_the_stream_ran),
		cmocka_unit_test(test_tau_exclusive_times_add_up),
		cmocka_unit_test(test_tau_paths_go_through_ranges),
		cmocka_unit_test(test_tau_range_in_its_like_counts_once),
		cmocka_unit_test(test_tau_names_and_metadata_cannot_break_a_line),
		cmocka_unit_test(test_tau_file_is_the_golden_one),
		cmocka_unit_test(test_perfetto_has_ranges_as_spans_of_their_program),
		cmocka_unit_test(test_perfetto_is_json_with_every_run_and_arrow),
		cmocka_unit_test(test_timeline_holds_the_trace_as_json),
		cmocka_unit_test(test_timeline_has_a_row_for_each_depth_of_ranges),
		cmocka_unit_test(test_timeline_names_cannot_leave_the_data),
		cmocka_unit_test(test_error_plot_has_a_point_for_each_prediction),
		cmocka_unit_test(test_error_plot_puts_measured_across_and_predicted_up),
		cmocka_unit_test(test_error_plot_names_are_text),
		cmocka_unit_test(test_load_has_what_was_posted_and_what_was_measured),
		cmocka_unit_test(test_load_names_what_the_program_had_waited_for),
		cmocka_unit_test(test_exports_of_an_empty_trace_are_whole),
		cmocka_unit_test(test_forms_are_said_once_for_all_who_have_the_same),
		cmocka_unit_test(test_check_compares_what_the_broker_says_of_its_predictions),
		cmocka_unit_test(test_check_finds_who_was_woken_for_nothing),
		cmocka_unit_test(test_errors_are_of_launches_that_ran_to_their_end),
		cmocka_unit_test(test_reports_survive_records_of_any_content),
		cmocka_unit_test(test_reports_survive_files_of_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
