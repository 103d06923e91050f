/*
 * source.h - where events come from: a file of `gsbctl trace record`, or a folder that LTTng wrote. What is wrong with it is said once, on stderr, and what
 * could be read is used.
 */
#ifndef GSB_TOOLS_TRACE_SOURCE_H
#define GSB_TOOLS_TRACE_SOURCE_H

#include "tools/trace/traced.h"

/*
 * gsb_traced_load() - all events of a file or folder into @t
 * @t: zeroed but for on_done and its arg
 *
 * Return: 0, also for a file that ends early or is damaged (t->ending); -errno: it is no trace, or there is no memory. It
 * has been said on stderr then, and @t is finished.
 */
int gsb_traced_load(struct gsb_traced *t, const char *path);

/* The same without words, from an open reader's file; @why gets a sentence when it fails. */
int gsb_traced_load_fd(struct gsb_traced *t, int fd, char *why);

/* What a report should not keep quiet about: events that were lost, an early end, a flaw. Nothing for a whole trace. */
void gsb_traced_warn(const struct gsb_traced *t, const char *path);

#endif
