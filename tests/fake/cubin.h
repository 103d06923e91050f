/*
 * cubin.h - what the fake driver's linker makes: a cubin with the symbols that NVIDIA's has for variables, and the PTX for the interpreter.
 */
#ifndef GSB_TESTS_FAKE_CUBIN_H
#define GSB_TESTS_FAKE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

/* Of text of one module or several, for free(); NULL: it is none, @log says why. */
void *fake_cubin_make(const char *text, size_t len, size_t *size, char *log, size_t log_size);

/* Its PTX; NULL: another made it. */
const char *fake_cubin_text(const void *cubin);

/* Is there a symbol of that name that has, or has not, a section? */
bool fake_cubin_has(const void *cubin, const char *name, bool defined);

#endif
