/*
 * report.c - see report.h.
 */
#include "report.h"

#include <stdio.h>

static const char *const phase_names[PHASE_N] = {[PHASE_READ] = "read",
						 [PHASE_BUILD] = "build",
						 [PHASE_JOIN] = "join",
						 [PHASE_COMPUTE] = "compute",
						 [PHASE_FETCH] = "fetch"};

void report_add(struct report *r, const struct run_books *books)
{
	uint64_t wall = 0;

	for (unsigned p = 0; p < PHASE_N; p++) {
		r->books.wall_ns[p] += books->wall_ns[p];
		r->books.device_ms[p] += books->device_ms[p];
		wall += books->wall_ns[p];
	}
	r->books.kernels += books->kernels;
	r->books.bytes_in += books->bytes_in;
	r->books.bytes_out += books->bytes_out;
	r->wall_ns += wall;
	if (books->best_ns)
		wall = books->best_ns;
	if (r->runs == 0 || wall < r->best_wall_ns)
		r->best_wall_ns = wall;
	r->runs += books->repetitions;
}

void report_session(const struct session *s)
{
	printf("%s, driver %d.%d, %u stream%s, %s images%s\n", s->device_name,
	       s->driver_version / 1000, s->driver_version % 1000 / 10, s->options.n_streams,
	       s->options.n_streams == 1 ? "" : "s", s->options.image,
	       s->options.verify ? ", verified on the CPU" : "");
}

static bool phase_is_used(const struct report *r, unsigned phase)
{
	return r->books.wall_ns[phase] != 0 || r->books.device_ms[phase] != 0;
}

static double mean_wall_ms(const struct report *r, unsigned phase)
{
	return r->books.wall_ns[phase] / 1e6 / r->runs;
}

static double mean_device_ms(const struct report *r, unsigned phase)
{
	return r->books.device_ms[phase] / r->runs;
}

static double device_ms(const struct report *r)
{
	double sum = 0;

	for (unsigned p = 0; p < PHASE_N; p++)
		sum += mean_device_ms(r, p);
	return sum;
}

/* Reading and fetching are copies, and host functions in their streams; the rest is kernels. */
static double kernel_share(const struct report *r)
{
	double all = device_ms(r);
	double copies = mean_device_ms(r, PHASE_READ) + mean_device_ms(r, PHASE_FETCH);

	return all > 0 ? (all - copies) / all : 0;
}

static const char *verdict(const struct report *r)
{
	return r->failed ? "FAILED" : r->verified ? "verified" : "not verified";
}

static void print_sizes(const struct report *r)
{
	printf("%s %s: ", r->query->name, r->query->title);
	for (unsigned id = 0, n = 0; id < COLUMN_N; id++) {
		if (r->query->columns & 1u << id)
			printf("%s%s %llu", n++ ? ", " : "", column_name(id),
			       (unsigned long long)r->data->column[id].rows);
	}
	printf(" (scale %g)\n", r->data->sizes.scale);
}

static void print_phases(const struct report *r)
{
	printf("   %-8s %12s %12s\n", "phase", "wall ms", "device ms");
	for (unsigned p = 0; p < PHASE_N; p++) {
		if (phase_is_used(r, p))
			printf("   %-8s %12.3f %12.3f\n", phase_names[p], mean_wall_ms(r, p),
			       mean_device_ms(r, p));
	}
	printf("   %-8s %12.3f %12.3f   mean of %u, best %.3f\n", "total",
	       r->wall_ns / 1e6 / r->runs, device_ms(r), r->runs, r->best_wall_ns / 1e6);
}

static void print_line(const struct report *r)
{
	printf("%s %s: rows %llu checksum %016llx kernels %llu in %llu out %llu bytes\n",
	       r->query->name, verdict(r), (unsigned long long)r->result.rows,
	       (unsigned long long)r->result.checksum,
	       (unsigned long long)(r->books.kernels / r->runs),
	       (unsigned long long)(r->books.bytes_in / r->runs),
	       (unsigned long long)(r->books.bytes_out / r->runs));
	if (r->says_share)
		printf("%s kernels have %.4f of the device time\n", r->query->name,
		       kernel_share(r));
	if (r->failed)
		printf("%s FAILED: %s\n", r->query->name, r->failure.text);
}

/* Failure texts are ours and hold no character that JSON would have to escape. */
static void print_json(const struct report *r)
{
	const char *comma = "";

	printf("{\"query\": \"%s\", \"verdict\": \"%s\", \"rows\": %llu, \"checksum\": \"%016llx\", "
	       "\"scale\": %.10g, \"runs\": %u, ",
	       r->query->name, verdict(r), (unsigned long long)r->result.rows,
	       (unsigned long long)r->result.checksum, r->data->sizes.scale, r->runs);
	printf("\"kernels\": %llu, \"bytes_in\": %llu, \"bytes_out\": %llu, \"wall_ms\": %.6f, "
	       "\"best_wall_ms\": %.6f, \"device_ms\": %.6f, ",
	       (unsigned long long)(r->books.kernels / r->runs),
	       (unsigned long long)(r->books.bytes_in / r->runs),
	       (unsigned long long)(r->books.bytes_out / r->runs), r->wall_ns / 1e6 / r->runs,
	       r->best_wall_ns / 1e6, device_ms(r));
	if (r->says_share)
		printf("\"kernel_share\": %.6f, ", kernel_share(r));
	printf("\"phases\": {");
	for (unsigned p = 0; p < PHASE_N; p++) {
		if (!phase_is_used(r, p))
			continue;
		printf("%s\"%s\": {\"wall_ms\": %.6f, \"device_ms\": %.6f}", comma, phase_names[p],
		       mean_wall_ms(r, p), mean_device_ms(r, p));
		comma = ", ";
	}
	printf("}%s%s%s}\n", r->failed ? ", \"failure\": \"" : "", r->failed ? r->failure.text : "",
	       r->failed ? "\"" : "");
}

void report_print(const struct report *r, enum report_form form)
{
	if (form == REPORT_JSON) {
		print_json(r);
	} else {
		if (form == REPORT_TEXT) {
			print_sizes(r);
			print_phases(r);
		}
		print_line(r);
	}
	fflush(stdout);
}
