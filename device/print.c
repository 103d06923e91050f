/*
 * print.c - see print.h.
 */
#include "device/print.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

#define MAX_SPEC  32
#define MAX_WIDTH 1024

#define LIMIT_MIN  ((uint64_t)512 << 10)
#define LIMIT_MAX  ((uint64_t)2 << 30)
#define LIMIT_UNIT 512

uint64_t gsb_print_fifo_bytes(uint64_t bytes)
{
	if (bytes < LIMIT_MIN)
		return LIMIT_MIN;
	return bytes < LIMIT_MAX ? gsb_round_up(bytes, LIMIT_UNIT) : LIMIT_MAX;
}

uint64_t gsb_print_fifo_default(uint64_t n_threads)
{
	return gsb_print_fifo_bytes(32 * n_threads);
}

struct printer {
	const struct gsb_print_args *args;
	struct gsb_print_text *out;
	bool bad; /* something could not be had */
};

static uint64_t next(struct printer *p, uint32_t size)
{
	uint64_t value = 0;

	p->out->n_args++;
	p->out->cost += 8;
	if (!p->args->next(p->args->from, size, &value))
		p->bad = true;
	return value;
}

static void add(struct printer *p, const char *s, size_t n)
{
	struct gsb_print_text *t = p->out;

	if (n > sizeof(t->bytes) - t->len)
		n = sizeof(t->bytes) - t->len;
	memcpy(t->bytes + t->len, s, n);
	t->len += n;
}

/* One conversion: flags, width and precision as numbers, and the letter. */
struct spec {
	char flags[8];
	int width, precision; /* -1: none */
	bool wide;	      /* ll, l, j, z, t */
	unsigned char n_h;    /* h, hh */
	char conversion;
};

static int number(struct printer *p, const char **f)
{
	int n = 0;
	const bool is_given = **f == '*';

	if (is_given) {
		++*f;
		n = (int32_t)next(p, 4);
	}
	for (; **f >= '0' && **f <= '9'; ++*f) /* behind a star they say nothing */
		n = !is_given && n < MAX_WIDTH ? n * 10 + (**f - '0') : n;
	return n > MAX_WIDTH ? MAX_WIDTH : n < -MAX_WIDTH ? -MAX_WIDTH : n;
}

static void parse_spec(struct printer *p, const char **f, struct spec *s)
{
	size_t n = 0;

	memset(s, 0, sizeof(*s));
	for (; **f && strchr("-+ #0", **f); ++*f) {
		if (n + 1 < sizeof(s->flags) && !strchr(s->flags, **f))
			s->flags[n++] = **f;
	}
	s->width = number(p, f);
	s->precision = -1;
	if (**f == '.') {
		++*f;
		s->precision = number(p, f);
	}
	for (; **f && strchr("hljztL", **f); ++*f) {
		s->wide |= **f != 'h' && **f != 'L';
		s->n_h += **f == 'h' && s->n_h < 2;
	}
	s->conversion = **f;
	if (**f)
		++*f;
}

/* snprintf with a format of our own making; `how` is one of the few that follow. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define SHOW(p, s, modifier, value)                                                                \
	do {                                                                                       \
		char format[MAX_SPEC], out[MAX_WIDTH * 2 + 512];                                   \
		int n_;                                                                            \
		snprintf(format, sizeof(format), "%%%s*.*%s%c", (s)->flags, modifier,              \
			 (s)->conversion);                                                         \
		n_ = snprintf(out, sizeof(out), format, (s)->width, (s)->precision, value);        \
		add(p, out, n_ < 0 ? 0 : (size_t)n_ < sizeof(out) ? (size_t)n_ : sizeof(out) - 1); \
	} while (0)

/* No string at all shows as it does in glibc, and on the GPU. */
static void show_string(struct printer *p, const struct spec *s)
{
	char text[GSB_PRINT_MAX_STRING] = "(null)";
	uint64_t addr = next(p, 8);

	if (!addr && s->precision >= 0 && s->precision < 6)
		text[0] = 0;
	if (addr && !p->args->string(p->args->from, addr, text, sizeof(text)))
		p->bad = true;
	p->out->cost += strlen(text);
	if (p->bad)
		return;
	if (s->width || s->precision >= 0)
		SHOW(p, s, "", text);
	else
		add(p, text, strlen(text));
}

static void show_double(struct printer *p, const struct spec *s)
{
	uint64_t bits = next(p, 8);
	double d;

	memcpy(&d, &bits, sizeof(d));
	SHOW(p, s, "", d);
}

static void show_integer(struct printer *p, const struct spec *s)
{
	static const char *const narrow[] = {"", "h", "hh"};

	if (s->wide)
		SHOW(p, s, "ll", (unsigned long long)next(p, 8));
	else
		SHOW(p, s, narrow[s->n_h], (unsigned int)next(p, 4));
}

static void show(struct printer *p, const struct spec *s)
{
	switch (s->conversion) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o': show_integer(p, s); break;
	case 'c': SHOW(p, s, "", (int)next(p, 4)); break;
	case 'p': SHOW(p, s, "", (void *)(uintptr_t)next(p, 8)); break;
	case 's': show_string(p, s); break;
	case '%': add(p, "%", 1); break;
	default:
		if (s->conversion && strchr("eEfFgGaA", s->conversion))
			show_double(p, s);
		break;
	}
}
#pragma GCC diagnostic pop

bool gsb_print_format(const char *f, const struct gsb_print_args *args, struct gsb_print_text *out)
{
	struct printer p = {.args = args, .out = out};

	out->len = 0;
	out->n_args = 0;
	out->cost = 8;
	while (*f && !p.bad) {
		size_t plain = strcspn(f, "%");
		struct spec s;

		add(&p, f, plain);
		f += plain;
		if (!*f)
			break;
		f++;
		parse_spec(&p, &f, &s);
		show(&p, &s);
	}
	return !p.bad;
}
