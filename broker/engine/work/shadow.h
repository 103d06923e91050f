/*
 * shadow.h - a launch run both ways: in another shape and then as its program asked, each on the same memory, and the results held
 * against each other.
 *
 *   SAVE      all that the context has is copied out
 *   SHAPED    the launch, in its shape
 *   TAKE      what that has made of it is copied out
 *   RESTORE   what was there before comes back
 *   ASKED     the launch as it was asked for: this is what the tenant gets, whatever else comes out
 *   LOOK      what that has made of it is copied out
 *
 * Meanwhile nothing else of the tenant may run, or it would be undone: a launch is only run so when the tenant has nothing else on
 * the device or ready, and its streams wait until it is over. The loader's thread compares. Where the results differ the form is
 * given up for this kernel, for good where there is a cache.
 *
 * What a second run would do again is not run twice: what prints, takes memory, writes to variables of its module or to
 * memory of the host, and what depends on the order of its threads but for the rounding of sums.
 */
#ifndef GSB_BROKER_ENGINE_WORK_SHADOW_H
#define GSB_BROKER_ENGINE_WORK_SHADOW_H

#include <stdbool.h>

#include "broker/policy/shape.h"
#include "device/ops.h"

struct gsb_item;
struct gsb_shadow;

enum gsb_shadow_part {
	GSB_SHADOW_SAVE,
	GSB_SHADOW_SHAPED,
	GSB_SHADOW_TAKE,
	GSB_SHADOW_RESTORE,
	GSB_SHADOW_ASKED,
	GSB_SHADOW_LOOK,
	GSB_SHADOW_OVER
};

/* NULL: this launch is not run both ways, because it is not its turn, it may not be, or there is no memory for it. */
struct gsb_shadow *gsb_shadow_create(struct gsb_item *item, enum gsb_shape_form form);

/* The part that is on, or comes next. */
enum gsb_shadow_part gsb_shadow_part(const struct gsb_shadow *s);
/* The next copy of this part; false: there are no more, the part has no copies. */
bool gsb_shadow_next_copy(struct gsb_shadow *s, const struct gsb_item *item, struct gsb_cmd *cmd);
void gsb_shadow_next_part(struct gsb_shadow *s);
/* It ran into an error in its shape: that is a difference, unless the original does, too. */
void gsb_shadow_failed(struct gsb_shadow *s);

/* It is over, and the original went well or not. Consumes @s; the tenant's streams go on. */
void gsb_shadow_end(struct gsb_shadow *s, struct gsb_item *item, bool went_well);

#endif
