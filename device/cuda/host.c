/*
 * host.c - see host.h.
 *
 * All registering is done in a context of its own (unless the device serves one process): in the context of the work it would stop
 * launches, and unregistering would wait for kernels. A registration made there is good for all contexts, and the GPU's address of a byte is ours.
 * To make that context takes as long as the first did, and while it lasts launches wait for less than 2 ms, but loads of code until it is
 * there (an H100, doc/results/2026-11-27-connections-h100.txt): so it is made a moment later, when a first program has its code, or
 * as soon as somebody pins memory. Whoever runs then has a half to nine tenths of the GPU's time (2026-11-28-second-context-h100.txt), so where it counts when a kernel
 * runs it is made before anything does.
 *
 * Shared buffers are registered by a helper, since that takes half a millisecond per MiB the first time: until then copies
 * from and to them go the slow way. Pinning has to be done when it returns. Unregistering, 14 ms a GiB, is the helper's, too;
 * who pins the same addresses again meanwhile waits for it, a pinner asleep and the engine's thread by asking again: in a device of one process
 * it may last as long as a kernel.
 *
 * A backing of the host is a part of a file in the area of backings (backing.c), mapped over addresses that the driver has reserved, and pinned
 * as long as the GPU may reach it: it finds such memory at the address where it is registered. Before the driver has anything mapped there again it is
 * unregistered, and nothing is there (seen on an H200, driver 580.159.04).
 */
#include "device/cuda/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; elsewhere an error, and no more */
#endif

#define PUT_OFF_MS     500
#define TOUCH_BYTES    (256u << 10) /* a tenth of a millisecond */
#define REGISTER_FLAGS (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP)

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/*
 * To have pages made is most of what registering costs, and the driver has them made under the lock of the address space: the engine's
 * thread would wait for it with every tenant that comes meanwhile. So they are made before, a few at a time.
 */
static void touch(uint64_t addr, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += TOUCH_BYTES)
		madvise(to_pointer(addr + at), size - at < TOUCH_BYTES ? size - at : TOUCH_BYTES,
			MADV_POPULATE_WRITE);
}

/* ---- the second context ---- */

/* Until it is needed, or has been put off for long enough; false: the device is closed before. */
static bool await_need(struct cuda_device *dev)
{
	bool needed;

	pthread_mutex_lock(&dev->pin_lock);
	while (dev->host_ctx_need == CUDA_NEEDED_LATER &&
	       !pthread_cond_clockwait(&dev->host_ctx_needed, &dev->pin_lock, CLOCK_MONOTONIC,
				       &dev->host_ctx_due))
		;
	needed = dev->host_ctx_need != CUDA_NEEDED_NEVER;
	pthread_mutex_unlock(&dev->pin_lock);
	return needed;
}

static void run_make_context(struct cuda_job *job)
{
	struct cuda_device *dev = gsb_container_of(job, struct cuda_device, make_host_ctx);
	CUcontext ctx = dev->ctx, made;
	CUresult result;

	if (!await_need(dev))
		return;
	result = cuda_note(dev, dev->cu.cuCtxCreate_v2(&made, CU_CTX_MAP_HOST, dev->id));

	if (!result)
		ctx = made;
	else
		gsb_log(GSB_LOG_WARN, "cuda",
			"there is no second context, since the driver says %s: whoever pins memory stops all launches; leave more memory free",
			cuda_name(result));
	pthread_mutex_lock(&dev->pin_lock);
	dev->host_ctx = ctx;
	pthread_cond_broadcast(&dev->host_ctx_made);
	pthread_mutex_unlock(&dev->pin_lock);
}

/*
 * One process makes its own kernels wait when it pins memory, with the driver as with us: it needs no second context, which costs memory,
 * time and connections as the first does.
 */
void cuda_host_begin(struct cuda_device *dev, uint32_t put_off_ms)
{
	const uint64_t due_ns =
		gsb_clock_ns() + (put_off_ms ? put_off_ms : PUT_OFF_MS) * 1000000ull;

	dev->host_ctx_due = (struct timespec){.tv_sec = (time_t)(due_ns / 1000000000),
					      .tv_nsec = (long)(due_ns % 1000000000)};
	dev->make_host_ctx.run = run_make_context;
	if (dev->single)
		dev->host_ctx = dev->ctx;
	else
		cuda_helper_give(&dev->registrar, &dev->make_host_ctx);
}

/* Under pin_lock. */
static void say_need(struct cuda_device *dev, enum cuda_need need)
{
	if (dev->host_ctx_need != CUDA_NEEDED_LATER)
		return;
	dev->host_ctx_need = need;
	pthread_cond_signal(&dev->host_ctx_needed);
}

void cuda_host_await(struct cuda_device *dev)
{
	pthread_mutex_lock(&dev->pin_lock);
	say_need(dev, CUDA_NEEDED_NOW);
	while (!dev->host_ctx)
		pthread_cond_wait(&dev->host_ctx_made, &dev->pin_lock);
	pthread_mutex_unlock(&dev->pin_lock);
}

void cuda_host_enter(struct cuda_device *dev)
{
	cuda_host_await(dev);
	dev->cu.cuCtxSetCurrent(dev->host_ctx);
}

/* ---- spaces' windows ---- */

static struct cuda_pin *find_pin(struct cuda_device *dev, uint64_t addr)
{
	struct cuda_pin *pin;

	pthread_mutex_lock(&dev->pin_lock);
	HASH_FIND(hh, dev->pins, &addr, sizeof(addr), pin);
	pthread_mutex_unlock(&dev->pin_lock);
	return pin;
}

/* Under pin_lock: one that goes and has some of these addresses. */
static struct cuda_pin *find_going(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	struct cuda_pin *pin;

	LL_FOREACH (dev->going_pins, pin)
		if (pin->addr < addr + size && addr < pin->addr + pin->size)
			break;
	return pin;
}

bool cuda_host_is_going(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	bool is_going;

	pthread_mutex_lock(&dev->pin_lock);
	is_going = find_going(dev, addr, size);
	pthread_mutex_unlock(&dev->pin_lock);
	dev->awaits_gone |= is_going;
	return is_going;
}

/* Until the driver has forgotten what was there before: a pinner's. The engine's thread has asked, and comes when there is nothing. */
static void await_gone(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	pthread_mutex_lock(&dev->pin_lock);
	while (find_going(dev, addr, size))
		pthread_cond_wait(&dev->pin_gone, &dev->pin_lock);
	pthread_mutex_unlock(&dev->pin_lock);
}

static CUresult register_pin(struct cuda_device *dev, const struct cuda_pin *pin)
{
	await_gone(dev, pin->addr, pin->size);
	touch(pin->addr, pin->size);
	cuda_host_enter(dev);
	return cuda_note(dev, dev->cu.cuMemHostRegister_v2(to_pointer(pin->addr), pin->size,
							   REGISTER_FLAGS));
}

static struct cuda_pin *make_pin(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	struct cuda_pin *pin = calloc(1, sizeof(*pin));
	CUresult result;

	if (!pin)
		return NULL;
	pin->dev = dev;
	pin->addr = addr;
	pin->size = size;
	result = register_pin(dev, pin);
	if (result) {
		gsb_log(GSB_LOG_WARN, "cuda", "%llu bytes of host memory cannot be pinned: %s",
			(unsigned long long)size, cuda_name(result));
		free(pin);
		return NULL;
	}
	pthread_mutex_lock(&dev->pin_lock);
	HASH_ADD(hh, dev->pins, addr, sizeof(pin->addr), pin);
	pthread_mutex_unlock(&dev->pin_lock);
	return pin;
}

/* Reserved addresses as they were before anything was mapped there. */
static void leave_hole(uint64_t addr, uint64_t size)
{
	if (mmap(to_pointer(addr), size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		gsb_log(GSB_LOG_ERROR, "cuda", "%#llx stays mapped: %m", (unsigned long long)addr);
}

/*
 * A hole takes as long as there were pages, and the engine's thread asks for the lock with every tenant: none is made under it. Until the pin is off
 * the list nothing is mapped there, and who finds no hole to be left takes it off before anybody could want one.
 */
static void run_unregister(struct cuda_job *job)
{
	struct cuda_pin *pin = gsb_container_of(job, struct cuda_pin, unregister);
	struct cuda_device *dev = pin->dev;

	cuda_host_enter(dev);
	cuda_note(dev, dev->cu.cuMemHostUnregister(to_pointer(pin->addr)));
	pthread_mutex_lock(&dev->pin_lock);
	if (pin->leaves_hole) {
		pthread_mutex_unlock(&dev->pin_lock);
		leave_hole(pin->addr, pin->size);
		pthread_mutex_lock(&dev->pin_lock);
	}
	LL_DELETE(dev->going_pins, pin);
	pthread_cond_broadcast(&dev->pin_gone);
	pthread_mutex_unlock(&dev->pin_lock);
	free(pin);
}

static void destroy_pin(struct cuda_device *dev, struct cuda_pin *pin)
{
	struct gsb_range was;

	gsb_ranges_remove(&dev->known, pin->addr, &was);
	pthread_mutex_lock(&dev->pin_lock);
	HASH_DELETE(hh, dev->pins, pin);
	LL_PREPEND(dev->going_pins, pin);
	pthread_mutex_unlock(&dev->pin_lock);
	pin->unregister.run = run_unregister;
	cuda_helper_give(&dev->registrar, &pin->unregister);
}

void cuda_host_finish(struct cuda_device *dev)
{
	while (dev->pins)
		destroy_pin(dev, dev->pins);
	pthread_mutex_lock(&dev->pin_lock);
	say_need(dev, CUDA_NEEDED_NEVER);
	pthread_mutex_unlock(&dev->pin_lock);
}

/* Any thread: it may be one that has work for the device next. */
void cuda_host_prepare(struct gsb_device *base, uint64_t owner, uint64_t addr, uint64_t size)
{
	struct cuda_device *dev = to_cuda(base);

	make_pin(dev, addr, size);
	dev->cu.cuCtxSetCurrent(dev->ctx);
}

static int add_pin(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	struct cuda_pin *pin = find_pin(dev, addr);

	if (pin && pin->size != size && !pin->n_spaces) { /* prepared, and not taken */
		destroy_pin(dev, pin);
		pin = NULL;
	}
	if (!pin && cuda_host_is_going(dev, addr, size))
		return -EINPROGRESS;
	if (!pin) {
		pin = make_pin(dev, addr, size);
		dev->cu.cuCtxSetCurrent(dev->ctx);
	}
	if (!pin || pin->size != size)
		return pin ? -EEXIST : -ENOMEM;
	if (!pin->n_spaces && gsb_ranges_add(&dev->known, addr, size))
		return -ENOMEM;
	pin->n_spaces++;
	return 0;
}

static void drop_pin(struct cuda_device *dev, uint64_t addr)
{
	struct cuda_pin *pin = find_pin(dev, addr);

	if (pin && !--pin->n_spaces)
		destroy_pin(dev, pin);
}

int cuda_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	struct gsb_range was;
	int err = gsb_ranges_add(&space->host, addr, size);

	if (err)
		return err;
	err = add_pin(space->dev, addr, size);
	if (err)
		gsb_ranges_remove(&space->host, addr, &was);
	return err;
}

int cuda_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	const struct gsb_range *r = gsb_ranges_find(&space->host, addr);
	struct gsb_range was;

	if (!r || r->start != addr || r->size != size)
		return -EINVAL;
	gsb_ranges_remove(&space->host, addr, &was);
	drop_pin(space->dev, addr);
	return 0;
}

void cuda_host_unpin_all(struct gsb_space *space)
{
	while (space->host.n_items)
		cuda_host_unpin(space, space->host.items[0].start, space->host.items[0].size);
}

/* ---- backings of the host, where they are mapped ---- */

int cuda_host_map(struct cuda_device *dev, int fd, uint64_t at, uint64_t addr, uint64_t size)
{
	void *p = mmap(to_pointer(addr), size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)at);

	if (p == MAP_FAILED)
		return -ENOMEM;
	madvise(p, size, MADV_DONTDUMP);
	return 0;
}

int cuda_host_expose(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	const struct cuda_pin *pin = find_pin(dev, addr);

	return pin && pin->n_spaces ? 0 : add_pin(dev, addr, size);
}

void cuda_host_hide(struct cuda_device *dev, uint64_t addr)
{
	struct cuda_pin *pin = find_pin(dev, addr);

	if (pin)
		destroy_pin(dev, pin);
}

/* The driver is told first, and the addresses are nobody's until it has been. */
void cuda_host_unmap(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	struct cuda_pin *pin = find_pin(dev, addr);

	if (pin) {
		pin->leaves_hole = true;
		destroy_pin(dev, pin);
		return;
	}
	pthread_mutex_lock(&dev->pin_lock);
	pin = find_going(dev, addr, size);
	if (pin)
		pin->leaves_hole = true;
	pthread_mutex_unlock(&dev->pin_lock);
	if (!pin)
		leave_hole(addr, size);
}

/* ---- shared buffers ---- */

/*
 *   shared --helper registers--> registered --engine looks--> known --unshared--> helper unregisters, freed
 *
 * The helper also unmaps it: were its address given to another buffer before, the driver would take that one's copies
 * from and to the pages of this.
 */
struct cuda_shared {
	struct cuda_job share, unshare;
	struct cuda_device *dev;
	uint64_t addr, size;
	_Atomic bool registered; /* written by the helper */
	_Atomic bool ended;	 /* written by the engine */
	bool known;		 /* is in dev->known */
	UT_hash_handle hh;
};

static void run_share(struct cuda_job *job)
{
	struct cuda_shared *b = gsb_container_of(job, struct cuda_shared, share);
	const struct cuda_driver *cu = &b->dev->cu;
	CUresult result;

	if (atomic_load_explicit(&b->ended, memory_order_acquire))
		return;
	touch(b->addr, b->size);
	cuda_host_enter(b->dev);
	result = cuda_note(b->dev,
			   cu->cuMemHostRegister_v2(to_pointer(b->addr), b->size, REGISTER_FLAGS));
	if (result)
		gsb_log(GSB_LOG_WARN, "cuda",
			"staging memory of a tenant cannot be pinned, its copies will be slow: %s",
			cuda_name(result));
	else
		atomic_store_explicit(&b->registered, true, memory_order_release);
}

static void run_unshare(struct cuda_job *job)
{
	struct cuda_shared *b = gsb_container_of(job, struct cuda_shared, unshare);
	const struct cuda_driver *cu = &b->dev->cu;

	if (b->registered) {
		cuda_host_enter(b->dev);
		cuda_note(b->dev, cu->cuMemHostUnregister(to_pointer(b->addr)));
	}
	munmap(to_pointer(b->addr), b->size);
	free(b);
}

void cuda_buffer_share(struct gsb_device *base, void *addr, uint64_t size, int fd)
{
	struct cuda_device *dev = to_cuda(base);
	struct cuda_shared *b = calloc(1, sizeof(*b));

	if (!b)
		return; /* it is slow, and no more */
	b->share.run = run_share;
	b->unshare.run = run_unshare;
	b->dev = dev;
	b->addr = (uint64_t)(uintptr_t)addr;
	b->size = size;
	HASH_ADD(hh, dev->shared, addr, sizeof(b->addr), b);
	dev->n_unknown++;
	cuda_helper_give(&dev->registrar, &b->share);
}

bool cuda_buffer_unshare(struct gsb_device *base, void *at)
{
	struct cuda_device *dev = to_cuda(base);
	uint64_t addr = (uint64_t)(uintptr_t)at;
	struct cuda_shared *b;
	struct gsb_range was;

	HASH_FIND(hh, dev->shared, &addr, sizeof(addr), b);
	if (!b)
		return false;
	HASH_DELETE(hh, dev->shared, b);
	if (b->known)
		gsb_ranges_remove(&dev->known, addr, &was);
	else
		dev->n_unknown--;
	atomic_store_explicit(&b->ended, true, memory_order_release);
	cuda_helper_give(&dev->registrar, &b->unshare);
	return true;
}

void cuda_host_learn(struct cuda_device *dev)
{
	for (struct cuda_shared *b = dev->shared; b; b = b->hh.next) {
		if (b->known || !atomic_load_explicit(&b->registered, memory_order_acquire) ||
		    gsb_ranges_add(&dev->known, b->addr, b->size))
			continue;
		b->known = true;
		dev->n_unknown--;
	}
}

/* ---- small copies of memory that the driver does not know ---- */

int cuda_bounces_init(struct cuda_device *dev)
{
	if (dev->cu.cuMemHostAlloc(&dev->bounce_memory, CUDA_N_BOUNCES * (size_t)CUDA_BOUNCE_BYTES,
				   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP))
		return -ENOMEM;
	for (unsigned i = 0; i < CUDA_N_BOUNCES; i++) {
		dev->bounces[i].bytes =
			(uint8_t *)dev->bounce_memory + i * (size_t)CUDA_BOUNCE_BYTES;
		cuda_bounce_give(dev, &dev->bounces[i]);
	}
	return 0;
}

void cuda_bounces_finish(struct cuda_device *dev)
{
	if (dev->bounce_memory)
		dev->cu.cuMemFreeHost(dev->bounce_memory);
}

struct cuda_bounce *cuda_bounce_take(struct cuda_device *dev)
{
	struct cuda_bounce *b = dev->free_bounces;

	if (b)
		dev->free_bounces = b->next;
	return b;
}

void cuda_bounce_give(struct cuda_device *dev, struct cuda_bounce *b)
{
	if (!b)
		return;
	b->next = dev->free_bounces;
	dev->free_bounces = b;
}
