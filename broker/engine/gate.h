/*
 * gate.h - when virtual time may go on; see gate.c.
 */
#ifndef GSB_BROKER_ENGINE_GATE_H
#define GSB_BROKER_ENGINE_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_engine;

/* Virtual clock: issue and let time go on if every tenant waits. Whether it did anything. */
bool gsb_gate_turn(struct gsb_engine *e);
/* No tenant runs, as far as its words say; those that were charged do not count. */
bool gsb_gate_is_open(struct gsb_engine *e);
/* Nanoseconds until a tenant has run for too long; UINT64_MAX when nothing waits for it. */
uint64_t gsb_gate_due_ns(const struct gsb_engine *e);

#endif
