/*
 * print.c - what a kernel says: vprintf, which the compilers make of printf, and failed assertions.
 *
 * The format and its strings are in the kernel's memory and as hostile as the rest of it: each byte is
 * checked as it is read, each conversion is taken apart and handed to snprintf with our own copy of it.
 */
#include "device/emu/exec/print.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/fault.h"

#define MAX_TEXT   8192 /* of one call of one thread; the rest is cut */
#define MAX_STRING 4096
#define MAX_SPEC   32
#define MAX_WIDTH  1024

struct printer {
	struct gsb_emu_exec *x;
	unsigned int lane;
	uint64_t args; /* generic address of the next argument */
	int n_args;
	size_t cost; /* of the buffer: as what the GPU keeps, an address and the arguments */
	bool bad;    /* a pointer was */
	char text[MAX_TEXT];
	size_t len;
};

/* A word of the call area of a lane; false: the area is not all there. */
static bool area_read(struct gsb_emu_exec *x, const struct gsb_emu_op *op, unsigned int lane,
		      uint32_t at, void *out, uint32_t len)
{
	uint64_t where = (uint64_t)x->local + op->a + at;

	if (!gsb_range_ok(where, len, x->block->local_bytes))
		return false;
	memcpy(out, x->warp->local + (size_t)lane * x->block->local_bytes + where, len);
	return true;
}

static void area_write(struct gsb_emu_exec *x, const struct gsb_emu_op *op, unsigned int lane,
		       int32_t value)
{
	uint64_t where = (uint64_t)x->local + op->a;

	if (gsb_range_ok(where, sizeof(value), x->block->local_bytes))
		memcpy(x->warp->local + (size_t)lane * x->block->local_bytes + where, &value,
		       sizeof(value));
}

/* A string of the kernel's, cut at the buffer's size. */
static bool string_read(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr, char *out,
			size_t size)
{
	for (size_t i = 0; i + 1 < size; i++) {
		const unsigned char *p = gsb_emu_generic(x, lane, addr + i, 1, false);

		if (!p)
			return false;
		out[i] = (char)*p;
		if (!out[i])
			return true;
	}
	out[size - 1] = 0;
	return true;
}

static uint64_t next_arg(struct printer *p, uint32_t size)
{
	uint64_t value = 0, at = gsb_round_up(p->args, size);
	const unsigned char *from = gsb_emu_generic(p->x, p->lane, at, size, false);

	p->args = at + size;
	p->n_args++;
	p->cost += 8;
	if (from)
		memcpy(&value, from, size);
	else
		p->bad = true;
	return value;
}

static void add(struct printer *p, const char *s, size_t n)
{
	if (n > sizeof(p->text) - p->len)
		n = sizeof(p->text) - p->len;
	memcpy(p->text + p->len, s, n);
	p->len += n;
}

/* One conversion: flags, width and precision as numbers, and the letter. */
struct spec {
	char flags[8];
	int width, precision; /* -1: none */
	bool wide;	      /* ll, l, j, z, t */
	char conversion;
};

static int number(struct printer *p, const char **f)
{
	int n = 0;

	if (**f == '*') {
		++*f;
		n = (int32_t)next_arg(p, 4);
	}
	for (; **f >= '0' && **f <= '9'; ++*f)
		n = n < MAX_WIDTH ? n * 10 + (**f - '0') : n;
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
	for (; **f && strchr("hljztL", **f); ++*f)
		s->wide |= **f != 'h' && **f != 'L';
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
	char text[MAX_STRING] = "(null)";
	uint64_t addr = next_arg(p, 8);

	if (!addr && s->precision >= 0 && s->precision < 6)
		text[0] = 0;
	if (addr && !string_read(p->x, p->lane, addr, text, sizeof(text)))
		p->bad = true;
	p->cost += strlen(text);
	if (p->bad)
		return;
	if (s->width || s->precision >= 0)
		SHOW(p, s, "", text);
	else
		add(p, text, strlen(text));
}

static void show_double(struct printer *p, const struct spec *s)
{
	uint64_t bits = next_arg(p, 8);
	double d;

	memcpy(&d, &bits, sizeof(d));
	SHOW(p, s, "", d);
}

static void show(struct printer *p, const struct spec *s)
{
	switch (s->conversion) {
	case 'd':
	case 'i':
		if (s->wide)
			SHOW(p, s, "ll", (long long)next_arg(p, 8));
		else
			SHOW(p, s, "", (int)next_arg(p, 4));
		break;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		if (s->wide)
			SHOW(p, s, "ll", (unsigned long long)next_arg(p, 8));
		else
			SHOW(p, s, "", (unsigned int)next_arg(p, 4));
		break;
	case 'c': add(p, (char[]){(char)next_arg(p, 4)}, 1); break;
	case 'p': SHOW(p, s, "", (void *)(uintptr_t)next_arg(p, 8)); break;
	case 's': show_string(p, s); break;
	case '%': add(p, "%", 1); break;
	default:
		if (s->conversion && strchr("eEfFgGaA", s->conversion))
			show_double(p, s);
		break;
	}
}
#pragma GCC diagnostic pop

static void format(struct printer *p, const char *f)
{
	while (*f && !p->bad) {
		size_t plain = strcspn(f, "%");
		struct spec s;

		add(p, f, plain);
		f += plain;
		if (!*f)
			break;
		f++;
		parse_spec(p, &f, &s);
		show(p, &s);
	}
}

static void deliver(const struct printer *p, bool to_stderr)
{
	const struct gsb_emu_block *b = p->x->block;

	if (b->on_print && p->len)
		b->on_print(b->print_ctx, &(struct gsb_emu_text){.bytes = p->text,
								 .len = p->len,
								 .cost = p->cost,
								 .to_stderr = to_stderr});
}

static const struct gsb_emu_op *bad_area(struct gsb_emu_exec *x)
{
	return gsb_emu_fail(x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0, "call stack overflow");
}

/* For one lane; false: a bad pointer. */
static bool print_format(struct printer *p, uint64_t addr)
{
	char text[MAX_STRING];

	p->cost = 8;
	p->bad = !string_read(p->x, p->lane, addr, text, sizeof(text));
	if (!p->bad)
		format(p, text);
	if (!p->bad)
		deliver(p, false);
	return !p->bad;
}

/* vprintf(format, arguments) -> how many arguments were printed, -1 without a format */
const struct gsb_emu_op *gsb_emu_print(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				       uint32_t mask)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		struct printer p = {.x = x, .lane = (unsigned int)__builtin_ctz(left)};
		uint64_t addr;

		x->mask = UINT32_C(1) << p.lane; /* who is to blame for a bad address */
		if (!area_read(x, op, p.lane, GSB_EMU_CALL_ALIGN, &addr, 8) ||
		    !area_read(x, op, p.lane, 2 * GSB_EMU_CALL_ALIGN, &p.args, 8))
			return bad_area(x);
		if (addr && !print_format(&p, addr))
			return gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr,
					    "printf of a bad address");
		area_write(x, op, p.lane, addr ? p.n_args : -1);
	}
	x->mask = mask;
	return op + 1;
}

/* ---- assertions ---- */

/* What __assertfail() is called with; of strings that cannot be read nothing but a '?'. */
struct assertion {
	char what[256], file[256], function[256];
	uint32_t line;
};

static bool assertion_read(struct gsb_emu_exec *x, const struct gsb_emu_op *op, unsigned int lane,
			   struct assertion *a)
{
	char *const to[] = {a->what, a->file, NULL, a->function};

	for (uint32_t i = 0; i < GSB_ARRAY_LEN(to); i++) {
		uint64_t addr;

		if (!to[i])
			continue;
		if (!area_read(x, op, lane, i * GSB_EMU_CALL_ALIGN, &addr, 8))
			return false;
		if (!string_read(x, lane, addr, to[i], sizeof(a->what)))
			strcpy(to[i], "?");
	}
	return area_read(x, op, lane, 2 * GSB_EMU_CALL_ALIGN, &a->line, 4);
}

static void assertion_show(struct printer *p, const struct assertion *a)
{
	const uint32_t *c = p->x->block->ctaid, (*tid)[GSB_EMU_LANES] = p->x->warp->tid;
	int n = snprintf(
		p->text, sizeof(p->text),
		"%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		a->file, a->line, a->function, c[0], c[1], c[2], tid[0][p->lane], tid[1][p->lane],
		tid[2][p->lane], a->what);

	p->len = p->cost = n > 0 ? (size_t)n : 0;
	deliver(p, true);
}

/* __assertfail(message, file, line, function, size of a character): each lane has its say. */
const struct gsb_emu_op *gsb_emu_assert_fail(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					     uint32_t mask)
{
	struct assertion a;

	for (uint32_t left = mask; left; left &= left - 1) {
		struct printer p = {.x = x, .lane = (unsigned int)__builtin_ctz(left)};

		if (!assertion_read(x, op, p.lane, &a))
			return bad_area(x);
		assertion_show(&p, &a);
	}
	return gsb_emu_fail(x, CUDA_ERROR_ASSERT, 0, "assertion `%.60s` failed", a.what);
}
