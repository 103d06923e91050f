/*
 * abi.h - NVTX's interface between a program and whoever takes its ranges, as much of it as we use: names and numbers as
 * NVIDIA documents them (nvtx3, version 3), declarations of our own.
 *
 * A program has NVTX compiled in, as a header. At its first range that opens the library which NVTX_INJECTION64_PATH names and
 * calls InitializeInjectionNvtx2 with a function that gives tables by number. One of them gives, for each module of NVTX, an
 * array of places: what is put into a place is called instead of nothing.
 */
#ifndef GSB_INTERPOSE_NVTX_ABI_H
#define GSB_INTERPOSE_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

#define GSB_NVTX_INIT "InitializeInjectionNvtx2"

typedef const void *gsb_nvtx_get_table(uint32_t id);
#define GSB_NVTX_TABLE_CALLBACKS 1u

typedef void gsb_nvtx_function(void);

/* What is called is where this points to. */
struct gsb_nvtx_place {
	gsb_nvtx_function **function;
};

struct gsb_nvtx_callbacks {
	size_t bytes; /* of this */
	/* 1, or 0: there is no such module. @n: of places, the unused first one among them. */
	int (*get_module)(uint32_t module, const struct gsb_nvtx_place **places, unsigned *n);
};

enum gsb_nvtx_module { GSB_NVTX_CORE = 1, GSB_NVTX_CORE2 = 5 };

enum gsb_nvtx_core {
	GSB_NVTX_RANGE_START_EX = 4,
	GSB_NVTX_RANGE_START_A,
	GSB_NVTX_RANGE_START_W,
	GSB_NVTX_RANGE_END,
	GSB_NVTX_RANGE_PUSH_EX,
	GSB_NVTX_RANGE_PUSH_A,
	GSB_NVTX_RANGE_PUSH_W,
	GSB_NVTX_RANGE_POP,
};

/* Of a domain. */
enum gsb_nvtx_core2 {
	GSB_NVTX_DOMAIN_RANGE_START_EX = 2,
	GSB_NVTX_DOMAIN_RANGE_END,
	GSB_NVTX_DOMAIN_RANGE_PUSH_EX,
	GSB_NVTX_DOMAIN_RANGE_POP,
	GSB_NVTX_DOMAIN_REGISTER_STRING_A = 10,
	GSB_NVTX_DOMAIN_REGISTER_STRING_W,
	GSB_NVTX_DOMAIN_CREATE_A,
	GSB_NVTX_DOMAIN_CREATE_W,
};

/* What a push that nobody counts returns. */
#define GSB_NVTX_NOT_COUNTED (-2)

enum gsb_nvtx_message_kind {
	GSB_NVTX_MESSAGE_ASCII = 1,
	GSB_NVTX_MESSAGE_WIDE,
	GSB_NVTX_MESSAGE_REGISTERED,
};

struct gsb_nvtx_attributes {
	uint16_t version;
	uint16_t bytes; /* of this, as the program has it */
	uint32_t category;
	int32_t color_kind;
	uint32_t color;
	int32_t payload_kind;
	int32_t reserved;
	uint64_t payload;
	int32_t message_kind; /* enum gsb_nvtx_message_kind */
	const void *message;
};

#endif
