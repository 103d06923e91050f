/*
 * poly.c - see poly.h.
 */
#include "ptx/resize/poly.h"

#include <string.h>

/* ---- products ---- */

static int compare(const struct gsb_product *a, const struct gsb_product *b)
{
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS; i++)
		if (a->symbols[i] != b->symbols[i])
			return a->symbols[i] < b->symbols[i] ? -1 : 1;
	return 0;
}

bool gsb_product_is_constant(const struct gsb_product *p)
{
	return !p->symbols[0];
}

bool gsb_product_multiply(const struct gsb_product *a, const struct gsb_product *b,
			  struct gsb_product *out)
{
	struct gsb_product p = {0};
	int i = 0, k = 0, n = 0;

	if (__builtin_mul_overflow(a->times, b->times, &p.times))
		return false;
	while ((i < GSB_POLY_MOST_SYMBOLS && a->symbols[i]) ||
	       (k < GSB_POLY_MOST_SYMBOLS && b->symbols[k])) {
		uint32_t x = i < GSB_POLY_MOST_SYMBOLS ? a->symbols[i] : 0;
		uint32_t y = k < GSB_POLY_MOST_SYMBOLS ? b->symbols[k] : 0;

		if (n == GSB_POLY_MOST_SYMBOLS)
			return false;
		if (x >= y)
			i++;
		else
			k++;
		p.symbols[n++] = x >= y ? x : y;
	}
	*out = p;
	return true;
}

bool gsb_product_divide(const struct gsb_product *a, const struct gsb_product *b,
			struct gsb_product *out)
{
	struct gsb_product p = {0};
	int k = 0, n = 0;

	if (!b->times || (a->times == INT64_MIN && b->times == -1) || a->times % b->times)
		return false;
	p.times = a->times / b->times;
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS && a->symbols[i]; i++) {
		if (k < GSB_POLY_MOST_SYMBOLS && a->symbols[i] == b->symbols[k])
			k++;
		else
			p.symbols[n++] = a->symbols[i];
	}
	if (k < GSB_POLY_MOST_SYMBOLS && b->symbols[k])
		return false;
	*out = p;
	return true;
}

struct gsb_product gsb_product_without(const struct gsb_product *p, uint32_t symbol)
{
	const struct gsb_product one = {1, {symbol}};
	struct gsb_product rest = *p;

	gsb_product_divide(p, &one, &rest);
	return rest;
}

/* ---- sums ---- */

struct gsb_poly gsb_poly_constant(int64_t value)
{
	struct gsb_poly p = {.n = value != 0};

	p.terms[0].times = value;
	return p;
}

struct gsb_poly gsb_poly_symbol(uint32_t symbol)
{
	return (struct gsb_poly){1, {{1, {symbol}}}};
}

static bool add_product(struct gsb_poly *to, const struct gsb_product *p)
{
	uint32_t i = 0;

	while (i < to->n && compare(&to->terms[i], p) < 0)
		i++;
	if (i < to->n && !compare(&to->terms[i], p)) {
		if (__builtin_add_overflow(to->terms[i].times, p->times, &to->terms[i].times))
			return false;
		if (!to->terms[i].times)
			memmove(&to->terms[i], &to->terms[i + 1],
				(--to->n - i) * sizeof(to->terms[0]));
		return true;
	}
	if (to->n == GSB_POLY_MOST_TERMS)
		return false;
	memmove(&to->terms[i + 1], &to->terms[i], (to->n++ - i) * sizeof(to->terms[0]));
	to->terms[i] = *p;
	return true;
}

/* @to += @p * @by */
static bool add_times(struct gsb_poly *to, const struct gsb_poly *p, const struct gsb_product *by)
{
	for (uint32_t i = 0; by->times && i < p->n; i++) {
		struct gsb_product x;

		if (!gsb_product_multiply(&p->terms[i], by, &x) || !add_product(to, &x))
			return false;
	}
	return true;
}

bool gsb_poly_add(struct gsb_poly *to, const struct gsb_poly *p, int64_t times)
{
	struct gsb_poly sum = *to;
	const struct gsb_product by = {.times = times};

	if (!add_times(&sum, p, &by))
		return false;
	*to = sum;
	return true;
}

bool gsb_poly_multiply(const struct gsb_poly *a, const struct gsb_poly *b, struct gsb_poly *out)
{
	struct gsb_poly sum = {0};

	for (uint32_t i = 0; i < b->n; i++)
		if (!add_times(&sum, a, &b->terms[i]))
			return false;
	*out = sum;
	return true;
}

static bool has(const struct gsb_product *p, uint32_t symbol)
{
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS; i++)
		if (p->symbols[i] == symbol)
			return true;
	return false;
}

bool gsb_poly_replace(struct gsb_poly *p, uint32_t symbol, const struct gsb_poly *by)
{
	struct gsb_poly sum = {0};

	for (uint32_t i = 0; i < p->n; i++) {
		const struct gsb_product *t = &p->terms[i];
		const struct gsb_product rest = gsb_product_without(t, symbol);

		if (!(has(t, symbol) ? add_times(&sum, by, &rest) : add_product(&sum, t)))
			return false;
	}
	*p = sum;
	return true;
}

bool gsb_poly_is_equal(const struct gsb_poly *a, const struct gsb_poly *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->terms[i].times != b->terms[i].times || compare(&a->terms[i], &b->terms[i]))
			return false;
	return true;
}

bool gsb_poly_is_constant(const struct gsb_poly *p, int64_t *value)
{
	*value = p->n ? p->terms[0].times : 0;
	return !p->n || (p->n == 1 && gsb_product_is_constant(&p->terms[0]));
}
