/*
 * tables.h - the private tables of functions that NVIDIA's runtime and libraries ask for by UUID.
 */
#ifndef GSB_INTERPOSE_TABLES_H
#define GSB_INTERPOSE_TABLES_H

#include "gsb/cuabi.h"

/*
 * gsb_genuine_table() - a table of the genuine driver's
 *
 * Opens that driver privately by its absolute path, once, and makes no context in it. Without one, or with
 * one that does not know the broker's device, says so in one line: what cannot run here, why, and what helps.
 * @asker: the code that asks: NVIDIA's runtime, which is in some file
 */
CUresult gsb_genuine_table(const void **table, const CUuuid *id, const void *asker);

#endif
