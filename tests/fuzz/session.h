/*
 * session.h - a session of every record type that makes sense, and edits that spoil it: most of what the
 * engine then sees stays plausible, and so reaches the checks behind the first one.
 */
#ifndef GSB_TESTS_FUZZ_SESSION_H
#define GSB_TESTS_FUZZ_SESSION_H

#include <stddef.h>

#include "tests/unit/tenant_kit.h"

#define KIT_EDIT_BYTES 4

/*
 * Every record type with bodies that are right; addresses as the calls will answer them. The tenant has its
 * context 0, "inc" of its module 0 as function 0, and 256 bytes at mem.
 */
void kit_post_session(struct kit_tenant *t, uint64_t mem);

/* One edit of size bytes, as KIT_EDIT_BYTES say: offset low, offset high, operation, operand. */
void kit_edit(uint8_t *bytes, size_t size, const uint8_t *e);

#endif
