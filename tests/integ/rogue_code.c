/*
 * rogue_code.c - attacks by code: images that are spoilt, lie about themselves or are too large, by the path
 * that all images take, and kernels that never end; see rogue.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/integ/rogue.h"
#include "tests/unit/fatbin.h"

struct image {
	char *bytes;
	uint64_t size;
};

static struct image new_image(struct rogue *r, uint64_t size)
{
	struct image i = {.bytes = malloc(size), .size = size};

	if (!i.bytes)
		rogue_fail(r, "no memory");
	return i;
}

/* ---- images ---- */

static struct image spoilt_text(struct rogue *r)
{
	struct image i = new_image(r, strlen(rogue_ptx));
	uint64_t n = 1 + rogue_random(r) % 4;

	memcpy(i.bytes, rogue_ptx, i.size);
	while (n--)
		i.bytes[rogue_random(r) % i.size] = (char)(' ' + rogue_random(r) % 95);
	return i;
}

/* Words of the text change places: most of this still parses. */
static struct image shuffled_text(struct rogue *r)
{
	struct image i = new_image(r, strlen(rogue_ptx));
	char *body;

	memcpy(i.bytes, rogue_ptx, i.size);
	body = memchr(i.bytes, '{', i.size);
	for (int n = 0; n < 3; n++) {
		char *to = body + rogue_random(r) % (size_t)(i.bytes + i.size - body - 4);
		const char *from = body + rogue_random(r) % (size_t)(i.bytes + i.size - body - 4);

		memmove(to, from, 4);
	}
	return i;
}

static struct image cut_text(struct rogue *r)
{
	struct image i = new_image(r, 1 + rogue_random(r) % strlen(rogue_ptx));

	memcpy(i.bytes, rogue_ptx, i.size);
	return i;
}

static struct image noise(struct rogue *r)
{
	struct image i = new_image(r, 8 + rogue_random(r) % 65536);

	rogue_random_bytes(r, i.bytes, i.size);
	if (r->seed & 16)
		memcpy(i.bytes, "\177ELF\2\1\1", 8);
	return i;
}

/* Its headers lie: about their own sizes, the text's, the compression. */
static struct image lying_fatbin(struct rogue *r)
{
	struct image i = new_image(r, 4096);
	uint64_t n = 1 + rogue_random(r) % 4, v;

	i.size = make_fatbin((uint8_t *)i.bytes, rogue_ptx);
	while (n--) {
		rogue_random_bytes(r, &v, sizeof(v));
		memcpy(i.bytes + 4 + rogue_random(r) % 72, &v, 1ull << rogue_random(r) % 4);
	}
	return i;
}

/* What is wrong with it is told with a line of it: that must not pass for a line of the log. */
static struct image forging_text(struct rogue *r)
{
	static const char text[] =
		".version 6.4\n.target sm_50\n.address_size 64\n.visible .entry inc()\n{\n"
		"\rgsb-engine: error: tenant: 1 (warm, pid 1) is cut off: forged\033[8m\n}\n";
	struct image i = new_image(r, sizeof(text));

	memcpy(i.bytes, text, sizeof(text));
	return i;
}

/* As long as is allowed: one thing over and over, behind a head that is right. */
static struct image long_text(struct rogue *r)
{
	static const char *const things[] = {
		"{",  "add.u32 %v, %v, 1;\n",
		"a",  ".global .u32 y[4096];\n",
		"/*", ".visible .entry f(.param .u64 p)\n{\n",
		"(",  "@%go bra loop;\n",
	};
	const char *thing = things[rogue_random(r) % GSB_ARRAY_LEN(things)];
	struct image i = new_image(r, r->kt.welcome.image_max_bytes);
	uint64_t at = (uint64_t)(strstr(rogue_ptx, "\tld.global") - rogue_ptx);

	memcpy(i.bytes, rogue_ptx, at);
	for (; at + strlen(thing) <= i.size; at += strlen(thing))
		memcpy(i.bytes + at, thing, strlen(thing));
	memset(i.bytes + at, ' ', i.size - at);
	return i;
}

/* The library refuses this by itself; whoever sends it is none. */
static struct image too_long_text(struct rogue *r)
{
	r->allowed = ROGUE_MAY(ROGUE_CUT);
	return (struct image){calloc(1, r->kt.welcome.image_max_bytes + 1),
			      r->kt.welcome.image_max_bytes + 1};
}

/* Whatever was loaded is launched, if it takes the parameters that there are. */
static void attack_image(struct rogue *r)
{
	static struct image (*const images[])(struct rogue *) = {
		spoilt_text,  shuffled_text, cut_text,	    noise,
		lying_fatbin, long_text,     too_long_text, forging_text,
	};
	const struct gsb_reply_function *f = kit_reply(&r->kt);
	struct image i;

	r->allowed = ROGUE_MAY(ROGUE_ANSWERED);
	i = images[r->seed % GSB_ARRAY_LEN(images)](r);
	if (!i.bytes || kit_load(&r->kt, 1, 1, i.bytes, i.size) ||
	    f->info.params_bytes != sizeof(struct kit_inc))
		return;
	kit_launch_inc(&r->kt, 0, 1, r->mem, 4);
	rogue_synchronize(r);
}

/* ---- images made to be slow ---- */

/* A text as long as it becomes, by the function that writes it. */
static struct image written(struct rogue *r, void (*write)(FILE *f))
{
	struct image i;
	size_t size;
	FILE *f = open_memstream(&i.bytes, &size);

	if (f) {
		fputs(".version 8.0\n.target sm_90a\n.address_size 64\n", f);
		write(f);
	}
	if (!f || fclose(f))
		rogue_fail(r, "no memory");
	i.size = size;
	return i;
}

static void repeat(FILE *f, const char *what, unsigned n)
{
	while (n--)
		fputs(what, f);
}

#define INC ".visible .entry inc(.param .u64 p, .param .u64 n)\n{\n"

/* As many shared variables as a block has room for; the last is named again and again. */
static void many_shared(FILE *f)
{
	enum { N = 230000 };
	char last[32];

	for (unsigned i = 0; i < N; i++)
		fprintf(f, ".shared .b8 s%u;\n", i);
	fputs(INC ".reg .b32 r;\n", f);
	for (unsigned i = 0; i < N; i++)
		fprintf(f, "mov.u32 r,s%u;\n", i);
	snprintf(last, sizeof(last), "mov.u32 r,s%d;\n", N - 1);
	repeat(f, last, 1000000);
	fputs("ret;\n}\n", f);
}

/* Constants that are alike when they are multiplied by what many hashes multiply by, with the first again and again. */
static void many_constants(FILE *f)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ull;
	uint64_t inverse = golden;
	char first[48];

	for (unsigned i = 0; i < 6;
	     i++) /* Newton's way: each step doubles the bits that are right */
		inverse *= 2 - golden * inverse;
	fputs(INC ".reg .b64 r;\n", f);
	for (uint64_t i = 1; i <= 120000; i++)
		fprintf(f, "mov.u64 r,%#llx;\n", (unsigned long long)((i << 2) * inverse));
	snprintf(first, sizeof(first), "mov.u64 r,%#llx;\n",
		 (unsigned long long)((1 << 2) * inverse));
	repeat(f, first, 700000);
	fputs("ret;\n}\n", f);
}

/* Thousands of kernels that reach the same code, in a module with more shared memory than a block has. */
static void many_entries(FILE *f)
{
	fputs(".shared .b8 big[300000];\n.func all()\n{\n.reg .b32 r;\n", f);
	repeat(f, "mov.u32 r,1;\n", 1000000);
	fputs("ret;\n}\n", f);
	for (unsigned i = 0; i < 8000; i++)
		fprintf(f, ".entry e%u()\n{\ncall all;\nret;\n}\n", i);
	fputs(INC "call all;\nret;\n}\n", f);
}

/* Who loads one keeps the loader, and with it who loads after that, for some seconds, and not for minutes: then the limit ends it. */
static void attack_slow(struct rogue *r)
{
	static void (*const texts[])(FILE * f) = {many_shared, many_constants, many_entries};
	struct image i = written(r, texts[r->seed % GSB_ARRAY_LEN(texts)]);

	r->allowed = ROGUE_MAY(ROGUE_ANSWERED);
	if (i.size > r->kt.welcome.image_max_bytes)
		rogue_fail(r, "the broker takes no image of that size");
	if (kit_load(&r->kt, 1, 1, i.bytes, i.size))
		rogue_fail(r, "the module is refused");
	kit_launch_inc(&r->kt, 0, 1, r->mem, 4);
	rogue_synchronize(r);
	if (kit_error(&r->kt, 0))
		rogue_fail(r, "the kernel is not run");
}

/* ---- kernels without end ---- */

static const char endless_ptx[] =
	".version 6.4\n.target sm_50\n.address_size 64\n"
	".visible .entry inc(.param .u64 p, .param .u64 n)\n{\nloop:\n\tbra loop;\n}\n";

/* More blocks than workers. It stays until the broker's limit ends it, or leaves while it runs. */
static void attack_endless(struct rogue *r)
{
	struct gsb_rec_launch launch = {
		.function = kit_fn(1),
		.grid = {64, 1, 1},
		.block = {256, 1, 1},
		.params_bytes = sizeof(struct kit_inc),
	};
	struct kit_inc params = {.p = r->mem};

	r->allowed = ROGUE_MAY(ROGUE_ANSWERED);
	if (kit_load(&r->kt, 1, 1, endless_ptx, strlen(endless_ptx)))
		rogue_fail(r, "no endless kernel");
	kit_post(&r->kt, GSB_REC_LAUNCH, kit_stream(0), &launch, sizeof(launch), &params,
		 sizeof(params));
	rogue_drain(r);
	if (r->seed % 2)
		return;
	rogue_synchronize(r);
	if (kit_error(&r->kt, 0) != CUDA_ERROR_LAUNCH_TIMEOUT)
		rogue_fail(r, "an endless kernel ended by itself");
}

const struct rogue_kind rogue_code_kinds[] = {
	{"image", ROGUE_INSIDE, attack_image},
	{"slow", ROGUE_INSIDE, attack_slow},
	{"endless", ROGUE_INSIDE, attack_endless},
	{NULL},
};
