/*
 * emu_option.h - values of options that launch a kernel: gsb-emu, gsb-ptx.
 */
#ifndef GSB_TOOLS_EMU_OPTION_H
#define GSB_TOOLS_EMU_OPTION_H

#include <stdint.h>

/* 0; -1: told on stderr. */
int emu_option_number(const char *option, const char *value, uint64_t most, uint32_t *out);
/* X[,Y[,Z]], each at least 1; axes that are left out are 1. */
int emu_option_dims(const char *option, const char *value, uint32_t out[3]);

#endif
