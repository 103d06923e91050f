/*
 * emu_args.c - see emu_args.h.
 */
#include "tools/emu_args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/program.h"
#include "tools/emu_file.h"

#define MEMORY_MAX_BYTES ((uint64_t)1 << 38)
#define NUMBER_MAX	 64 /* characters */
#define LINE_NUMBERS	 8

enum number_kind { UNSIGNED, SIGNED, FLOAT, BITS };

struct emu_type {
	const char *name;
	enum number_kind kind;
	unsigned int size;
};

static const struct emu_type types[] = {
	{"u8", UNSIGNED, 1}, {"u16", UNSIGNED, 2}, {"u32", UNSIGNED, 4}, {"u64", UNSIGNED, 8},
	{"s8", SIGNED, 1},   {"s16", SIGNED, 2},   {"s32", SIGNED, 4},	 {"s64", SIGNED, 8},
	{"b8", BITS, 1},     {"b16", BITS, 2},	   {"b32", BITS, 4},	 {"b64", BITS, 8},
	{"f32", FLOAT, 4},   {"f64", FLOAT, 8},
};

static const struct emu_type *find_type(const char *s, size_t len)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(types); i++)
		if (strlen(types[i].name) == len && !memcmp(types[i].name, s, len))
			return &types[i];
	return NULL;
}

static int wrong(const char *word, const char *why)
{
	fprintf(stderr, "%s: argument '%s': %s\n", gsb_program_name(), word, why);
	return -1;
}

/* ---- numbers ---- */

static bool whole_fits(const struct emu_type *t, const char *s, uint64_t *out)
{
	const unsigned int bits = t->size * 8;
	char *end;

	errno = 0;
	if (*s == '-') {
		int64_t v = strtoll(s, &end, 0);

		*out = (uint64_t)v;
		return t->kind != UNSIGNED && end != s && !*end && !errno &&
		       v >= INT64_MIN >> (64 - bits);
	}
	*out = strtoull(s, &end, 0);
	return *s >= '0' && *s <= '9' && !*end && !errno &&
	       *out <= UINT64_MAX >> (64 - bits + (t->kind == SIGNED));
}

static bool float_fits(const struct emu_type *t, const char *s, uint64_t *out)
{
	double d;
	float f;
	char *end;

	d = strtod(s, &end);
	if (end == s || *end)
		return false;
	f = (float)d;
	*out = 0;
	memcpy(out, t->size == 4 ? (const void *)&f : (const void *)&d, t->size);
	return true;
}

/* The bits of a number of that type; false when the text is none, or one that does not fit. */
static bool to_bits(const struct emu_type *t, const char *s, size_t len, uint64_t *out)
{
	char text[NUMBER_MAX];

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	return t->kind == FLOAT ? float_fits(t, text, out) : whole_fits(t, text, out);
}

static void print_number(const struct emu_type *t, const uint8_t *at)
{
	uint64_t u = 0;
	double d;
	float f;

	memcpy(&u, at, t->size);
	memcpy(&f, &u, sizeof(f));
	memcpy(&d, &u, sizeof(d));
	switch (t->kind) {
	case UNSIGNED: printf("%" PRIu64, u); break;
	case SIGNED:
		printf("%" PRId64, (int64_t)(u << (64 - t->size * 8)) >> (64 - t->size * 8));
		break;
	case BITS: printf("0x%0*" PRIx64, (int)t->size * 2, u); break;
	case FLOAT: printf("%.*g", t->size == 4 ? 9 : 17, t->size == 4 ? (double)f : d); break;
	}
}

/* ---- memory ---- */

static int make_memory(struct emu_arg *a, const char *word, const struct emu_type *t,
		       const char *count, size_t len)
{
	static const struct emu_type u64 = {"u64", UNSIGNED, 8};
	uint64_t n;

	if (!to_bits(&u64, count, len, &n) || !n || n > MEMORY_MAX_BYTES / t->size)
		return wrong(word, "COUNT must be a number of elements, at least 1");
	a->kind = EMU_ARG_MEMORY;
	a->type = t;
	a->size = n * t->size;
	a->bytes = calloc(n, t->size);
	return a->bytes ? 0 : wrong(word, "no memory for so much");
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void put_double(const struct emu_type *t, uint8_t *at, double d)
{
	float f = (float)d;

	memcpy(at, t->size == 4 ? (const void *)&f : (const void *)&d, t->size);
}

static void fill_iota(struct emu_arg *a)
{
	const struct emu_type *t = a->type;

	for (uint64_t i = 0; i < a->size / t->size; i++) {
		if (t->kind == FLOAT)
			put_double(t, a->bytes + i * t->size, (double)i);
		else
			memcpy(a->bytes + i * t->size, &i, t->size);
	}
}

/* Floats from 0 up to 1, of which both types have all; any bits in others. */
static void fill_random(struct emu_arg *a, uint64_t seed)
{
	const struct emu_type *t = a->type;

	a->random = true;
	for (uint64_t i = 0; i < a->size / t->size; i++) {
		uint64_t r = next_random(&seed);

		if (t->kind == FLOAT)
			put_double(t, a->bytes + i * t->size, (double)(r >> 40) / (1 << 24));
		else
			memcpy(a->bytes + i * t->size, &r, t->size);
	}
}

bool emu_arg_is_float(const struct emu_arg *a, unsigned int size)
{
	return a->kind == EMU_ARG_MEMORY && a->type && a->type->kind == FLOAT &&
	       a->type->size == size;
}

void emu_arg_refill(struct emu_arg *a, uint64_t seed)
{
	if (a->random)
		fill_random(a, seed);
}

static void fill_number(struct emu_arg *a, uint64_t bits)
{
	for (uint64_t i = 0; i < a->size; i += a->type->size)
		memcpy(a->bytes + i, &bits, a->type->size);
}

static int fill(struct emu_arg *a, const char *word, const char *how)
{
	static const struct emu_type u64 = {"u64", UNSIGNED, 8};
	uint64_t bits, seed;

	if (!*how || !strcmp(how, "zero"))
		return 0;
	if (!strcmp(how, "iota"))
		fill_iota(a);
	else if (!strcmp(how, "rand"))
		fill_random(a, 1);
	else if (!strncmp(how, "rand:", 5) && to_bits(&u64, how + 5, strlen(how + 5), &seed))
		fill_random(a, seed);
	else if (to_bits(a->type, how, strlen(how), &bits))
		fill_number(a, bits);
	else
		return wrong(word,
			     "FILL must be zero, iota, rand, rand:SEED, or a number of the type");
	return 0;
}

/* ---- the forms ---- */

/* TYPE:COUNT, and what is behind: "" or after its colon. */
static int parse_memory(struct emu_arg *a, const char *word, const char *s, const char **rest)
{
	const char *colon = strchr(s, ':'), *end;
	const struct emu_type *t = colon ? find_type(s, (size_t)(colon - s)) : NULL;

	if (!t)
		return wrong(word, "TYPE:COUNT must follow, with a type as u32, s64, f32 or b8");
	end = colon + 1 + strcspn(colon + 1, ":");
	*rest = *end ? end + 1 : end;
	return make_memory(a, word, t, colon + 1, (size_t)(end - colon - 1));
}

static int parse_buf(struct emu_arg *a, const char *word, const char *s)
{
	const char *how;

	return parse_memory(a, word, s, &how) ? -1 : fill(a, word, how);
}

/* A name may have colons; what stands behind the last is a type if it is one. */
static int parse_in(struct emu_arg *a, const char *word, const char *s)
{
	const char *colon = strrchr(s, ':');
	const struct emu_type *t = colon ? find_type(colon + 1, strlen(colon + 1)) : NULL;
	char *path = strndup(s, t ? (size_t)(colon - s) : strlen(s)), *bytes = NULL;
	int err = path ? emu_read_file(path, &bytes, &a->size) : wrong(word, "no memory");

	free(path);
	if (err)
		return -1;
	a->kind = EMU_ARG_MEMORY;
	a->type = t ? t : find_type("b8", 2);
	a->bytes = (uint8_t *)bytes;
	return a->size ? 0 : wrong(word, "the file is empty");
}

static int parse_out(struct emu_arg *a, const char *word, const char *s)
{
	const char *count = strrchr(s, ':'), *type = count, *rest;

	while (type && type > s && type[-1] != ':')
		type--;
	if (!type || type - s < 2)
		return wrong(word, "must be out:FILE:TYPE:COUNT");
	a->out = s;
	a->out_len = (size_t)(type - s) - 1;
	return parse_memory(a, word, type, &rest);
}

static int parse_at(struct emu_arg *a, const char *word, const char *s)
{
	static const struct emu_type s64 = {"s64", SIGNED, 8};
	size_t len = strcspn(s, "+-");
	uint64_t offset = 0;
	const char *number = s + len + (s[len] == '+');

	if (!len || (s[len] && !to_bits(&s64, number, strlen(number), &offset)))
		return wrong(word, "must be at:NAME, at:NAME+BYTES or at:NAME-BYTES");
	a->kind = EMU_ARG_ADDRESS;
	a->of = s;
	a->of_len = len;
	a->offset = (int64_t)offset;
	return 0;
}

static int parse_hex(struct emu_arg *a, const char *word, const char *s)
{
	static const struct emu_type byte = {"b8", BITS, 1};
	size_t n = strlen(s) / 2;

	if (strlen(s) % 2 || !n || n > sizeof(a->value))
		return wrong(word, "must be hex: and two digits for each of 1 to 4096 bytes");
	for (size_t i = 0; i < n; i++) {
		char digits[] = {'0', 'x', s[2 * i], s[2 * i + 1]};
		uint64_t v;

		if (!to_bits(&byte, digits, sizeof(digits), &v))
			return wrong(word, "has something other than hexadecimal digits");
		a->value[i] = (uint8_t)v;
	}
	a->kind = EMU_ARG_VALUE;
	a->value_size = n;
	return 0;
}

static int parse_number(struct emu_arg *a, const char *word, const char *s)
{
	const char *colon = strchr(s, ':');
	const struct emu_type *t = colon ? find_type(s, (size_t)(colon - s)) : NULL;
	uint64_t bits;

	if (!t)
		return wrong(word, "not a form of an argument: TYPE:VALUE, hex:BYTES, "
				   "buf:TYPE:COUNT[:FILL], in:FILE[:TYPE], out:FILE:TYPE:COUNT, "
				   "at:NAME[+BYTES]");
	if (!to_bits(t, colon + 1, strlen(colon + 1), &bits))
		return wrong(word, "the value is no number of that type");
	a->kind = EMU_ARG_VALUE;
	a->type = t;
	a->value_size = t->size;
	memcpy(a->value, &bits, t->size);
	return 0;
}

/* NAME=, of letters, digits and '_'; what is not one is part of what follows. */
static const char *parse_name(struct emu_arg *a, const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (!n || word[n] != '=')
		return word;
	a->name = word;
	a->name_len = n;
	return word + n + 1;
}

int emu_arg_parse(struct emu_arg *a, const char *word)
{
	static const struct {
		const char *prefix;
		int (*parse)(struct emu_arg *a, const char *word, const char *s);
	} forms[] = {
		{"buf:", parse_buf}, {"in:", parse_in},	  {"out:", parse_out},
		{"at:", parse_at},   {"hex:", parse_hex}, {"", parse_number},
	};
	const char *s;

	memset(a, 0, sizeof(*a));
	s = parse_name(a, word);
	for (size_t i = 0;; i++) {
		size_t len = strlen(forms[i].prefix);

		if (!strncmp(s, forms[i].prefix, len))
			return forms[i].parse(a, word, s + len);
	}
}

void emu_arg_finish(struct emu_arg *a)
{
	free(a->bytes);
}

/* ---- afterwards ---- */

static bool is_name(const char *name, size_t name_len, const char *s, size_t len)
{
	return name && name_len == len && !memcmp(name, s, len);
}

struct emu_arg *emu_arg_find(struct emu_arg *args, size_t n, const char *name, size_t len)
{
	char number[24];

	for (size_t i = 0; i < n; i++)
		if (is_name(args[i].name, args[i].name_len, name, len))
			return &args[i];
	for (size_t i = 0; i < n; i++) {
		const char *p = args[i].parameter;

		snprintf(number, sizeof(number), "%zu", i);
		if (is_name(p, p ? strlen(p) : 0, name, len) ||
		    is_name(number, strlen(number), name, len))
			return &args[i];
	}
	return NULL;
}

/* FROM, FROM-TO or FROM-, both counted; false: none of these, or beyond the n that there are. */
static bool parse_range(const char *s, uint64_t n, uint64_t *from, uint64_t *to)
{
	char *end;

	errno = 0;
	*from = strtoull(s, &end, 10);
	*to = *from;
	if (*s < '0' || *s > '9')
		return false;
	if (*end == '-' && !end[1]) {
		*to = n - 1;
		end++;
	} else if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
		*to = strtoull(end + 1, &end, 10);
	}
	return !*end && !errno && *from <= *to && *to < n;
}

int emu_range_parse(struct emu_range *r, struct emu_arg *args, size_t n_args, const char *word)
{
	uint64_t n;

	r->name = word;
	r->name_len = strcspn(word, ":");
	r->arg = emu_arg_find(args, n_args, word, r->name_len);
	if (!r->arg || r->arg->kind != EMU_ARG_MEMORY) {
		fprintf(stderr, "gsb-emu: --print %s: no argument of memory is called '%.*s'\n",
			word, (int)r->name_len, word);
		return -1;
	}
	n = r->arg->size / r->arg->type->size;
	r->from = 0;
	r->to = n - 1;
	if (n && (!word[r->name_len] || parse_range(word + r->name_len + 1, n, &r->from, &r->to)))
		return 0;
	fprintf(stderr,
		"gsb-emu: --print %s: must be NAME, NAME:FROM, NAME:FROM-TO or NAME:FROM-; it has %" PRIu64
		" elements, from 0\n",
		word, n);
	return -1;
}

void emu_range_print(const struct emu_range *r)
{
	const struct emu_type *t = r->arg->type;

	for (uint64_t i = r->from; i <= r->to; i++) {
		if ((i - r->from) % LINE_NUMBERS == 0)
			printf("%.*s[%" PRIu64 "]:", (int)r->name_len, r->name, i);
		putchar(' ');
		print_number(t, r->arg->bytes + i * t->size);
		if ((i - r->from) % LINE_NUMBERS == LINE_NUMBERS - 1 || i == r->to)
			putchar('\n');
	}
}

int emu_arg_write(const struct emu_arg *a)
{
	char *path = strndup(a->out, a->out_len);
	FILE *f = path ? fopen(path, "wb") : NULL;
	bool ok = f && fwrite(a->bytes, 1, a->size, f) == a->size;

	if (f && fclose(f))
		ok = false;
	if (!ok)
		fprintf(stderr, "gsb-emu: %.*s: %s\n", (int)a->out_len, a->out, strerror(errno));
	free(path);
	return ok ? 0 : -1;
}
