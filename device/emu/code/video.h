/*
 * video.h - what a video instruction does: what lower/video.c makes of it and exec/video.c executes.
 *
 * The idea: the sources are one word of 64 bits, b above a, and every selection, of a byte, of a half, or
 * of all elements of a SIMD form, is bit positions in it. A scalar form is one of one element.
 */
#ifndef GSB_DEVICE_EMU_CODE_VIDEO_H
#define GSB_DEVICE_EMU_CODE_VIDEO_H

#include <stdint.h>

#define GSB_EMU_VIDEO_ELEMENTS 4

enum gsb_emu_video_flag {
	GSB_EMU_VIDEO_A_SIGNED = 1 << 0,
	GSB_EMU_VIDEO_B_SIGNED = 1 << 1,
	GSB_EMU_VIDEO_D_SIGNED = 1 << 2,
	GSB_EMU_VIDEO_SAT = 1 << 3,
	GSB_EMU_VIDEO_WRAP = 1 << 4,	 /* shifts: by the low 5 bits; else clamped to 32 */
	GSB_EMU_VIDEO_MERGE = 1 << 5,	 /* into c; else the whole of d is the result */
	GSB_EMU_VIDEO_PO = 1 << 6,	 /* vmad: plus one */
	GSB_EMU_VIDEO_NEG_AB = 1 << 7,	 /* vmad: the product's sign is changed, */
	GSB_EMU_VIDEO_NEG_C = 1 << 8,	 /* the addend's */
};

struct gsb_emu_video {
	uint16_t op;		    /* enum gsb_ptx_op, of the scalar form */
	uint16_t flags;		    /* enum gsb_emu_video_flag */
	uint8_t n;		    /* elements */
	uint8_t mask;		    /* those that are written */
	uint8_t a_bits, b_bits;	    /* of an element */
	uint8_t d_bits;
	uint8_t sub, cmp;	    /* enum gsb_ptx_word: secondary operation with c, or 0; vset's */
	uint8_t shift;		    /* vmad: result shifted right */
	uint8_t a_at[GSB_EMU_VIDEO_ELEMENTS], b_at[GSB_EMU_VIDEO_ELEMENTS];
	uint8_t d_at[GSB_EMU_VIDEO_ELEMENTS];
};

/* As it lies in the code's lists. */
#define GSB_EMU_VIDEO_WORDS ((sizeof(struct gsb_emu_video) + 3) / 4)

#endif
