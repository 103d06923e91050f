/*
 * rig.h - a device with the kernels of units.def on it, and runs of them whose times are known.
 *
 * Through device/ops.h, so a GPU and an emulated one are driven alike. The times are the device's own, of completions. Each part
 * that a kernel plays has a load of its own of all kernels: an emulated device knows a kernel by its blocks so far, and those of one kernel must
 * not be long in one run and short in another.
 */
#ifndef GSB_TOOLS_CALIBRATE_RIG_H
#define GSB_TOOLS_CALIBRATE_RIG_H

#include <stdbool.h>

#include "device/ops.h"
#include "model/gpu/interference.h"
#include "tools/calibrate/speeds.h"

#define CAL_GRIDS_MAX 128

enum cal_part { CAL_PILOT, CAL_OLDER, CAL_YOUNGER, CAL_TURNS, CAL_N_PARTS };

enum cal_words { CAL_NONE, CAL_NEAR, CAL_FAR, CAL_ALL, CAL_N_WORDS };

struct cal_rig {
	struct gsb_device *dev;
	const struct gsb_device_info *info;
	struct gsb_space *space;
	struct gsb_queue *queues[2];
	struct gsb_module *modules[CAL_N_PARTS];
	struct gsb_function *functions[CAL_N_PARTS][GSB_N_UNITS]; /* NULL: not asked for */
	uint64_t words, out;					  /* of the device */
	uint32_t masks[CAL_N_WORDS]; /* words are taken modulo one more */
	uint32_t units;		     /* a bit each: there is a kernel that keeps it full */
	uint32_t sm_blocks;	     /* of any of the kernels, that an SM holds at once */
	uint32_t next_from;
	char why[1024]; /* the last thing failed: one line */
};

/* Grids of one kernel that follow each other. */
struct cal_grids {
	enum gsb_unit unit;
	enum cal_part part;
	uint32_t sm_blocks, passes;
	uint32_t n; /* at most CAL_GRIDS_MAX */
};

/* The units that there are kernels for, a bit each. */
uint32_t cal_rig_units(void);

/* Of all below: 0; -1, and rig->why says what failed and what to do. */

/*
 * @units: a bit each; 0: all, and of an emulated device issue slots, shared memory and DRAM, because all that it knows apart would take too long
 * Whatever it returns, it is closed in the end.
 */
int cal_rig_open(struct cal_rig *rig, const char *spec, uint32_t units);
void cal_rig_close(struct cal_rig *rig);

/* One kernel, to its end. */
int cal_rig_run(struct cal_rig *rig, const struct cal_grids *g, struct cal_span *span);

/* Two at once, to the end of both: of the second the first grid is sent so long after the first. */
int cal_rig_run_pair(struct cal_rig *rig, const struct cal_grids pair[2], uint64_t later_ns,
		     struct cal_span spans[2]);

#endif
