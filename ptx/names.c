/*
 * names.c - see names.h. Buckets are chains with the newest entry first; the stack holds the visible
 * entries in order of declaration, so that leaving a scope pops heads off their buckets.
 */
#include "ptx/names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FIRST_BUCKETS 64
#define MAX_DIGITS    9 /* of a register's number in a range */

/*
 * Eight bytes at a time, each folded by a 64 x 64 -> 128 bit product. The start differs from process
 * to process (address of the table), so that a hostile text cannot be made to collide on purpose.
 */
static uint64_t hash_of(const struct gsb_ptx_names *t, const char *text, size_t len)
{
	uint64_t h = t->seed ^ len;

	while (len > 0) {
		size_t n = len < sizeof(uint64_t) ? len : sizeof(uint64_t);
		uint64_t w = 0;
		unsigned __int128 product;

		memcpy(&w, text, n);
		product = (unsigned __int128)(h ^ w) * 0x9e3779b97f4a7c15u;
		h = (uint64_t)product ^ (uint64_t)(product >> 64);
		text += n;
		len -= n;
	}
	return h;
}

static int set_size(struct gsb_ptx_names *t, uint32_t n_buckets)
{
	struct gsb_ptx_name **buckets =
		gsb_arena_alloc_array(t->arena, n_buckets, sizeof(*buckets));
	struct gsb_ptx_name **stack = gsb_arena_alloc_array(t->arena, n_buckets, sizeof(*stack));

	if (!buckets || !stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		struct gsb_ptx_name *e = t->stack[i];
		struct gsb_ptx_name **head = &buckets[e->hash & (n_buckets - 1)];

		stack[i] = e;
		e->below = *head;
		*head = e;
	}
	t->buckets = buckets;
	t->stack = stack;
	t->n_buckets = n_buckets;
	return 0;
}

int gsb_ptx_names_init(struct gsb_ptx_names *t, struct gsb_arena *arena)
{
	*t = (struct gsb_ptx_names){.arena = arena, .seed = (uintptr_t)arena * 0xbf58476d1ce4e5b9u};
	return set_size(t, FIRST_BUCKETS);
}

void gsb_ptx_names_leave(struct gsb_ptx_names *t, uint32_t mark)
{
	while (t->n > mark) {
		struct gsb_ptx_name *e = t->stack[--t->n];

		t->buckets[e->hash & (t->n_buckets - 1)] = e->below;
	}
}

struct gsb_ptx_name *gsb_ptx_names_add(struct gsb_ptx_names *t, const char *text, size_t len)
{
	struct gsb_ptx_name *e, **head;

	if (t->n == t->n_buckets && set_size(t, t->n_buckets * 2))
		return NULL;
	e = gsb_arena_alloc(t->arena, sizeof(*e));
	if (!e)
		return NULL;
	e->text = gsb_arena_strndup(t->arena, text, len);
	if (!e->text)
		return NULL;
	e->len = len;
	e->hash = hash_of(t, text, len);
	e->order = t->n;
	head = &t->buckets[e->hash & (t->n_buckets - 1)];
	e->below = *head;
	*head = e;
	t->stack[t->n++] = e;
	return e;
}

static struct gsb_ptx_name *get(const struct gsb_ptx_names *t, const char *text, size_t len,
				bool range)
{
	uint64_t hash = hash_of(t, text, len);
	struct gsb_ptx_name *e = t->buckets[hash & (t->n_buckets - 1)];

	while (e && (e->hash != hash || e->len != len || memcmp(e->text, text, len) ||
		     (e->kind == GSB_PTX_NAME_RANGE) != range))
		e = e->below;
	return e;
}

struct gsb_ptx_name *gsb_ptx_names_get(const struct gsb_ptx_names *t, const char *text, size_t len)
{
	return get(t, text, len, false);
}

struct gsb_ptx_name *gsb_ptx_names_range(const struct gsb_ptx_names *t, const char *text,
					 size_t len)
{
	return get(t, text, len, true);
}

/* The number in text[at..len): up to MAX_DIGITS digits, no leading zero. */
static bool tail_number(const char *text, size_t at, size_t len, uint32_t *number)
{
	if (at == 0 || len - at > MAX_DIGITS || (text[at] == '0' && len - at > 1))
		return false;
	*number = 0;
	for (size_t i = at; i < len; i++)
		*number = *number * 10 + (uint32_t)(text[i] - '0');
	return true;
}

/*
 * The range that has "%r42": of "%r" mostly, but "%r4<10>" has it too; the longest tail is tried first. Those declared
 * before @mark do not count.
 */
static struct gsb_ptx_name *find_range(const struct gsb_ptx_names *t, const char *text, size_t len,
				       uint32_t mark, uint32_t *index)
{
	size_t first = len;
	uint32_t number;

	while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9')
		first--;
	for (size_t at = first; at < len; at++) {
		struct gsb_ptx_name *e;

		if (!tail_number(text, at, len, &number))
			continue;
		e = gsb_ptx_names_range(t, text, at);
		if (!e || number >= e->count || e->order < mark)
			continue;
		*index = e->index + number;
		return e;
	}
	return NULL;
}

struct gsb_ptx_name *gsb_ptx_names_find(const struct gsb_ptx_names *t, const char *text, size_t len,
					uint32_t *index)
{
	struct gsb_ptx_name *exact = gsb_ptx_names_get(t, text, len);
	struct gsb_ptx_name *range = find_range(t, text, len, 0, index);

	if (range && (!exact || range->order > exact->order))
		return range;
	if (exact)
		*index = exact->index;
	return exact;
}

struct gsb_ptx_name *gsb_ptx_names_covering(const struct gsb_ptx_names *t, const char *text,
					    size_t len, uint32_t mark)
{
	uint32_t index;

	return find_range(t, text, len, mark, &index);
}
