/*
 * test_config.c - every kind of error in gsbroker.conf with its message, values, inheritance,
 * the round trip through --print-config, reload, and random files.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/config/key.h"

#define REPORTS_MAX 16384

/* All reports of one reading, one line each. */
struct reports {
	char text[REPORTS_MAX];
	size_t n;
};

static void collect(void *ctx, const char *line)
{
	struct reports *r = ctx;

	r->n += (size_t)snprintf(r->text + r->n, sizeof(r->text) - r->n, "%s\n", line);
	if (r->n >= sizeof(r->text))
		r->n = sizeof(r->text) - 1;
}

static int read_bytes(const void *bytes, size_t n, struct reports *r, struct gsb_config **out)
{
	FILE *f = n ? fmemopen((void *)bytes, n, "r") : fopen("/dev/null", "r");
	int err;

	assert_non_null(f);
	r->n = 0;
	r->text[0] = 0;
	err = gsb_config_read(f, "f", collect, r, out);
	fclose(f);
	return err;
}

/* Text must be refused with exactly these lines. */
static void expect(const char *text, const char *reports)
{
	struct gsb_config *c = NULL;
	struct reports r;

	assert_int_equal(read_bytes(text, strlen(text), &r, &c), -EINVAL);
	assert_string_equal(r.text, reports);
	assert_null(c);
}

static struct gsb_config *accept_text(const char *text)
{
	struct gsb_config *c = NULL;
	struct reports r;
	int err = read_bytes(text, strlen(text), &r, &c);

	assert_string_equal(r.text, "");
	assert_int_equal(err, 0);
	return c;
}

/* It is refused, and the first report has these words. */
static void refuse_text(const char *text, const char *words)
{
	struct gsb_config *c = NULL;
	struct reports r;

	assert_int_equal(read_bytes(text, strlen(text), &r, &c), -EINVAL);
	if (!strstr(r.text, words))
		fail_msg("'%s' is not in: %s", words, r.text);
}

/* ---- errors ---- */

static void test_config_unknown_key_names_the_nearest(void **state)
{
	expect("[engine]\npolcy = fifo\n",
	       "f:2: unknown key 'polcy' in [engine]; did you mean 'policy'?\n");
	expect("[engine]\nzzzzzzzzz = 1\n",
	       "f:2: unknown key 'zzzzzzzzz' in [engine]; see gsbroker.conf(5)\n");
	expect("[broker]\npolicy = fifo\n",
	       "f:2: unknown key 'policy' in [broker]; see gsbroker.conf(5)\n");
}

static void test_config_unknown_section_names_the_nearest_even_when_empty(void **state)
{
	expect("[brokr]\n", "f:1: unknown section [brokr]; did you mean [broker]?\n");
	expect("\n[quite-other]\nkey = 1\n",
	       "f:2: unknown section [quite-other]; sections are [broker], [metrics], [admission], [resize], "
	       "[engine], [device \"SPEC\"], [default] and [tenant \"NAME\"]\n");
}

static void test_config_out_of_range_says_the_range(void **state)
{
	expect("[engine]\nworkers = 257\n", "f:2: workers = 257: must be a number from 0 to 256\n");
	expect("[engine]\nworkers = -1\n", "f:2: workers = -1: must be a number from 0 to 256\n");
	expect("[engine]\nworkers = 99999999999999999999\n",
	       "f:2: workers = 99999999999999999999: must be a number from 0 to 256\n");
	expect("[default]\nstaging = 16K\n",
	       "f:2: staging = 16K: must be a size from 1M to 4G, with suffix K, M, G or T\n");
	expect("[default]\nstaging = 99999999T\n",
	       "f:2: staging = 99999999T: must be a size from 1M to 4G, with suffix K, M, G or T\n");
}

static void test_config_wrong_type_says_what_it_must_be(void **state)
{
	expect("[engine]\nworkers = four\n",
	       "f:2: workers = four: must be a number from 0 to 256\n");
	expect("[engine]\nworkers = 0x10\n",
	       "f:2: workers = 0x10: must be a number from 0 to 256\n");
	expect("[engine]\nworkers =\n", "f:2: workers = : must be a number from 0 to 256\n");
	expect("[engine]\nclock = sundial\n", "f:2: clock = sundial: must be virtual or real\n");
	expect("[broker]\nlog = loud\n",
	       "f:2: log = loud: must be off, error, warn, info or debug\n");
	expect("[broker]\nsocket_mode = 999\n",
	       "f:2: socket_mode = 999: must be an octal mode such as 0660\n");
	expect("[broker]\nsocket = relative\n",
	       "f:2: socket = relative: must be an absolute path without blanks and quotes\n");
	expect("[broker]\nsocket = \"/run/x\"\n",
	       "f:2: socket = \"/run/x\": must be an absolute path without blanks and quotes\n");
	expect("[broker]\nuser = a b\n", "f:2: user = a b: must consist of letters, digits, '_', "
					 "'-' and '.'\n");
	expect("[default]\ndevice_memory = 1X\n",
	       "f:2: device_memory = 1X: must be a size from 0 to 256G, with suffix K, M, G or T\n");
}

static void test_config_too_long_text_says_the_length(void **state)
{
	char text[256], want[512];

	snprintf(text, sizeof(text), "[broker]\nsocket = /%0107d\n", 0);
	snprintf(want, sizeof(want), "f:2: socket = /%079d: must have at most 107 characters\n", 0);
	expect(text, want);
}

static void test_config_duplicate_names_the_first_line(void **state)
{
	expect("[engine]\nworkers = 1\nclock = real\nworkers = 2\n",
	       "f:4: key 'workers' given twice in this section, first at line 2\n");
	expect("[engine]\n[broker]\n[engine]\n", "f:3: section given twice, first at line 1\n");
	expect("[tenant \"a\"]\n[tenant \"b\"]\n[tenant \"a\"]\nstaging = 1\n",
	       "f:3: section given twice, first at line 1\n");
}

static void test_config_damaged_header_skips_its_keys_only(void **state)
{
	expect("[broker\nworkers = 1\n[engine]\nworkers = x\n",
	       "f:1: '[broker' is no section header: write [name] or [name \"argument\"]\n"
	       "f:4: workers = x: must be a number from 0 to 256\n");
	expect("[tenant \"a\" x]\n",
	       "f:1: '[tenant \"a\" x]' is no section header: write [name] or [name \"argument\"]\n");
	expect("[engine] x\n",
	       "f:1: '[engine] x' is no section header: write [name] or [name \"argument\"]\n");
	expect("[]\n", "f:1: '[]' is no section header: write [name] or [name \"argument\"]\n");
}

#define MUST_BE_DEVICE                                                                                    \
	"must be emu:NAME, emu:/FILE, cuda:N or null; NAME is one of c2070, gtx680, k40, titanx-pascal, " \
	"v100, a100, l4, h100, h200, b200\n"

static void test_config_section_argument_is_checked(void **state)
{
	char text[256], want[512];

	expect("[device]\n", "f:1: section [device] needs a name, as in [device \"emu:h200\"]\n");
	expect("[engine \"x\"]\n", "f:1: section [engine] takes no name\n");
	expect("[device \"gpu0\"]\n", "f:1: device \"gpu0\" " MUST_BE_DEVICE);
	expect("[device \"cuda:first\"]\n", "f:1: device \"cuda:first\" " MUST_BE_DEVICE);
	expect("[device \"cuda:1000\"]\n", "f:1: device \"cuda:1000\" " MUST_BE_DEVICE);
	free(accept_text("[device \"cuda:0\"]\n"));
	expect("[device \"null:1\"]\n", "f:1: device \"null:1\" " MUST_BE_DEVICE);
	expect("[tenant \"\"]\n", "f:1: section [tenant] needs a name, as in [tenant \"alice\"]\n");
	expect("[tenant \"a b\"]\n",
	       "f:1: tenant name \"a b\" must be 1 to 63 letters, digits and any of _-.@:+\n");
	snprintf(text, sizeof(text), "[tenant \"%064d\"]\n", 0);
	snprintf(want, sizeof(want),
		 "f:1: tenant name \"%064d\" must be 1 to 63 letters, digits and any of _-.@:+\n",
		 0);
	expect(text, want);
}

static void test_config_long_tenant_name_is_not_cut(void **state)
{
	char text[256], name[GSB_TENANT_NAME_MAX];
	struct gsb_config *c;

	snprintf(name, sizeof(name), "%063d", 7); /* inih alone would cut at 49 */
	snprintf(text, sizeof(text), "[tenant \"%s\"]\nstaging = 2M\n", name);
	c = accept_text(text);
	assert_int_equal(gsb_config_tenant(c, name)->staging, 2 << 20);
	free(c);
}

static void test_config_long_line_is_refused_and_later_numbers_are_right(void **state)
{
	char text[1024];

	snprintf(text, sizeof(text), "[engine]\nworkers = %0250d\nclock = x\n", 1);
	expect(text,
	       "f:2: the line holds more bytes than a line may have: at most 198 of text, please\n"
	       "f:3: clock = x: must be virtual or real\n");
}

static void test_config_nul_byte_is_refused(void **state)
{
	static const char text[] = "[engine]\nworkers = 1\0002\n";
	struct gsb_config *c = NULL;
	struct reports r;

	assert_int_equal(read_bytes(text, sizeof(text) - 1, &r, &c), -EINVAL);
	assert_string_equal(r.text,
			    "f:2: the line holds a NUL byte: at most 198 of text, please\n");
}

/* A terminal shows what is wrong, and does nothing else. */
static void test_config_bytes_of_a_binary_file_are_not_printed(void **state)
{
	refuse_text("[broker]\n\033]0;x\007\177 = 1\n", "?]0;x??");
}

static void test_config_line_without_equals_is_refused(void **state)
{
	expect("[engine]\nworkers\n", "f:2: expected 'key = value', '[section]' or a comment\n");
	expect("[engine]\nworkers", "f:2: expected 'key = value', '[section]' or a comment\n");
	expect("workers = 1\n", "f:1: 'workers' stands before the first section\n");
}

static void test_config_indented_line_is_no_continuation(void **state)
{
	struct gsb_config *c = accept_text("[engine]\n  workers = 3\n\tclock = real\n");

	assert_int_equal(c->engine.workers, 3);
	assert_int_equal(c->engine.clock, GSB_CLOCK_REAL);
	free(c);
	expect("[engine]\nworkers = 1\n  colck = real\n",
	       "f:3: unknown key 'colck' in [engine]; did you mean 'clock'?\n");
}

static void test_config_reports_all_errors_at_once(void **state)
{
	expect("[engine]\nworkers = x\nclock = y\n[nonsense]\na = 1\n[broker]\nb\n",
	       "f:2: workers = x: must be a number from 0 to 256\n"
	       "f:3: clock = y: must be virtual or real\n"
	       "f:4: unknown section [nonsense]; sections are [broker], [metrics], [admission], [resize], "
	       "[engine], [device \"SPEC\"], [default] and [tenant \"NAME\"]\n"
	       "f:7: expected 'key = value', '[section]' or a comment\n");
}

static void test_config_tenant_of_unknown_device_is_refused(void **state)
{
	expect("[tenant \"a\"]\ndevice = null\n",
	       "f:2: device = null: this file has no [device \"null\"]\n");
	free(accept_text("[tenant \"a\"]\ndevice = null\n[device \"null\"]\n"));
	free(accept_text("[default]\ndevice = emu:h200\n"));
}

static void test_config_ids_take_names_and_ranges(void **state)
{
	struct gsb_config *c = accept_text(
		"[admission]\nallow_uid = root, 1000-1999\nallow_uid = 5000\nallow_gid = root\n");

	assert_true(gsb_id_list_has(&c->admission.allow_uid, 0));
	assert_true(gsb_id_list_has(&c->admission.allow_uid, 1000));
	assert_true(gsb_id_list_has(&c->admission.allow_uid, 1999));
	assert_true(gsb_id_list_has(&c->admission.allow_uid, 5000));
	assert_false(gsb_id_list_has(&c->admission.allow_uid, 2000));
	assert_false(gsb_id_list_has(&c->admission.allow_uid, 999));
	assert_true(gsb_id_list_has(&c->admission.allow_gid, 0));
	free(c);
	expect("[admission]\nallow_uid = no-such-user\n",
	       "f:2: allow_uid = no-such-user: there is no user 'no-such-user'\n");
	expect("[admission]\nallow_gid = no-such-group\n",
	       "f:2: allow_gid = no-such-group: there is no group 'no-such-group'\n");
	expect("[admission]\nallow_uid = 20-10\n",
	       "f:2: allow_uid = 20-10: must be user names, ids or ranges such as 1000-1999, with "
	       "ids up to 4294967294\n");
	expect("[admission]\nallow_uid = 4294967295\n",
	       "f:2: allow_uid = 4294967295: must be user names, ids or ranges such as 1000-1999, "
	       "with ids up to 4294967294\n");
}

static void test_config_missing_file_is_reported_by_name(void **state)
{
	struct gsb_config *c = NULL;
	struct reports r = {.n = 0};

	assert_int_equal(gsb_config_load("/nonexistent/gsb.conf", collect, &r, &c), -ENOENT);
	assert_string_equal(r.text,
			    "/nonexistent/gsb.conf: cannot be opened: No such file or directory\n");
}

static void test_config_folder_is_no_file(void **state)
{
	struct gsb_config *c = NULL;
	struct reports r = {.n = 0};

	assert_int_equal(gsb_config_load("/", collect, &r, &c), -EISDIR);
	assert_string_equal(r.text, "/: cannot be opened: Is a directory\n");
}

/* ---- values ---- */

static void test_config_every_default_is_valid(void **state)
{
	char why[GSB_CONFIG_WHY_MAX];
	struct gsb_resize_config room[1]; /* larger than any field */

	for (unsigned i = 0; i < gsb_n_config_keys; i++) {
		const struct gsb_config_key *k = &gsb_config_keys[i];

		assert_true(k->size <= sizeof(room));
		memset(room, 0, sizeof(room));
		assert_int_equal(gsb_config_parse_value(k, k->deflt, room, why), 0);
	}
}

static void test_config_empty_file_gives_the_defaults(void **state)
{
	struct gsb_config *c = accept_text(""), *d = gsb_config_create();

	assert_memory_equal(c, d, sizeof(*c));
	assert_int_equal(c->n_devices, 1);
	assert_string_equal(c->devices[0].spec, "emu:h200");
	free(c);
	free(d);
}

static void test_config_sections_inherit_wherever_the_defaults_stand(void **state)
{
	struct gsb_config *c = accept_text("[device \"null\"]\nworkers = 2\n"
					   "[tenant \"a\"]\nstaging = 2m\n"
					   "[engine]\nworkers = 5\nclock = real\n"
					   "[default]\nimage_max = 1G\nstaging = 3M\n");

	assert_int_equal(c->devices[0].workers, 2);
	assert_int_equal(c->devices[0].clock, GSB_CLOCK_REAL);
	assert_int_equal(gsb_config_tenant(c, "a")->staging, 2 << 20);
	assert_int_equal(gsb_config_tenant(c, "a")->image_max, 1 << 30);
	assert_int_equal(gsb_config_tenant(c, "b")->staging, 3 << 20);
	free(c);
}

static void test_config_comments_bom_and_cr_are_taken(void **state)
{
	struct gsb_config *c = accept_text("\xef\xbb\xbf[engine] ; first\r\n"
					   "# a comment\r\n; another\r\n\r\n"
					   "workers = 7 ; inline\r\n");

	assert_int_equal(c->engine.workers, 7);
	free(c);
}

static void test_config_device_of_a_tenant_is_found(void **state)
{
	struct gsb_config *c = accept_text("[device \"emu:k40\"]\n[device \"null\"]\n"
					   "[tenant \"a\"]\ndevice = null\n");

	assert_string_equal(gsb_config_device(c, gsb_config_tenant(c, "a"))->spec, "null");
	assert_string_equal(gsb_config_device(c, gsb_config_tenant(c, "b"))->spec, "emu:k40");
	free(c);
}

/* ---- printing, reload ---- */

static struct gsb_config *round_trip(const struct gsb_config *c)
{
	struct gsb_config *again;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	gsb_config_print(c, f);
	fclose(f);
	again = accept_text(text);
	free(text);
	return again;
}

static void test_config_print_reads_back_the_same(void **state)
{
	struct gsb_config *c = accept_text(
		"[broker]\nsocket = /tmp/x;y\nlog = debug\nsocket_mode = 0600\nuser = nobody\n"
		"[admission]\nallow_uid = 1 5-9 77\ndeny_gid = 12\nmax_tenants = 9\n"
		"[device \"emu:/a/b.txt\"]\nmemory = 1536M\n[device \"null\"]\nclock = real\n"
		"[tenant \"a\"]\nstaging = 1234567\ndevice = null\n[tenant \"b\"]\n");
	struct gsb_config *again = round_trip(c);

	assert_memory_equal(c, again, sizeof(*c));
	assert_int_equal(again->tenants[0].staging, 1234567);
	free(c);
	free(again);
}

static void test_config_print_names_every_key(void **state)
{
	struct gsb_config *c = gsb_config_create();
	char *text = NULL, line[64];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	gsb_config_print(c, f);
	fclose(f);
	for (unsigned i = 0; i < gsb_n_config_keys; i++) {
		snprintf(line, sizeof(line), "\n%s =", gsb_config_keys[i].name);
		if (!strstr(text, line))
			fail_msg("%s is not printed", gsb_config_keys[i].name);
	}
	free(text);
	free(c);
}

static void test_config_resize_shapes_are_held_to_their_form(void **state)
{
	static const char *const good[] = {"",	   "slice:8",		"persistent:0",
					   "hint", "persistent:132:64", "reshape:1024",
					   "count"};
	static const char *const bad[] = {
		"slice",	"slice:0",	    "slice:",
		"slice:8:1",	"slice:-1",	    "slices:8",
		"persistent:",	"persistent:1:0",   "reshape:0",
		"reshape:1025", "persistent:1:2:3", "hint:1",
		"as-asked x",	"slice:65537",	    "persistent:1:4294967295"};
	char text[128];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(good); i++) {
		struct gsb_config *c;

		snprintf(text, sizeof(text), "[resize]\nforce = %s\n", good[i]);
		c = accept_text(text);
		assert_string_equal(c->resize.force, good[i]);
		free(c);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof(text), "[resize]\nforce = %s\n", bad[i]);
		refuse_text(text, "must be slice:N");
	}
}

static void test_config_resize_lists_of_names_grow_and_round_trip(void **state)
{
	struct gsb_config *c = accept_text("[resize]\nallow = _Z4*, hash:0123456789abcdef  b?$x\n"
					   "allow = more\n"),
			  *again = round_trip(c);

	assert_string_equal(c->resize.allow, "_Z4* hash:0123456789abcdef b?$x more");
	assert_memory_equal(c, again, sizeof(*c));
	free(again);
	free(c);
	refuse_text("[resize]\ndeny = hash:0123\n", "8 to 64 hex digits");
	refuse_text("[resize]\ndeny = hash:0123456Z89\n", "8 to 64 hex digits");
	refuse_text("[resize]\ndeny = a|b\n", "must be names of kernels");
}

static void test_config_socket_mode_follows_the_lists(void **state)
{
	static const struct {
		const char *text;
		unsigned mode;
	} cases[] = {
		{"", 0660},
		{"[admission]\nallow_uid = 5\n", 0666},
		{"[admission]\nallow_gid = 5\n", 0666},
		{"[admission]\ndeny_uid = 5\n", 0660},
		{"[broker]\nsocket_mode = 0600\n[admission]\nallow_uid = 5\n", 0600},
		{"[broker]\nsocket_mode =\n[admission]\nallow_uid = 5\n", 0666},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		struct gsb_config *c = accept_text(cases[i].text);

		assert_int_equal(gsb_config_socket_mode(c), cases[i].mode);
		free(c);
	}
}

static void test_config_metrics_listen_is_of_this_machine(void **state)
{
	static const char *const good[] = {"", "unix:/run/m", "127.0.0.1:9100", "[::1]:65535"};
	static const char *const bad[] = {"0.0.0.0:9100",   "127.0.0.1:0",     "127.0.0.1:65536",
					  "127.0.0.1:",	    "127.0.0.1:80x",   "localhost:9100",
					  "unix:relative",  "unix:",	       "/run/m",
					  "127.0.0.1:-1",   "127.0.0.2:9100",  "[::]:9100",
					  "127.0.0.1:0x50", "127.0.0.1: 9100", ":9100"};
	char text[256], want[256];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(good); i++) {
		struct gsb_config *c;

		snprintf(text, sizeof(text), "[metrics]\nlisten = %s\n", good[i]);
		c = accept_text(text);
		assert_string_equal(c->metrics.listen, good[i]);
		free(c);
	}
	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof(text), "[metrics]\nlisten = %s\n", bad[i]);
		snprintf(want, sizeof(want),
			 "f:2: listen = %s: must be unix:/PATH, 127.0.0.1:PORT or [::1]:PORT\n",
			 bad[i]);
		expect(text, want);
	}
}

static void test_config_reload_keeps_where_metrics_are(void **state)
{
	struct gsb_config *now = accept_text("[metrics]\nlisten = 127.0.0.1:1\n");
	struct gsb_config *next = accept_text("[metrics]\nlisten = 127.0.0.1:2\n");
	struct reports r = {.n = 0};

	gsb_config_reload(now, next, collect, &r);
	assert_string_equal(next->metrics.listen, "127.0.0.1:1");
	assert_string_equal(r.text, "[metrics] listen has changed: it takes effect when gsbrokerd "
				    "is restarted\n");
	free(now);
	free(next);
}

static void test_config_reload_keeps_and_reports_what_needs_a_restart(void **state)
{
	struct gsb_config *now = accept_text("[broker]\nsocket = /run/a\nlog = warn\n");
	struct gsb_config *next =
		accept_text("[broker]\nsocket = /run/b\nlog = debug\n[engine]\nworkers = 3\n");
	struct reports r = {.n = 0};

	gsb_config_reload(now, next, collect, &r);
	assert_string_equal(next->broker.socket, "/run/a");
	assert_int_equal(next->broker.log, GSB_LOG_DEBUG);
	assert_string_equal(
		r.text, "[broker] socket has changed: it takes effect when gsbrokerd is restarted\n"
			"devices have changed: engines that run stay as they are, engines started "
			"from now on follow\n");
	free(now);
	free(next);
}

static void test_config_reload_of_the_same_says_nothing(void **state)
{
	struct gsb_config *now = accept_text("[device \"null\"]\n[tenant \"a\"]\n");
	struct gsb_config *next = round_trip(now);
	struct reports r = {.n = 0};

	gsb_config_reload(now, next, collect, &r);
	assert_string_equal(r.text, "");
	free(now);
	free(next);
}

/* ---- what has no effect ---- */

static void expect_unheeded(const char *text, const char *want)
{
	struct gsb_config *c = accept_text(text);
	struct reports r = {.n = 0};

	gsb_config_unheeded(c, collect, &r);
	assert_string_equal(r.text, want);
	free(c);
}

static void test_config_what_the_policy_does_not_heed_is_said(void **state)
{
	expect_unheeded("[tenant \"a\"]\nslowdown_percent = 20\nweight = 100\n",
			"[tenant \"a\"] slowdown_percent = 20 has no effect: emu:h200 has policy "
			"fifo; set policy = coreside or priority\n");
	expect_unheeded("[engine]\npolicy = coreside\n[tenant \"a\"]\ncritical = 1\nweight = 200\n"
			"max_wait_ms = 5\nslowdown_percent = 20\n",
			"[tenant \"a\"] critical = 1 has no effect: emu:h200 has policy coreside; "
			"set policy = priority\n");
	expect_unheeded("[engine]\npolicy = priority\n[tenant \"a\"]\ncritical = 1\nweight = 200\n"
			"max_wait_ms = 5\nslowdown_percent = 20\ndeadline_us = 7\n",
			"");
	expect_unheeded("[tenant \"a\"]\ndeadline_us = 7\n",
			"[tenant \"a\"] deadline_us = 7 has no effect: emu:h200 has policy fifo; "
			"set policy = coreside or priority\n");
	expect_unheeded("[engine]\npolicy = multiqx\n[default]\nmax_wait_ms = 5\n",
			"[default] max_wait_ms = 5 has no effect: emu:h200 has policy multiqx; set "
			"policy = coreside or priority\n");
}

/* Once, where it stands; and for each device by its own policy. */
static void test_config_what_is_not_heeded_is_said_where_it_stands(void **state)
{
	expect_unheeded(
		"[default]\nweight = 7\n[tenant \"a\"]\n[tenant \"b\"]\nweight = 9\n",
		"[default] weight = 7 has no effect: emu:h200 has policy fifo; set policy = "
		"coreside or priority\n"
		"[tenant \"b\"] weight = 9 has no effect: emu:h200 has policy fifo; set "
		"policy = coreside or priority\n");
	expect_unheeded(
		"[device \"emu:h200\"]\npolicy = coreside\n[device \"null\"]\n[default]\n"
		"weight = 7\n[tenant \"a\"]\ndevice = null\n",
		"[tenant \"a\"] weight = 7 has no effect: null has policy fifo; set policy = "
		"coreside or priority\n");
}

/* ---- nearest ---- */

static void test_nearest_takes_small_slips_only(void **state)
{
	static const char *const words[] = {"policy", "workers", "clock"};

	assert_string_equal(gsb_config_nearest("polciy", words, 3), "policy");
	assert_string_equal(gsb_config_nearest("worker", words, 3), "workers");
	assert_null(gsb_config_nearest("memory", words, 3));
	assert_null(gsb_config_nearest("", words, 3));
}

/* ---- random ---- */

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Pieces that a file is made of, good and bad, so that random files get past the first check. */
static const char *const pieces[] = {
	"[",
	"]",
	"\"",
	"\n",
	"\n",
	" ",
	"\t",
	";",
	"#",
	"=",
	" = ",
	"broker",
	"engine",
	"device",
	"tenant",
	"default",
	"workers",
	"clock",
	"staging",
	"real",
	"1",
	"16M",
	"4G",
	"-",
	"emu:h200",
	"null",
	"allow_uid",
	"[engine]",
	"[tenant \"a\"]",
	"[device \"null\"]",
	"\r\n",
	"\xff",
	"\x01",
	",",
	"0",
	"policy = fifo\n",
	"\n[resize]\nmode = safe\ndeny = *a?\n",
	"\n[default]\n",
	"\n[admission]\n",
	"99999999999999999999",
	"x",
	"%s%n",
	"socket = /a b\n",
};

static size_t random_file(uint64_t *seed, char *out, size_t size)
{
	size_t n = 0;

	while (next_random(seed) % 60 && n + 64 < size) {
		const char *piece = pieces[next_random(seed) % GSB_ARRAY_LEN(pieces)];
		size_t length = strlen(piece);

		memcpy(out + n, piece, length);
		n += length;
		if (next_random(seed) % 97 == 0)
			out[n++] = (char)next_random(seed);
	}
	return n;
}

/* Whatever the bytes: either errors were told, or the file reads back the same from its print. */
static void test_config_random_files_are_refused_or_round_trip(void **state)
{
	uint64_t seed = 20261120;
	unsigned n_accepted = 0;
	char text[8192];

	for (int i = 0; i < 4000; i++) {
		size_t n = random_file(&seed, text, sizeof(text));
		struct gsb_config *c = NULL, *again;
		struct reports r;
		int err = read_bytes(text, n, &r, &c);

		assert_int_equal(err, r.n ? -EINVAL : 0);
		if (err)
			continue;
		n_accepted++;
		again = round_trip(c);
		assert_memory_equal(c, again, sizeof(*c));
		free(again);
		free(c);
	}
	assert_true(n_accepted > 100); /* else the generator tests nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_unknown_key_names_the_nearest),
		cmocka_unit_test(test_config_unknown_section_names_the_nearest_even_when_empty),
		cmocka_unit_test(test_config_out_of_range_says_the_range),
		cmocka_unit_test(test_config_wrong_type_says_what_it_must_be),
		cmocka_unit_test(test_config_too_long_text_says_the_length),
		cmocka_unit_test(test_config_duplicate_names_the_first_line),
		cmocka_unit_test(test_config_damaged_header_skips_its_keys_only),
		cmocka_unit_test(test_config_section_argument_is_checked),
		cmocka_unit_test(test_config_long_tenant_name_is_not_cut),
		cmocka_unit_test(test_config_long_line_is_refused_and_later_numbers_are_right),
		cmocka_unit_test(test_config_nul_byte_is_refused),
		cmocka_unit_test(test_config_bytes_of_a_binary_file_are_not_printed),
		cmocka_unit_test(test_config_line_without_equals_is_refused),
		cmocka_unit_test(test_config_indented_line_is_no_continuation),
		cmocka_unit_test(test_config_reports_all_errors_at_once),
		cmocka_unit_test(test_config_tenant_of_unknown_device_is_refused),
		cmocka_unit_test(test_config_ids_take_names_and_ranges),
		cmocka_unit_test(test_config_missing_file_is_reported_by_name),
		cmocka_unit_test(test_config_folder_is_no_file),
		cmocka_unit_test(test_config_every_default_is_valid),
		cmocka_unit_test(test_config_empty_file_gives_the_defaults),
		cmocka_unit_test(test_config_sections_inherit_wherever_the_defaults_stand),
		cmocka_unit_test(test_config_comments_bom_and_cr_are_taken),
		cmocka_unit_test(test_config_device_of_a_tenant_is_found),
		cmocka_unit_test(test_config_print_reads_back_the_same),
		cmocka_unit_test(test_config_print_names_every_key),
		cmocka_unit_test(test_config_resize_shapes_are_held_to_their_form),
		cmocka_unit_test(test_config_resize_lists_of_names_grow_and_round_trip),
		cmocka_unit_test(test_config_socket_mode_follows_the_lists),
		cmocka_unit_test(test_config_reload_keeps_and_reports_what_needs_a_restart),
		cmocka_unit_test(test_config_metrics_listen_is_of_this_machine),
		cmocka_unit_test(test_config_reload_keeps_where_metrics_are),
		cmocka_unit_test(test_config_what_the_policy_does_not_heed_is_said),
		cmocka_unit_test(test_config_what_is_not_heeded_is_said_where_it_stands),
		cmocka_unit_test(test_config_reload_of_the_same_says_nothing),
		cmocka_unit_test(test_nearest_takes_small_slips_only),
		cmocka_unit_test(test_config_random_files_are_refused_or_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
