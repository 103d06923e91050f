/*
 * poly.h - sums of products of symbols, with whole numbers before them: what an address is made of. Private to ptx/resize.
 *
 * Exact, and small: what would not fit is refused, so that nobody computes with half a sum.
 */
#ifndef GSB_PTX_RESIZE_POLY_H
#define GSB_PTX_RESIZE_POLY_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_POLY_MOST_TERMS   12
#define GSB_POLY_MOST_SYMBOLS 5 /* of one product */

struct gsb_product {
	int64_t times;
	uint32_t symbols[GSB_POLY_MOST_SYMBOLS]; /* descending; 0 = none, behind all others */
};

struct gsb_poly {
	uint32_t n;
	struct gsb_product
		terms[GSB_POLY_MOST_TERMS]; /* by their symbols, none twice, no 0 times */
};

struct gsb_poly gsb_poly_constant(int64_t value);
struct gsb_poly gsb_poly_symbol(uint32_t symbol); /* not 0 */

/* @to += @times * @p; @out = @a * @b. False: it does not fit, and what was to be written is as it was. */
bool gsb_poly_add(struct gsb_poly *to, const struct gsb_poly *p, int64_t times);
bool gsb_poly_multiply(const struct gsb_poly *a, const struct gsb_poly *b, struct gsb_poly *out);
/* @by for each @symbol of @p. */
bool gsb_poly_replace(struct gsb_poly *p, uint32_t symbol, const struct gsb_poly *by);

bool gsb_poly_is_equal(const struct gsb_poly *a, const struct gsb_poly *b);
bool gsb_poly_is_constant(const struct gsb_poly *p, int64_t *value);

bool gsb_product_multiply(const struct gsb_product *a, const struct gsb_product *b,
			  struct gsb_product *out);
/* Is @a a whole number of products of symbols times @b? Then that is in @out. */
bool gsb_product_divide(const struct gsb_product *a, const struct gsb_product *b,
			struct gsb_product *out);
bool gsb_product_is_constant(const struct gsb_product *p);
/* A product without one of its symbols, which it has. */
struct gsb_product gsb_product_without(const struct gsb_product *p, uint32_t symbol);

#endif
