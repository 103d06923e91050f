/*
 * null.h - the device that accepts everything and does nothing; see null.c.
 */
#ifndef GSB_DEVICE_NULL_H
#define GSB_DEVICE_NULL_H

#include "device/ops.h"

extern const struct gsb_device_ops gsb_null_ops;

#endif
