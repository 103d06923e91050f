/*
 * work.c - queues, commands and completions of lanes; see lane.h.
 *
 * A command goes into the ring of its space's lane, and its completion comes back by the place of its flight. What the device refuses
 * comes back so, too.
 */
#include "device/lanes/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/gpu/arch.h"

#define ANSWER_NS 20000	  /* as long as a lane stays awake */
#define LIVELY_NS 1000000 /* so long a lane is believed that something is about to complete */

/* ---- queues: the device's, and with their first command each lane's ---- */

static int free_index(const struct lanes_device *dev)
{
	for (int i = 0; i < (int)LANE_N_QUEUES; i++)
		if (!dev->queues[i])
			return i;
	return -ENOMEM;
}

int lanes_queue_create(struct gsb_device *base, int priority, struct gsb_sm_range sms,
		       struct gsb_queue **out)
{
	struct lanes_device *dev = to_lanes(base);
	const struct gsb_device_info *info = &dev->pool.info;
	struct gsb_queue *queue;
	int index = free_index(dev);

	if (sms.n && !info->sm_group)
		return -ENOTSUP;
	if (gsb_arch_find_sms(&info->arch, sms, &(struct gsb_sm_range){0}))
		return -EINVAL;
	queue = index < 0 ? NULL : malloc(sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	*queue = (struct gsb_queue){dev, (uint32_t)index, priority, sms};
	dev->queues[index] = queue;
	*out = queue;
	return 0;
}

void lanes_queue_destroy(struct gsb_queue *queue)
{
	if (!queue)
		return;
	for (struct lane *l = queue->dev->lanes; l; l = l->next)
		if (l->queues[queue->index]) {
			lane_tell(l,
				  &(struct lane_call){.op = LANE_queue_close, .n = {queue->index}});
			l->queues[queue->index] = false;
		}
	queue->dev->queues[queue->index] = NULL;
	free(queue);
}

/* Why it has none its first command is told. */
static int open_queue(struct lane *l, const struct gsb_queue *q)
{
	struct lane_call call = {
		.op = LANE_queue_open,
		.n = {q->index, (uint64_t)(int64_t)q->priority, q->sms.first, q->sms.n}};
	int err = l->queues[q->index] ? 0 : lane_tell(l, &call);

	l->queues[q->index] |= !err;
	return err;
}

/* ---- flights ---- */

static int take_flight(struct lane *l, uint32_t *place)
{
	if (!l->free_flight) {
		uint32_t n = l->n_flights ? 2 * l->n_flights : 64;
		struct lane_flight *more = reallocarray(l->flights, n, sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->flights = more;
		for (uint32_t i = n; i-- > l->n_flights;) {
			more[i] = (struct lane_flight){.next_free = l->free_flight};
			l->free_flight = i + 1;
		}
		l->n_flights = n;
	}
	*place = l->free_flight - 1;
	l->free_flight = l->flights[*place].next_free;
	l->flights[*place] = (struct lane_flight){.number = l->n_sent++, .in_use = true};
	l->n_open++;
	return 0;
}

static void give_flight(struct lane *l, struct lane_flight *f)
{
	lane_room_give(l, f->from);
	lane_room_give(l, f->to);
	*f = (struct lane_flight){.next_free = l->free_flight};
	l->free_flight = (uint32_t)(f - l->flights) + 1;
	l->n_open--;
}

/* ---- where a copy's ends lie ---- */

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static uint64_t extent(const struct gsb_cmd_copy *c, uint64_t pitch)
{
	return c->height > 1 ? (c->height - 1) * pitch + c->width : c->width;
}

static void copy_rows(uint8_t *to, const uint8_t *from, const struct gsb_cmd_copy *c,
		      uint64_t pitch)
{
	for (uint64_t i = 0; i < c->height; i++)
		memcpy(to + i * pitch, from + i * pitch, c->width);
}

/*
 * What is an address of the space is the same there. Else it is so far behind the beginning of what is mapped by a number. A range that
 * ends nowhere is nobody's.
 */
static int place_end(struct lane *l, bool is_ours, uint64_t *addr, uint64_t bytes, uint32_t *number,
		     struct lane_map **room)
{
	const struct lane_map *m = is_ours && bytes ? lane_find_shared(l, *addr, bytes) : NULL;

	if (m) {
		*number = m->number;
		*addr -= m->addr;
	}
	if (m || !is_ours || !bytes)
		return 0;
	if (!gsb_range_ok(*addr, bytes, UINT64_MAX))
		return -EFAULT;
	*room = lane_room_take(l, bytes);
	if (!*room)
		return atomic_load_explicit(&l->dead, memory_order_relaxed) ? -EOWNERDEAD : -ENOMEM;
	*number = (*room)->number;
	*addr = 0;
	return 0;
}

/* there: a copy of cmd, to be sent. */
static int place_copy(struct lane *l, const struct gsb_cmd *cmd, struct lane_cmd *there,
		      uint32_t place)
{
	struct lane_map *from = NULL, *to = NULL;
	const struct gsb_cmd_copy *c = &cmd->copy;
	int err = place_end(l, c->src_is_ours, &there->cmd.copy.src, extent(c, c->src_pitch),
			    &there->src_map, &from);

	if (!err)
		err = place_end(l, c->dst_is_ours, &there->cmd.copy.dst, extent(c, c->dst_pitch),
				&there->dst_map, &to);
	l->flights[place].from = from;
	l->flights[place].to = to;
	if (err)
		return err;
	if (from)
		copy_rows(to_pointer(from->addr), to_pointer(c->src), c, c->src_pitch);
	if (to)
		l->flights[place].copy = *c;
	return 0;
}

/* ---- issue ---- */

static uint32_t params_bytes(const struct gsb_cmd *cmd)
{
	return cmd->kind == GSB_CMD_LAUNCH ? cmd->launch.params_bytes : 0;
}

static struct lane_cmd to_lane_cmd(const struct gsb_queue *queue, const struct gsb_cmd *cmd,
				   uint32_t place)
{
	const struct gsb_cmd_launch *l = &cmd->launch;
	struct lane_cmd to = {
		.bytes = (uint32_t)gsb_round_up(sizeof(to) + params_bytes(cmd), 8),
		.op = LANE_issue,
		.queue = queue->index,
		.space = (uint32_t)cmd->space->handle,
		.cmd = *cmd,
	};

	to.cmd.cookie = place;
	to.cmd.n_beside = 0; /* in the lane of its tenant nothing is */
	if (cmd->kind == GSB_CMD_LAUNCH) {
		to.function = (uint32_t)l->function->handle;
		to.as = l->as ? (uint32_t)l->as->handle : 0;
	}
	return to;
}

static void complete_failed(struct gsb_completion *c, uint64_t cookie, CUresult result,
			    uint64_t now_ns)
{
	c->cookie = cookie;
	c->result = result;
	c->start_ns = c->end_ns = now_ns;
	c->n_blocks = c->n_instructions = c->blocks_ns = 0;
	c->printed = c->refused = false;
	snprintf(c->detail, sizeof(c->detail), "%s",
		 result == CUDA_ERROR_LAUNCH_FAILED ? "the lane of its program has ended"
						    : "a copy of memory that ends nowhere");
}

/* Of a lane that is no more: as all that is issued on a device that a fault has ended. */
static int fail_at_once(struct lanes_device *dev, const struct gsb_cmd *cmd, CUresult result)
{
	if (gsb_done_reserve(&dev->done, 1))
		return -ENOMEM;
	complete_failed(gsb_done_push(&dev->done), cmd->cookie, result,
			dev->ops.now_ns(&dev->base));
	return 0;
}

static uint64_t blocks_of(const struct gsb_cmd *cmd)
{
	const uint32_t *grid = cmd->launch.grid;

	return cmd->kind == GSB_CMD_LAUNCH ? (uint64_t)grid[0] * grid[1] * grid[2] : 0;
}

int lanes_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	struct lane *l = cmd->space->lane;
	struct lane_cmd there;
	uint32_t place;
	int err;

	if (params_bytes(cmd) > GSB_PARAMS_BYTES_MAX)
		return -EINVAL;
	err = take_flight(l, &place);
	if (err)
		return err;
	l->flights[place].cookie = cmd->cookie;
	l->flights[place].queue = queue->index;
	l->flights[place].sent_ns = queue->dev->ops.now_ns(&queue->dev->base);
	l->flights[place].n_blocks = blocks_of(cmd);
	there = to_lane_cmd(queue, cmd, place);
	if (cmd->kind == GSB_CMD_COPY)
		err = place_copy(l, cmd, &there, place);
	if (!err)
		err = open_queue(l, queue);
	if (!err)
		err = lane_send_command(l, &there, params_bytes(cmd) ? cmd->launch.params : NULL,
					params_bytes(cmd));
	if (err)
		give_flight(l, &l->flights[place]);
	return err == -EOWNERDEAD || err == -EFAULT
		       ? fail_at_once(queue->dev, cmd, gsb_cuda_result(err))
		       : err;
}

/* ---- completions ---- */

/*
 * A lane's times are its own word, and what it took is reckoned from them, for others that launch the same kernel, too: nothing
 * began before it was sent, or ended before it began, or has ended that is still to come; there are no more blocks than were launched, and none
 * was there for longer than all of it. What it says of instructions counts for its own tenant alone.
 */
static void bound_counts(const struct lane_flight *f, struct gsb_completion *c, uint64_t now_ns)
{
	uint64_t most;

	if (c->end_ns > now_ns)
		c->end_ns = now_ns;
	if (c->end_ns < f->sent_ns)
		c->end_ns = f->sent_ns;
	if (c->start_ns < f->sent_ns)
		c->start_ns = f->sent_ns;
	if (c->start_ns > c->end_ns)
		c->start_ns = c->end_ns;
	if (c->n_blocks > f->n_blocks)
		c->n_blocks = f->n_blocks;
	if (!__builtin_mul_overflow(c->n_blocks, c->end_ns - c->start_ns, &most) &&
	    c->blocks_ns > most)
		c->blocks_ns = most;
}

static void finish_flight(struct lane *l, struct lane_flight *f, struct gsb_completion *c)
{
	bound_counts(f, c, l->dev->ops.now_ns(&l->dev->base));
	if (f->to && !c->result)
		copy_rows(to_pointer(f->copy.dst), to_pointer(f->to->addr), &f->copy,
			  f->copy.dst_pitch);
	c->cookie = f->cookie;
	give_flight(l, f);
}

/* ---- what is refused waits for what is ahead of it ---- */

static bool is_behind_another(const struct lane *l, const struct lane_flight *f)
{
	for (uint32_t i = 0; i < l->n_flights; i++)
		if (l->flights[i].in_use && l->flights[i].queue == f->queue &&
		    l->flights[i].number < f->number)
			return true;
	return false;
}

/* Without memory for it it comes too soon. */
static bool hold(struct lane *l, const struct gsb_completion *c)
{
	struct lane_held *h = malloc(sizeof(*h));

	if (!h)
		return false;
	h->c = *c;
	LL_PREPEND(l->held, h);
	return true;
}

static struct lane_held *find_free(const struct lane *l)
{
	struct lane_held *h = l->held;

	while (h && is_behind_another(l, &l->flights[h->c.cookie]))
		h = h->next;
	return h;
}

/* Of those that are held, what nothing is ahead of any more comes next, and what is behind that. Whether there is any. */
static bool let_go(struct lane *l)
{
	struct lane_held *h;
	bool any = false;

	while ((h = find_free(l)) && !gsb_done_reserve(&l->dev->done, 1)) {
		finish_flight(l, &l->flights[h->c.cookie], &h->c);
		*gsb_done_push(&l->dev->done) = h->c;
		LL_DELETE(l->held, h);
		free(h);
		any = true;
	}
	return any;
}

static bool is_held(const struct lane *l, uint64_t place)
{
	const struct lane_held *h = l->held;

	while (h && h->c.cookie != place)
		h = h->next;
	return h;
}

void lane_forget_held(struct lane *l)
{
	struct lane_held *h, *next;

	LL_FOREACH_SAFE(l->held, h, next)
	free(h);
	l->held = NULL;
}

/* ---- from the lane ---- */

/* What another process has written may be neither. */
static bool is_set(const bool *b)
{
	return *(const unsigned char *)b & 1;
}

static void read_done(struct lane *l, struct gsb_completion *out)
{
	const struct gsb_completion *from = &l->page->done[l->done_tail % LANE_N_DONE];

	memcpy(out, from, offsetof(struct gsb_completion, detail));
	out->printed = is_set(&out->printed);
	out->refused = is_set(&out->refused);
	out->detail[0] = 0;
	if (out->result) {
		memcpy(out->detail, from->detail, sizeof(out->detail));
		out->detail[sizeof(out->detail) - 1] = 0;
	}
	l->done_tail++;
	atomic_store_explicit(&l->page->done_tail, l->done_tail, memory_order_release);
}

/* One that its lane says has ended. A lane that says what cannot be is ended. 1; 0: that comes later; -1: it is ended. */
static int take_one(struct lane *l, struct gsb_completion *out)
{
	struct lane_flight *f;

	read_done(l, out);
	f = out->cookie < l->n_flights ? &l->flights[out->cookie] : NULL;
	if (!f || !f->in_use || is_held(l, out->cookie)) {
		lane_condemn(l);
		return -1;
	}
	if (out->result && atomic_load_explicit(&l->page->lost, memory_order_relaxed))
		lane_pool_renew(l->dev);
	if (out->result && is_behind_another(l, f) && hold(l, out))
		return 0;
	finish_flight(l, f, out);
	return 1;
}

static unsigned take_done(struct lane *l, struct gsb_completion *out, unsigned max)
{
	unsigned n = 0;

	while (n < max && l->n_open &&
	       atomic_load_explicit(&l->page->done_head, memory_order_acquire) != l->done_tail) {
		int took = take_one(l, &out[n]);

		if (took < 0)
			break;
		n += (unsigned)took;
		if (l->held && let_go(l)) /* before what its lane says next */
			break;
	}
	return n;
}

/* What it had not ended when it died. */
static unsigned take_dead(struct lane *l, struct gsb_completion *out, unsigned max, uint64_t now_ns)
{
	unsigned n = 0;

	lane_forget_held(l);
	for (uint32_t i = 0; i < l->n_flights && l->n_open && n < max; i++) {
		struct lane_flight *f = &l->flights[i];

		if (!f->in_use)
			continue;
		complete_failed(&out[n], f->cookie, CUDA_ERROR_LAUNCH_FAILED, now_ns);
		give_flight(l, f);
		n++;
	}
	return n;
}

static unsigned poll_lane(struct lane *l, struct gsb_completion *out, unsigned max)
{
	bool dead = atomic_load_explicit(&l->dead, memory_order_acquire);
	unsigned n;

	if (l->unsent)
		lane_send_kept(l);
	if (!l->n_open)
		return 0;
	n = take_done(l, out, max);
	if (dead && n < max)
		n += take_dead(l, out + n, max - n, l->dev->ops.now_ns(&l->dev->base));
	return n;
}

static unsigned poll_all(struct lanes_device *dev, struct gsb_completion *out, unsigned max)
{
	unsigned n = gsb_done_pop(&dev->done, out, max);

	for (struct lane *l = dev->lanes; l && n < max; l = l->next)
		n += poll_lane(l, out + n, max - n);
	return n;
}

/* Who has taken the word back rings, or has: so many rings are to be read, at some time. */
static void count_rings(struct lanes_device *dev)
{
	uint32_t n_kicks = atomic_load_explicit(&dev->pool.n_kicks, memory_order_relaxed);
	eventfd_t n;

	for (struct lane *l = dev->lanes; l; l = l->next)
		if (l->armed &&
		    !atomic_load_explicit(&l->page->engine_sleeps, memory_order_relaxed)) {
			l->armed = false;
			dev->n_rings++;
		}
	dev->n_rings += n_kicks - dev->n_kicks_seen;
	dev->n_kicks_seen = n_kicks;
	if (dev->n_rings && !eventfd_read(dev->event_fd, &n))
		dev->n_rings -= n < dev->n_rings ? n : dev->n_rings;
}

static void arm(struct lanes_device *dev)
{
	for (struct lane *l = dev->lanes; l; l = l->next)
		if (!l->armed && lane_is_awaited(l)) {
			l->armed = true;
			atomic_store_explicit(&l->page->engine_sleeps, 1, memory_order_relaxed);
		}
	atomic_thread_fence(memory_order_seq_cst);
}

/* What has no completion: answers, and room. Who asks for those is to come again. */
static bool hear_all(struct lanes_device *dev)
{
	bool any = false;

	for (struct lane *l = dev->lanes; l; l = l->next)
		any |= lane_hear(l);
	return any;
}

unsigned lanes_poll(struct gsb_device *base, struct gsb_completion *out, unsigned max)
{
	struct lanes_device *dev = to_lanes(base);
	unsigned n = poll_all(dev, out, max);

	if (n)
		return n;
	count_rings(dev);
	arm(dev);
	return poll_all(dev, out, max); /* what came before it was seen that somebody waits */
}

/* One that has been stopped since it said so keeps nobody awake; it may have said so a moment behind now_ns. */
static bool says_lively(const struct lane *l, uint64_t now_ns)
{
	uint64_t at = atomic_load_explicit(&l->page->lively_ns, memory_order_relaxed);

	return now_ns - at + LIVELY_NS < 2 * LIVELY_NS;
}

/* A lane says what its device does when it has given it what it was sent; until then, and for answers, it is given a moment. */
static bool is_lively(const struct lane *l, uint64_t now_ns)
{
	bool asked = l->requests && !l->requests->prev->answered;

	if (l->n_open && says_lively(l, now_ns))
		return true;
	return (l->n_open || asked) && now_ns - l->woken_ns < ANSWER_NS;
}

/* Behind this nothing can come unnoticed. */
bool lanes_stay_awake(struct gsb_device *base)
{
	struct lanes_device *dev = to_lanes(base);
	uint64_t now_ns = gsb_clock_ns();

	for (struct lane *l = dev->lanes; l; l = l->next)
		if (is_lively(l, now_ns))
			return true;
	arm(dev);
	return hear_all(dev);
}

int lanes_event_fd(struct gsb_device *dev)
{
	return to_lanes(dev)->event_fd;
}
