/*
 * workload.c - see workload.h. Each kind of line is a table of keys, which say where their value lies: the same tables read and write, so
 * that what is written is what is read.
 */
#include "model/input/workload.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/at.h"
#include "base/checked.h"
#include "base/compiler.h"

/* ---- keys ---- */

enum kind { U64, U32, I32, FLAG, NAME, DIM3, WORD };

struct words {
	const char *const *of;
	uint32_t n;
};

struct key {
	const char *name;
	enum kind kind;
	bool needed; /* also when it is 0 */
	size_t offset, size;
	struct words words; /* WORD */
};

static const char *const kind_words[] = {"launch",	 "copy",       "fill",	    "free",
					 "event_record", "event_wait", "host_func", "nop"};
static const char *const place_words[] = {"device", "host", "staging", "inline"};
/* none, and those of an SM and of the memory, as enum gsb_unit has them */
static const char *const unit_words[] = {"none",  "dense", "alu",    "issue",  "shared",
					 "l1",	  "sfu",   "fp64",   "tensor", "l2",
					 "chain", "dram",  "barrier"};
static const char *const clock_words[] = {"real", "virtual"};

#define WORDS(list)                       \
	{                                 \
		list, GSB_ARRAY_LEN(list) \
	}
#define K(noun, key, kind, needed, member, ...)                                        \
	{                                                                              \
		key, kind, needed, offsetof(struct gsb_workload_##noun, member),       \
			sizeof(((struct gsb_workload_##noun *)0)->member), __VA_ARGS__ \
	}
#define NO_WORDS        \
	{               \
		NULL, 0 \
	}

static const struct key device_keys[] = {
	K(device, "name", NAME, true, name, NO_WORDS),
	K(device, "policy", NAME, true, policy, NO_WORDS),
	K(device, "sms", U32, true, n_sms, NO_WORDS),
	K(device, "clock", WORD, true, clock, WORDS(clock_words)),
};
static const struct key tenant_keys[] = {
	K(tenant, "id", U32, true, id, NO_WORDS),
	K(tenant, "name", NAME, true, name, NO_WORDS),
	K(tenant, "program", NAME, false, program, NO_WORDS),
	K(tenant, "come", U64, false, come_ns, NO_WORDS),
	K(tenant, "peak", U64, false, peak_bytes, NO_WORDS),
};
static const struct key stream_keys[] = {
	K(stream, "tenant", U32, true, tenant, NO_WORDS),
	K(stream, "number", U32, true, number, NO_WORDS),
	K(stream, "priority", I32, false, priority, NO_WORDS),
	K(stream, "blocking", FLAG, false, blocking, NO_WORDS),
	K(stream, "legacy", FLAG, false, legacy, NO_WORDS),
};
static const struct key kernel_keys[] = {
	K(kernel, "id", U32, true, id, NO_WORDS),
	K(kernel, "tenant", U32, true, tenant, NO_WORDS),
	K(kernel, "name", NAME, true, name, NO_WORDS),
	K(kernel, "regs", U32, false, regs, NO_WORDS),
	K(kernel, "smem", U32, false, smem_bytes, NO_WORDS),
	K(kernel, "unit", WORD, false, unit, WORDS(unit_words)),
	K(kernel, "want", U32, false, want_ppm, NO_WORDS),
};
static const struct key memory_keys[] = {
	K(memory, "tenant", U32, true, tenant, NO_WORDS),
	K(memory, "at", U64, false, at_ns, NO_WORDS),
	K(memory, "bytes", U64, false, bytes, NO_WORDS),
};
static const struct key op_keys[] = {
	K(op, "serial", U64, true, serial, NO_WORDS),
	K(op, "tenant", U32, true, tenant, NO_WORDS),
	K(op, "stream", U32, true, stream, NO_WORDS),
	K(op, "kind", WORD, true, kind, WORDS(kind_words)),
	K(op, "thread", U32, false, thread, NO_WORDS),
	K(op, "post", U64, false, post_ns, NO_WORDS),
	K(op, "after", U64, false, after, NO_WORDS),
	K(op, "think", U64, false, think_ns, NO_WORDS),
	K(op, "on", U64, false, on, NO_WORDS),
	K(op, "kernel", U32, false, kernel, NO_WORDS),
	K(op, "grid", DIM3, false, grid, NO_WORDS),
	K(op, "block", DIM3, false, block, NO_WORDS),
	K(op, "smem", U32, false, smem_bytes, NO_WORDS),
	K(op, "cooperative", FLAG, false, cooperative, NO_WORDS),
	K(op, "bytes", U64, false, bytes, NO_WORDS),
	K(op, "from", WORD, false, from, WORDS(place_words)),
	K(op, "to", WORD, false, to, WORDS(place_words)),
	K(op, "start", U64, false, start_ns, NO_WORDS),
	K(op, "end", U64, false, end_ns, NO_WORDS),
	K(op, "done", U64, false, done_ns, NO_WORDS),
	K(op, "instructions", U64, false, n_instructions, NO_WORDS),
	K(op, "alone", U64, false, alone_ns, NO_WORDS),
};

/* The first line and the last. */
struct gsb_workload_first {
	uint32_t version;
};
struct gsb_workload_last {
	uint32_t n_lines;
};
static const struct key first_keys[] = {K(first, "version", U32, true, version, NO_WORDS)};
static const struct key last_keys[] = {K(last, "lines", U32, true, n_lines, NO_WORDS)};

/* Kinds of lines, in the order in which they stand. */
enum line { FIRST, DEVICE, TENANT, STREAM, KERNEL, MEMORY, OP, LAST, N_LINES };

static const struct {
	const char *word;
	const struct key *keys;
	unsigned n_keys;
	bool once;
} lines[N_LINES] = {
	[FIRST] = {"gsb-load", first_keys, GSB_ARRAY_LEN(first_keys), true},
	[DEVICE] = {"device", device_keys, GSB_ARRAY_LEN(device_keys), true},
	[TENANT] = {"tenant", tenant_keys, GSB_ARRAY_LEN(tenant_keys), false},
	[STREAM] = {"stream", stream_keys, GSB_ARRAY_LEN(stream_keys), false},
	[KERNEL] = {"kernel", kernel_keys, GSB_ARRAY_LEN(kernel_keys), false},
	[MEMORY] = {"memory", memory_keys, GSB_ARRAY_LEN(memory_keys), false},
	[OP] = {"op", op_keys, GSB_ARRAY_LEN(op_keys), false},
	[LAST] = {"end", last_keys, GSB_ARRAY_LEN(last_keys), true},
};

/* ---- to text ---- */

static bool is_plain(unsigned char c)
{
	return c > ' ' && c <= '~' && !strchr("#%\"", c);
}

static void write_name(FILE *to, const char *s)
{
	for (; *s; s++)
		if (is_plain((unsigned char)*s))
			putc(*s, to);
		else
			fprintf(to, "%%%02x", (unsigned)(unsigned char)*s);
}

static bool is_zero(const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i])
			return false;
	return true;
}

static void write_value(FILE *to, const struct key *k, const uint8_t *at)
{
	switch (k->kind) {
	case U64: fprintf(to, "%" PRIu64, gsb_u64_at(at)); break;
	case I32: fprintf(to, "%" PRId32, (int32_t)gsb_u32_at(at)); break;
	case NAME: write_name(to, (const char *)at); break;
	case WORD: fputs(k->words.of[gsb_u32_at(at)], to); break;
	case DIM3:
		fprintf(to, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, gsb_u32_at(at), gsb_u32_at(at + 4),
			gsb_u32_at(at + 8));
		break;
	default: fprintf(to, "%" PRIu32, gsb_u32_at(at));
	}
}

static void write_line(FILE *to, enum line line, const void *thing)
{
	fputs(lines[line].word, to);
	for (unsigned i = 0; i < lines[line].n_keys; i++) {
		const struct key *k = &lines[line].keys[i];
		const uint8_t *at = (const uint8_t *)thing + k->offset;

		if (!k->needed && is_zero(at, k->size))
			continue;
		fprintf(to, " %s=", k->name);
		write_value(to, k, at);
	}
	putc('\n', to);
}

void gsb_workload_write(FILE *to, const struct gsb_workload *l)
{
	const struct gsb_workload_first first = {GSB_WORKLOAD_VERSION};
	const struct gsb_workload_last last = {2 + l->n_tenants + l->n_streams + l->n_kernels +
					       l->n_memory + l->n_ops};

	write_line(to, FIRST, &first);
	write_line(to, DEVICE, &l->device);
	for (uint32_t i = 0; i < l->n_tenants; i++)
		write_line(to, TENANT, &l->tenants[i]);
	for (uint32_t i = 0; i < l->n_streams; i++)
		write_line(to, STREAM, &l->streams[i]);
	for (uint32_t i = 0; i < l->n_kernels; i++)
		write_line(to, KERNEL, &l->kernels[i]);
	for (uint32_t i = 0; i < l->n_memory; i++)
		write_line(to, MEMORY, &l->memory[i]);
	for (uint32_t i = 0; i < l->n_ops; i++)
		write_line(to, OP, &l->ops[i]);
	write_line(to, LAST, &last);
}

/* ---- values from text ---- */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, tolower(c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* No NUL comes out of it: a name is what it looks like. */
static bool read_name(const char *s, char *out, size_t size)
{
	size_t n = 0;

	for (; *s; s++, n++) {
		int c = (unsigned char)*s;

		if (n == size - 1)
			return false;
		if (c == '%') {
			int high = hex_digit(s[1]), low = high < 0 ? -1 : hex_digit(s[2]);

			c = low < 0 ? 0 : high * 16 + low;
			s += 2;
		} else if (!is_plain((unsigned char)c)) {
			return false;
		}
		if (!c)
			return false;
		out[n] = (char)c;
	}
	out[n] = '\0';
	return true;
}

static bool read_u32(const char *s, uint32_t *out)
{
	uint64_t v;

	if (!gsb_text_u64(s, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool read_i32(const char *s, int32_t *out)
{
	uint64_t v;

	if (!gsb_text_u64(*s == '-' ? s + 1 : s, &v) || v > INT32_MAX)
		return false;
	*out = *s == '-' ? -(int32_t)v : (int32_t)v;
	return true;
}

static bool read_dim3(const char *s, uint32_t out[3])
{
	char text[48], *at = text;

	if (strlen(s) >= sizeof(text))
		return false;
	strcpy(text, s);
	for (int i = 0; i < 3; i++) {
		char *end = at + strcspn(at, "x");
		bool more = *end == 'x';

		*end = '\0';
		if (more != (i < 2) || !read_u32(at, &out[i]) || !out[i])
			return false;
		at = end + 1;
	}
	return true;
}

static bool read_word(const char *s, const struct words *w, uint32_t *out)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (!strcmp(s, w->of[i])) {
			*out = i;
			return true;
		}
	return false;
}

/* Members of which at is the place: all of them are aligned as their type wants it. */
static bool read_value(const struct key *k, const char *s, void *at)
{
	switch (k->kind) {
	case U64: return gsb_text_u64(s, at);
	case U32: return read_u32(s, at);
	case I32: return read_i32(s, at);
	case FLAG: return read_u32(s, at) && gsb_u32_at(at) <= 1;
	case NAME: return read_name(s, at, k->size);
	case DIM3: return read_dim3(s, at);
	case WORD: return read_word(s, &k->words, at);
	}
	return false;
}

static const char *what_it_wants(const struct key *k)
{
	static const char *const texts[] = {
		[U64] = "a number",
		[U32] = "a number below 4294967296",
		[I32] = "a number, which may have a minus",
		[FLAG] = "0 or 1",
		[NAME] = "a name, not too long, in which %20 stands for a blank",
		[DIM3] = "three numbers above 0: 4x1x1",
		[WORD] = "one of the words that it knows",
	};

	return texts[k->kind];
}

/* ---- lines from text ---- */

struct reader {
	struct gsb_text text;
	struct gsb_workload *l;
	struct gsb_text_error *err;
	enum line at;	  /* kind of the last line */
	uint32_t n_lines; /* so far; comments are none */
	uint32_t rooms[N_LINES];
	struct gsb_workload_first first;
	struct gsb_workload_last last;
};

#define REFUSE(r, ...) gsb_text_refuse((r)->err, (r)->text.number, __VA_ARGS__)

static int find_key(enum line line, const char *name)
{
	for (unsigned i = 0; i < lines[line].n_keys; i++)
		if (!strcmp(lines[line].keys[i].name, name))
			return (int)i;
	return -1;
}

static int take_pair(struct reader *r, enum line line, char *pair, void *thing, uint64_t *seen)
{
	char *value = strchr(pair, '=');
	int i;

	if (value)
		*value++ = '\0';
	i = find_key(line, pair);
	if (i < 0)
		return REFUSE(r, "%s has no key '%.40s'", lines[line].word, pair);
	if (*seen >> i & 1)
		return REFUSE(r, "%s is there twice", pair);
	*seen |= 1ull << i;
	if (!value ||
	    !read_value(&lines[line].keys[i], value, (uint8_t *)thing + lines[line].keys[i].offset))
		return REFUSE(r, "%s is %s", pair, what_it_wants(&lines[line].keys[i]));
	return 0;
}

static int read_keys(struct reader *r, enum line line, char *words, void *thing)
{
	uint64_t seen = 0;
	char *save, *pair = strtok_r(words, " \t", &save);

	for (; pair; pair = strtok_r(NULL, " \t", &save)) {
		int err = take_pair(r, line, pair, thing, &seen);

		if (err)
			return err;
	}
	for (unsigned i = 0; i < lines[line].n_keys; i++)
		if (lines[line].keys[i].needed && !(seen >> i & 1))
			return REFUSE(r, "%s wants %s=", lines[line].word,
				      lines[line].keys[i].name);
	return 0;
}

/* Room for one more in an array, zeroed; NULL without memory. */
static void *append(void **array, uint32_t *n, uint32_t *room, size_t size)
{
	if (*n == *room) {
		uint32_t more = *room < 32 ? 64 : *room + *room / 2;
		void *bigger = more > *room ? reallocarray(*array, more, size) : NULL;

		if (!bigger)
			return NULL;
		*array = bigger;
		*room = more;
	}
	return memset((uint8_t *)*array + (*n)++ * size, 0, size);
}

#define APPEND(r, line, array)                                                 \
	append((void **)&(r)->l->array, &(r)->l->n_##array, &(r)->rooms[line], \
	       sizeof(*(r)->l->array))

/* Where a line of that kind goes; NULL without memory. */
static void *place_of(struct reader *r, enum line line)
{
	switch (line) {
	case FIRST: return &r->first;
	case DEVICE: return &r->l->device;
	case TENANT: return APPEND(r, line, tenants);
	case STREAM: return APPEND(r, line, streams);
	case KERNEL: return APPEND(r, line, kernels);
	case MEMORY: return APPEND(r, line, memory);
	case OP: return APPEND(r, line, ops);
	default: return &r->last;
	}
}

static int find_line(struct reader *r, const char *word, enum line *out)
{
	for (unsigned i = 0; i < N_LINES; i++) {
		if (strcmp(lines[i].word, word))
			continue;
		*out = (enum line)i;
		return 0;
	}
	return REFUSE(r, "no line of a load begins with '%.40s'", word);
}

/* Kinds come one after another; the first two and the last are there once. */
static int check_order(struct reader *r, enum line line)
{
	if (!r->n_lines)
		return line == FIRST ? 0 : REFUSE(r, "a load begins with gsb-load version=1");
	if (line < r->at || (line == r->at && lines[line].once))
		return REFUSE(r, "%s behind %s: lines are out of order", lines[line].word,
			      lines[r->at].word);
	if (r->at == FIRST && line != DEVICE)
		return REFUSE(r, "the second line of a load is device");
	return 0;
}

/* ---- what is named is there ---- */

static uint32_t find_tenant(const struct gsb_workload *l, uint32_t id)
{
	uint32_t low = 0, high = l->n_tenants;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->tenants[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->n_tenants && l->tenants[low].id == id ? low : GSB_WORKLOAD_NONE;
}

static uint64_t stream_key(uint32_t tenant, uint32_t number)
{
	return (uint64_t)tenant << 32 | number;
}

static uint32_t find_stream(const struct gsb_workload *l, uint32_t tenant, uint32_t number)
{
	uint32_t low = 0, high = l->n_streams;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct gsb_workload_stream *s = &l->streams[mid];

		if (stream_key(s->tenant, s->number) < stream_key(tenant, number))
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->n_streams && l->streams[low].tenant == tenant &&
			       l->streams[low].number == number
		       ? low
		       : GSB_WORKLOAD_NONE;
}

/* Among the first n. */
static uint32_t find_op(const struct gsb_workload *l, uint32_t n, uint64_t serial)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->ops[mid].serial < serial)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && l->ops[low].serial == serial ? low : GSB_WORKLOAD_NONE;
}

static int name_tenant(struct reader *r, uint32_t id, uint32_t *at)
{
	*at = find_tenant(r->l, id);
	return *at == GSB_WORKLOAD_NONE ? REFUSE(r, "there is no tenant %" PRIu32, id) : 0;
}

static int check_tenant(struct reader *r)
{
	const struct gsb_workload_tenant *t = &r->l->tenants[r->l->n_tenants - 1];

	if (r->l->n_tenants > 1 && t->id <= t[-1].id)
		return REFUSE(r, "ids of tenants must rise: %" PRIu32 " behind %" PRIu32, t->id,
			      t[-1].id);
	return 0;
}

static int check_stream(struct reader *r)
{
	struct gsb_workload_stream *s = &r->l->streams[r->l->n_streams - 1];

	if (r->l->n_streams > 1 &&
	    stream_key(s->tenant, s->number) <= stream_key(s[-1].tenant, s[-1].number))
		return REFUSE(r, "streams must rise by tenant and number");
	return name_tenant(r, s->tenant, &s->tenant_at);
}

static int check_kernel(struct reader *r)
{
	struct gsb_workload_kernel *k = &r->l->kernels[r->l->n_kernels - 1];

	if (k->id != r->l->n_kernels)
		return REFUSE(r, "this kernel's id must be %" PRIu32, r->l->n_kernels);
	return name_tenant(r, k->tenant, &k->tenant_at);
}

static int check_memory(struct reader *r)
{
	struct gsb_workload_memory *m = &r->l->memory[r->l->n_memory - 1];

	return name_tenant(r, m->tenant, &m->tenant_at);
}

static int check_launch(struct reader *r, struct gsb_workload_op *op)
{
	uint32_t blocks;

	if (op->kind != GSB_WORKLOAD_LAUNCH)
		return op->kernel || op->grid[0] || op->block[0]
			       ? REFUSE(r, "kernel, grid and block are of a launch")
			       : 0;
	if (!op->kernel || op->kernel > r->l->n_kernels ||
	    r->l->kernels[op->kernel - 1].tenant != op->tenant)
		return REFUSE(r, "its tenant has no kernel %" PRIu32, op->kernel);
	if (!op->grid[0] || !op->block[0])
		return REFUSE(r, "a launch wants grid= and block=");
	if (gsb_mul_overflows(op->block[0], op->block[1], &blocks) ||
	    gsb_mul_overflows(blocks, op->block[2], &blocks) || blocks > 1u << 16)
		return REFUSE(r, "a block has 65536 threads at most");
	op->kernel_at = op->kernel - 1;
	return 0;
}

/* One that it names, if it names one. */
static int name_op(struct reader *r, uint64_t serial, uint32_t *at)
{
	*at = serial ? find_op(r->l, r->l->n_ops - 1, serial) : GSB_WORKLOAD_NONE;
	return serial && *at == GSB_WORKLOAD_NONE
		       ? REFUSE(r, "no operation before this one has the serial %" PRIu64, serial)
		       : 0;
}

static int check_times(struct reader *r, const struct gsb_workload_op *op)
{
	if (op->start_ns > op->end_ns)
		return REFUSE(r, "it starts after its end");
	if (op->done_ns && op->end_ns > op->done_ns)
		return REFUSE(r, "it is done before its end");
	return 0;
}

static int check_op(struct reader *r)
{
	struct gsb_workload_op *op = &r->l->ops[r->l->n_ops - 1];
	int err;

	op->kernel_at = GSB_WORKLOAD_NONE;
	if (!op->serial || (r->l->n_ops > 1 && op->serial <= op[-1].serial))
		return REFUSE(r, "serials must rise");
	err = name_tenant(r, op->tenant, &op->tenant_at);
	if (err)
		return err;
	op->stream_at = find_stream(r->l, op->tenant, op->stream);
	if (op->stream_at == GSB_WORKLOAD_NONE)
		return REFUSE(r, "tenant %" PRIu32 " has no stream %" PRIu32, op->tenant,
			      op->stream);
	err = name_op(r, op->after, &op->after_at);
	if (!err && op->after && r->l->ops[op->after_at].tenant != op->tenant)
		err = REFUSE(r, "after= names an operation of another tenant");
	if (!err && op->on && op->kind != GSB_WORKLOAD_EVENT_WAIT)
		err = REFUSE(r, "on= is of an event_wait");
	if (!err)
		err = name_op(r, op->on, &op->on_at);
	if (!err)
		err = check_launch(r, op);
	return err ? err : check_times(r, op);
}

static int check(struct reader *r, enum line line)
{
	switch (line) {
	case FIRST:
		return r->first.version == GSB_WORKLOAD_VERSION
			       ? 0
			       : REFUSE(r,
					"it is a load of version %" PRIu32
					", this program reads %d: make it anew of its trace",
					r->first.version, GSB_WORKLOAD_VERSION);
	case DEVICE: return 0;
	case TENANT: return check_tenant(r);
	case STREAM: return check_stream(r);
	case KERNEL: return check_kernel(r);
	case MEMORY: return check_memory(r);
	case OP: return check_op(r);
	default:
		return r->last.n_lines == r->n_lines
			       ? 0
			       : REFUSE(r,
					"%" PRIu32 " lines are before this one, and not %" PRIu32,
					r->n_lines, r->last.n_lines);
	}
}

/* ---- the whole ---- */

static int read_line(struct reader *r)
{
	char *rest = r->text.line + strcspn(r->text.line, " \t");
	enum line line = FIRST;
	void *thing;
	int err;

	if (*rest)
		*rest++ = '\0';
	err = find_line(r, r->text.line, &line);
	if (!err)
		err = check_order(r, line);
	if (err)
		return err;
	thing = place_of(r, line);
	if (!thing)
		return -ENOMEM;
	err = read_keys(r, line, rest, thing);
	if (!err)
		err = check(r, line);
	r->at = line;
	r->n_lines++;
	return err;
}

int gsb_workload_parse(const char *text, size_t len, struct gsb_workload *out,
		       struct gsb_text_error *err)
{
	struct gsb_workload l = {0};
	struct reader r = {.text = {.at = text, .left = len}, .l = &l, .err = err};
	int got, bad = 0;

	while (!bad && (got = gsb_text_next(&r.text, err)) != 0)
		bad = got < 0 ? got : read_line(&r);
	if (!bad && r.at != LAST)
		bad = gsb_text_refuse(err, 0, "it is no load, or its end is missing");
	if (bad) {
		gsb_workload_finish(&l);
		return bad;
	}
	l.version = r.first.version;
	*out = l;
	return 0;
}

void gsb_workload_finish(struct gsb_workload *l)
{
	free(l->tenants);
	free(l->streams);
	free(l->kernels);
	free(l->memory);
	free(l->ops);
	*l = (struct gsb_workload){0};
}
