/*
 * model_driver.h - a GPU of this host as its driver describes it.
 */
#ifndef GSB_TOOLS_MODEL_DRIVER_H
#define GSB_TOOLS_MODEL_DRIVER_H

#include "gsb/arch.h"

/* By attributes of device @index of the driver; its name is "driver". 0; -1: told on stderr. */
int model_driver_arch(unsigned int index, struct gsb_arch *out);

#endif
