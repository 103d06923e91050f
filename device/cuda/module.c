/*
 * module.c - see module.h.
 *
 * An image goes to the driver as a library: compiling PTX so stops nobody's launches, and, since each tenant's loads have a thread of
 * their own (loads_apart), nobody's loads: a large one may take minutes. Loading it into the context does stop launches, and
 * waits for the kernels that run; that is done at once, on that thread, so that it does not hit a launch later, and
 * when those have ended that run now, so that a long one keeps nobody but who loads.
 *
 * A load whose PTX shows that it has no variables has nothing that could tell it from another load of the same bytes:
 * those share one library, which is kept for a while when the last is gone. One whose variables are known is kept, too, for who loads
 * the same after it (variables.h). Others have a library each; that of an image with managed variables is made when it is known where these
 * lie (managed.h).
 */
#include "device/cuda/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/log.h"
#include "device/cuda/chain.h"
#include "device/cuda/fifo.h"
#include "device/cuda/image.h"
#include "device/cuda/link.h"
#include "device/cuda/managed.h"
#include "device/cuda/memory.h"
#include "device/cuda/print.h"
#include "device/cuda/running.h"
#include "device/cuda/variables.h"
#include "ptx/image.h"
#include "ptx/ptx.h"

#define UNUSED_MAX	 16
#define UNUSED_BYTES_MAX ((size_t)64 << 20)

struct cuda_image {
	struct cuda_job unload;
	struct cuda_device *dev;
	struct cuda_image *prev, *next; /* of dev->images, while it is shared */
	bool shared;			/* by many, or by one after the other */
	bool prints;			/* into the ring of its space (print.h) */
	bool uses_fifo;			/* it prints into the driver's (fifo.h) */
	bool asserts;			/* an assertion in it may fail */
	unsigned n_users;
	uint64_t hash;
	size_t size;
	uint64_t variable_bytes;
	void *bytes; /* shared: to compare */
	struct cuda_variables *
		variables; /* as they were; shared: one user at a time. NULL: it has none, or they are not known */
	struct cuda_bounds bounds;
	struct cuda_managed *managed; /* NULL: it has none */
	CUlibrary library; /* NULL: its variables are not placed yet, or it could not be loaded */
	CUkernel *kernels;
	unsigned n_kernels;
};

struct gsb_module {
	struct gsb_space *space;
	struct gsb_module *prev, *next;
	struct cuda_image *image;
	struct gsb_function *functions; /* under code_lock */
	uint64_t *globals;		/* in space->globals; the engine's thread alone */
	unsigned n_globals;
};

/* ---- images ---- */

static void free_image(struct cuda_image *i)
{
	cuda_variables_free(i->variables);
	cuda_managed_free(i->managed);
	cuda_bounds_free(&i->bounds);
	free(i->bytes);
	free(i->kernels);
	free(i);
}

static void run_unload(struct cuda_job *job)
{
	struct cuda_image *i = gsb_container_of(job, struct cuda_image, unload);

	i->dev->cu.cuCtxSetCurrent(i->dev->ctx);
	cuda_note(i->dev, i->dev->cu.cuLibraryUnload(i->library));
	free_image(i);
}

static void destroy_image(struct cuda_image *i)
{
	if (!i->library) {
		free_image(i);
		return;
	}
	cuda_chain_forget(i->dev);
	i->unload.run = run_unload;
	i->unload.bytes = i->size;
	cuda_helper_give(&i->dev->unloader, &i->unload);
}

/* -errno for what the driver says of an image. */
static int image_error(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS: return 0;
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_INVALID_SOURCE: return -EILSEQ;
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return -ENOPKG;
	case CUDA_ERROR_NO_BINARY_FOR_GPU: return -ENOEXEC;
	case CUDA_ERROR_OUT_OF_MEMORY: return -ENOMEM;
	case CUDA_ERROR_NOT_SUPPORTED:
	case CUDA_ERROR_CDP_NOT_SUPPORTED: return -ENOTSUP;
	case CUDA_ERROR_INVALID_IMAGE: return -EBADMSG;
	default: return cuda_is_fatal(result) ? -EIO : -EBADMSG;
	}
}

/* Of an image the driver says things that would be a context's end elsewhere: whether it is says the context itself. */
static void check_health(struct cuda_device *dev, CUresult result)
{
	if (cuda_is_fatal(result))
		cuda_note(dev, dev->cu.cuStreamQuery(dev->zero_stream));
}

static int list_kernels(struct cuda_image *i)
{
	const struct cuda_driver *cu = &i->dev->cu;

	if (cu->cuLibraryGetKernelCount(&i->n_kernels, i->library))
		i->n_kernels = 0;
	i->kernels = calloc(i->n_kernels ? i->n_kernels : 1, sizeof(*i->kernels));
	if (!i->kernels)
		return -ENOMEM;
	if (i->n_kernels && cu->cuLibraryEnumerateKernels(i->kernels, i->n_kernels, i->library))
		i->n_kernels = 0;
	return 0;
}

/* What the driver says of code, if it says nothing itself. */
static int refused(struct cuda_device *dev, CUresult result, char *log, size_t log_size)
{
	log[log_size - 1] = 0;
	check_health(dev, result);
	if (!log[0])
		snprintf(log, log_size, "the driver does not load the image: %s",
			 cuda_name(result));
	return image_error(result);
}

static bool wants_linker(const struct cuda_code *code)
{
	return gsb_image_kind(code->bytes, code->len) != GSB_IMAGE_ELF &&
	       (code->has_managed || code->n_objects ||
		gsb_ptx_next_unit(code->bytes, strlen(code->bytes)));
}

/* PTX that the driver does not take as it is becomes a cubin. */
static int link_code(struct cuda_device *dev, struct cuda_code *code, char *log, size_t log_size)
{
	CUresult result;
	void *cubin = NULL;

	if (!wants_linker(code))
		return 0;
	log[0] = 0;
	result = cuda_link(dev, code, &cubin, &code->len, log, log_size);
	if (result)
		return refused(dev, result, log, log_size);
	free(code->bytes);
	code->bytes = cubin;
	return 0;
}

/* A module with NVIDIA's device runtime is not for a client of MPS, whether its kernels launch others or not. */
static void say_not_loaded(CUresult result, char *log, size_t log_size)
{
	snprintf(
		log, log_size, "the driver does not load the module: %s%s", cuda_name(result),
		result == CUDA_ERROR_CDP_NOT_SUPPORTED
			? ": MPS, which isolation = lanes and mps use, does not carry kernels that launch kernels: take shared or process"
			: "");
}

/* Until the module is there the driver may read the options, and what they point to. */
static int load_library(struct cuda_image *i, const void *code, char *log, size_t log_size)
{
	CUjit_option options[2 + CUDA_MANAGED_OPTIONS] = {CU_JIT_ERROR_LOG_BUFFER,
							  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[2 + CUDA_MANAGED_OPTIONS] = {log, (void *)(uintptr_t)log_size};
	const struct cuda_driver *cu = &i->dev->cu;
	unsigned n = 2;
	CUmodule module;
	CUresult result;

	log[0] = 0;
	if (i->managed)
		n += cuda_managed_options(i->managed, options + n, values + n);
	result = cu->cuLibraryLoadData(&i->library, code, options, values, n, NULL, NULL, 0);
	if (result)
		return refused(i->dev, result, log, log_size);
	cuda_wait_for_running(i->dev);
	result = cu->cuLibraryGetModule(&module, i->library);
	if (!result)
		return list_kernels(i);
	check_health(i->dev, result);
	say_not_loaded(result, log, log_size);
	return image_error(result);
}

/* One with managed variables waits for its place. */
static int make_image(struct cuda_device *dev, struct cuda_code *code, struct cuda_image **out,
		      char *log, size_t log_size)
{
	struct cuda_image *i = calloc(1, sizeof(*i));
	int err = i ? link_code(dev, code, log, log_size) : -ENOMEM;

	if (!i)
		return err;
	i->dev = dev;
	if (!err && code->has_managed)
		err = cuda_managed_take(code, &i->managed, log, log_size);
	if (!err && !i->managed)
		err = load_library(i, code->bytes, log, log_size);
	if (!err)
		*out = i;
	else
		destroy_image(i);
	return err;
}

/* ---- images that are shared ---- */

static struct cuda_image *find_image(struct cuda_device *dev, uint64_t hash, const void *bytes,
				     size_t size)
{
	struct cuda_image *i;

	DL_FOREACH (dev->images, i)
		if (i->hash == hash && i->size == size && !(i->variables && i->n_users) &&
		    !memcmp(i->bytes, bytes, size))
			return i;
	return NULL;
}

static struct cuda_image *use_shared(struct cuda_device *dev, uint64_t hash, const void *bytes,
				     size_t size)
{
	struct cuda_image *i;

	pthread_mutex_lock(&dev->code_lock);
	i = find_image(dev, hash, bytes, size);
	if (i) {
		i->n_users++;
		DL_DELETE(dev->images, i);
		DL_PREPEND(dev->images, i);
	}
	pthread_mutex_unlock(&dev->code_lock);
	return i;
}

/* Who loaded the same meanwhile has made one, too: there are two then, and either serves who comes next. */
static void share(struct cuda_image *i, uint64_t hash, const void *bytes, size_t size)
{
	i->bytes = malloc(size);
	if (!i->bytes)
		return; /* its own, then */
	memcpy(i->bytes, bytes, size);
	i->size = size;
	i->hash = hash;
	i->shared = true;
	pthread_mutex_lock(&i->dev->code_lock);
	DL_PREPEND(i->dev->images, i);
	pthread_mutex_unlock(&i->dev->code_lock);
}

/* Under code_lock: the longest unused ones that are too many. */
static void drop_unused(struct cuda_device *dev)
{
	struct cuda_image *i, *next;
	size_t bytes = 0;
	unsigned n = 0;

	DL_FOREACH_SAFE (dev->images, i, next) {
		if (i->n_users)
			continue;
		n++;
		bytes += i->size;
		if (n <= UNUSED_MAX && bytes <= UNUSED_BYTES_MAX)
			continue;
		DL_DELETE(dev->images, i);
		destroy_image(i);
	}
}

static void put_image(struct cuda_image *i)
{
	struct cuda_device *dev = i->dev;

	pthread_mutex_lock(&dev->code_lock);
	i->n_users--;
	if (i->shared)
		drop_unused(dev);
	else if (!i->n_users)
		destroy_image(i);
	pthread_mutex_unlock(&dev->code_lock);
}

/* It is nobody's any more, and cannot be used again. */
static void discard(struct cuda_image **i)
{
	struct cuda_device *dev = (*i)->dev;

	pthread_mutex_lock(&dev->code_lock);
	DL_DELETE(dev->images, *i);
	destroy_image(*i);
	pthread_mutex_unlock(&dev->code_lock);
	*i = NULL;
}

void cuda_images_finish(struct cuda_device *dev)
{
	struct cuda_image *i, *next;

	DL_FOREACH_SAFE (dev->images, i, next) {
		DL_DELETE(dev->images, i);
		destroy_image(i);
	}
}

/* ---- modules ---- */

static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		h = (h ^ bytes[i]) * 0x100000001b3ull;
	return h;
}

static int save_variables(struct cuda_image *i, const struct cuda_code *code, char *log,
			  size_t log_size)
{
	CUresult result;

	if (!code->variables || i->managed)
		return 0;
	result = cuda_variables_save(i->dev, i->library, code->variables, code->variable_bytes,
				     &i->variables);
	if (!result)
		return 0;
	check_health(i->dev, result);
	snprintf(log, log_size, "the driver does not read the variables of a module: %s",
		 cuda_name(result));
	return image_error(result);
}

static int make_once(struct cuda_device *dev, const void *bytes, size_t size,
		     enum cuda_prints prints, struct cuda_code *code, struct cuda_image **out,
		     char *log, size_t log_size)
{
	const struct gsb_arch *arch = &dev->info.arch;
	int err = cuda_code_read(bytes, size, arch->cc_major * 10 + arch->cc_minor, prints, code,
				 log, log_size);

	if (err)
		return err;
	err = make_image(dev, code, out, log, log_size);
	if (err)
		cuda_code_finish(code);
	return err;
}

/* What prints is loaded once more as it came, should the driver not take what was made of it. */
static int make_from(struct cuda_device *dev, const void *bytes, size_t size,
		     struct cuda_code *code, struct cuda_image **out, char *log, size_t log_size)
{
	/* Of several tenants the driver does not tell whose a text is. */
	enum cuda_prints prints =
		dev->single && dev->fifo.is_heard ? CUDA_PRINTS_KEPT : CUDA_PRINTS_OURS;
	int err = make_once(dev, bytes, size, prints, code, out, log, log_size);
	char why[256];

	if (!err || !code->prints || err == -ENOMEM || err == -EIO)
		return err;
	snprintf(why, sizeof(why), "%s", log);
	err = make_once(dev, bytes, size, CUDA_PRINTS_DRIVERS, code, out, log, log_size);
	if (!err)
		gsb_log(GSB_LOG_WARN, "cuda",
			"the driver does not take a module with our printf: it is loaded as it came, and prints by the driver's: %s",
			why);
	return err;
}

static int get_image(struct cuda_device *dev, const void *bytes, size_t size,
		     struct cuda_image **out, char *log, size_t log_size)
{
	uint64_t hash = hash_bytes(bytes, size);
	struct cuda_code code;
	int err;

	*out = use_shared(dev, hash, bytes, size);
	if (*out && (*out)->variables && cuda_variables_restore(dev, (*out)->variables))
		discard(out);
	if (*out)
		return 0;
	err = make_from(dev, bytes, size, &code, out, log, log_size);
	if (err)
		return err;
	(*out)->n_users = 1;
	(*out)->variable_bytes = code.variable_bytes;
	(*out)->prints = code.prints;
	(*out)->uses_fifo = code.uses_fifo;
	(*out)->asserts = code.asserts;
	(*out)->bounds = code.bounds;
	code.bounds = (struct cuda_bounds){0};
	err = save_variables(*out, &code, log, log_size);
	if (err) {
		destroy_image(*out);
	} else {
		if (code.has_no_variables || (*out)->variables)
			share(*out, hash, bytes, size);
		(*out)->size =
			size + ((*out)->managed ? cuda_managed_host_bytes((*out)->managed) : 0);
	}
	cuda_code_finish(&code);
	return err;
}

/* Once it is loaded. */
static int attach(struct gsb_module *m, char *log, size_t log_size)
{
	int err = m->image->uses_fifo ? cuda_fifo_open(m->space, log, log_size) : 0;

	return !err && m->image->prints && m->image->library
		       ? cuda_print_attach(m->space, m->image->library, log, log_size)
		       : err;
}

int cuda_module_load(struct gsb_space *space, const void *image, size_t size,
		     struct gsb_module **out, char *log, size_t log_size)
{
	struct cuda_device *dev = space->dev;
	struct gsb_module *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->space = space;
	dev->cu.cuCtxSetCurrent(dev->ctx);
	err = get_image(dev, image, size, &m->image, log, log_size);
	if (!err) {
		err = attach(m, log, log_size);
		if (err)
			put_image(m->image);
	}
	if (err) {
		free(m);
		return err;
	}
	pthread_mutex_lock(&dev->code_lock);
	DL_PREPEND(space->modules, m);
	pthread_mutex_unlock(&dev->code_lock);
	*out = m;
	return 0;
}

uint64_t cuda_module_managed(struct gsb_module *m)
{
	return m->image->managed ? cuda_managed_bytes(m->image->managed) : 0;
}

static int load_placed(struct gsb_module *m, const void *cubin, bool initialise, char *log,
		       size_t log_size)
{
	struct cuda_image *i = m->image;
	int err = load_library(i, cubin, log, log_size);

	if (!err && initialise)
		err = cuda_managed_initialise(i->managed, i->dev, i->library, log, log_size);
	return err ? err : attach(m, log, log_size);
}

/* What is wrong with the image was said when it came: the program is told no more than the code, and the log why. */
int cuda_module_place(struct gsb_module *m, uint64_t addr, bool initialise)
{
	struct cuda_image *i = m->image;
	const void *cubin = i->managed ? cuda_managed_place(i->managed, addr) : NULL;
	char log[1024];
	int err;

	if (!cubin)
		return -EINVAL;
	i->dev->cu.cuCtxSetCurrent(i->dev->ctx);
	err = load_placed(m, cubin, initialise, log, sizeof(log));
	cuda_managed_placed(i->managed, !err);
	if (err)
		gsb_log(GSB_LOG_WARN, "cuda", "a module with managed variables is not loaded: %s",
			log);
	return err;
}

void cuda_module_unload(struct gsb_module *m)
{
	struct gsb_function *f, *next;
	struct gsb_range was;

	if (!m)
		return;
	pthread_mutex_lock(&m->space->dev->code_lock);
	DL_DELETE(m->space->modules, m);
	pthread_mutex_unlock(&m->space->dev->code_lock);
	for (f = m->functions; f; f = next) {
		next = f->next;
		free(f);
	}
	for (unsigned i = 0; i < m->n_globals; i++)
		gsb_ranges_remove(&m->space->globals, m->globals[i], &was);
	free(m->globals);
	put_image(m->image);
	free(m);
}

uint64_t cuda_module_bytes(struct gsb_module *m)
{
	return m->image->size;
}

/* ---- variables ---- */

/* The driver places them; for each tenant its own, so an image with variables is shared by none. */
uint64_t cuda_module_cost(struct gsb_module *m)
{
	return m->image->variable_bytes
		       ? cuda_mem_cost(&m->space->dev->base, m->image->variable_bytes)
		       : 0;
}

static int add_global(struct gsb_module *m, uint64_t addr, uint64_t size)
{
	const struct gsb_range *r = gsb_ranges_find(&m->space->globals, addr);
	uint64_t *more;

	if (r && r->start == addr)
		return 0;
	more = realloc(m->globals, (m->n_globals + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->globals = more;
	if (gsb_ranges_add(&m->space->globals, addr, size))
		return -ENOMEM;
	m->globals[m->n_globals++] = addr;
	return 0;
}

int cuda_global_get(struct gsb_module *m, const char *name, uint64_t *addr, uint64_t *size)
{
	struct cuda_device *dev = m->space->dev;
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult result;
	int err;

	if (!m->image->library || (m->image->prints && cuda_print_is_ring(name)))
		return -ENOENT;
	if (cuda_managed_find(m->image->managed, name, addr, size))
		return 0;
	result = dev->cu.cuLibraryGetGlobal(&at, &bytes, m->image->library, name);
	check_health(dev, result);
	if (result || !bytes)
		return -ENOENT;
	err = add_global(m, at, bytes);
	if (err)
		return err;
	*addr = at;
	*size = bytes;
	return 0;
}

/* ---- kernels ---- */

int cuda_function_name(struct gsb_module *m, unsigned i, const char **name)
{
	return i >= m->image->n_kernels ||
			       m->space->dev->cu.cuKernelGetName(name, m->image->kernels[i])
		       ? -ENOENT
		       : 0;
}

/* -ENOTSUP: more parameters than the wire has. */
static int read_params(struct cuda_device *dev, CUkernel kernel, struct gsb_function_info *info)
{
	size_t offset, size;

	info->n_params = info->params_bytes = 0;
	while (!dev->cu.cuKernelGetParamInfo(kernel, info->n_params, &offset, &size)) {
		if (info->n_params == GSB_N_PARAMS_MAX || offset + size > GSB_PARAMS_BYTES_MAX)
			return -ENOTSUP;
		info->params[info->n_params++] =
			(struct gsb_param){(uint16_t)offset, (uint16_t)size};
		if (offset + size > info->params_bytes)
			info->params_bytes = (uint32_t)(offset + size);
	}
	return 0;
}

static void read_bound(const struct cuda_image *image, const char *name,
		       struct gsb_function_info *info)
{
	for (size_t i = 0; i < image->bounds.n; i++)
		if (!strcmp(image->bounds.items[i].name, name))
			memcpy(info->reqntid, image->bounds.items[i].block, sizeof(info->reqntid));
}

static int read_info(struct cuda_device *dev, CUkernel kernel, struct gsb_function_info *info)
{
	memset(info, 0, offsetof(struct gsb_function_info, params));
	for (int i = 0; i < GSB_N_FUNCTION_ATTRS; i++)
		if (dev->cu.cuKernelGetAttribute(&info->attrs[i], (CUfunction_attribute)i, kernel,
						 dev->id))
			info->attrs[i] = 0;
	return read_params(dev, kernel, info);
}

int cuda_function_get(struct gsb_module *m, const char *name, struct gsb_function **out,
		      struct gsb_function_info *info)
{
	struct cuda_device *dev = m->space->dev;
	struct gsb_function *f;
	CUkernel kernel;
	CUresult result;
	int err;

	if (!m->image->library)
		return -ENOENT;
	dev->cu.cuCtxSetCurrent(dev->ctx);
	result = dev->cu.cuLibraryGetKernel(&kernel, m->image->library, name);
	check_health(dev, result);
	if (result)
		return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -ENOENT;
	err = read_info(dev, kernel, info);
	if (err)
		return err;
	read_bound(m->image, name, info);
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->module = m;
	f->kernel = kernel;
	f->params_bytes = info->params_bytes;
	f->print = m->image->prints ? atomic_load(&m->space->print) : NULL;
	f->uses_fifo = m->image->uses_fifo && dev->fifo.is_heard;
	f->asserts = m->image->asserts;
	f->smem_max = info->attrs[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
	f->has_clusters = info->attrs[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] ||
			  info->attrs[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
	pthread_mutex_lock(&dev->code_lock);
	LL_PREPEND(m->functions, f);
	pthread_mutex_unlock(&dev->code_lock);
	*out = f;
	return 0;
}

/* With lazy loading the first use would stop all launches: it is to be now. */
int cuda_function_prepare(struct gsb_function *f, char *log, size_t log_size)
{
	struct cuda_device *dev = f->module->space->dev;
	CUfunction function;
	CUresult result;

	dev->cu.cuCtxSetCurrent(dev->ctx);
	result = dev->cu.cuKernelGetFunction(&function, f->kernel);
	if (!result)
		result = dev->cu.cuFuncLoad(function);
	if (!result) {
		f->function = function;
		return 0;
	}
	check_health(dev, result);
	snprintf(log, log_size, "the driver cannot load a kernel: %s", cuda_name(result));
	return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -ENOTSUP;
}
