/*
 * start_line.h - several tenants begin together; see start_line.c.
 */
#ifndef GSB_BROKER_ENGINE_START_LINE_H
#define GSB_BROKER_ENGINE_START_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_engine;
struct gsb_tenant;

struct gsb_start_line {
	unsigned n_tenants; /* that begin together; 0, 1: each for itself */
	uint64_t wait_ns;   /* real time that the first waits for the last */
	uint64_t since_ns;  /* real time of the first; 0: nobody is there */
	unsigned n_gone;    /* were there, and have left */
	bool open;	    /* they have begun */
};

/* May work go to the device? Each turn that is about to issue asks it. */
bool gsb_start_line_is_open(struct gsb_engine *e);
/* Does work wait there, as far as the last look says? */
bool gsb_start_line_holds(const struct gsb_engine *e);
/* Nanoseconds until those that are there begin without the others; UINT64_MAX when nobody is. */
uint64_t gsb_start_line_due_ns(const struct gsb_engine *e);
/* A tenant has left; it is counted among the engine's no more. */
void gsb_start_line_left(struct gsb_engine *e, const struct gsb_tenant *t);

#endif
