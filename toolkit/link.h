/*
 * link.h - what is kept beside a link of nvJitLink: the same link once more, with PTX as its result.
 *
 * nvJitLink links as it is told, so that errors and logs are its own. Beside it, texts of PTX are gathered as they are,
 * and what is LTO-IR goes into a second link that ends with PTX (-lto -ptx), which takes nothing else.
 */
#ifndef GSB_TOOLKIT_LINK_H
#define GSB_TOOLKIT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/texts.h"

/* As its header has them. */
enum gsb_nj_result { GSB_NJ_SUCCESS = 0, GSB_NJ_ERROR_INTERNAL = 6 };
enum gsb_nj_input {
	GSB_NJ_INPUT_CUBIN = 1,
	GSB_NJ_INPUT_PTX,
	GSB_NJ_INPUT_LTOIR,
	GSB_NJ_INPUT_FATBIN,
	GSB_NJ_INPUT_OBJECT,
	GSB_NJ_INPUT_LIBRARY,
	GSB_NJ_INPUT_INDEX,
	GSB_NJ_INPUT_ANY = 10,
};

/* Each function has a name without and one with the release: nvJitLinkCreate, __nvJitLinkCreate_13_0. */
struct gsb_nj_form {
	const char *prefix, *suffix;
};

/* NVIDIA's function, "Create" and so on, or NULL. */
void *gsb_nj_genuine(const struct gsb_nj_form *form, const char *verb);

typedef int gsb_nj_create_fn(void **handle, uint32_t n, const char **options);
typedef int gsb_nj_destroy_fn(void **handle);
typedef int gsb_nj_data_fn(void *handle, int type, const void *data, size_t size, const char *name);
typedef int gsb_nj_file_fn(void *handle, int type, const char *path);
typedef int gsb_nj_complete_fn(void *handle);
typedef int gsb_nj_size_fn(void *handle, size_t *size);
typedef int gsb_nj_get_fn(void *handle, void *to);

struct gsb_nj_input_data {
	int type;
	const void *bytes;
	size_t size;
	const char *name;
};

/* A link that NVIDIA's has made, by its handle. Without memory there is none beside it. */
void gsb_nj_link_begin(const struct gsb_nj_form *form, void *handle, uint32_t n,
		       const char **options);
void gsb_nj_link_end(void *handle);

/* An input that NVIDIA's link has taken. */
void gsb_nj_link_add(void *handle, const struct gsb_nj_input_data *in);

/* NVIDIA's link is complete. */
void gsb_nj_link_complete(void *handle);

/* The PTX that stands for the cubin of a complete link; NULL when an input had neither PTX nor LTO-IR. */
const struct gsb_ptx_texts *gsb_nj_link_result(void *handle);

#endif
