/*
 * code.h - images as devices without a driver read them: PTX parsed once, however often it is loaded.
 *
 * A load of a module has its own globals, but its text and all that follows from the text alone are
 * the same for every load of the same bytes, in whatever space: they are kept here, found by content,
 * counted, and given up some time after the last load is gone. Any thread.
 */
#ifndef GSB_DEVICE_CODE_H
#define GSB_DEVICE_CODE_H

#include "gsb/device_info.h"
#include "ptx/kernel.h"

struct gsb_code_cache;
struct gsb_code; /* one image */

struct gsb_code_kernel {
	const struct gsb_ptx_func *entry;
	struct gsb_ptx_kernel layout;
};

int gsb_code_cache_create(struct gsb_code_cache **out);
void gsb_code_cache_destroy(struct gsb_code_cache *cache); /* no code is held; NULL is fine */
/* What the code comes to in memory, and what all of a cache do. */
size_t gsb_code_bytes(const struct gsb_code *code);
size_t gsb_code_cache_bytes(struct gsb_code_cache *cache);
/* Memory of the codes that are kept although no module holds them. */
size_t gsb_code_cache_unused_bytes(struct gsb_code_cache *cache);

/**
 * gsb_code_get() - the code of an image, parsed now or before
 * @image, @size: PTX text or a fatbin; copied
 * @out: give back with gsb_code_put()
 * @log: on failure what is wrong with the image, several lines for PTX
 *
 * Return: 0, -EBADMSG (damaged), -EILSEQ (PTX with an error), -ENOPKG (PTX that is too new), -ENOEXEC (nothing here can be run),
 *         -E2BIG (over a limit of the parser), -ENOMEM.
 */
int gsb_code_get(struct gsb_code_cache *cache, const void *image, size_t size,
		 struct gsb_code **out, char *log, size_t log_size);
void gsb_code_put(struct gsb_code *code); /* NULL is fine */

const struct gsb_ptx_module *gsb_code_module(const struct gsb_code *code);

/* Does the variable have an address that all threads and the host see? */
bool gsb_code_has_memory(const struct gsb_ptx_var *v);

/* Of all variables of a load, managed ones and the others. */
struct gsb_code_sizes {
	uint64_t device_bytes, managed_bytes;
};

/**
 * gsb_code_lay_out() - where the variables of a load go: managed ones in one piece of memory, the others in another
 * @offset: in its piece, by var->index; written for those that have memory
 * @sizes:  of the two pieces
 *
 * Return: 0, -EILSEQ (one is not defined), -ENOMEM; @log has the name.
 */
int gsb_code_lay_out(const struct gsb_code *code, uint64_t *offset, struct gsb_code_sizes *sizes,
		     char *log, size_t log_size);

/* A kernel by name, alive as long as the code. -ENOENT; -E2BIG, -ENOMEM of gsb_ptx_kernel_build(). */
int gsb_code_kernel(struct gsb_code *code, const char *name, const struct gsb_code_kernel **out);
/* The i-th kernel's name, NULL past the last. */
const char *gsb_code_kernel_name(const struct gsb_code *code, unsigned i);

/* Attributes and parameters of a kernel on that GPU. -ENOTSUP: more parameters than the wire has. */
int gsb_code_function_info(const struct gsb_code_kernel *k, const struct gsb_arch *arch,
			   struct gsb_function_info *info);

/* Registers of a thread in blocks of that size: as the compiler would settle it, given the limits. */
uint32_t gsb_code_regs(const struct gsb_code_kernel *k, const struct gsb_arch *arch,
		       uint32_t n_threads);

#endif
