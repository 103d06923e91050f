/*
 * registry.c - see registry.h.
 *
 * One table by host address. Readers share its lock; the driver is never called under it, because a call may wait.
 */
#include "cudart/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/compiler.h"
#include "base/log.h"
#include "cudart/driver.h"
#include "cudart/error.h"

#define REASON_BYTES 512

struct gsb_rt_image {
	const void *code;
	pthread_mutex_t loading;
	bool is_said; /* why it cannot be loaded; loading */
	_Atomic(CUlibrary) library;
};

struct symbol {
	const void *host;
	const char *name;
	struct gsb_rt_image *image;
	enum gsb_rt_symbol_kind kind;
	_Atomic(CUkernel) kernel; /* NULL: not asked for yet */
	UT_hash_handle hh;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct symbol *symbols; /* lock */

/* What comes after s in the table; NULL: the first one. */
static struct symbol *after(const struct symbol *s)
{
	return s ? s->hh.next : symbols;
}

/* ---- registering ---- */

struct gsb_rt_image *gsb_rt_image_register(const void *code)
{
	struct gsb_rt_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->code = code;
	pthread_mutex_init(&image->loading, NULL);
	return image;
}

static struct symbol *find(const void *host)
{
	struct symbol *s;

	HASH_FIND_PTR(symbols, &host, s);
	return s;
}

void gsb_rt_symbol_register(struct gsb_rt_image *image, enum gsb_rt_symbol_kind kind,
			    const void *host, const char *name)
{
	struct symbol *s = calloc(1, sizeof(*s));

	if (!s || !image) {
		free(s);
		return;
	}
	*s = (struct symbol){.host = host, .name = name, .image = image, .kind = kind};
	pthread_rwlock_wrlock(&lock);
	if (find(host))
		free(s);
	else
		HASH_ADD_PTR(symbols, host, s);
	pthread_rwlock_unlock(&lock);
}

static void forget_symbols(const struct gsb_rt_image *image)
{
	struct symbol *s, *next;

	pthread_rwlock_wrlock(&lock);
	for (s = after(NULL); s; s = next) {
		next = after(s);
		if (s->image != image)
			continue;
		HASH_DEL(symbols, s);
		free(s);
	}
	pthread_rwlock_unlock(&lock);
}

void gsb_rt_image_unregister(struct gsb_rt_image *image)
{
	CUlibrary library;

	if (!image)
		return;
	forget_symbols(image);
	library = atomic_load(&image->library);
	if (library)
		gsb_rt_drivers->cuLibraryUnload(library);
	pthread_mutex_destroy(&image->loading);
	free(image);
}

/* ---- loading ---- */

/* What the compiler's code registers has nobody else to tell it; each use tries again. Called under image->loading. */
static void say_why(struct gsb_rt_image *image, const char *reason)
{
	if (*reason && !image->is_said)
		gsb_log_say("device code of this program is not loaded: %s", reason);
	image->is_said = true;
}

static cudaError_t load(struct gsb_rt_image *image, CUlibrary *library)
{
	char reason[REASON_BYTES] = "";
	CUjit_option jit[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *jit_values[] = {reason, (void *)sizeof(reason)};
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *value = (void *)1;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuLibraryLoadData(
		library, image->code, jit, jit_values, GSB_ARRAY_LEN(jit), &option, &value, 1));

	if (error)
		say_why(image, reason);
	else
		atomic_store_explicit(&image->library, *library, memory_order_release);
	return error;
}

static cudaError_t library_of(struct gsb_rt_image *image, CUlibrary *library)
{
	cudaError_t error = cudaSuccess;

	*library = atomic_load_explicit(&image->library, memory_order_acquire);
	if (*library)
		return cudaSuccess;
	pthread_mutex_lock(&image->loading);
	*library = atomic_load_explicit(&image->library, memory_order_relaxed);
	if (!*library)
		error = load(image, library);
	pthread_mutex_unlock(&image->loading);
	return error;
}

/* A host variable that stands for a managed one holds its address, which is a symbol from then on. */
static cudaError_t place_managed(const struct symbol *s, CUlibrary library)
{
	CUdeviceptr ptr;
	size_t bytes;
	cudaError_t error =
		gsb_rt_error(gsb_rt_drivers->cuLibraryGetManaged(&ptr, &bytes, library, s->name));

	if (error)
		return error;
	gsb_rt_symbol_register(s->image, GSB_RT_MANAGED_ITSELF, (const void *)ptr, s->name);
	*(void **)s->host = (void *)ptr;
	return cudaSuccess;
}

static bool next_managed(const struct gsb_rt_image *image, unsigned skip, struct symbol *out)
{
	const struct symbol *s;
	bool found = false;

	pthread_rwlock_rdlock(&lock);
	for (s = after(NULL); !found && s; s = after(s)) {
		found = s->image == image && s->kind == GSB_RT_MANAGED && !skip--;
		if (found)
			*out = *s;
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

cudaError_t gsb_rt_image_load(struct gsb_rt_image *image)
{
	CUlibrary library;
	struct symbol s;
	cudaError_t error = library_of(image, &library);

	for (unsigned i = 0; !error && next_managed(image, i, &s); i++)
		error = place_managed(&s, library);
	return error;
}

/* ---- looking up ---- */

/* What stands in the table is copied: the program may unregister the rest meanwhile. */
static bool look_up(const void *host, struct symbol *out)
{
	const struct symbol *s;

	pthread_rwlock_rdlock(&lock);
	s = find(host);
	if (s)
		*out = *s;
	pthread_rwlock_unlock(&lock);
	return s != NULL;
}

static void remember(const void *host, CUkernel kernel)
{
	struct symbol *s;

	pthread_rwlock_rdlock(&lock);
	s = find(host);
	if (s)
		atomic_store_explicit(&s->kernel, kernel, memory_order_release);
	pthread_rwlock_unlock(&lock);
}

static cudaError_t fetch_kernel(const struct symbol *s, CUkernel *kernel)
{
	CUlibrary library;
	cudaError_t error = library_of(s->image, &library);

	if (error)
		return error;
	error = gsb_rt_error(gsb_rt_drivers->cuLibraryGetKernel(kernel, library, s->name));
	if (!error)
		remember(s->host, *kernel);
	return error == cudaErrorSymbolNotFound ? cudaErrorInvalidDeviceFunction : error;
}

cudaError_t gsb_rt_kernel(const void *func, CUkernel *kernel)
{
	struct symbol s;

	if (!func)
		return cudaErrorInvalidDeviceFunction;
	*kernel = (CUkernel)func;
	if (!look_up(func, &s))
		return cudaSuccess;
	if (s.kind != GSB_RT_FUNCTION)
		return cudaErrorInvalidDeviceFunction;
	*kernel = s.kernel;
	return *kernel ? cudaSuccess : fetch_kernel(&s, kernel);
}

cudaError_t gsb_rt_kernel_for_stub(const void *func, CUkernel *kernel)
{
	CUkernel found;
	cudaError_t error = gsb_rt_kernel(func, &found);

	*kernel = error ? (CUkernel)func : found;
	return error;
}

const void *gsb_rt_host_of(CUkernel kernel)
{
	const void *host = NULL;

	pthread_rwlock_rdlock(&lock);
	for (const struct symbol *s = after(NULL); !host && s; s = after(s))
		if (atomic_load_explicit(&s->kernel, memory_order_acquire) == kernel)
			host = s->host;
	pthread_rwlock_unlock(&lock);
	return host ? host : (const void *)kernel;
}

cudaError_t gsb_rt_variable(const void *host, CUdeviceptr *ptr, size_t *bytes)
{
	struct symbol s;
	CUlibrary library;
	cudaError_t error;

	if (!look_up(host, &s) || s.kind == GSB_RT_FUNCTION)
		return cudaErrorInvalidSymbol;
	error = library_of(s.image, &library);
	if (error)
		return error;
	error = gsb_rt_error(
		s.kind != GSB_RT_VARIABLE
			? gsb_rt_drivers->cuLibraryGetManaged(ptr, bytes, library, s.name)
			: gsb_rt_drivers->cuLibraryGetGlobal(ptr, bytes, library, s.name));
	return error == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : error;
}
