/*
 * ipc.h - what one program hands another, by whatever way, so that it may have the same memory or event: CUipcMemHandle,
 * CUipcEventHandle, CUmemPoolPtrExportData, and what a file descriptor of cuMemExportToShareableHandle brings.
 *
 * Who knows the secret of an export may have what it names, as natively who has the handle; it means nothing to another user's engine.
 */
#ifndef GSB_IPC_H
#define GSB_IPC_H

#include <assert.h>
#include <stdint.h>

enum gsb_ipc_kind {
	GSB_IPC_NONE,
	GSB_IPC_MEMORY,	 /* of an allocation */
	GSB_IPC_BACKING, /* memory without an address */
	GSB_IPC_POOL,	 /* the library's own: no engine knows it */
	GSB_IPC_EVENT,
	GSB_N_IPC_KINDS
};

#define GSB_IPC_MAGIC 0x6370697262736767ull

struct gsb_ipc_handle {
	uint64_t magic;
	uint32_t kind; /* enum gsb_ipc_kind */
	uint32_t pid;  /* of the engine whose it is */
	uint64_t id;   /* there, of all exports ever */
	uint64_t secret[2];
	uint64_t zero[3];
};
static_assert(sizeof(struct gsb_ipc_handle) == 64, "CUDA's handles have 64 bytes");

#endif
