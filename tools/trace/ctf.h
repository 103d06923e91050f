/*
 * ctf.h - the same events from LTTng: messages of libbabeltrace2 as events of traced.h. Fields are found by their names, as in
 * files of our own, so a trace of another version can be read, too.
 *
 * What a recording's header says is told by gsb:about: where a session has not enabled that, device, policy and SMs are not known.
 */
#ifndef GSB_TOOLS_TRACE_CTF_H
#define GSB_TOOLS_TRACE_CTF_H

#include <babeltrace2/babeltrace.h>

#include "tools/trace/traced.h"

/* Before the first message. */
void gsb_ctf_begin(struct gsb_traced *t);
/* An event of another provider is passed over; events that LTTng discarded are counted as lost. Return: 0, -ENOMEM. */
int gsb_ctf_take(struct gsb_traced *t, const bt_message *message);

#endif
