/*
 * fatbin.h - the container that nvcc makes: PTX and cubins for several GPUs, plain or compressed.
 *
 * Every length in it is somebody else's: entries that do not lie inside the container, or whose data do
 * not decompress to exactly the size they declare, are -EBADMSG.
 */
#ifndef GSB_PTX_FATBIN_H
#define GSB_PTX_FATBIN_H

#include "base/arena.h"
#include "ptx/image.h"

#define GSB_FATBIN_MAX_RAW_BYTES ((uint64_t)512 << 20) /* of one entry, decompressed */
#define GSB_FATBIN_ERROR_BYTES	 240

enum gsb_fatbin_kind { GSB_FATBIN_PTX = 1, GSB_FATBIN_ELF = 2 };
enum gsb_fatbin_packing { GSB_FATBIN_PLAIN, GSB_FATBIN_LZ4, GSB_FATBIN_ZSTD };

struct gsb_fatbin_entry {
	uint16_t kind; /* enum gsb_fatbin_kind, or a later one */
	uint8_t packing;
	bool arch_specific;   /* sm_90a: runs on sm_90 only */
	bool family_specific; /* sm_100f: runs on its major version only */
	uint32_t sm;	      /* 75, 90 */
	uint64_t flags;
	const uint8_t *payload; /* in the container */
	uint64_t payload_size;	/* exact when compressed; else with padding */
	uint64_t raw_size;	/* after decompression */
};

/**
 * gsb_fatbin_next() - the entries one after the other
 * @bytes, @size: the container
 * @at:   0 before the first call
 *
 * Context: pure. Return: 1 (an entry in @out), 0 (no more), -EBADMSG.
 */
int gsb_fatbin_next(const void *bytes, size_t size, uint64_t *at, struct gsb_fatbin_entry *out);

/*
 * The entry's data: in the container when plain, in the arena (with a NUL behind them) when not.
 * 0, -EBADMSG, -ENOMEM.
 */
int gsb_fatbin_unpack(const struct gsb_fatbin_entry *e, struct gsb_arena *arena, const void **out,
		      size_t *size);

/**
 * gsb_image_find_ptx() - the PTX of an image for a GPU
 * @bytes, @size: PTX text (returned as it is), or a fatbin, with the parts of a linked program behind it, if it was linked
 *         (gsb_image_gather): their PTX is joined where the linked fatbin has none, as
 *         far as they have any: the device runtime is one of them, used or not
 * @cc:    compute capability: 90. The newest PTX not above it is taken; arch-specific ones only at it
 * @arena: for what is decompressed
 * @text, @len: not NUL-terminated; written only on success
 * @err, @err_size: gets why not, and what to do about it
 *
 * Return: 0, -EBADMSG (malformed), -ENOEXEC (none that fits; a cubin has none), -ENOMEM.
 */
int gsb_image_find_ptx(const void *bytes, size_t size, uint32_t cc, struct gsb_arena *arena,
		       const char **text, size_t *len, char *err, size_t err_size);

/*
 * Likewise, for who executes PTX himself. Where none fits, but there is machine code that the GPU would execute (nvcc
 * -arch=all-major: PTX of the newest GPU alone), the PTX of the next newer GPU stands in for it: both come from one source.
 */
int gsb_image_find_executable_ptx(const void *bytes, size_t size, uint32_t cc,
				  struct gsb_arena *arena, const char **text, size_t *len,
				  char *err, size_t err_size);

/* Likewise the cubin for a GPU: its major version, and the newest minor not above it. */
int gsb_image_find_elf(const void *bytes, size_t size, uint32_t cc, struct gsb_arena *arena,
		       const void **elf, size_t *len, char *err, size_t err_size);

/**
 * gsb_image_next_object() - what of a linked program is not in the PTX of its parts: machine code of those that have none for the GPU
 * @at:    0 before the first call
 * @arena: for what is decompressed
 *
 * nvcc links NVIDIA's device runtime so, which has PTX for newer GPUs alone. A linker puts both together (nvlink, cuLink).
 *
 * Return: 1 (an object in @elf, @len), 0 (no more, or the image is no linked program, or has its PTX whole), -EBADMSG, -ENOMEM.
 */
int gsb_image_next_object(const void *bytes, size_t size, uint32_t cc, uint64_t *at,
			  struct gsb_arena *arena, const void **elf, size_t *len);

#endif
