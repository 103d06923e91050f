/*
 * handlers.c - all handlers of one instruction set, in one table. Built once for each: GSB_EMU_ISA is the
 * suffix of the table's name (v2, v3, v4: the x86-64 levels; plain: whatever the compiler's default is).
 */
#include "device/emu/exec/alu.h"
#include "device/emu/exec/atom.h"
#include "device/emu/exec/mem.h"

#define PASTE(a, b)	a##b
#define TABLE_NAME(isa) PASTE(gsb_emu_isa_, isa)
#define STRING(s)	#s
#define NAME_OF(isa)	STRING(isa)

extern const struct gsb_emu_isa TABLE_NAME(GSB_EMU_ISA);

const struct gsb_emu_isa TABLE_NAME(GSB_EMU_ISA) = {
	.name = NAME_OF(GSB_EMU_ISA),
	.handlers =
		{
			{
#define GSB_EMU_F1(id, ...)    [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_F2(id, ...)    [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_F3(id, ...)    [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_F4(id, ...)    [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_CMP(id, ...)   [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_CARRY(id, ...) [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_LOAD(id, ...)  [GSB_EMU_FORM_##id] = mem_##id,
#define GSB_EMU_STORE(id, ...) [GSB_EMU_FORM_##id] = mem_##id,
#define GSB_EMU_ATOM(id, ...)  [GSB_EMU_FORM_##id] = mem_##id,
#define GSB_EMU_FLOW(id)       [GSB_EMU_FORM_##id] = gsb_emu_do_##id,
#include "device/emu/code/forms.def"
			},
			{
#define GSB_EMU_F1(id, ...)    [GSB_EMU_FORM_##id] = mask_##id,
#define GSB_EMU_F2(id, ...)    [GSB_EMU_FORM_##id] = mask_##id,
#define GSB_EMU_F3(id, ...)    [GSB_EMU_FORM_##id] = mask_##id,
#define GSB_EMU_F4(id, ...)    [GSB_EMU_FORM_##id] = mask_##id,
#define GSB_EMU_CMP(id, ...)   [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_CARRY(id, ...) [GSB_EMU_FORM_##id] = full_##id,
#define GSB_EMU_LOAD(id, ...)  [GSB_EMU_FORM_##id] = mem_##id,
#define GSB_EMU_STORE(id, ...) [GSB_EMU_FORM_##id] = mem_##id,
#define GSB_EMU_ATOM(id, ...)  [GSB_EMU_FORM_##id] = mem_##id,
#define GSB_EMU_FLOW(id)       [GSB_EMU_FORM_##id] = gsb_emu_do_##id,
#include "device/emu/code/forms.def"
			},
		},
};
