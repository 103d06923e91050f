/*
 * fit.h - which modifiers PTX lets stand together: private to ptx/.
 */
#ifndef GSB_PTX_FIT_H
#define GSB_PTX_FIT_H

#include <stdbool.h>

#include "ptx/ptx.h"

/* Of an instruction whose words the opcode takes each for itself; its second type is the first where it names one. */
bool gsb_ptx_modifiers_fit(const struct gsb_ptx_insn *insn);

#endif
