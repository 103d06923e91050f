/*
 * wire.h - the shared memory between a tenant (libgsbroker.so) and its engine, byte by byte.
 *
 * One region (sealed memfd) a process. The tenant writes records into the ring; the engine copies a
 * record once, checks it against private tables, and uses the copy: nothing here is trusted. What
 * the engine tells the tenant stands in words: done numbers of streams, completed records of
 * events, one sticky error a context, and the answer and state word of each thread.
 *
 * A second memfd is the staging memory of pageable copies (the library manages it), a third the
 * window of pinned host memory (the engine manages it), which both sides map at the SAME address.
 * Device addresses lie in a window too, and the tenant blocks those numbers (PROT_NONE), so that no
 * malloc returns the number of a device pointer. Bases were measured on real GPUs: free before and
 * after cuInit, with and without ASLR, and under ASan.
 *
 * Each field says writer, reader and ordering. "T" = the tenant, under its ring lock where it says
 * lock; "E" = the engine. "rel/acq" = stored with release by the writer, loaded with acquire by the
 * reader.
 */
#ifndef GSB_WIRE_H
#define GSB_WIRE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "gsb/array.h"
#include "gsb/device_info.h"
#include "gsb/handle.h"
#include "gsb/ipc.h"
#include "gsb/tensor_map.h"
#include "gsb/texture.h"

#define GSB_WIRE_MAGIC 0x31576b72425347ffull /* also tells the byte order */
#define GSB_WIRE_MAJOR 3		     /* differs: no understanding */
#define GSB_WIRE_MINOR \
	6 /* higher: more records, same layout; 1: STARTING; 2: RANGE; 3: IPC; 4: BACKING_OF_HOST; 5: HOST_MIRROR; 6: MEM_KEEP of pinned memory. It goes on from major to major */

/* Feature bits of hello; a bit that a side does not know is refused by name. */
#define GSB_FEATURE_STAGING	(1ull << 0) /* copies through the staging memfd: always there */
#define GSB_FEATURE_HOST_WINDOW (1ull << 1) /* pinned host memory at one address on both sides */
#define GSB_FEATURE_KEEP	(1ull << 2) /* MEM_KEEP and MEM_TAKE */
#define GSB_FEATURES_KNOWN	(GSB_FEATURE_STAGING | GSB_FEATURE_HOST_WINDOW | GSB_FEATURE_KEEP)

/*
 * Address windows by slot, one a tenant; what a window leaves of its stride is guard. They lie where no process
 * has anything: above the sanitizers' shadow, below two thirds of the address space, where a position-independent
 * program and its heap begin, and far from the shared libraries at the end.
 */
#define GSB_N_SLOTS 64
#ifndef GSB_SMALL_WINDOWS
#define GSB_HOST_WINDOW_BASE	 0x200000000000ull
#define GSB_HOST_WINDOW_STRIDE	 0x4000000000ull /* 256 GiB */
#define GSB_DEVICE_WINDOW_BASE	 0x300000000000ull
#define GSB_DEVICE_WINDOW_STRIDE 0x8000000000ull   /* 512 GiB */
#define GSB_WINDOWS_END		 0x555555554000ull /* two thirds of 47 bits */
#define GSB_VIRTUAL_BASE	 0x140000000000ull
#define GSB_VIRTUAL_SIZE	 0x0c0000000000ull /* 12 TiB */
#define GSB_VIRTUAL_PART	 0x40000000ull	   /* 1 GiB */
#else /* for ThreadSanitizer, which leaves few numbers to the program */
#define GSB_HOST_WINDOW_BASE	 0x7e8000000000ull
#define GSB_HOST_WINDOW_STRIDE	 0x80000000ull /* 2 GiB */
#define GSB_DEVICE_WINDOW_BASE	 0x7ea000000000ull
#define GSB_DEVICE_WINDOW_STRIDE 0x100000000ull /* 4 GiB */
#define GSB_WINDOWS_END		 0x7ee000000000ull
#define GSB_VIRTUAL_BASE	 0x7ee000000000ull
#define GSB_VIRTUAL_SIZE	 0x1000000000ull /* 64 GiB */
#define GSB_VIRTUAL_PART	 0x4000000ull	 /* 64 MiB */
#endif
#define GSB_DEVICE_WINDOW_SIZE (GSB_DEVICE_WINDOW_STRIDE / 4 * 3)
static_assert(GSB_HOST_WINDOW_BASE + GSB_N_SLOTS * GSB_HOST_WINDOW_STRIDE <=
			      GSB_DEVICE_WINDOW_BASE &&
		      GSB_DEVICE_WINDOW_BASE + GSB_N_SLOTS * GSB_DEVICE_WINDOW_STRIDE <=
			      GSB_WINDOWS_END,
	      "no window of a slot meets another or a program");

/*
 * Addresses that programs reserve themselves: one area for all tenants of an engine, who are given whole parts of it, because what a
 * program reserves may be more than any window has, and is mostly nothing. The tenant blocks what it has reserved.
 */
#define GSB_N_VIRTUAL_PARTS (GSB_VIRTUAL_SIZE / GSB_VIRTUAL_PART)
#define GSB_VIRTUAL_UNIT    (2ull << 20) /* of mappings, and of memory for them */
static_assert(GSB_VIRTUAL_BASE >= GSB_WINDOWS_END ||
		      GSB_VIRTUAL_BASE + GSB_VIRTUAL_SIZE <= GSB_HOST_WINDOW_BASE,
	      "no window is in the area");

/* Sizes of the region's tables. */
#define GSB_N_THREADS	    1024 /* calls of one process that can wait at the same time */
#define GSB_N_CTXS	    64
#define GSB_N_STREAMS	    4096  /* live streams of one process, default streams included */
#define GSB_N_EVENTS	    65536 /* live events of one process */
#define GSB_REPLY_BYTES	    16384
#define GSB_N_KEPT	    256 /* allocations that one process may keep when it frees them, */
#define GSB_KEPT_SIZE_MAX   (16ull << 20) /* of so many bytes each, */
#define GSB_KEPT_BYTES_MAX  (64ull << 20) /* and so many together; pinned memory counts by pages */
#define GSB_RING_BYTES	    (1u << 18)
#define GSB_RECORD_MAX	    65536 /* bytes of one record; at most a quarter of the ring */
#define GSB_RECORD_ALIGN    16
#define GSB_INLINE_COPY_MAX 2048  /* bytes of a copy that travel in the record itself */
#define GSB_NAME_MAX	    16384 /* bytes of a kernel's or variable's name, C++ mangling included */
#define GSB_LOG_TEXT_MAX    2048  /* bytes of a log text that the library takes */
#define GSB_TENANT_NAME_MAX 64
#define GSB_RANGE_TEXT_MAX  127 /* bytes of a range's name; longer ones are cut by the library */

/* ---- records ---- */

enum gsb_rec_type {
#define GSB_REC(NAME, Name, class, body) GSB_REC_##NAME,
#include "gsb/wire_records.def"
	GSB_N_RECS
};

enum gsb_rec_class { GSB_CLASS_POST, GSB_CLASS_CALL, GSB_CLASS_STREAM };

struct gsb_rec {
	uint16_t type;	 /* enum gsb_rec_type */
	uint16_t thread; /* CALL: whose reply slot answers; else who posts, 0 without a slot */
	uint32_t size;	 /* bytes with header and variable part, a multiple of GSB_RECORD_ALIGN */
	uint64_t stream; /* STREAM: handle; else 0 */
	uint64_t
		call; /* CALL: number, one more than the thread's last; else 0, and of a MEM_FREE that nobody waits for */
	/* gsb_clock_stamp() when it was posted, if header.is_traced was seen, or if it names an event that programs share; else 0. */
	uint64_t stamp;
};
static_assert(sizeof(struct gsb_rec) == 32, "the record header is ABI");

struct gsb_rec_none {
	uint8_t nothing[1]; /* C has no empty struct; not sent */
};

struct gsb_rec_ctx {
	uint64_t ctx;
};

struct gsb_rec_object {
	uint64_t handle; /* what the record's name says */
};

struct gsb_rec_ctx_create {
	uint64_t ctx;	 /* new handle */
	uint64_t legacy; /* new handle: its legacy default stream */
	uint32_t flags;	 /* CUctx_flags */
	uint32_t zero;
};

/* CU_STREAM_NON_BLOCKING: no order with the legacy default stream. */
#define GSB_STREAM_NON_BLOCKING 1u

struct gsb_rec_stream_create {
	uint64_t stream; /* new handle */
	uint64_t ctx;
	uint32_t flags; /* GSB_STREAM_* */
	int32_t priority;
};

struct gsb_rec_stream_priority {
	int32_t priority;
	uint32_t zero;
};

struct gsb_rec_event_create {
	uint64_t event; /* new handle */
	uint64_t ctx;
	uint32_t flags; /* CUevent_flags */
	uint32_t zero;
};

/* A piece of an image, at staging + staging_offset; pieces come in order, from offset 0. */
struct gsb_rec_image_part {
	uint64_t image; /* number that the library gives this image; a new one begins at offset 0 */
	uint64_t offset, length;
	uint64_t staging_offset;
	uint64_t total; /* bytes of the whole image, at most the tenant's image limit */
};

struct gsb_rec_image_drop {
	uint64_t image; /* no part of it is under way */
};

struct gsb_rec_module_load {
	uint64_t module; /* new handle */
	uint64_t ctx;
	uint64_t image; /* its parts have all arrived; consumed */
};

struct gsb_rec_module_place {
	uint64_t module;
	uint64_t
		addr; /* pinned memory for its managed variables, from the beginning of a page on */
	uint32_t initialise; /* bool; false: another load of the same image has used them */
	uint32_t zero;
};

struct gsb_rec_function_get {
	uint64_t function; /* new handle */
	uint64_t module;
	uint32_t name_bytes; /* without NUL; the name follows */
	uint32_t zero;
};

struct gsb_rec_function_name {
	uint64_t module;
	uint64_t index;
};

struct gsb_rec_function_set {
	uint64_t function;
	uint32_t attribute; /* CUfunction_attribute: 8 max dynamic shared bytes, 9 carve-out */
	int32_t value;
};

struct gsb_rec_global_get {
	uint64_t module;
	uint32_t name_bytes; /* without NUL; the name follows */
	uint32_t zero;
};

/* Resident blocks of one SM for `block` threads and `smem` dynamic bytes. */
#define GSB_OCC_BLOCKS_PER_SM 0u
/* Dynamic bytes for a block when `smem` (a count) blocks of `block` threads share an SM. */
#define GSB_OCC_AVAILABLE_SMEM 1u
/* Clusters of so many blocks that the device holds at once, the blocks as in GSB_OCC_BLOCKS_PER_SM. */
#define GSB_OCC_CLUSTERS 2u
/* Blocks of the largest cluster, the blocks likewise. */
#define GSB_OCC_CLUSTER_SIZE 3u

struct gsb_rec_occupancy {
	uint64_t function;
	uint64_t smem;
	uint32_t block, what; /* threads; GSB_OCC_* */
	uint8_t cluster[3];   /* GSB_OCC_CLUSTERS; 0: the kernel's own */
	uint8_t zero[5];
};

/* It does not go with the context: HOST_FREE names none. */
#define GSB_HOST_OF_PROCESS 0x80000000u

struct gsb_rec_mem_alloc {
	uint64_t ctx;
	uint64_t size;
	uint32_t flags; /* HOST_ALLOC: CU_MEMHOSTALLOC_*, GSB_HOST_OF_PROCESS */
	uint32_t zero;
};

struct gsb_rec_host_mirror {
	uint64_t ctx;
	uint64_t size; /* whole pages */
	uint64_t shared
		[2]; /* its first page, and its last, are these of live pinned memory; 0: pages of its own */
};

struct gsb_rec_array_alloc {
	uint64_t ctx;
	struct gsb_array array;
};

struct gsb_rec_mem_free {
	uint64_t ctx;
	uint64_t addr; /* start of an allocation */
};

/*
 * A free after which the tenant may have the same memory again, and that. The library keeps a free only when all work that was posted before it
 * is done. An index may be used again when its TAKE is posted, or its word says that it is gone.
 */
struct gsb_rec_mem_keep {
	uint64_t ctx;
	uint64_t
		addr; /* KEEP: start of a MEM_ALLOC, or of a HOST_ALLOC of ctx; TAKE: of what was kept */
	uint64_t number; /* that kept[index] had before the KEEP was posted: never twice, never 0 */
	uint32_t index;	 /* below GSB_N_KEPT */
	uint32_t zero;
};

#define GSB_LAUNCH_COOPERATIVE 1u
/* Blocks of a cluster by axis, each below 256; no such byte is set: as the kernel has them. */
#define GSB_LAUNCH_CLUSTER(x, y, z)    ((x) << 8 | (y) << 16 | (z) << 24)
#define GSB_LAUNCH_IN_CLUSTERS	       GSB_LAUNCH_CLUSTER(255u, 255u, 255u)
#define gsb_launch_blocks(flags, axis) ((flags) >> (8 * (axis) + 8) & 255)

struct gsb_rec_launch {
	uint64_t function;
	uint32_t grid[3], block[3];
	uint32_t smem_bytes;   /* dynamic */
	uint32_t flags;	       /* GSB_LAUNCH_* */
	uint32_t params_bytes; /* the parameter block follows */
	uint32_t zero;
};

/* Where one end of a copy is, and what its 64-bit address means. */
enum gsb_place {
	GSB_PLACE_DEVICE,  /* device address */
	GSB_PLACE_HOST,	   /* pinned window address */
	GSB_PLACE_STAGING, /* offset in the staging memfd */
	/* Source only: the bytes follow the body; address 0, rows as src_pitch says, at most
	 * GSB_INLINE_COPY_MAX. */
	GSB_PLACE_INLINE,
	GSB_N_PLACES
};

struct gsb_rec_copy {
	uint64_t dst, src;
	uint64_t width, height;	       /* bytes, rows */
	uint64_t dst_pitch, src_pitch; /* bytes from row to row; height 1: not read */
	uint32_t dst_place, src_place; /* enum gsb_place */
};

struct gsb_rec_fill {
	uint64_t dst;		       /* device or pinned window address */
	uint64_t width, height, pitch; /* elements, rows, bytes */
	uint32_t value, elem_bytes;    /* 1, 2 or 4 */
};

struct gsb_rec_event_record {
	uint64_t event;
	uint64_t number; /* one more than the event's last record; its done word reaches it */
};

struct gsb_rec_event_open {
	uint64_t event; /* new handle, which is the caller's only if it succeeds */
	uint64_t ctx;
	struct gsb_ipc_handle handle;
};

struct gsb_rec_event_await {
	uint64_t event;
	uint32_t only_ask; /* bool: the answer comes at once, and may be NOT_READY */
	uint32_t zero;
};

struct gsb_rec_host_func {
	uint64_t cookie; /* the library's; comes back in struct gsb_msg_host_func */
};

struct gsb_rec_print_limit {
	uint64_t ctx;
	uint64_t bytes; /* CU_LIMIT_PRINTF_FIFO_SIZE; the answer is what it is now */
};

/* Memory that kernels of a context take themselves. */
enum gsb_kernel_memory { GSB_KERNEL_HEAP, GSB_KERNEL_STACK, GSB_N_KERNEL_MEMORIES };

struct gsb_rec_kernel_memory {
	uint64_t ctx;
	uint64_t
		bytes; /* CU_LIMIT_MALLOC_HEAP_SIZE, CU_LIMIT_STACK_SIZE; the answer is what it is now */
	uint32_t which; /* enum gsb_kernel_memory */
	uint32_t zero;
};

struct gsb_rec_tensor_map {
	struct gsb_tensor_map map;
};

struct gsb_rec_texture_create {
	uint64_t ctx;
	uint32_t is_surface; /* bool */
	uint32_t zero;
	struct gsb_texture view; /* of the first level, of all of which the array's are */
};

struct gsb_rec_texture_destroy {
	uint64_t ctx;
	uint64_t handle;
	uint32_t is_surface; /* bool */
	uint32_t zero;
};

struct gsb_rec_address_reserve {
	uint64_t size;	/* a multiple of GSB_VIRTUAL_UNIT */
	uint64_t align; /* of its start: a power of two, at least GSB_VIRTUAL_UNIT */
	uint64_t hint;	/* where it should be; 0: anywhere */
};

struct gsb_rec_address {
	uint64_t addr; /* where a reservation begins, of which nothing is mapped */
};

struct gsb_rec_backing_create {
	uint64_t size; /* a multiple of GSB_VIRTUAL_UNIT */
};

struct gsb_rec_backing_map {
	uint64_t backing; /* as BACKING_CREATE or its kind has answered */
	uint64_t addr;	  /* all of it comes there, in one reservation */
};

struct gsb_rec_backing_range {
	uint64_t addr, size; /* of mappings that lie one behind the other, from end to end */
	uint32_t access;     /* CUmemAccess_flags */
	uint32_t zero;
};

struct gsb_rec_mem_open {
	uint64_t ctx;
	struct gsb_ipc_handle handle; /* GSB_IPC_MEMORY */
};

struct gsb_rec_ipc {
	struct gsb_ipc_handle handle;
};

/* Ranges of a thread nest: PUSH and POP within each domain, of which a program may have several; START and END go by number. */
enum gsb_range_step {
	GSB_RANGE_PUSH,
	GSB_RANGE_POP,
	GSB_RANGE_START,
	GSB_RANGE_END,
	GSB_N_RANGE_STEPS
};

struct gsb_rec_range {
	uint64_t id;   /* PUSH, POP: of the domain; START, END: of the range, in the process */
	uint32_t step; /* enum gsb_range_step */
	uint32_t text_bytes; /* PUSH, START: of its name, which follows, without NUL */
};

/* ---- answers ---- */

struct gsb_reply_range {
	uint64_t addr, size;
};

/* On failure, too. */
struct gsb_reply_module {
	uint64_t managed_bytes;	     /* that MODULE_PLACE is to find a place for; 0: none */
	char text[GSB_LOG_TEXT_MAX]; /* of the log, not ended by a NUL; as much as is sent */
};

struct gsb_reply_ipc {
	struct gsb_ipc_handle handle;
};

struct gsb_reply_backing {
	uint64_t backing, size;
};

struct gsb_reply_host_backing {
	uint64_t backing;
	uint64_t addr; /* of its bytes in the host window: nothing may name them there */
};

struct gsb_reply_number {
	uint64_t number;
};

struct gsb_reply_tensor_map {
	uint64_t words[GSB_TENSOR_MAP_WORDS];
};

struct gsb_reply_mem_info {
	uint64_t free_bytes, total_bytes; /* of the tenant's share */
};

/*
 * Text of printf and of failed assertions in kernels; the device keeps it until it is read, as much of it as
 * the limit says. All of an answer is for one file, and an answer without text says that there is no more.
 */
#define GSB_PRINT_TEXT_MAX (GSB_REPLY_BYTES - 8)

struct gsb_reply_print {
	uint32_t to_stderr; /* else to stdout */
	uint32_t more;	    /* ask again, also when no text is sent */
	char text[GSB_PRINT_TEXT_MAX];
};

struct gsb_reply_function {
	struct gsb_function_info info;
};

/*
 * A slot of a thread of the tenant, which takes it at its first call and mostly keeps it until it
 * ends; when there are more threads than slots, one that is in no call lends its own to one that is.
 * The state word is the thread's futex, its answer to "may virtual time go on", and the place where
 * it says what it waits for.
 *
 *        T: CAS at its first call       T: release, after the wait fields
 *   FREE ------------------------> RUNNING ------------------------> BLOCKED
 *     ^                             |  ^ ^                             |  |
 *     +-----------------------------+  | +-----------------------------+  |
 *        T: the thread ends            |   E: CAS, once the condition     |
 *                                      |      holds; then futex wake      |
 *                                      +----------------------------------+
 *                                        T: CAS, its re-check found the condition true
 *
 * T re-checks its condition after it stored BLOCKED (sequentially consistent on both sides), so no
 * wake-up is lost. While BLOCKED the wait fields do not change; they are atomic because T may block
 * again while E still looks at its last wait, which costs E at most a wake-up too many. E sets
 * RUNNING before it wakes: from then on the thread counts as running although it may still be
 * asleep, so virtual time cannot run away from it.
 */
enum gsb_thread_state { GSB_THREAD_FREE, GSB_THREAD_RUNNING, GSB_THREAD_BLOCKED };

enum gsb_wait_kind {
	GSB_WAIT_REPLY,	 /* reply.call reaches value */
	GSB_WAIT_STREAM, /* streams[index].done reaches value */
	GSB_WAIT_EVENT,	 /* events[index].done reaches value */
	GSB_WAIT_ANY,  /* header.n_completed differs from value: a failing query, in virtual time */
	GSB_WAIT_RING, /* header.head reaches value */
	GSB_WAIT_NOTHING, /* an idle thread of the library; only the library ends it */
	GSB_N_WAIT_KINDS
};

struct gsb_thread {
	_Atomic uint32_t state;	     /* T and E, see above */
	_Atomic uint32_t wait_kind;  /* T writes before BLOCKED; E reads after acq of state */
	_Atomic uint32_t wait_index; /* likewise */
	_Atomic uint32_t tid;	     /* T: kernel thread id, for gsbctl ps; not trusted */
	_Atomic uint64_t wait_value; /* as wait_kind */
	/* E: number of the last answered call; rel after status, size and the reply bytes / T acq */
	_Atomic uint64_t call;
	int32_t status;	      /* E: CUresult of that call */
	uint32_t reply_bytes; /* E: valid bytes of the reply slot */
	uint64_t zero[3];
};
static_assert(sizeof(struct gsb_thread) == 64, "one cache line a thread");

struct gsb_event_word {
	_Atomic uint64_t done; /* E: highest completed record number; rel after time_ns / T acq */
	uint64_t time_ns;      /* E: device time of that record */
};

struct gsb_ctx_word {
	/* E: CUresult that every later call of the context returns, 0 = none; rel / T relaxed */
	_Atomic uint32_t error;
	uint32_t zero;
};

/*
 * Memory that is freed and kept: who has it is whose compare-and-swap comes first.
 *
 *      T, lock: before the KEEP               T, lock: CAS, before the TAKE
 *   0 ------------------------> number ------------------------------------> 0
 *                                 |  E: CAS, then it goes to the device; or with its context
 *                                 +------------------------------------> number | GONE
 *
 * T makes 0 of GONE when it sees it, and forgets the memory.
 */
#define GSB_KEPT_GONE 1ull /* numbers are even */

/* ---- the region ---- */

#define GSB_SLEEPS		 1u
#define GSB_SLEEPS_UNTIL_BLOCKED 2u
#define GSB_WAKES		 4u

struct gsb_region_header {
	/* E, before the fd is passed; constant after. T checks them, E uses its own copies. */
	uint64_t magic;
	uint16_t major, minor;
	uint32_t size;			  /* of the region */
	uint64_t features;		  /* agreed */
	uint32_t ring_offset, ring_bytes; /* power of two */
	uint32_t threads_offset, replies_offset;
	uint32_t streams_offset, events_offset;
	uint32_t ctxs_offset;
	_Atomic uint32_t is_traced; /* E: records are to be stamped; T relaxed */
	uint64_t zero1[1];

	/* The ring: T owns tail, E owns head; each counts bytes from 0 and never wraps. */
	_Alignas(64) _Atomic uint64_t tail; /* T, lock: rel after the record's bytes / E acq */
	_Alignas(64) _Atomic uint64_t head; /* E: rel after the record was copied / T acq */
	/*
	 * Set by E before it sleeps, then E looks at every tail once more; T looks at it after it
	 * stored tail (both with a full fence between). If it is set, T takes it down (one of its
	 * threads wins) and writes 1 to the eventfd. GSB_SLEEPS_UNTIL_BLOCKED asks for the same
	 * after a thread's state became BLOCKED or FREE: only then does virtual time go on.
	 * In its place T leaves GSB_WAKES, which E clears when it is awake.
	 */
	_Atomic uint32_t engine_sleeps; /* GSB_SLEEPS_* */
	/* T, at attach: its number of the eventfd + 1, and its gsb_keep's number + 1; only T reads them. */
	_Atomic uint32_t doorbell, keep;
	/* E: stream records completed so far, all streams; rel / T acq. */
	_Atomic uint64_t n_completed;
	/* T: slots from here on were never taken. E only reads, and never more than GSB_N_THREADS. */
	_Alignas(64) _Atomic uint32_t n_threads;
	/* T: bit i is set from before thread i is BLOCKED until after it runs again. E only reads. */
	_Alignas(64) _Atomic uint64_t blocked[GSB_N_THREADS / 64];
	/* E: CUresult of a tenant that was cut off, for every later call; 0 = none. rel / T acq */
	_Atomic uint32_t fatal;
	/* E: commands that have completed and have said something; rel before their done word / T acq */
	_Atomic uint32_t n_printed;
};

struct gsb_region {
	struct gsb_region_header header;
	_Alignas(4096) struct gsb_ctx_word ctxs[GSB_N_CTXS];
	_Alignas(64) struct gsb_thread threads[GSB_N_THREADS];
	_Alignas(64) _Atomic uint64_t kept[GSB_N_KEPT]; /* T and E, see above */
	/*
	 * Numbers belong to an index, not to a handle: when the library takes a stream's or an
	 * event's index again, numbering goes on where its former owner stopped, so that no word
	 * ever goes back. The library does so only when done has reached the last number given.
	 * So E counts per index, from 0 at the region's start, and resets nothing at CREATE.
	 */
	_Alignas(4096) _Atomic uint64_t streams[GSB_N_STREAMS]; /* E: done number; rel after what it
								   says is visible / T acq */
	_Alignas(4096) struct gsb_event_word events[GSB_N_EVENTS];
	_Alignas(4096) uint8_t replies[GSB_N_THREADS][GSB_REPLY_BYTES]; /* E, before threads[i].call
									   / T after it */
	_Alignas(4096) uint8_t ring[GSB_RING_BYTES]; /* T, before tail / E after it */
};
static_assert(sizeof(struct gsb_reply_function) <= GSB_REPLY_BYTES, "an answer fits its slot");
static_assert(sizeof(struct gsb_reply_module) <= GSB_REPLY_BYTES, "an answer fits its slot");
static_assert(GSB_NAME_MAX <= GSB_REPLY_BYTES, "a name fits its slot");
static_assert(sizeof(struct gsb_rec) + sizeof(struct gsb_rec_function_get) + GSB_NAME_MAX <=
		      GSB_RECORD_MAX,
	      "a name fits a record");
static_assert(sizeof(struct gsb_reply_print) <= GSB_REPLY_BYTES, "an answer fits its slot");
static_assert(GSB_RECORD_MAX <= GSB_RING_BYTES / 4, "a producer never needs more than the ring");

/* ---- messages on the unix socket (SOCK_SEQPACKET) ---- */

/*
 * T -> gsbrokerd: HELLO. gsbrokerd admits by SO_PEERCRED and hands the socket to an engine; until there is one it says STARTING,
 * once every GSB_STARTING_MS, or REFUSED.
 * engine -> T: WELCOME with the fds below, or REFUSED with a sentence. Later, engine -> T:
 * HOST_FUNC, CUT. Messages only start with this header; the sizes are the structs'.
 */
enum gsb_msg_type {
	GSB_MSG_HELLO = 1,
	GSB_MSG_WELCOME,
	GSB_MSG_REFUSED,
	GSB_MSG_HOST_FUNC,
	GSB_MSG_CUT,
	GSB_MSG_CONTROL, /* gsbctl -> gsbrokerd, broker/control.h */
	GSB_MSG_CONTROL_REPLY,
	GSB_MSG_STARTING /* struct gsb_msg */
};

#define GSB_STARTING_MS 1000

struct gsb_msg {
	uint64_t magic;
	uint16_t major, minor;
	uint16_t type; /* enum gsb_msg_type */
	uint16_t zero;
	uint32_t size; /* of the whole message */
	uint32_t zero2;
};

struct gsb_msg_hello {
	struct gsb_msg msg;
	uint64_t features_wanted;	  /* GSB_FEATURE_* that this library can do */
	uint32_t pid, zero;		  /* for messages; SO_PEERCRED is what counts */
	char tenant[GSB_TENANT_NAME_MAX]; /* name asked for, NUL-terminated; "" = the config decides
					   */
	char program[GSB_TENANT_NAME_MAX]; /* comm of the process, for gsbctl ps */
};

/* fds, in this order: region, staging, host window (only with GSB_FEATURE_HOST_WINDOW), eventfd,
 * pidfd of the engine. */
struct gsb_msg_welcome {
	struct gsb_msg msg;
	uint64_t features; /* agreed */
	uint32_t slot;	   /* address windows */
	uint32_t spin_ns;  /* how long a waiting thread may spin before it sleeps; 0 in virtual time
			    */
	uint64_t staging_bytes, host_window_bytes, image_max_bytes;
	uint32_t tenant_id, zero; /* as gsbctl ps shows it */
	struct gsb_device_info device;
};

struct gsb_msg_refused {
	struct gsb_msg msg;
	int32_t error; /* -errno */
	uint32_t zero;
	char reason[256]; /* one sentence with the remedy */
};

/*
 * Both ways: the engine asks for a host function, the tenant says that it has run. That is no record: a
 * ring that is full behind the very function that its stream waits for would have no room for it.
 */
struct gsb_msg_host_func {
	struct gsb_msg msg;
	uint64_t cookie;
};

/* The engine is done with this tenant: fatal is set already, all waiters are woken. */
struct gsb_msg_cut {
	struct gsb_msg msg;
	int32_t result; /* CUresult */
	uint32_t zero;
	char reason[256];
};

/* The socket's path: $GSB_SOCKET, else $XDG_RUNTIME_DIR/gsbroker/socket for a user, else this. */
#define GSB_SOCKET_DEFAULT "/run/gsbroker/socket"

#endif
