/*
 * loop.h - the engine's life: turns, and sleeps between them.
 */
#ifndef GSB_BROKER_ENGINE_LOOP_H
#define GSB_BROKER_ENGINE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_device;
struct gsb_engine;
struct gsb_engine_params;

/*
 * gsb_engine_create() - an engine on an open device
 * @dev: stays the caller's, who closes it after gsb_engine_destroy
 * Return: 0, -ENOMEM, -errno of a system call.
 */
int gsb_engine_create(struct gsb_device *dev, const struct gsb_engine_params *p,
		      struct gsb_engine **out);
/*
 * gsb_engine_destroy() - cut off whoever is left, and wait until the device has let go of them
 * Return: 0, -EIO: the device is lost and never will. Nothing that it may still work with was given back; the
 *         process is to end with the device open.
 */
int gsb_engine_destroy(struct gsb_engine *e);

/* One turn: read rings, queue, issue, complete, wake. Returns whether there was anything to do. */
bool gsb_engine_turn(struct gsb_engine *e);

/* Wait until something may be there to do, and handle what the descriptors report. */
void gsb_engine_sleep(struct gsb_engine *e);

/* The same without waiting: what a busy engine does now and then. */
void gsb_engine_listen(struct gsb_engine *e, uint64_t timeout_ns);

#endif
