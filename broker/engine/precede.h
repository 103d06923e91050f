/*
 * precede.h - records about an event that programs share take effect in the order in which they were posted.
 *
 * Rings are read one after the other. So when a program records an event and tells another to wait for it, the engine may come to
 * the wait first. Records that name such events have stamps (gsb/wire.h): before one of them takes effect, the rings of the
 * others that have the event are looked through, once, for recordings with lower stamps (a recording looks for
 * waits, too, which must not take it for the one that they are of), and it is offered again when those have been read.
 *
 * Stamps are the tenants' word. In each ring they count as never falling, so whoever holds is lower than whoever is held, and no two
 * hold each other. A tenant that lies can delay others only until the engine has read what was in its ring when they came, as
 * one that does not lie can, whose streams are full: it is read on when they have room.
 */
#ifndef GSB_BROKER_ENGINE_PRECEDE_H
#define GSB_BROKER_ENGINE_PRECEDE_H

#include <stdbool.h>

struct gsb_engine;
struct gsb_event;
struct gsb_rec;
struct gsb_tenant;

/* May the record at the head of its ring, which names the shared event e, take effect? 0; -EAGAIN: others come first. */
int gsb_precede(struct gsb_tenant *t, const struct gsb_event *e, const struct gsb_rec *rec);

/* Rings were read: whose record need not wait any more is read on. Whether there was one. */
bool gsb_precede_release(struct gsb_engine *e);

/* It is leaving its slot. */
void gsb_precede_forget(struct gsb_tenant *t);

#endif
