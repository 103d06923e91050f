/*
 * lowest.h - numbers of which the lowest that is free is had next.
 *
 * What they stand for lies in memory in their order. Who takes a thousand in a row mostly walks up through it, whatever
 * the order in which others gave theirs back: the processor fetches the next before it is asked for. A stack would hand
 * out in the order of the last returns, all over the place.
 */
#ifndef GSB_BASE_LOWEST_H
#define GSB_BASE_LOWEST_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_LOWEST_NONE UINT32_MAX

struct gsb_lowest {
	uint64_t *words; /* a bit for each number: it is free */
	uint32_t n_words;
	uint32_t from; /* no word before has any */
};

/* 64 numbers more, free. 0, -ENOMEM. Zeroed there are none. */
int gsb_lowest_grow(struct gsb_lowest *l);
void gsb_lowest_finish(struct gsb_lowest *l);

/* NONE: all are taken. */
static inline uint32_t gsb_lowest_take(struct gsb_lowest *l)
{
	uint64_t word;

	while (l->from < l->n_words && !l->words[l->from])
		l->from++;
	if (l->from == l->n_words)
		return GSB_LOWEST_NONE;
	word = l->words[l->from];
	l->words[l->from] = word & (word - 1);
	return l->from * 64 + (uint32_t)__builtin_ctzll(word);
}

static inline void gsb_lowest_give(struct gsb_lowest *l, uint32_t number)
{
	l->words[number / 64] |= UINT64_C(1) << number % 64;
	if (number / 64 < l->from)
		l->from = number / 64;
}

#endif
