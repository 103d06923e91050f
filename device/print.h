/*
 * print.h - printf of kernels: a format and what it asks for, made into text.
 *
 * A format is as hostile as whoever wrote it: each conversion is taken apart and handed to snprintf with a format of our own
 * making.
 */
#ifndef GSB_DEVICE_PRINT_H
#define GSB_DEVICE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_PRINT_MAX_TEXT   8192 /* of one call of one thread; the rest is cut */
#define GSB_PRINT_MAX_STRING 4096 /* a format, or what %s shows, with its NUL; likewise */

struct gsb_print_args {
	/* The next one, which has @size bytes, 4 or 8. */
	bool (*next)(void *from, uint32_t size, uint64_t *value);
	/* The string at an address that the last one was, cut at @size, with a NUL. */
	bool (*string)(void *from, uint64_t addr, char *out, size_t size);
	void *from;
};

struct gsb_print_text {
	char bytes[GSB_PRINT_MAX_TEXT];
	size_t len;
	size_t cost; /* of NVIDIA's buffer: an address, 8 for each argument, and the strings */
	int n_args;
};

/* False: an argument or a string could not be had; what is before it stands there. */
bool gsb_print_format(const char *format, const struct gsb_print_args *args,
		      struct gsb_print_text *out);

/* What cuCtxSetLimit() makes of any size of its buffer on an H200; what it begins with, of so many threads that can be resident. */
uint64_t gsb_print_fifo_bytes(uint64_t bytes);
uint64_t gsb_print_fifo_default(uint64_t n_threads);

#endif
