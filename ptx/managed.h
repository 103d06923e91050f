/*
 * managed.h - whether PTX has managed variables, for who may not give them to a driver: it would put them where host and
 * device of its own process see them.
 */
#ifndef GSB_PTX_MANAGED_H
#define GSB_PTX_MANAGED_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a word .managed stands in the text, of however many modules; for text that is no PTX, whether it may. Context: pure. */
bool gsb_ptx_has_managed(const char *text, size_t len);

#endif
