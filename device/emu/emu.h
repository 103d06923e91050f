/*
 * emu.h - the emulated device: it executes PTX on the CPU, in virtual time.
 *
 *	emu.c	  the table of operations, life of the device
 *	space.c	  spaces: device memory and modules of one tenant context
 *	module.c  loads of modules: globals, functions
 *	issue.c	  what is checked when work is issued
 *	flip.c	  fault injection for tests
 *	device.h  the structs of the device and of a space
 *
 *	clock/	  the simulation in device time, and the workers that execute what it starts
 *	exec/	  execution of lowered kernels
 *	lower/	  lowering of PTX to what is executed
 *	code/	  what is executed: known to lower/ and exec/
 *	memory/	  device memory, addresses, the count of host memory
 *
 * Locks: that of emu_clock for the simulation and the workers' list; that of emu_vram for allocations (a
 * leaf: taken alone or inside the clock's). A block executes under neither.
 */
#ifndef GSB_DEVICE_EMU_EMU_H
#define GSB_DEVICE_EMU_EMU_H

#include "device/emu/exec/profile.h"
#include "device/emu/exec/watch.h"
#include "device/ops.h"

extern const struct gsb_device_ops gsb_emu_ops;

/*
 * For tests: how often memory, pinned memory, a module or a space went back while a command of that space
 * was in flight. Here the guard makes of it a fault of the one command, if any; on a GPU it ends all.
 * From the thread that calls the operations.
 */
uint64_t gsb_emu_frees_under_work(struct gsb_device *dev);

/*
 * For tools: launches issued from now on are counted or checked, as the bits of gsb_emu_watch_what say; 0 = not
 * any more. They take about ten times as long. gsb_emu_profile() is what has been counted since the last call, of
 * blocks that are done. Both from the thread that calls the operations, when nothing is in flight.
 */
void gsb_emu_watch_launches(struct gsb_device *dev, unsigned int what);
struct gsb_emu_profile gsb_emu_profile(struct gsb_device *dev);

#endif
