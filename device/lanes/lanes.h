/*
 * lanes.h - the device whose spaces are in processes of their own: "lanes:cuda:0", "lanes:emu:h200".
 *
 * Each owner's spaces are in a lane, a process that has opened the device behind the first colon for it alone: another's load, fault
 * or endless kernel is no matter there. lane.h draws the engine's side, serve.h the lane's.
 */
#ifndef GSB_DEVICE_LANES_LANES_H
#define GSB_DEVICE_LANES_LANES_H

#include "device/ops.h"

extern const struct gsb_device_ops gsb_lanes_ops;

#endif
