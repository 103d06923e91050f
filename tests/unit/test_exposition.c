/*
 * test_exposition.c - metrics: the text, held to the format by a strict reader that is tried first; the requests that a
 * stranger may make.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/supervisor/exposition.h"
#include "broker/supervisor/http.h"
#include "tests/unit/prometheus.h"

/* ---- the reader itself ---- */

#define HEAD "# HELP a_total What.\n# TYPE a_total counter\n"

static void test_reader_takes_what_is_right(void **state)
{
	assert_null(prometheus_check(HEAD "a_total 1\n"));
	assert_null(prometheus_check(
		HEAD "a_total{x=\"a\\\\\\\"\\n}\",y=\"\"} 0.5\na_total{x=\"b\"} 10\n"
		     "# HELP b B.\n# TYPE b gauge\nb 0\n"));
}

static void test_reader_refuses_each_fault(void **state)
{
	static const char *const bad[] = {
		"",
		"a_total 1\n",
		HEAD,
		HEAD "a_total 1",
		HEAD "a_total 1\n\n",
		HEAD "a_total -1\n",
		HEAD "a_total 01\n",
		HEAD "a_total 1.\n",
		HEAD "a_total  1\n",
		HEAD "a_total 1 \n",
		HEAD "a_total{x=\"a\"y=\"b\"} 1\n",
		HEAD "a_total{x=\"a\",x=\"b\"} 1\n",
		HEAD "a_total{x=\"a\\t\"} 1\n",
		HEAD "a_total{x=\"a\n\"} 1\n",
		HEAD "a_total{x=\"a\"\"} 1\n",
		HEAD "a_total{1x=\"a\"} 1\n",
		HEAD "a_total{x=\"a\"} 1\na_total{x=\"a\"} 2\n",
		HEAD "b 1\n",
		HEAD "a_total 1\n" HEAD "a_total{x=\"a\"} 1\n",
		"# HELP a What.\n# TYPE a counter\na 1\n",
		"# HELP a_total What.\n# TYPE a_total gauge\na_total 1\n",
		"# HELP a What.\na 1\n",
		"# TYPE a gauge\na 1\n",
		"# HELP a What.\n# TYPE b gauge\nb 1\n",
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++)
		if (!prometheus_check(bad[i]))
			fail_msg("taken: %s", bad[i]);
}

/* ---- the text ---- */

static char *text_of(const struct gsb_exposition *x)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	gsb_exposition_write(x, f);
	fclose(f);
	return text;
}

static void expect_line(const char *text, const char *line)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		fail_msg("'%s' is not in:\n%s", line, text);
}

static const struct gsb_exposed_device devices[] = {{"emu:h200", 10, 20, 132}};
static const struct gsb_exposed_engine engines[] = {
	{"emu:h200", "fifo", 4711, 1000, 2, 3, 1500000001, 7, 8, 9},
	{"emu:h200", "fifo", 4712, 1001, 0, 0, 0, 0, 0, 0},
};

static void test_text_has_every_value_where_it_belongs(void **state)
{
	static const struct gsb_exposed_tenant tenants[] = {
		{.sum = {.tenant = "a",
			 .uid = 1000,
			 .n_left = 1,
			 .n_refused = 2,
			 .launches = 3,
			 .bytes_h2d = 4,
			 .bytes_d2d = 5,
			 .sm_ns = 1000000006,
			 .wait_ns = {7, 8, 9, 10, 11},
			 .n_errors = 12,
			 .n_late = 26,
			 .n_resized = 18,
			 .n_shadowed = 19,
			 .n_differed = 20,
			 .error_ppm = 21000022,
			 .n_predicted = 23,
			 .known_ns = 24,
			 .alone_ns = 25,
			 .n_mem_refused = 13,
			 .device_mem_peak_bytes = 14},
		 .n_now = 15,
		 .n_queued = 16},
		{.sum = {.uid = GSB_HIDDEN, .launches = 17}},
	};
	char *text = text_of(&(struct gsb_exposition){
		.broker = {"0.1", 2500000000, 1, 2, 3, 4, 5, 6},
		.devices = devices,
		.engines = engines,
		.tenants = tenants,
		.n_devices = 1,
		.n_engines = 2,
		.n_tenants = 2,
	});

	assert_null(prometheus_check(text));
	expect_line(text, "gsb_build_info{version=\"0.1\"} 1");
	expect_line(text, "gsb_broker_uptime_seconds 2.500000000");
	expect_line(text, "gsb_broker_refused_total 4");
	expect_line(text, "gsb_device_memory_free_bytes{device=\"emu:h200\"} 10");
	expect_line(text,
		    "gsb_engine_device_clock_seconds_total{device=\"emu:h200\",engine=\"4711\","
		    "uid=\"1000\",policy=\"fifo\"} 1.500000001");
	expect_line(text, "gsb_tenant_launches_total{tenant=\"a\",uid=\"1000\"} 3");
	expect_line(text, "gsb_tenant_launches_total{tenant=\"others\",uid=\"\"} 17");
	expect_line(text, "gsb_tenant_late_total{tenant=\"a\",uid=\"1000\"} 26");
	expect_line(text, "gsb_tenant_resized_total{tenant=\"a\",uid=\"1000\"} 18");
	expect_line(text, "gsb_tenant_shadowed_total{tenant=\"a\",uid=\"1000\"} 19");
	expect_line(text, "gsb_tenant_differed_total{tenant=\"a\",uid=\"1000\"} 20");
	expect_line(text, "gsb_tenant_predicted_kernels_total{tenant=\"a\",uid=\"1000\"} 23");
	expect_line(text,
		    "gsb_tenant_model_error_ratio_total{tenant=\"a\",uid=\"1000\"} 21.000022");
	expect_line(text,
		    "gsb_tenant_known_kernel_seconds_total{tenant=\"a\",uid=\"1000\"} 0.000000024");
	expect_line(
		text,
		"gsb_tenant_known_kernel_alone_seconds_total{tenant=\"a\",uid=\"1000\"} 0.000000025");
	expect_line(text, "gsb_tenant_refused_total{tenant=\"a\",uid=\"1000\"} 2");
	expect_line(
		text,
		"gsb_tenant_copied_bytes_total{tenant=\"a\",uid=\"1000\",direction=\"to_device\"} 4");
	expect_line(
		text,
		"gsb_tenant_copied_bytes_total{tenant=\"a\",uid=\"1000\",direction=\"on_device\"} 5");
	expect_line(text, "gsb_tenant_sm_seconds_total{tenant=\"a\",uid=\"1000\"} 1.000000006");
	expect_line(
		text,
		"gsb_tenant_wait_seconds_total{tenant=\"a\",uid=\"1000\",cause=\"order\"} 0.000000007");
	expect_line(
		text,
		"gsb_tenant_wait_seconds_total{tenant=\"a\",uid=\"1000\",cause=\"device\"} 0.000000011");
	expect_line(text, "gsb_tenant_faults_total{tenant=\"a\",uid=\"1000\"} 12");
	expect_line(text, "gsb_tenant_memory_refusals_total{tenant=\"a\",uid=\"1000\"} 13");
	expect_line(text, "gsb_tenant_device_memory_peak_bytes{tenant=\"a\",uid=\"1000\"} 14");
	expect_line(text, "gsb_tenant_processes{tenant=\"a\",uid=\"1000\"} 15");
	expect_line(text, "gsb_tenant_queued_operations{tenant=\"a\",uid=\"1000\"} 16");
	free(text);
}

static void test_text_escapes_what_a_program_calls_itself(void **state)
{
	static const struct gsb_exposed_tenant tenants[] = {{.sum = {.tenant = "a\"} 1\nb\\"}}};
	char *text = text_of(&(struct gsb_exposition){
		.broker = {.version = "0"}, .tenants = tenants, .n_tenants = 1});

	assert_null(prometheus_check(text));
	expect_line(text, "gsb_tenant_launches_total{tenant=\"a\\\"} 1\\nb\\\\\",uid=\"0\"} 0");
	free(text);
}

static void test_text_without_engines_has_the_broker(void **state)
{
	char *text = text_of(&(struct gsb_exposition){.broker = {.version = "0"}});

	assert_null(prometheus_check(text));
	assert_null(strstr(text, "gsb_engine_"));
	free(text);
}

/* ---- requests ---- */

static int parse(const char *text)
{
	bool no_body;

	return gsb_http_parse(text, strlen(text), "/metrics", &no_body);
}

static void test_requests_get_their_status(void **state)
{
	static const struct {
		const char *text;
		int status;
	} rows[] = {
		{"GET /metrics HTTP/1.1\r\n\r\n", 200},
		{"GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n", 200},
		{"GET /metrics?a=b HTTP/1.1\n\n", 200},
		{"HEAD /metrics HTTP/1.1\r\n\r\n", 200},
		{"GET / HTTP/1.1\r\n\r\n", 404},
		{"GET /metrics/ HTTP/1.1\r\n\r\n", 404},
		{"GET /metric HTTP/1.1\r\n\r\n", 404},
		{"POST /metrics HTTP/1.1\r\n\r\n", 405},
		{"GET /metrics HTTP/2.0\r\n\r\n", 505},
		{"GET /metrics\r\n\r\n", 400},
		{"GET  /metrics HTTP/1.1\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1 x\r\n\r\n", 400},
		{"GET /metrics SPDY/1.1\r\n\r\n", 400},
		{"GET /metrics HTTP/1.10\r\n\r\n", 400},
		{"\r\n\r\n", 400},
		{" GET /metrics HTTP/1.1\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\n", 0},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n", 0},
		{"G", 0},
		{"", 0},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++)
		if (parse(rows[i].text) != rows[i].status)
			fail_msg("%d for: %s", parse(rows[i].text), rows[i].text);
}

static void test_requests_without_an_end_are_too_long(void **state)
{
	static char text[GSB_HTTP_REQUEST_MAX];
	bool no_body;

	memset(text, 'a', sizeof(text));
	assert_int_equal(gsb_http_parse(text, sizeof(text) - 1, "/", &no_body), 0);
	assert_int_equal(gsb_http_parse(text, sizeof(text), "/", &no_body), 431);
	text[7] = 0;
	assert_int_equal(gsb_http_parse(text, 8, "/", &no_body), 400);
}

/* Each beginning of a request asks for more, and none reads past its end: each is a block of its own. */
static void test_requests_come_byte_by_byte(void **state)
{
	static const char whole[] = "HEAD /metrics HTTP/1.1\r\nA: b\r\n\r\n";
	bool no_body;

	for (size_t n = 0; n < sizeof(whole); n++) {
		char *part = malloc(n + !n);

		memcpy(part, whole, n);
		assert_int_equal(gsb_http_parse(part, n, "/metrics", &no_body),
				 n < sizeof(whole) - 1 ? 0 : 200);
		assert_int_equal(no_body, n == sizeof(whole) - 1);
		free(part);
	}
}

static void test_requests_at_random_do_no_harm(void **state)
{
	static const char alphabet[] = "GET HEAD/metrics1.\r\n\n ?\t:\x7f\xff";
	uint64_t rng = 1;
	bool no_body;

	for (unsigned i = 0; i < 20000; i++) {
		size_t n = i % 61;
		char *text = malloc(n + !n);

		for (size_t j = 0; j < n; j++) {
			rng = rng * 6364136223846793005ull + 1442695040888963407ull;
			text[j] = alphabet[(rng >> 33) % (sizeof(alphabet) - 1)];
		}
		gsb_http_parse(text, n, "/metrics", &no_body);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_takes_what_is_right),
		cmocka_unit_test(test_reader_refuses_each_fault),
		cmocka_unit_test(test_text_has_every_value_where_it_belongs),
		cmocka_unit_test(test_text_escapes_what_a_program_calls_itself),
		cmocka_unit_test(test_text_without_engines_has_the_broker),
		cmocka_unit_test(test_requests_get_their_status),
		cmocka_unit_test(test_requests_without_an_end_are_too_long),
		cmocka_unit_test(test_requests_come_byte_by_byte),
		cmocka_unit_test(test_requests_at_random_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
