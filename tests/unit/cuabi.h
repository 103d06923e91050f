/*
 * cuabi.h - one row of what test_cuabi compares. The toolkit's rows come from a file of their own, since the two
 * headers declare the same names.
 */
#ifndef GSB_TESTS_CUABI_H
#define GSB_TESTS_CUABI_H

#include <stddef.h>

struct abi_row {
	const char *what;
	long value;
};

#define ABI_SIZE_ROW(type)	    {"sizeof(" #type ")", (long)sizeof(type)},
#define ABI_FIELD_ROW(type, member) {#type "." #member, (long)offsetof(type, member)},

extern const struct abi_row toolkit_rows[];
extern const size_t n_toolkit_rows;

#endif
