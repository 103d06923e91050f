/*
 * pace.c - see pace.h.
 */
#include "device/cuda/pace.h"

#include "base/checked.h"
#include "device/cuda/device.h"
#include "device/cuda/module.h"

#define SPIN_NS 50000 /* after the last news, and at least so long around the time that is due */
#define IDLE_NS \
	100000 /* after the last news, with nothing in flight: a doorbell costs who rings it some us, too */
#define NAP_PART     8 /* of the time since something happened */
#define NAP_MIN_NS   20000
#define NAP_MAX_NS   1000000
#define SLACK_PART   32 /* of what it should take: so far off it may be */
#define SLACK_MAX_NS 1000000
#define TIMED_EVERY  16
#define SHORT_NS     20000
#define URGENT_NS    1000000 /* the same of what is urgent */
#define START_NS     8000    /* from when a command is sent until it begins, at most, mostly */
#define COPY_UNIT    (64u << 10)
#define SHORT_BYTES  (64u << 10) /* as good as nothing: all take the same */
#define LONG_BYTES   (1u << 20)	 /* long enough to say how fast the bus is */

/* ---- kinds ---- */

static unsigned kind_of(const struct gsb_cmd *cmd)
{
	const struct gsb_space *s = cmd->space;

	if (cmd->kind == GSB_CMD_FILL)
		return CUDA_FILL;
	if (cmd->copy.dst - s->base >= s->size)
		return CUDA_COPY_OUT;
	return cmd->copy.src - s->base >= s->size ? CUDA_COPY_IN : CUDA_COPY_WITHIN;
}

static uint64_t bytes_of(const struct gsb_cmd *cmd)
{
	if (cmd->kind == GSB_CMD_COPY)
		return cmd->copy.width * cmd->copy.height;
	return cmd->fill.width * cmd->fill.height * cmd->fill.elem_bytes;
}

static struct cuda_habit *habit_of(struct cuda_device *dev, const struct gsb_cmd *cmd, uint64_t *n)
{
	uint64_t bytes;

	*n = 1;
	if (cmd->kind == GSB_CMD_LAUNCH)
		return &cmd->launch.function->habit;
	bytes = bytes_of(cmd);
	if (bytes <= SHORT_BYTES)
		return &dev->short_habits[kind_of(cmd)];
	if (bytes < LONG_BYTES)
		return NULL;
	*n = bytes / COPY_UNIT;
	return &dev->long_habits[kind_of(cmd)];
}

struct cuda_outlook cuda_outlook_of(struct cuda_device *dev, const struct gsb_cmd *cmd,
				    uint64_t from_ns)
{
	struct cuda_outlook o = {.short_ns = cmd->urgent ? URGENT_NS : SHORT_NS};

	o.habit = habit_of(dev, cmd, &o.n_units);
	if (!o.habit || !o.habit->unit_ns)
		return o;
	o.about_ns = o.habit->unit_ns * o.n_units;
	o.due_ns = from_ns + o.about_ns;
	return o;
}

void cuda_outlook_end(struct cuda_outlook *o, uint64_t took_ns)
{
	if (!o->habit)
		return;
	o->habit->unit_ns = took_ns / o->n_units;
	o->habit->n_untimed = 0;
}

bool cuda_outlook_must_be_timed(const struct cuda_outlook *o)
{
	return !o->about_ns || o->about_ns > o->short_ns || o->habit->n_untimed + 1 >= TIMED_EVERY;
}

uint64_t cuda_outlook_guess_ns(struct cuda_outlook *o, const struct cuda_untimed *u)
{
	uint64_t begun_ns = u->sent_ns + u->call_ns + START_NS;
	uint64_t least = u->open_ns > begun_ns ? u->open_ns - begun_ns : 0;
	uint64_t took = gsb_clamp(u->about_ns, least, u->end_ns - u->sent_ns);

	o->habit->n_untimed = took / u->n > o->short_ns ? TIMED_EVERY : o->habit->n_untimed + 1;
	return took;
}

/* ---- naps ---- */

bool cuda_is_lively(uint64_t quiet_ns)
{
	return quiet_ns < IDLE_NS;
}

uint64_t cuda_nap_ns(uint64_t now, uint64_t quiet_ns, const struct cuda_outlook *first)
{
	uint64_t nap = gsb_clamp(quiet_ns / NAP_PART, NAP_MIN_NS, NAP_MAX_NS - 1);
	uint64_t slack = gsb_clamp(first->about_ns / SLACK_PART, SPIN_NS, SLACK_MAX_NS), left;

	if (quiet_ns < SPIN_NS)
		return 0;
	if (!first->due_ns || now >= first->due_ns + slack)
		return nap;
	if (now + slack + NAP_MIN_NS > first->due_ns)
		return 0;
	left = first->due_ns - slack - now;
	return nap < left ? nap : left;
}
