/*
 * managed.c - see managed.h.
 */
#include "device/cuda/managed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/cubin.h"
#include "ptx/layout.h"
#include "ptx/managed.h"
#include "ptx/ptx.h"

struct cuda_managed {
	struct gsb_arena arena;
	struct gsb_managed is;
	uint64_t *offset, bytes; /* where each lies, in so many */
	uint64_t at;		 /* where these are; 0: nowhere */
	void *cubin;		 /* NULL: it was placed */
	char **names;		 /* as the driver wants them, with */
	void **addrs;
};

/* ---- out of the code ---- */

static int lay_out(struct cuda_managed *m, char *log, size_t log_size)
{
	const uint32_t n = m->is.n_vars;

	m->offset = gsb_arena_alloc_array(&m->arena, n, sizeof(*m->offset));
	m->names = gsb_arena_alloc_array(&m->arena, n, sizeof(*m->names));
	m->addrs = gsb_arena_alloc_array(&m->arena, n, sizeof(*m->addrs));
	if (!m->offset || !m->names || !m->addrs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct gsb_managed_var *v = &m->is.vars[i];

		if (gsb_ptx_put_variable(&m->bytes, v->size, v->align, &m->offset[i])) {
			snprintf(log, log_size, "managed variable %.256s is too large", v->name);
			return -ENOMEM;
		}
		m->names[i] = (char *)v->name;
	}
	return 0;
}

/* What the driver gets is not what was checked before. */
static int check_again(struct cuda_code *code, char *log, size_t log_size)
{
	struct gsb_arena arena;
	struct gsb_cubin cubin;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_cubin_read(code->bytes, code->len, &arena, &cubin);
	gsb_arena_finish(&arena);
	if (!err &&
	    (cubin.has_managed ||
	     __builtin_add_overflow(cubin.global_bytes, cubin.const_bytes, &code->variable_bytes)))
		err = -EBADMSG;
	if (err == -EBADMSG)
		snprintf(log, log_size, "the cubin is cut off or damaged");
	return err;
}

int cuda_managed_take(struct cuda_code *code, struct cuda_managed **out, char *log, size_t log_size)
{
	struct cuda_managed *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	gsb_arena_init(&m->arena, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_managed_read(code->bytes, code->len, &m->arena, &m->is, log, log_size);
	if (!err)
		err = lay_out(m, log, log_size);
	if (!err)
		gsb_managed_undefine(code->bytes, code->len);
	if (!err)
		err = check_again(code, log, log_size);
	if (err || !m->is.n_vars) {
		cuda_managed_free(m);
		m = NULL;
	} else {
		m->cubin = code->bytes;
		code->bytes = NULL;
	}
	*out = m;
	return err;
}

void cuda_managed_free(struct cuda_managed *m)
{
	if (!m)
		return;
	free(m->cubin);
	gsb_arena_finish(&m->arena);
	free(m);
}

uint64_t cuda_managed_bytes(const struct cuda_managed *m)
{
	return m->bytes;
}

size_t cuda_managed_host_bytes(const struct cuda_managed *m)
{
	return sizeof(*m) + m->arena.used_bytes;
}

/* ---- into the driver ---- */

const void *cuda_managed_place(struct cuda_managed *m, uint64_t addr)
{
	if (!m->cubin)
		return NULL;
	m->at = addr;
	for (uint32_t i = 0; i < m->is.n_vars; i++)
		m->addrs[i] = (void *)(uintptr_t)(addr + m->offset[i]);
	return m->cubin;
}

unsigned cuda_managed_options(struct cuda_managed *m, CUjit_option options[CUDA_MANAGED_OPTIONS],
			      void *values[CUDA_MANAGED_OPTIONS])
{
	options[0] = CU_JIT_GLOBAL_SYMBOL_NAMES;
	values[0] = m->names;
	options[1] = CU_JIT_GLOBAL_SYMBOL_ADDRESSES;
	values[1] = m->addrs;
	options[2] = CU_JIT_GLOBAL_SYMBOL_COUNT;
	values[2] = (void *)(uintptr_t)m->is.n_vars;
	return CUDA_MANAGED_OPTIONS;
}

void cuda_managed_placed(struct cuda_managed *m, bool loaded)
{
	free(m->cubin);
	m->cubin = NULL;
	if (!loaded)
		m->at = 0;
}

/* ---- what they begin with ---- */

static uint8_t *bytes_of(const struct cuda_managed *m, uint32_t var)
{
	return (uint8_t *)(uintptr_t)(m->at + m->offset[var]);
}

static int write_pointer(const struct cuda_managed *m, const struct gsb_managed_pointer *p,
			 struct cuda_device *dev, CUlibrary library, char *log, size_t log_size)
{
	uint64_t addr = 0, size = 0;
	CUresult result = CUDA_SUCCESS;

	if (!cuda_managed_find(m, p->target, &addr, &size))
		result = dev->cu.cuLibraryGetGlobal((CUdeviceptr *)&addr, (size_t *)&size, library,
						    p->target);
	if (result) {
		cuda_note(dev, result);
		snprintf(log, log_size,
			 "managed variable %.256s begins with the address of %.256s, which the "
			 "driver does not tell: %s",
			 m->is.vars[p->var].name, p->target, cuda_name(result));
		return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -ENOENT;
	}
	addr += (uint64_t)p->addend;
	memcpy(bytes_of(m, p->var) + p->offset, &addr, sizeof(addr));
	return 0;
}

int cuda_managed_initialise(const struct cuda_managed *m, struct cuda_device *dev,
			    CUlibrary library, char *log, size_t log_size)
{
	int err = 0;

	for (uint32_t i = 0; i < m->is.n_vars; i++) {
		const struct gsb_managed_var *v = &m->is.vars[i];

		if (v->first)
			memcpy(bytes_of(m, i), v->first, v->size);
		else
			memset(bytes_of(m, i), 0, v->size);
	}
	for (uint32_t i = 0; !err && i < m->is.n_pointers; i++)
		err = write_pointer(m, &m->is.pointers[i], dev, library, log, log_size);
	return err;
}

bool cuda_managed_find(const struct cuda_managed *m, const char *name, uint64_t *addr,
		       uint64_t *size)
{
	const struct gsb_managed_var *v = m && m->at ? gsb_managed_find(&m->is, name) : NULL;

	if (!v)
		return false;
	*addr = m->at + m->offset[v - m->is.vars];
	*size = v->size;
	return true;
}
