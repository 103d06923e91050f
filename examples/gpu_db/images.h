/*
 * images.h - the kernels' code inside the program: a table that embed.c writes at build time.
 */
#ifndef GPU_DB_IMAGES_H
#define GPU_DB_IMAGES_H

#include <stddef.h>

struct image {
	const char *file; /* "join.ptx", "join.fatbin" */
	const unsigned char *bytes;
	size_t n_bytes; /* without the zero byte that follows, which ends PTX text */
};

extern const struct image gpu_db_images[];
extern const size_t gpu_db_n_images;

#endif
