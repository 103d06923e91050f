/*
 * print.c - what a kernel says: vprintf, which the compilers make of printf, and failed assertions.
 *
 * The format and its strings are in the kernel's memory and as hostile as the rest of it: each byte is
 * checked as it is read.
 */
#include "device/emu/exec/print.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/builtin.h"
#include "device/emu/exec/fault.h"
#include "device/print.h"

/* Where the arguments of one lane's call are. */
struct source {
	struct gsb_emu_exec *x;
	unsigned int lane;
	uint64_t args; /* generic address of the next one */
};

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

static bool next_argument(void *from, uint32_t size, uint64_t *value)
{
	struct source *s = from;
	uint64_t at = gsb_round_up(s->args, size);
	const unsigned char *bytes = gsb_emu_generic(s->x, s->lane, at, size, false);

	s->args = at + size;
	if (bytes)
		memcpy(value, bytes, size);
	return bytes;
}

static bool argument_string(void *from, uint64_t addr, char *out, size_t size)
{
	struct source *s = from;

	return string_read(s->x, s->lane, addr, out, size);
}

static void deliver(const struct gsb_emu_exec *x, const struct gsb_print_text *t, bool to_stderr)
{
	const struct gsb_emu_block *b = x->block;

	if (b->on_print && t->len)
		b->on_print(b->print_ctx, &(struct gsb_emu_text){.bytes = t->bytes,
								 .len = t->len,
								 .cost = t->cost,
								 .to_stderr = to_stderr});
}

static const struct gsb_emu_op *bad_area(struct gsb_emu_exec *x)
{
	return gsb_emu_fail(x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0, "call stack overflow");
}

/* For one lane; false: a bad pointer. */
static bool print_format(struct source *s, uint64_t addr, int32_t *n_args)
{
	const struct gsb_print_args args = {next_argument, argument_string, s};
	char format[GSB_PRINT_MAX_STRING];
	struct gsb_print_text text;

	if (!string_read(s->x, s->lane, addr, format, sizeof(format)) ||
	    !gsb_print_format(format, &args, &text))
		return false;
	deliver(s->x, &text, false);
	*n_args = text.n_args;
	return true;
}

/* vprintf(format, arguments) -> how many arguments were printed, -1 without a format */
const struct gsb_emu_op *gsb_emu_print(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
				       uint32_t mask)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		struct source s = {.x = x, .lane = (unsigned int)__builtin_ctz(left)};
		int32_t result = -1;
		uint64_t addr;

		x->mask = UINT32_C(1) << s.lane; /* who is to blame for a bad address */
		if (!gsb_emu_area_read(x, op, s.lane, 0, &addr, 8) ||
		    !gsb_emu_area_read(x, op, s.lane, 1, &s.args, 8))
			return bad_area(x);
		if (addr && !print_format(&s, addr, &result))
			return gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr,
					    "printf of a bad address");
		gsb_emu_area_write(x, op, s.lane, &result, sizeof(result));
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
		if (!gsb_emu_area_read(x, op, lane, i, &addr, 8))
			return false;
		if (!string_read(x, lane, addr, to[i], sizeof(a->what)))
			strcpy(to[i], "?");
	}
	return gsb_emu_area_read(x, op, lane, 2, &a->line, 4);
}

static void assertion_show(const struct gsb_emu_exec *x, unsigned int lane,
			   const struct assertion *a)
{
	const uint32_t *c = x->block->ctaid, (*tid)[GSB_EMU_LANES] = x->warp->tid;
	struct gsb_print_text text;
	int n = snprintf(
		text.bytes, sizeof(text.bytes),
		"%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		a->file, a->line, a->function, c[0], c[1], c[2], tid[0][lane], tid[1][lane],
		tid[2][lane], a->what);

	text.len = text.cost = n > 0 ? (size_t)n : 0;
	deliver(x, &text, true);
}

/* __assertfail(message, file, line, function, size of a character): each lane has its say. */
const struct gsb_emu_op *gsb_emu_assert_fail(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					     uint32_t mask)
{
	struct assertion a;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int lane = (unsigned int)__builtin_ctz(left);

		if (!assertion_read(x, op, lane, &a))
			return bad_area(x);
		assertion_show(x, lane, &a);
	}
	return gsb_emu_fail(x, CUDA_ERROR_ASSERT, 0, "assertion `%.60s` failed", a.what);
}
