/*
 * profile.h - what a watched launch has done, counted instruction by instruction.
 *
 * Instructions are those of the PTX: an assembler makes one or several of each, so these are not the counts of a
 * GPU's counters, but what follows from the program and its data alone: who was active, which bytes each request
 * asked for, and how these lie in sectors and banks. Where Nsight Compute has a word for a figure it is used.
 */
#ifndef GSB_DEVICE_EMU_EXEC_PROFILE_H
#define GSB_DEVICE_EMU_EXEC_PROFILE_H

#include <stdint.h>

#include "ptx/unit.h"

#define GSB_EMU_SECTOR_BYTES 32
#define GSB_EMU_N_BANKS	     32
#define GSB_EMU_BANK_BYTES   4

enum gsb_emu_memory_kind {
	GSB_EMU_MEMORY_GLOBAL,
	GSB_EMU_MEMORY_SHARED,
	GSB_EMU_MEMORY_LOCAL,
	GSB_EMU_MEMORY_CONST, /* .const and the parameters of the kernel */
	GSB_EMU_N_MEMORIES,
};

enum gsb_emu_traffic_kind {
	GSB_EMU_TRAFFIC_LOAD,
	GSB_EMU_TRAFFIC_STORE,
	GSB_EMU_TRAFFIC_ATOM,
	GSB_EMU_N_TRAFFICS,
};

/* Of one kind to one memory. */
struct gsb_emu_traffic {
	uint64_t n_requests; /* warp instructions with a lane that takes part */
	uint64_t n_lanes;
	uint64_t n_bytes;   /* that lanes have asked for */
	uint64_t n_sectors; /* GLOBAL: different ones, request by request */
	/* SHARED: passes over the banks, and how many there would be without conflicts: one for each 32 lanes of
	 * up to 4 bytes, 16 lanes of 8 bytes, 8 lanes of 16. Lanes that read the same word do not conflict. */
	uint64_t n_wavefronts, n_ideal_wavefronts;
	/* ATOM: different addresses, and the most lanes at one of them, summed over the requests. */
	uint64_t n_addresses, n_most_at_one;
};

/*
 * How the emulation did the warp-wide accesses of memory, parameters apart: by whole rows, or by each lane. No GPU
 * has such a figure; it says why a kernel is slow here.
 */
struct gsb_emu_paths {
	uint64_t in_order;  /* lane after lane */
	uint64_t one_place; /* all lanes at one */
	/* another step from lane to lane; so are the lanes of local memory apart */
	uint64_t stride;
	uint64_t runs;	/* eight lanes and eight lanes, each in one of these ways */
	uint64_t lanes; /* lane by lane: no such pattern, or several windows of addresses */
};

/* Of all blocks that are done. Members are uint64_t and nothing else. */
struct gsb_emu_profile {
	uint64_t n_blocks;
	uint64_t n_insns;	  /* once a warp */
	uint64_t n_lane_insns;	  /* the same, times the active lanes */
	uint64_t n_lane_insns_on; /* the same, times the lanes whose guard was true */
	uint64_t n_by_unit[GSB_PTX_N_UNITS];
	uint64_t n_imul;		  /* of GSB_PTX_UNIT_FMA: products of whole numbers */
	uint64_t n_branches, n_divergent; /* divergent: lanes went to different places */
	uint64_t n_barriers;		  /* block barriers, once a warp */
	struct gsb_emu_traffic traffic[GSB_EMU_N_MEMORIES][GSB_EMU_N_TRAFFICS];
	struct gsb_emu_paths paths;
};

#endif
