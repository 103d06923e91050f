/*
 * link.h - what cuLink has gathered so far.
 */
#ifndef GSB_INTERPOSE_CU_LINK_H
#define GSB_INTERPOSE_CU_LINK_H

#include "interpose/cu/module.h"
#include "ptx/texts.h"

#define GSB_N_LINKS 4096

struct gsb_cu_link {
	struct gsb_object obj;
	struct gsb_jit_logs
		logs; /* the program keeps what it points to until the link is destroyed */
	struct gsb_ptx_texts texts;
};

extern struct gsb_object_table gsb_cu_links;

#endif
