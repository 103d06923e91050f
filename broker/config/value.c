/*
 * config_value.c - text of a configuration value <-> its field, one pair of functions a type.
 *
 * A parser says what a value must be ("must be from 1 to 256"), not what is wrong with it, so that
 * each message is its own remedy. A field is written only when the whole text is right. What is
 * printed reads back as the same value: for that, texts are held to characters that an ini line
 * carries unchanged.
 */
#include "broker/config/key.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "broker/policy/policy.h"
#include "broker/policy/shape.h"
#include "model/gpu/arch.h"

static const char *const level_words[] = {"off", "error", "warn", "info", "debug", NULL};
static const char *const isolation_words[] = {"shared", "process", "mps", "lanes", NULL};
static const char *const clock_words[] = {"virtual", "real", NULL};
static const char *const resize_words[] = {"off", "safe", "shadow", NULL};

GSB_PRINTF(2, 3)
static int wrong(char why[GSB_CONFIG_WHY_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, GSB_CONFIG_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

const char *gsb_config_policy_name(uint64_t policy)
{
	const struct gsb_policy *p = gsb_policy_at(policy);

	return p ? p->name : NULL;
}

const char *gsb_config_level_name(uint64_t level)
{
	return level_words[level];
}

const char *gsb_config_isolation_name(uint64_t isolation)
{
	return isolation_words[isolation];
}

const char *gsb_config_resize_name(uint64_t mode)
{
	return resize_words[mode];
}

/* ---- numbers ---- */

/* Digits in base only: strtoull alone would take signs, blanks and 0x. */
static bool parse_digits(const char *s, int base, uint64_t *out, const char **end)
{
	char *e;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*out = strtoull(s, &e, base);
	*end = e;
	return errno == 0;
}

static int parse_uint(const struct gsb_config_key *k, const char *text, uint64_t *field, char *why)
{
	const char *end;
	uint64_t v;

	if (!parse_digits(text, 10, &v, &end) || *end || v < k->min || v > k->max)
		return wrong(why, "must be a number from %" PRIu64 " to %" PRIu64, k->min, k->max);
	*field = v;
	return 0;
}

static int parse_mode(const struct gsb_config_key *k, const char *text, uint64_t *field, char *why)
{
	const char *end;
	uint64_t v;

	if (!*text) {
		*field = GSB_MODE_BY_LISTS;
		return 0;
	}
	if (!parse_digits(text, 8, &v, &end) || *end || v < k->min || v > k->max)
		return wrong(why, "must be an octal mode such as 0660");
	*field = v;
	return 0;
}

static const char size_suffixes[] = "KMGT"; /* powers of 1024 */

/* The largest suffix that leaves a whole number, so that what is printed is exact. */
static void size_text(uint64_t v, char *out, size_t size)
{
	char suffix[2] = "";

	for (const char *s = size_suffixes; v && v % 1024 == 0 && *s; s++) {
		v /= 1024;
		suffix[0] = *s;
	}
	snprintf(out, size, "%" PRIu64 "%s", v, suffix);
}

static int parse_size(const struct gsb_config_key *k, const char *text, uint64_t *field, char *why)
{
	const char *end, *suffix;
	char lo[32], hi[32];
	unsigned shift = 0;
	uint64_t v;

	size_text(k->min, lo, sizeof(lo));
	size_text(k->max, hi, sizeof(hi));
	if (!parse_digits(text, 10, &v, &end))
		goto bad;
	if (*end) {
		suffix = strchr(size_suffixes, toupper((unsigned char)*end));
		if (!suffix || end[1])
			goto bad;
		shift = 10 * (unsigned)(suffix - size_suffixes + 1);
	}
	if (v > UINT64_MAX >> shift || v << shift < k->min || v << shift > k->max)
		goto bad;
	*field = v << shift;
	return 0;
bad:
	return wrong(why, "must be a size from %s to %s, with suffix K, M, G or T", lo, hi);
}

/* ---- words ---- */

/* The i-th word of a type, NULL past the last. */
static const char *word_at(enum gsb_config_type type, uint64_t i)
{
	switch (type) {
	case GSB_TYPE_LEVEL: return level_words[i];
	case GSB_TYPE_POLICY: return gsb_config_policy_name(i);
	case GSB_TYPE_ISOLATION: return isolation_words[i];
	case GSB_TYPE_RESIZE: return resize_words[i];
	default: return clock_words[i];
	}
}

static int parse_word(const struct gsb_config_key *k, const char *text, uint64_t *field, char *why)
{
	const char *word;
	size_t n = 0;

	for (uint64_t i = 0; (word = word_at(k->type, i)); i++)
		if (!strcmp(text, word)) {
			*field = i;
			return 0;
		}
	for (uint64_t i = 0; (word = word_at(k->type, i)); i++)
		n += (size_t)snprintf(why + n, GSB_CONFIG_WHY_MAX - n, "%s%s",
				      i == 0			? "must be "
				      : word_at(k->type, i + 1) ? ", "
								: " or ",
				      word);
	return -EINVAL;
}

/* ---- text ---- */

/* Printable ASCII that no ini line changes: no quotes, and no blank, after which ';' would start a
 * comment. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (!isgraph((unsigned char)*s) || *s == '"' || *s == '\'')
			return false;
	return true;
}

static int parse_string(const struct gsb_config_key *k, const char *text, char *field, char *why)
{
	if (strlen(text) > k->max)
		return wrong(why, "must have at most %" PRIu64 " characters", k->max);
	for (const char *s = text; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_-.", *s))
			return wrong(why, "must consist of letters, digits, '_', '-' and '.'");
	strcpy(field, text);
	return 0;
}

static int parse_path(const struct gsb_config_key *k, const char *text, char *field, char *why)
{
	if (strlen(text) > k->max)
		return wrong(why, "must have at most %" PRIu64 " characters", k->max);
	if (*text && (*text != '/' || !is_plain(text)))
		return wrong(why, "must be an absolute path without blanks and quotes");
	strcpy(field, text);
	return 0;
}

/* A path for a socket, or a port of this machine alone. */
static bool is_address(const char *text)
{
	static const char *const hosts[] = {"127.0.0.1:", "[::1]:"};
	const char *end;
	uint64_t port;

	if (!strncmp(text, "unix:/", 6))
		return is_plain(text);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(hosts); i++) {
		size_t n = strlen(hosts[i]);

		if (!strncmp(text, hosts[i], n))
			return parse_digits(text + n, 10, &port, &end) && !*end && port &&
			       port <= UINT16_MAX;
	}
	return false;
}

static int parse_address(const struct gsb_config_key *k, const char *text, char *field, char *why)
{
	if (strlen(text) > k->max)
		return wrong(why, "must have at most %" PRIu64 " characters", k->max);
	if (*text && !is_address(text))
		return wrong(why, "must be unix:/PATH, 127.0.0.1:PORT or [::1]:PORT");
	strcpy(field, text);
	return 0;
}

enum { GSB_DEVICE_NOTHING, GSB_DEVICE_ARCH, GSB_DEVICE_NUMBER };

static const struct {
	const char *scheme;
	int takes;
} devices[] = {
#define GSB_DEVICE(scheme, takes) {#scheme, takes},
#include "device/devices.def"
#undef GSB_DEVICE
};

static bool is_device_number(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && n <= 3 && !text[n];
}

static bool is_known_device(const char *text)
{
	size_t n = strcspn(text, ":");

	for (unsigned i = 0; i < GSB_ARRAY_LEN(devices); i++) {
		if (strlen(devices[i].scheme) != n || strncmp(devices[i].scheme, text, n) != 0)
			continue;
		if (devices[i].takes == GSB_DEVICE_NOTHING)
			return !text[n];
		if (devices[i].takes == GSB_DEVICE_NUMBER)
			return text[n] && is_device_number(text + n + 1);
		return text[n] && (text[n + 1] == '/' || gsb_arch_find(text + n + 1));
	}
	return false;
}

GSB_PRINTF(4, 5)
static size_t append(char *out, size_t n, size_t size, const char *fmt, ...)
{
	va_list ap;
	int more;

	va_start(ap, fmt);
	more = vsnprintf(out + n, size - n, fmt, ap);
	va_end(ap);
	return more < 0 || (size_t)more >= size - n ? n : n + (size_t)more;
}

/* "emu:NAME, emu:/FILE, cuda:N or null; NAME is one of h100, h200": from the two lists. */
static void list_devices(char *out, size_t size)
{
	char names[GSB_ARCH_NAMES_MAX];
	size_t n = 0;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(devices); i++) {
		const char *scheme = devices[i].scheme;
		bool last = i && i + 1 == GSB_ARRAY_LEN(devices);

		n = append(out, n, size, "%s%s", !i ? "" : last ? " or " : ", ", scheme);
		if (devices[i].takes == GSB_DEVICE_ARCH)
			n = append(out, n, size, ":NAME, %s:/FILE", scheme);
		else if (devices[i].takes == GSB_DEVICE_NUMBER)
			n = append(out, n, size, ":N");
	}
	gsb_arch_names(names, sizeof(names));
	append(out, n, size, "; NAME is one of %s", names);
}

bool gsb_config_spec_ok(const char *text, char why[GSB_CONFIG_WHY_MAX])
{
	char list[GSB_CONFIG_WHY_MAX - 16];

	if (is_known_device(text) && is_plain(text) && strlen(text) < GSB_CONFIG_SPEC_MAX)
		return true;
	list_devices(list, sizeof(list));
	wrong(why, "must be %s", list);
	return false;
}

static int parse_spec(const struct gsb_config_key *k, const char *text, char *field, char *why)
{
	if (*text && !gsb_config_spec_ok(text, why))
		return -EINVAL;
	strcpy(field, text);
	return 0;
}

static int parse_shape(const struct gsb_config_key *k, const char *text, char *field, char *why)
{
	struct gsb_shape shape;

	if (strlen(text) > k->max || gsb_shape_parse(text, &shape))
		return wrong(why,
			     "must be slice:N, persistent:BLOCKS, persistent:BLOCKS:TILES, "
			     "reshape:THREADS, count, hint or nothing, with N from 1 to %d and "
			     "THREADS from 1 to 1024",
			     GSB_SHAPE_MAX_SLICES);
	strcpy(field, text);
	return 0;
}

/* ---- lists of names ---- */

#define HASH_WORD "hash:"

/* A name as compilers write them, with wildcards, or the beginning of a hash. */
static bool is_pattern(const char *word, size_t n)
{
	const size_t tag = sizeof(HASH_WORD) - 1;

	if (n > tag && !strncmp(word, HASH_WORD, tag))
		return n >= tag + 8 && n <= tag + 64 &&
		       strspn(word + tag, "0123456789abcdef") == n - tag;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)word[i]) && !strchr("_$%.*?", word[i]))
			return false;
	return true;
}

static int parse_names(const struct gsb_config_key *k, const char *text, char *field, char *why)
{
	size_t was = strlen(field), at = was, n;

	for (text += strspn(text, " \t,"); *text; text += n, text += strspn(text, " \t,")) {
		n = strcspn(text, " \t,");
		if (!is_pattern(text, n)) {
			field[was] = 0;
			return wrong(why,
				     "must be names of kernels, with * and ? for any characters "
				     "and any one, or hash: and 8 to 64 hex digits");
		}
		if (at + 1 + n > k->max) {
			field[was] = 0;
			return wrong(why, "comes to more than %" PRIu64 " characters: use *",
				     k->max);
		}
		if (at)
			field[at++] = ' ';
		memcpy(field + at, text, n);
		field[at += n] = 0;
	}
	return 0;
}

/* One line a name: a line of the file has an end. */
static void print_names(const struct gsb_config_key *k, const char *names, FILE *f)
{
	if (!*names)
		fprintf(f, "%s =\n", k->name);
	for (size_t n; *names; names += n, names += *names == ' ') {
		n = strcspn(names, " ");
		fprintf(f, "%s = %.*s\n", k->name, (int)n, names);
	}
}

/* ---- lists of users and groups ---- */

static bool name_to_id(enum gsb_config_type type, const char *name, uint64_t *id)
{
	if (type == GSB_TYPE_IDS_USER) {
		const struct passwd *pw = getpwnam(name);

		*id = pw ? pw->pw_uid : 0;
		return pw;
	} else {
		const struct group *gr = getgrnam(name);

		*id = gr ? gr->gr_gid : 0;
		return gr;
	}
}

static int parse_id(const struct gsb_config_key *k, const char *word, struct gsb_id_list *l,
		    char *why)
{
	const char *what = k->type == GSB_TYPE_IDS_USER ? "user" : "group";
	const char *end;
	uint64_t lo, hi;

	if (!isdigit((unsigned char)*word)) {
		if (!name_to_id(k->type, word, &lo))
			return wrong(why, "there is no %s '%.32s'", what, word);
		hi = lo;
	} else {
		if (!parse_digits(word, 10, &lo, &end))
			goto bad;
		hi = lo;
		if (*end == '-' && !parse_digits(end + 1, 10, &hi, &end))
			goto bad;
		if (*end || lo > hi || hi > k->max)
			goto bad;
	}
	if (l->n == GSB_CONFIG_IDS_MAX)
		return wrong(why, "has more than %d entries: use ranges", GSB_CONFIG_IDS_MAX);
	l->at[l->n].lo = (uint32_t)lo;
	l->at[l->n++].hi = (uint32_t)hi;
	return 0;
bad:
	return wrong(why,
		     "must be %s names, ids or ranges such as 1000-1999, with ids up to %" PRIu64,
		     what, k->max);
}

static int parse_ids(const struct gsb_config_key *k, const char *text, struct gsb_id_list *field,
		     char *why)
{
	struct gsb_id_list l = *field;
	char word[64];
	size_t n;

	for (;;) {
		text += strspn(text, " \t,");
		n = strcspn(text, " \t,");
		if (!n)
			break;
		if (n >= sizeof(word))
			return wrong(why, "has an entry of over %zu characters", sizeof(word) - 1);
		memcpy(word, text, n);
		word[n] = 0;
		text += n;
		if (parse_id(k, word, &l, why))
			return -EINVAL;
	}
	*field = l;
	return 0;
}

static void print_ids(const struct gsb_config_key *k, const struct gsb_id_list *l, FILE *f)
{
	if (!l->n)
		fprintf(f, "%s =\n", k->name);
	for (uint32_t i = 0; i < l->n; i++) {
		fprintf(f, "%s = %" PRIu32, k->name, l->at[i].lo);
		if (l->at[i].hi != l->at[i].lo)
			fprintf(f, "-%" PRIu32, l->at[i].hi);
		fputc('\n', f);
	}
}

/* ---- all ---- */

int gsb_config_parse_value(const struct gsb_config_key *k, const char *text, void *field,
			   char why[GSB_CONFIG_WHY_MAX])
{
	switch (k->type) {
	case GSB_TYPE_STRING: return parse_string(k, text, field, why);
	case GSB_TYPE_PATH: return parse_path(k, text, field, why);
	case GSB_TYPE_SPEC: return parse_spec(k, text, field, why);
	case GSB_TYPE_ADDRESS: return parse_address(k, text, field, why);
	case GSB_TYPE_UINT: return parse_uint(k, text, field, why);
	case GSB_TYPE_SIZE: return parse_size(k, text, field, why);
	case GSB_TYPE_MODE: return parse_mode(k, text, field, why);
	case GSB_TYPE_IDS_USER:
	case GSB_TYPE_IDS_GROUP: return parse_ids(k, text, field, why);
	case GSB_TYPE_LEVEL:
	case GSB_TYPE_POLICY:
	case GSB_TYPE_ISOLATION:
	case GSB_TYPE_RESIZE:
	case GSB_TYPE_CLOCK: return parse_word(k, text, field, why);
	case GSB_TYPE_SHAPE: return parse_shape(k, text, field, why);
	case GSB_TYPE_NAMES: return parse_names(k, text, field, why);
	}
	return -EINVAL;
}

void gsb_config_print_value(const struct gsb_config_key *k, const void *field, FILE *f)
{
	const uint64_t *v = field;
	char size[32];

	switch (k->type) {
	case GSB_TYPE_STRING:
	case GSB_TYPE_PATH:
	case GSB_TYPE_ADDRESS:
	case GSB_TYPE_SHAPE:
	case GSB_TYPE_SPEC: fprintf(f, "%s = %s\n", k->name, (const char *)field); break;
	case GSB_TYPE_UINT: fprintf(f, "%s = %" PRIu64 "\n", k->name, *v); break;
	case GSB_TYPE_SIZE:
		size_text(*v, size, sizeof(size));
		fprintf(f, "%s = %s\n", k->name, size);
		break;
	case GSB_TYPE_MODE:
		if (*v == GSB_MODE_BY_LISTS)
			fprintf(f, "%s =\n", k->name);
		else
			fprintf(f, "%s = %04" PRIo64 "\n", k->name, *v);
		break;
	case GSB_TYPE_IDS_USER:
	case GSB_TYPE_IDS_GROUP: print_ids(k, field, f); break;
	case GSB_TYPE_NAMES: print_names(k, field, f); break;
	case GSB_TYPE_LEVEL:
	case GSB_TYPE_POLICY:
	case GSB_TYPE_ISOLATION:
	case GSB_TYPE_RESIZE:
	case GSB_TYPE_CLOCK: fprintf(f, "%s = %s\n", k->name, word_at(k->type, *v)); break;
	}
}
