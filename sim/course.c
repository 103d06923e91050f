/*
 * course.c - a kernel in a shape: several launches, as broker/engine/work/course.c makes them. Slices go one after the other; persistent blocks
 * that end after some tiles take turns in two queues. Two launches are on the device at a time, and none follows while the policy has them wait
 * for a critical tenant.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/checked.h"
#include "sim/state.h"

#define TILE_NS 400 /* to fetch one: 0.3 to 0.9 us on an H200, doc/resizing.md */

/* Persistent blocks that its SMs have room for. */
static uint64_t places(const struct gsb_sim *s, const struct gsb_work *w)
{
	uint64_t n = (uint64_t)w->blocks_per_sm * (w->sms.n ? w->sms.n : s->p->arch->n_sms);

	return n ? n : 1;
}

void gsb_sim_course_begin(struct gsb_sim *s, struct gsb_sim_flight *f,
			  const struct gsb_shape *shape)
{
	struct gsb_sim_item *item = f->item;
	struct gsb_sim_course *c = &f->course;

	*c = (struct gsb_sim_course){.total = item->work.kernel.n_blocks};
	c->each = c->total;
	item->tiles = 1;
	if (shape && shape->form == GSB_SHAPE_SLICE) {
		c->each = gsb_div_up(c->total, shape->n_slices);
		c->in_turn = true;
	} else if (shape && shape->form == GSB_SHAPE_PERSISTENT && shape->max_tiles) {
		item->tiles = shape->max_tiles;
		item->block_ns += TILE_NS;
		c->each = places(s, &item->work) * item->tiles;
	} else if (shape && shape->form == GSB_SHAPE_PERSISTENT && shape->eighths) {
		item->tiles = (uint32_t)gsb_div_up(
			c->total, gsb_div_up(places(s, &item->work) * shape->eighths, 8));
		item->block_ns += TILE_NS;
	}
}

static int launch(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	struct gsb_sim_course *c = &f->course;
	struct gsb_sim_item *item = f->item;
	uint64_t left = c->total - c->done, n = left < c->each ? left : c->each;
	struct gsb_machine_submit submit = {
		.kernel = item->work.kernel,
		.sms = item->work.sms,
		.priority = item->work.priority,
		.cooperative = item->work.cooperative,
		.after = c->in_turn ? c->last : NULL,
		.owner = item,
	};

	submit.kernel.n_blocks = gsb_div_up(n, item->tiles);
	if (gsb_machine_submit(s->machine, &submit, &c->last))
		return gsb_sim_fail(s, -EPROTO,
				    "serial %" PRIu64 " cannot run on %u SMs from %u on, where %s "
				    "puts it",
				    item->op->serial, submit.sms.n, submit.sms.first,
				    s->p->policy->name);
	c->done += n;
	c->n_open++;
	return 0;
}

static bool is_in_parts(const struct gsb_sim_flight *f)
{
	return f->item && f->course.each < f->course.total;
}

/* Two: one comes in as the other's blocks end. Where there are others that end soon, theirs do. */
static unsigned ahead(const struct gsb_sim *s, const struct gsb_sim_flight *f)
{
	for (unsigned i = 0; i < GSB_N_QUEUES; i++)
		if (&s->flights[i] != f && is_in_parts(&s->flights[i]))
			return 1;
	return 2;
}

int gsb_sim_course_go_on(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	struct gsb_sim_course *c = &f->course;
	bool waits = s->yields_until_ns && is_in_parts(f);
	int err = 0;

	while (!err && c->done < c->total && c->n_open < ahead(s, f) && !waits)
		err = launch(s, f);
	return err;
}

/* The last of them has fewer to do, but is there as long: the ends of blocks are in the order in which they were placed. */
void gsb_sim_course_placed(struct gsb_sim_flight *f)
{
	f->item->n_done += f->item->tiles;
	if (f->item->n_done > f->course.total)
		f->item->n_done = f->course.total;
}

bool gsb_sim_course_ended(struct gsb_sim_flight *f)
{
	struct gsb_sim_course *c = &f->course;

	if (!--c->n_open)
		c->last = NULL;
	return !c->n_open && c->done == c->total;
}
