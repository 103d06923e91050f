/*
 * ctf_folder.h - all events of the CTF traces below a folder, as LTTng writes it.
 */
#ifndef GSB_TOOLS_TRACE_CTF_FOLDER_H
#define GSB_TOOLS_TRACE_CTF_FOLDER_H

#include "tools/trace/traced.h"
#include "trace/read.h"

/* Like gsb_traced_load_fd(): @why, of GSB_TRACE_WHY_MAX bytes, gets a sentence when it fails. */
int gsb_ctf_load(struct gsb_traced *t, const char *path, char *why);

#endif
