/*
 * run.c - see run.h: reads the columns, runs each query again and again, compares, reports.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

static const struct query *const queries[] = {&query_join2, &query_join3, &query_md5, &query_matmul,
					      &query_distance};

#define N_QUERIES (sizeof(queries) / sizeof(queries[0]))

static bool is_wanted(const struct query *q, const char *name)
{
	return strcmp(name, "all") == 0 || strcmp(name, q->name) == 0;
}

bool run_knows_query(const char *name)
{
	for (size_t i = 0; i < N_QUERIES; i++) {
		if (is_wanted(queries[i], name))
			return true;
	}
	return false;
}

void *host_alloc(size_t bytes, const char *what)
{
	void *p = malloc(bytes);

	if (!p)
		die("no memory for %s", what);
	return p;
}

struct result result_of_words(uint64_t rows, uint32_t *words, uint64_t n_words)
{
	return (struct result){.rows = rows,
			       .checksum = mix_words(words, n_words),
			       .words = words,
			       .n_words = n_words};
}

struct result result_of_run(const struct session *s, uint64_t rows, uint32_t *words,
			    uint64_t n_words)
{
	if (!s->options.hot)
		return result_of_words(rows, words, n_words);
	free(words);
	return (struct result){.rows = rows, .checksum = s->hot_first};
}

static int compare_words(const struct result *got, const struct result *expected, struct failure *f)
{
	for (uint64_t i = 0; i < expected->n_words; i++) {
		if (got->words[i] != expected->words[i])
			return explain(f, -EBADMSG,
				       "word %llu of %llu of the result is %08x, the CPU has %08x",
				       (unsigned long long)i, (unsigned long long)expected->n_words,
				       got->words[i], expected->words[i]);
	}
	return 0;
}

static int compare(const struct result *got, const struct result *expected, struct failure *f)
{
	if (got->rows != expected->rows)
		return explain(f, -EBADMSG, "%llu rows, the CPU has %llu",
			       (unsigned long long)got->rows, (unsigned long long)expected->rows);
	if (got->words && compare_words(got, expected, f))
		return -EBADMSG;
	if (got->checksum != expected->checksum)
		return explain(f, -EBADMSG, "checksum %016llx, the CPU has %016llx",
			       (unsigned long long)got->checksum,
			       (unsigned long long)expected->checksum);
	return 0;
}

/* Damage is told first: it is the cause of the rest. */
static int verify(struct session *s, const struct report *r, const struct result *expected,
		  struct failure *f)
{
	if (s->damage.text[0]) {
		*f = s->damage;
		return -EBADMSG;
	}
	if (!s->options.verify)
		return 0;
	if (session_compare(s, r->data, f))
		return -EBADMSG;
	return compare(&r->result, expected, f);
}

static void run_once(struct session *s, const struct program *p, const struct result *expected,
		     struct report *r)
{
	run_begin(s);
	r->query->run(s, p, r->data, &r->result);
	report_add(r, &s->books);
	r->failed = verify(s, r, expected, &r->failure) != 0;
	free(r->result.words);
	r->result.words = NULL;
}

static bool goes_on(const struct run_options *o, const struct report *r, uint64_t since_ns)
{
	if (r->failed)
		return false;
	if (o->loop_s > 0)
		return r->runs == 0 || (clock_ns() - since_ns) / 1e9 < o->loop_s;
	return r->runs < o->repeat;
}

static bool run_query(struct session *s, const struct query *q, const struct run_options *o,
		      const struct data *data)
{
	struct report r = {.query = q,
			   .data = data,
			   .verified = o->session.verify,
			   .says_share = o->kernel_share};
	struct result expected = {0};
	struct program program;
	uint64_t since;

	if (o->session.verify && q->reference(data, &expected))
		die("no memory for the reference of %s", q->name);
	session_require(q->device_bytes(&data->sizes));
	session_load(s, &program, q->image, q->path);
	for (since = clock_ns(); goes_on(o, &r, since);)
		run_once(s, &program, &expected, &r);
	report_print(&r, o->form);
	session_unload(&program);
	result_finish(&expected);
	return !r.failed;
}

/* The files come first: what is wrong with them needs no GPU to say. */
static void read_columns(const struct run_options *o, struct data *data)
{
	struct failure failure;
	unsigned columns = 0;

	for (size_t i = 0; i < N_QUERIES; i++)
		columns |= is_wanted(queries[i], o->query) ? queries[i]->columns : 0;
	if (data_read(o->data_dir, columns, data, &failure))
		die("%s", failure.text);
}

int run_main(const struct run_options *o)
{
	struct session *s;
	struct data data;
	bool good = true;

	read_columns(o, &data);
	s = session_create(&o->session);
	if (o->form == REPORT_TEXT)
		report_session(s);
	for (size_t i = 0; i < N_QUERIES; i++) {
		if (is_wanted(queries[i], o->query))
			good = run_query(s, queries[i], o, &data) && good;
	}
	session_destroy(s);
	data_finish(&data);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
