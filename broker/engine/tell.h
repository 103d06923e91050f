/*
 * tell.h - what the engine's top says to the trace: tenants that come and go, and what is there already when a recording
 * begins. The rooms below say what they do themselves (trace/trace.h).
 */
#ifndef GSB_BROKER_ENGINE_TELL_H
#define GSB_BROKER_ENGINE_TELL_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_engine;
struct gsb_stream;
struct gsb_tenant;

/* @before: it was there before the recording began. */
void gsb_tell_tenant(const struct gsb_tenant *t, bool before);
void gsb_tell_stream(const struct gsb_stream *s, bool before);

void gsb_tell_refused(uint32_t tenant_id, uint32_t pid, uint32_t uid, int err, const char *why);
void gsb_tell_gone(const struct gsb_tenant *t);
void gsb_tell_and_wake(struct gsb_tenant *t); /* its threads whose conditions hold now */
void gsb_tell_lines(void);		      /* that the log has dropped since the last call */

/* Somebody listens: what is queued already gets its numbers, and what is held is told of again. */
void gsb_tell_number_all(struct gsb_engine *e);

/* A recording begins: that, and the clocks, and all that is there. */
void gsb_tell_all(struct gsb_engine *e);

#endif
