/*
 * report.c - see report.h.
 */
#include "device/emu/clock/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PART_BYTES 256
#define NULL_BYTES UINT64_C(0x10000) /* so near to NULL no process has memory */

/* The sentences that both forms are made of; "" = there is none. */
struct parts {
	char what[PART_BYTES], where[PART_BYTES], at[PART_BYTES], who[PART_BYTES];
};

/* What is told of an access: those of the fault, and of its warp all lanes that are as bad. */
struct blame {
	const struct gsb_emu_fault *fault;
	uint32_t lanes;
	unsigned int first;
	uint64_t address;
	enum gsb_ptx_space space;
};

/* ---- which lanes ---- */

static enum gsb_ptx_space space_of(const struct gsb_emu_access *a, unsigned int lane)
{
	return a->space == GSB_PTX_SPACE_GENERIC ? gsb_emu_access_space(a->at[lane]) : a->space;
}

/*
 * To the byte: memory is taken in pages, so a lane may be beyond its allocation without a fault. Where the loads of
 * the lanes before the one at fault have written over their addresses, these lanes were good enough to be loaded.
 */
static uint32_t stray_lanes(struct emu_heap *heap, const struct gsb_emu_fault *f)
{
	const struct gsb_emu_access *a = &f->access;
	uint32_t stray = 0, first = (uint32_t)__builtin_ctz(f->lanes);

	for (uint32_t left = a->mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		if (f->unmapped && a->overlaps && i < first)
			continue;
		if (space_of(a, i) == GSB_PTX_SPACE_GLOBAL &&
		    !emu_near_holds(heap, a->at[i], a->len))
			stray |= UINT32_C(1) << i;
	}
	return stray;
}

static struct blame find_blame(struct emu_heap *heap, const struct gsb_emu_fault *f)
{
	struct blame b = {.fault = f, .lanes = f->lanes, .address = f->address};

	if (f->access.kind != GSB_EMU_ACCESS_NONE && f->result == CUDA_ERROR_ILLEGAL_ADDRESS)
		b.lanes |= stray_lanes(heap, f);
	b.first = b.lanes ? (unsigned int)__builtin_ctz(b.lanes) : 0;
	if (f->access.kind == GSB_EMU_ACCESS_NONE)
		return b;
	b.address = f->access.at[b.first];
	b.space = space_of(&f->access, b.first);
	return b;
}

/* ---- the sentences ---- */

static const char *verb(enum gsb_emu_access_kind kind)
{
	switch (kind) {
	case GSB_EMU_ACCESS_STORE: return "write of";
	case GSB_EMU_ACCESS_ATOM: return "atomic operation on";
	default: return "read of";
	}
}

static const char *space_name(enum gsb_ptx_space space)
{
	switch (space) {
	case GSB_PTX_SPACE_SHARED: return "shared memory";
	case GSB_PTX_SPACE_CLUSTER: return "the cluster's shared memory";
	case GSB_PTX_SPACE_LOCAL: return "local memory";
	case GSB_PTX_SPACE_PARAM: return "the parameters";
	default: return "memory";
	}
}

static void say_what(const struct blame *b, char out[PART_BYTES])
{
	const struct gsb_emu_fault *f = b->fault;
	const struct gsb_emu_access *a = &f->access;

	if (a->kind == GSB_EMU_ACCESS_NONE)
		snprintf(out, PART_BYTES, "%s", f->what);
	else if (f->result == CUDA_ERROR_MISALIGNED_ADDRESS)
		snprintf(out, PART_BYTES,
			 "%s %u bytes at 0x%" PRIx64 " of %s, which is not aligned to %u bytes",
			 verb(a->kind), a->len, b->address, space_name(b->space), a->len);
	else if (f->result == CUDA_ERROR_ILLEGAL_ADDRESS && b->space != GSB_PTX_SPACE_GLOBAL)
		snprintf(out, PART_BYTES, "%s %u bytes at 0x%" PRIx64 ", outside of %s",
			 verb(a->kind), a->len, b->address, space_name(b->space));
	else if (f->result == CUDA_ERROR_ILLEGAL_ADDRESS)
		snprintf(out, PART_BYTES, "%s %u bytes at 0x%" PRIx64 ", not allocated",
			 verb(a->kind), a->len, b->address);
	else
		snprintf(out, PART_BYTES, "%s", f->what);
}

static const char *near_name(enum emu_near_kind kind)
{
	switch (kind) {
	case EMU_NEAR_FREED: return "freed before";
	case EMU_NEAR_PINNED: return "of pinned host memory";
	case EMU_NEAR_OTHER: return "allocated in another context";
	default: return "allocated";
	}
}

static void say_near(const struct blame *b, const struct emu_near *n, char out[PART_BYTES])
{
	const uint64_t addr = b->address, end = n->start + n->size;
	char size[PART_BYTES / 2];

	snprintf(size, sizeof(size), "the %" PRIu64 " bytes %s at 0x%" PRIx64, n->size,
		 near_name(n->kind), n->start);
	if (addr < n->start)
		snprintf(out, PART_BYTES, "%" PRIu64 " bytes before %s", n->start - addr, size);
	else if (addr >= end)
		snprintf(out, PART_BYTES, "%" PRIu64 " bytes behind the end of %s", addr - end,
			 size);
	else
		snprintf(out, PART_BYTES, "at byte %" PRIu64 " of %s", addr - n->start, size);
}

/* What such an address is mostly: a null pointer, or one of the program's own, which a GPU may read where the system lets it. */
static const char *outside_name(uint64_t addr)
{
	if (addr + NULL_BYTES < 2 * NULL_BYTES)
		return "a null pointer, or an offset from one";
	return "no memory of this device, which does not reach the program's own: stack, malloc, new";
}

static void say_where(struct emu_heap *heap, const struct blame *b, char out[PART_BYTES])
{
	const struct gsb_emu_fault *f = b->fault;
	struct emu_near n;

	/* Of what is no access of its own only the processor's word is sure to be about global memory. */
	if (f->result != CUDA_ERROR_ILLEGAL_ADDRESS ||
	    (f->access.kind == GSB_EMU_ACCESS_NONE && !f->unmapped))
		return;
	if (f->limit[0]) {
		snprintf(out, PART_BYTES, "%s", f->limit);
		return;
	}
	n = emu_near_find(heap, b->address);
	if (n.kind == EMU_NEAR_NONE)
		snprintf(out, PART_BYTES, "nothing is allocated in this context");
	else if (n.kind == EMU_NEAR_RESERVED)
		snprintf(out, PART_BYTES, "no memory is mapped there with this access");
	else if (n.kind == EMU_NEAR_OUTSIDE)
		snprintf(out, PART_BYTES, "%s", outside_name(b->address));
	else
		say_near(b, &n, out);
}

/* A file's name is any bytes. */
static void blank_strange(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

/* The end of a long path says more than its beginning. */
static void say_at(const struct gsb_emu_fault *f, char out[PART_BYTES])
{
	const char *file = f->file;
	size_t len = strlen(file);
	int n;

	if (!*f->spelling)
		return;
	n = snprintf(out, PART_BYTES, "%.60s in line %u of its PTX", f->spelling, f->line);
	if (f->source_line)
		snprintf(out + n, PART_BYTES - (size_t)n, " (%s%s:%u)", len > 100 ? "..." : "",
			 *file ? file + (len > 100 ? len - 100 : 0) : "?", f->source_line);
	blank_strange(out);
}

static void say_who(const struct blame *b, const struct gsb_emu_launch *l, char out[PART_BYTES])
{
	const struct gsb_emu_fault *f = b->fault;
	uint32_t thread = f->first_thread + b->first;
	int n = snprintf(out, PART_BYTES, "block (%u,%u,%u)", f->ctaid[0], f->ctaid[1],
			 f->ctaid[2]);

	if (!b->lanes)
		return;
	n += snprintf(out + n, PART_BYTES - (size_t)n, ", thread (%u,%u,%u)", thread % l->block[0],
		      thread / l->block[0] % l->block[1], thread / l->block[0] / l->block[1]);
	if (b->lanes & (b->lanes - 1))
		snprintf(out + n, PART_BYTES - (size_t)n, ", the first of %d of its warp",
			 __builtin_popcount(b->lanes));
}

/* ---- both forms ---- */

static void make_line(const struct gsb_emu_fault *f, const struct parts *p, char *out, size_t size)
{
	/* Parts are cut so that all of them fit. */
	snprintf(out, size, "kernel '%.100s': %.120s%s%.120s%s%.170s; %.90s", f->kernel, p->what,
		 *p->where ? ", " : "", p->where, *p->at ? "; " : "", p->at, p->who);
}

static void make_text(const struct gsb_emu_fault *f, const struct parts *p, char *out, size_t size)
{
	const char *const lines[] = {p->where, p->at, p->who};
	int n = snprintf(out, size, "gsbroker: kernel '%.200s': %s\n", f->kernel, p->what);

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (*lines[i])
			n += snprintf(out + n, size - (size_t)n, "gsbroker:     %s\n", lines[i]);
}

void emu_report_make(struct emu_heap *heap, const struct gsb_emu_launch *launch,
		     const struct gsb_emu_fault *f, struct emu_report *out)
{
	struct blame b = find_blame(heap, f);
	struct parts p = {0};

	say_what(&b, p.what);
	say_where(heap, &b, p.where);
	say_at(f, p.at);
	say_who(&b, launch, p.who);
	blank_strange(p.what); /* of an assertion the kernel's own words */
	make_line(f, &p, out->line, sizeof(out->line));
	out->text[0] = '\0';
	if (f->result != CUDA_ERROR_ASSERT)
		make_text(f, &p, out->text, sizeof(out->text));
}
