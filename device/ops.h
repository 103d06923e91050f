/*
 * ops.h - what the engine asks of a device. One table of functions, three devices: emu (executes
 * PTX on the CPU), cuda (the genuine driver), null (accepts everything at once; for transport
 * tests).
 *
 * The shape of it follows from what was measured on real GPUs:
 *  - work goes to a pool of queues (non-blocking streams), 32 of which have some at a time; the engine issues only heads and what of their stream may follow at once, so a
 *    queue holds at most a few commands and never a wait for another queue;
 *  - completions are polled from memory that only device and engine can write;
 *  - a module load may be slow, so module_load and function_get may be called from a second thread;
 *  - device addresses and pinned host memory lie in windows that the caller chooses, one pair a
 * space, so that the same number means the same byte in the tenant, the engine and the device.
 *
 * Context: every function is called from the engine's one thread, except where it says "loader
 * too". No function blocks on device work unless it says so. Errors are -errno; results of device
 * work are the driver's codes, in struct gsb_completion.
 *
 * Later: where a device is in another process, or has a thread that must have done something before, the engine's thread does not wait for
 * that, either. What is marked so may return -EINPROGRESS: it has been asked for, and the same call with the same arguments brings what came of it, when event_fd has told of
 * something. Who has asked comes again until he has an answer, or destroys the space: an answer that nobody takes is kept. Two who ask
 * for the same get an answer each, in any order. On another thread than the engine's nothing comes later: it waits.
 */
#ifndef GSB_DEVICE_OPS_H
#define GSB_DEVICE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsb/array.h"
#include "gsb/cuabi.h"
#include "gsb/device_info.h"
#include "gsb/sm_range.h"
#include "gsb/tensor_map.h"
#include "gsb/texture.h"

struct gsb_device;   /* each device embeds it first in its own struct */
struct gsb_space;    /* address space and modules of one tenant context */
struct gsb_module;   /* one load of one image in one space; its globals are its own */
struct gsb_function; /* a kernel of a module */
struct gsb_queue;    /* an in-order lane of device work */
struct gsb_backing;  /* memory that has no address of its own */

struct gsb_device_params {
	const char
		*spec; /* "emu:h200", "emu:/path/to/arch.txt", "cuda:0", "null", "lanes:cuda:0" */
	unsigned n_workers;	  /* emu: threads that execute blocks; 0 = one for each CPU */
	bool real_clock;	  /* emu: time is CLOCK_MONOTONIC instead of virtual */
	uint64_t mem_limit_bytes; /* device memory to offer; 0 = what the architecture has */
	unsigned
		n_connections; /* cuda: commands that run without standing behind others, of a device for several processes; 0 = 32 */
	/* cuda: so long after it was opened host memory is registered, if nobody pins any before; 0 = 500 */
	uint32_t register_ms;
	bool single; /* cuda: for one process, which may be held up as if it had the driver to itself */
	bool hears_driver; /* cuda: this process exists for the device: what its driver writes to stderr and stdout is told to who is to know */
	/* emu, fault injection for tests, GSB_TEST_FLIP: "1" turns over one bit of the source of each
	 * device-to-host copy, "copy:N" of the N-th that is issued; NULL or "" = none */
	const char *flip;
	/* cuda: a folder for compiled code, and what that may come to; other processes may use it, too. NULL = where the driver keeps it */
	const char *code_folder;
	uint64_t code_folder_bytes;
	/* Where backings may be mapped: addresses that nothing else in the process has; size 0 = nowhere. */
	uint64_t virtual_base, virtual_size;
	/* lanes: so many are ready before they are wanted; their program, NULL = the one that belongs to this */
	unsigned n_spare_lanes;
	const char *lane_program;
	uint32_t
		lane_answer_ms; /* lanes: one that does nothing for so long of what it is told is ended; 0 = 30,000 */
};

#define GSB_BACKING_UNIT (2ull << 20) /* of sizes and addresses of backings */

/* Windows of a space. Both are mapped nowhere else in the process; the device maps the first. */
struct gsb_space_params {
	uint64_t device_base,
		device_size; /* device addresses; size a power of two, base aligned to it */
	uint64_t owner_base,
		owner_size; /* where those of all spaces of its owner lie, and nobody else's; size 0 = of this one alone */
	uint64_t host_base, host_size; /* pinned host memory, mapped by the engine; size 0 = none */
	int host_fd;		  /* the file that is mapped there; 0 = nobody else can map it */
	uint64_t mem_limit_bytes; /* device memory that this space may have; 0 = no limit of its own
				   */
	uint64_t
		owner; /* spaces of one owner may use each other's memory, be told of it, and have its backings; 0 = nobody's */
};

enum gsb_cmd_kind { GSB_CMD_LAUNCH, GSB_CMD_COPY, GSB_CMD_FILL };

struct gsb_cmd_launch {
	struct gsb_function *function;
	uint32_t grid[3], block[3];
	uint32_t smem_bytes; /* dynamic shared memory of one block */
	bool cooperative;    /* all blocks must be resident at once */
	uint8_t cluster[3];  /* blocks of a cluster; 0: the kernel's own, which mostly is one */
	/* What is said of a fault: the kernel that the program launched, NULL if it is this one, and what a block's number there is more. */
	const struct gsb_function *as;
	uint32_t first[3];
	const void *params; /* parameter block; copied before issue returns */
	uint32_t params_bytes;
};

/* Rows of width bytes. An address is a device address of the space or of another one of its owner, or readable engine memory
 * (pinned window, staging, the engine's own); the engine has checked both ranges. Rows never
 * overlap. */
struct gsb_cmd_copy {
	uint64_t dst, src;
	uint64_t width, height;	       /* bytes, rows; height 1 = linear */
	uint64_t dst_pitch, src_pitch; /* bytes from row to row; not read when height is 1 */
	bool dst_is_ours,
		src_is_ours; /* the engine's memory, and no address of the space, which may be the same number */
};

struct gsb_cmd_fill {
	uint64_t dst;
	uint64_t width, height, pitch; /* elements, rows, bytes */
	uint32_t value, elem_bytes;    /* 1, 2 or 4 */
};

struct gsb_cmd {
	enum gsb_cmd_kind kind;
	struct gsb_space *space;
	uint64_t cookie;	/* comes back in the completion */
	uint64_t not_before_ns; /* virtual clock: earliest start in device time; 0 = now */
	uint8_t n_beside; /* so many commands of other queues follow at once: the next poll comes right behind them, and this one may wait for them */
	bool more; /* another one follows in this queue at once: this one's completion may come with that one's */
	bool urgent; /* its end is to be known soon, rather than its times to the last us */
	union {
		struct gsb_cmd_launch launch;
		struct gsb_cmd_copy copy;
		struct gsb_cmd_fill fill;
	};
};

#define GSB_DETAIL_BYTES 640

struct gsb_completion {
	uint64_t cookie;
	CUresult result; /* CUDA_SUCCESS, or what the kernel died of; sticky for its context */
	uint64_t start_ns, end_ns; /* device time: first block placed, last block ended */
	uint64_t n_blocks,
		n_instructions; /* executed; instructions of one warp count once; 0 = not known */
	uint64_t blocks_ns;	/* sum over blocks of the device time on their SM; 0 = not known */
	bool printed;		/* it has said something: print_read() of its space */
	bool refused; /* a launch that has not run: issue() would have said so, had it known; result says why */
	char detail[GSB_DETAIL_BYTES]; /* one line for the log when result is an error; else "" */
};

/* Names of threads by which a device is called, beside the engine's own. */
#define GSB_LOADER_NAME "gsb-loader" /* code */
#define GSB_PINNER_NAME "gsb-pinner" /* host_prepare */

struct gsb_device_ops {
	const char *scheme; /* what stands before ':' in the spec */

	/* ---- the device ---- */
	int (*open)(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		    size_t err_size);
	void (*close)(struct gsb_device *dev); /* all spaces and queues are gone by then */
	const struct gsb_device_info *(*info)(struct gsb_device *dev);
	void (*mem_info)(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes);
	/* Whether that counts all which spaces of the owner have given back; if not, event_fd tells when to ask again. NULL = always. */
	bool (*is_settled)(struct gsb_device *dev, uint64_t owner);
	/* What a fault has ended the device with, for all spaces and for good: all that was in flight completes with it, and
	 * so does what is issued from then on. CUDA_SUCCESS: it works, though
	 * spaces may have ended so, each for itself. NULL: a fault ends no more than its command. */
	CUresult (*lost)(struct gsb_device *dev);

	/* ---- spaces and memory ---- */
	/* Later; *out is not written then. */
	int (*space_create)(struct gsb_device *dev, const struct gsb_space_params *p,
			    struct gsb_space **out);
	/* Abandon what runs in the space (its tenant is dead): completions still come, as errors, and until
	 * then commands may still touch its memory. NULL = cannot. */
	void (*space_cancel)(struct gsb_space *space);
	/* Another mem_limit_bytes from now on; what there is above it stays. NULL = cannot. */
	void (*space_limit)(struct gsb_space *space, uint64_t mem_limit_bytes);
	/* No command of the space is in flight. Frees modules and memory that are left; contents
	 * are scrubbed. */
	void (*space_destroy)(struct gsb_space *space);
	/* Fresh memory reads as zero. -ENOMEM: device or window is full. -EDQUOT: the space's
	 * limit. Later. */
	int (*mem_alloc)(struct gsb_space *space, uint64_t size, uint64_t *addr);
	/* Bytes of the device that an allocation of so many takes; UINT64_MAX when there can be no such.
	 * NULL = just those. Of any device of its kind, so that dev may be NULL. */
	uint64_t (*mem_cost)(struct gsb_device *dev, uint64_t size);
	/* No command that is in flight may touch it, or anything else that is given back: on a GPU that is
	 * fatal for all. -EINVAL: not the start of an allocation, which a device that is in another process does not say. */
	int (*mem_free)(struct gsb_space *space, uint64_t addr);
	/*
	 * The memory in which the allocation at addr lies, for others to open: *size bytes, the allocation begins at *offset of them. What else of the
	 * space lies there is seen, too. It lives until backing_destroy, whatever becomes of the allocation and of its space: freed meanwhile, it counts
	 * for the device until then, and for its space no longer. Each answer is a backing of its own, of the same bytes. -EINVAL: no allocation of
	 * mem_alloc begins there. -ENOMEM. Later. NULL, both: there is no sharing.
	 */
	int (*mem_share)(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
			 uint64_t *offset, uint64_t *size);
	/* All of a backing, mostly of another owner's memory, as an allocation of this space, until mem_free of *addr. Neither the space nor the device
	 * counts it: it is counted where it was made. -ENOMEM. Later. */
	int (*mem_open)(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr);
	/* Nothing tells of accesses to memory that was given back as long as its addresses are mapped: so a tenant may keep what it frees. Not the one
	 * that finds who uses memory after its free. */
	bool may_keep;
	/* What may be called from a second thread may be called from one for each owner, and who loads waits for no other owner's loads. */
	bool loads_apart;
	/*
	 * Arrays (base/array.h has how addresses stand for their texels): copies may name them, kernels may not, and mem_free frees them.
	 * A fresh one reads as zero. -EINVAL: the device has no such arrays; else as mem_alloc, and later as that. array_bytes: so many of the
	 * window it takes, and mem_cost of them of the device; the array is sane; dev may be NULL. NULL, both: plain memory is an array.
	 */
	int (*array_alloc)(struct gsb_space *space, const struct gsb_array *array, uint64_t *addr);
	uint64_t (*array_bytes)(struct gsb_device *dev, const struct gsb_array *array);
	/*
	 * A texture or surface object of a view (gsb/texture.h; a hostile one), whose memory or array must be the space's; what it is in
	 * kernels comes back. It goes with its array, or its space, and is destroyed all the same: -EINVAL, there is no such. NULL, both:
	 * kernels want the address of the view, in memory of their own. Later, both.
	 */
	int (*texture_create)(struct gsb_space *space, const struct gsb_texture *view,
			      bool is_surface, uint64_t *handle);
	int (*texture_destroy)(struct gsb_space *space, uint64_t handle, bool is_surface);
	/* Any thread: make host_pin of this memory of an owner's, which is mapped and which nothing else is to be done with until then, quick. Who
	 * calls it pins it in the end, be it to unpin it at once. So of a mapping of backing_of_host: what is to be quick is backing_access, and it may
	 * be unmapped instead. NULL = it is quick. */
	void (*host_prepare)(struct gsb_device *dev, uint64_t owner, uint64_t addr, uint64_t size);
	/* Any thread but the engine's, before host_prepare, which the device has, too: the page at addr of an owner's host window, which is mapped so by the
	 * engine, is the one that the window's file has at @from. NULL: nobody else maps that window. -errno. */
	int (*host_page)(struct gsb_device *dev, uint64_t owner, int fd, uint64_t addr,
			 uint64_t from);
	int (*host_pin)(struct gsb_space *space, uint64_t addr,
			uint64_t size); /* within the host window; later */
	int (*host_unpin)(struct gsb_space *space, uint64_t addr, uint64_t size);
	/* Memory of the engine that many copies will name, all of the file @fd, until buffer_unshare. Without
	 * this, copies from and to it are slower where the hardware makes them itself. NULL = no difference.
	 * buffer_unshare: false, the device has let go of it; true, it has not, and will unmap it when it has. */
	void (*buffer_share)(struct gsb_device *dev, void *addr, uint64_t size, int fd);
	bool (*buffer_unshare)(struct gsb_device *dev, void *addr);

	/* ---- memory without addresses, and where it is mapped: for all spaces of an owner, who may be another than he who has made it ---- */
	/* Fresh, it reads as zero. -ENOMEM. -ENOTSUP: there are no addresses for it. Later. */
	int (*backing_create)(struct gsb_device *dev, uint64_t owner, uint64_t size,
			      struct gsb_backing **out);
	/*
	 * The same of memory of the host that its owner sees, too: @size bytes of the file from @at on, both of whole units. What is there stays
	 * there, the device does not count it, and it is of its owner alone: neither opened nor exported. backing_map lets the engine's processor have it,
	 * and backing_access the device; where it may only be read a real GPU may write all the same. The descriptor stays the caller's. -EINVAL: no
	 * units. -ENOMEM. -ENOTSUP: there are no addresses for it. Later. NULL: there is no such thing.
	 */
	int (*backing_of_host)(struct gsb_device *dev, uint64_t owner, int fd, uint64_t at,
			       uint64_t size, struct gsb_backing **out);
	void (*backing_destroy)(
		struct gsb_backing *b); /* mapped nowhere; who has opened it has it still */
	/* All of it from addr on, where nothing is mapped; in other mappings elsewhere there are the same bytes. Nobody may touch it there
	 * before backing_access. -ENOMEM. Later. */
	int (*backing_map)(struct gsb_backing *b, uint64_t owner, uint64_t addr);
	/* Of its mapping there, which is that owner's. No command that is in flight may need what is taken away. -ENOTSUP: the device cannot do without the rest.
	 * Later. */
	int (*backing_access)(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			      CUmemAccess_flags access);
	/* Its mapping there, which is that owner's. No command that is in flight may touch it. */
	void (*backing_unmap)(struct gsb_backing *b, uint64_t owner, uint64_t addr);
	/* A descriptor, the caller's to close, by which another process may have the memory on its device of the same kind: there it lies at *at.
	 * Later. NULL, both: it stays in this process. */
	int (*backing_export)(struct gsb_backing *b, int *fd, uint64_t *at);
	/* Such memory, as any other backing; it lives in each process as long as one has it, and only the device on which it was made counts it. The
	 * descriptor stays the caller's. -EINVAL: there is not so much at @at. -ENOMEM. Later. */
	int (*backing_import)(struct gsb_device *dev, int fd, uint64_t at, uint64_t size,
			      struct gsb_backing **out);

	/* ---- code (loader too) ---- */
	/* Image: PTX text, fatbin or cubin of exactly size bytes. log gets the reason of a failure:
	 * -EBADMSG damaged, -EILSEQ PTX with an error, -ENOPKG PTX of a version that is too new, -ENOEXEC no code that the device can run. */
	int (*module_load)(struct gsb_space *space, const void *image, size_t size,
			   struct gsb_module **out, char *log, size_t log_size);
	void (*module_unload)(struct gsb_module *module); /* nothing of it is in flight */
	/* Host memory that the load has cost, for whoever charges its tenant: its image and what was made
	 * of that, in full also where another load shares it. function_prepare makes it more. */
	uint64_t (*module_bytes)(struct gsb_module *module);
	/* Bytes of the device that its variables take. NULL = none. */
	uint64_t (*module_cost)(struct gsb_module *module);
	/* Bytes that its managed variables take of memory that its host sees, too; 0: it has none. NULL = none ever has. */
	uint64_t (*module_managed)(struct gsb_module *module);
	/* Where they lie: in pinned memory of the space, from the beginning of a page on; once, before anything else is done with
	 * the module. @initialise: with the values that they begin with; else they have been in use elsewhere. */
	int (*module_place)(struct gsb_module *module, uint64_t addr, bool initialise);
	/* Bytes of the device that the heap of its space takes, if its kernels call malloc; they are taken at
	 * the first launch of one. 0: they do not. NULL = none does. */
	uint64_t (*module_heap)(struct gsb_module *module);
	int (*function_get)(
		struct gsb_module *module, const char *name, struct gsb_function **out,
		struct gsb_function_info *info); /* -ENOENT; lives as long as its module */
	/* Later. */
	int (*global_get)(struct gsb_module *module, const char *name, uint64_t *addr,
			  uint64_t *size);
	/* The i-th kernel's name, which lives as long as the module; -ENOENT past the last. Later. */
	int (*function_name)(struct gsb_module *module, unsigned i, const char **name);
	/* Make launches possible (decode, compile). -ENOTSUP with a reason in log: an opcode or a
	 * feature. */
	int (*function_prepare)(struct gsb_function *function, char *log, size_t log_size);

	/* How many clusters of l->cluster blocks of a prepared function are resident at once at most, and how many blocks its
	 * largest cluster has; the grid is not looked at. Nothing runs. -EAGAIN: it is not prepared. Later, both. NULL: there are
	 * no clusters but of one block. */
	int (*cluster_room)(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);
	int (*cluster_size)(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n);

	/* Encode a tensor map for an owner, of whatever lengths and numbers: -EINVAL, it can be none; -ENOTSUP, it is interleaved and the
	 * device is emulated. Later. NULL: the device has no TMA unit. */
	int (*tensor_map)(struct gsb_device *dev, uint64_t owner, const struct gsb_tensor_map *m,
			  uint64_t words[GSB_TENSOR_MAP_WORDS]);

	/* ---- work ---- */
	/* Blocks of its launches go to those SMs alone, of which there are info->sm_group at a time. Priority and SMs are what cannot be changed of a
	 * driver's stream; a queue has no space, for each command names its own, and so one pool serves all tenants. -EINVAL: a range that the
	 * device cannot give; -ENOTSUP: it gives all SMs only. */
	int (*queue_create)(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
			    struct gsb_queue **out);
	void (*queue_destroy)(struct gsb_queue *queue); /* empty by then */
	/* Before anything runs: make what queues of each range need, and whatever else would hold up everybody if it were made on a
	 * device at work. 0, -ENOTSUP (there are no ranges), -ENOMEM: what is missing is made when it is asked for. NULL: nothing is needed. */
	int (*prepare)(struct gsb_device *dev);
	/* Append to the queue. The command is copied. -ENOTSUP, -E2BIG (too many resources) and
	 * -EINVAL (geometry): nothing is queued. A device that is in another process has them come as the result of a completion, by
	 * gsb_cuda_result. */
	int (*issue)(struct gsb_queue *queue, const struct gsb_cmd *cmd);
	/* Completions since the last call, oldest first, at most max; returns how many. */
	unsigned (*poll)(struct gsb_device *dev, struct gsb_completion *out, unsigned max);
	/* Becomes readable when a completion comes by itself after a poll that returned 0 (the
	 * device drains it in poll). What issue, space_cancel, advance or advance_to complete
	 * themselves, or that advance has come to its end, need not signal it: poll once more after them, before
	 * sleeping. -1: must be polled. */
	int (*event_fd)(struct gsb_device *dev);
	/* Asked before each sleep on event_fd. True: do not, but poll again, and ask for what was to come later; something is likely to
	 * complete before a sleeper would be awake, or has come. NULL = never. */
	bool (*stay_awake)(struct gsb_device *dev);

	/* Real time that the command at the head of the queue has been executed so far: a wait for others
	 * that are executed does not count. NULL = not known. */
	uint64_t (*ran_ns)(struct gsb_queue *queue);

	/* ---- what kernels say ---- */
	/*
	 * Text of printf and of failed assertions in kernels of the space, for the tenant's stdout and
	 * stderr: at most @size bytes, oldest first, all for the one that *to_stderr says (which is not
	 * written when there is no text). Returns how many bytes; *more: whether to ask again, which may be so
	 * of none, too. Not ended by a NUL, cut anywhere. What has been read is the caller's alone.
	 *
	 * From the poll that returned a completion with `printed`, all that this command has said can be
	 * read, also when it failed or was cancelled: so a caller who reads before he tells the tenant of
	 * the end gives it the text first, as CUDA documents. What a thread says is in its order, commands
	 * of a queue in theirs, blocks in that in which they end. What a command that is not done has said
	 * may be there or not. What the device itself has to say of a kernel that it has ended for a fault is
	 * several lines for stderr, behind what the kernel has said.
	 *
	 * Later, and then nothing is written. NULL = kernels of this device say nothing.
	 */
	int (*print_read)(struct gsb_space *space, char *buf, size_t size, bool *to_stderr,
			  bool *more);
	/*
	 * CU_LIMIT_PRINTF_FIFO_SIZE of the space from now on, 0 = what a space begins with: a printf takes
	 * of it 8 bytes, 8 for each argument and the bytes of its strings, until it is read. When there is
	 * no more, or the host has no memory for more, the oldest is lost. On a GPU its format counts, too, and the newest is
	 * lost. Returns the size that it is now: the device has a least, a most and a unit. 0: later. NULL when print_read is.
	 */
	uint64_t (*print_limit)(struct gsb_space *space, uint64_t bytes);

	/*
	 * CU_LIMIT_MALLOC_HEAP_SIZE of the space from now on; *now is what it was made, the device has a unit.
	 * -ENOMEM: more than it can have. -EINVAL: a kernel that calls malloc has been launched. NULL: kernels
	 * of this device have no heap. Later.
	 */
	int (*heap_size)(struct gsb_space *space, uint64_t bytes, uint64_t *now);
	/* CU_LIMIT_STACK_SIZE, of kernels that are issued from now on: at least so much for recursion and
	 * alloca. NULL: the device gives what they need. */
	void (*stack_size)(struct gsb_space *space, uint64_t bytes);

	/* ---- time ---- */
	uint64_t (*now_ns)(struct gsb_device *dev);
	/*
	 * Virtual clock only, else NULL. Device time stands still until the engine calls this:
	 * every tenant thread is blocked, nothing is left to issue. It lets time run to the next
	 * completion, which is then ready for poll, but not beyond @until (UINT64_MAX: that has no end),
	 * and stand still again; event_fd tells of either. With nothing in flight it does nothing.
	 */
	void (*advance)(struct gsb_device *dev, uint64_t until);
	/* Virtual clock only: time passes to at least `now` although work is in flight (a busy
	 * tenant is charged). */
	void (*advance_to)(struct gsb_device *dev, uint64_t now);
};

struct gsb_device {
	const struct gsb_device_ops *ops;
};

/*
 * gsb_device_open() - open the device that a spec names
 * @p:   what to open; p->spec picks the table by what stands before ':'
 * @out: the device; close with (*out)->ops->close
 * @err: one line: what is wrong and what would be right
 *
 * Return: 0, -ENODEV (unknown scheme or architecture), what the device's open returned.
 */
int gsb_device_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		    size_t err_size);
/* The table that a spec picks, for what of it needs no device; NULL: there is no such. */
const struct gsb_device_ops *gsb_device_find(const char *spec);

#endif
