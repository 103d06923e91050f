/*
 * link.c - see link.h.
 */
#include "interpose/cu/link.h"

struct gsb_object_table gsb_cu_links =
	GSB_OBJECT_TABLE(GSB_HANDLE_LINK, GSB_N_LINKS, struct gsb_cu_link, NULL);
