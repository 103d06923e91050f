/*
 * mbarrier.c - mbarrier objects: arrivals, bytes that are expected, phases.
 *
 * An object is 64 bits of shared memory, and programs may not look inside. Ours are, from bit 0: arrivals
 * that are pending, 20 bits; arrivals that each phase expects, 20; bytes that are expected less those
 * that have come, 21, signed; the phase, 2; and a bit that says that it is one. A token is the object as
 * it was before the arrival, so that both questions about tokens are answered from it.
 *
 * PTX leaves open what happens to a program that breaks the rules: counts out of range, more arrivals
 * than are pending, a place that was never initialised. Here each ends the kernel with the reason, since
 * a program whose barrier does not hold has no right result. But one may be made invalid again, as libcu++'s pipelines make
 * theirs when they end, and then what those stand in: that is nobody's barrier any more, and stays so. And who has waited may look
 * after another has seen the phase end and made the barrier invalid: a GPU leaves the words of one, so the answer is there. Shared memory is the cluster's, and one worker
 * executes it: plain accesses, lane after lane.
 */
#include "device/emu/exec/mbarrier.h"

#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/async.h"
#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/look.h"
#include "device/emu/exec/split.h"

#define COUNT_BITS 20
#define TX_BITS	   21
#define PHASE_BITS 2
#define COUNT_MAX  ((1u << COUNT_BITS) - 1)
#define TX_MAX	   ((1 << (TX_BITS - 1)) - 1)
#define TX_GONE	   (-TX_MAX - 1) /* of one that was made invalid; none that is one comes to it */

struct mbar {
	uint32_t pending, expected, phase;
	int32_t tx;
	bool is_one;
};

static struct mbar unpack(uint64_t bits)
{
	struct mbar m = {.pending = bits & COUNT_MAX, .expected = bits >> COUNT_BITS & COUNT_MAX};
	uint64_t rest = bits >> 2 * COUNT_BITS;

	m.tx = (int32_t)((uint32_t)rest << (32 - TX_BITS)) >> (32 - TX_BITS);
	m.phase = rest >> TX_BITS & ((1u << PHASE_BITS) - 1);
	m.is_one = rest >> (TX_BITS + PHASE_BITS);
	return m;
}

static uint64_t pack(const struct mbar *m)
{
	uint64_t rest = (uint32_t)m->tx & ((1u << TX_BITS) - 1);

	rest |= (uint64_t)(m->phase & ((1u << PHASE_BITS) - 1)) << TX_BITS;
	rest |= (uint64_t)m->is_one << (TX_BITS + PHASE_BITS);
	return m->pending | (uint64_t)m->expected << COUNT_BITS | rest << 2 * COUNT_BITS;
}

/* ---- what can be done to one; NULL, or what is wrong ---- */

static const char *expect(struct mbar *m, int64_t bytes)
{
	if (bytes > TX_MAX || m->tx + bytes > TX_MAX || m->tx + bytes < -TX_MAX)
		return "more than 1048575 bytes are expected or have come";
	m->tx += (int32_t)bytes;
	return NULL;
}

static const char *arrive(struct mbar *m, uint32_t n)
{
	if (!n || n > COUNT_MAX)
		return "a count of arrivals is from 1 to 1048575";
	if (n > m->pending)
		return "more arrivals than its phase expects";
	m->pending -= n;
	return NULL;
}

static const char *drop(struct mbar *m, uint32_t n)
{
	const char *wrong = n > m->expected ? "more threads drop out than it expects" : NULL;

	m->expected -= wrong ? 0 : n;
	return wrong ? wrong : arrive(m, n);
}

static const char *init(struct mbar *m, uint32_t n)
{
	if (!n || n > COUNT_MAX)
		return "its count is from 1 to 1048575";
	*m = (struct mbar){.pending = n, .expected = n, .is_one = true};
	return NULL;
}

static void end_phase(struct mbar *m)
{
	if (m->pending || m->tx)
		return;
	m->phase++;
	m->pending = m->expected;
}

static const char *change(struct mbar *m, unsigned int what, uint32_t n)
{
	const char *wrong = NULL;

	switch (what) {
	case GSB_PTX_OP_MBAR_EXPECT_TX: return expect(m, n);
	case GSB_PTX_OP_MBAR_COMPLETE_TX: return n > TX_MAX ? expect(m, n) : expect(m, -(int64_t)n);
	case GSB_PTX_OP_MBAR_ARRIVE_EXPECT_TX:
		wrong = expect(m, n);
		return wrong ? wrong : arrive(m, 1);
	case GSB_PTX_OP_MBAR_DROP_EXPECT_TX:
		wrong = expect(m, n);
		return wrong ? wrong : drop(m, 1);
	case GSB_PTX_OP_MBAR_ARRIVE_NO_COMPLETE:
	case GSB_PTX_OP_MBAR_DROP_NO_COMPLETE:
		if (n >= m->pending)
			return "an arrival that must not complete the phase would";
		break;
	default: break;
	}
	return what == GSB_PTX_OP_MBAR_DROP || what == GSB_PTX_OP_MBAR_DROP_NO_COMPLETE
		       ? drop(m, n)
		       : arrive(m, n);
}

static uint64_t load(const unsigned char *at)
{
	uint64_t bits;

	memcpy(&bits, at, sizeof(bits));
	return bits;
}

static void store(unsigned char *at, const struct mbar *m)
{
	uint64_t bits = pack(m);

	memcpy(at, &bits, sizeof(bits));
}

static void make_invalid(struct mbar *m)
{
	m->is_one = false;
	m->tx = TX_GONE;
}

/* *token: the object as it was. */
static const char *update(unsigned char *at, unsigned int what, uint32_t n, uint64_t *token)
{
	struct mbar m = unpack(*token = load(at));
	const char *wrong = NULL;

	if (what == GSB_PTX_OP_MBAR_INIT)
		wrong = init(&m, n);
	else if (!m.is_one && what == GSB_PTX_OP_MBAR_INVAL)
		return NULL;
	else if (!m.is_one)
		wrong = "it was not initialised";
	else if (what == GSB_PTX_OP_MBAR_INVAL)
		make_invalid(&m);
	else
		wrong = change(&m, what, n);
	if (wrong)
		return wrong;
	if (m.is_one && what != GSB_PTX_OP_MBAR_INIT)
		end_phase(&m);
	store(at, &m);
	return NULL;
}

/* ---- on behalf of copies; a barrier that is gone by then is nobody's ---- */

const char *gsb_emu_mbar_expect_arrival(unsigned char *mbar)
{
	struct mbar m = unpack(load(mbar));

	if (!m.is_one)
		return "it was not initialised";
	if (m.pending == COUNT_MAX)
		return "more than 1048575 arrivals are pending";
	m.pending++;
	store(mbar, &m);
	return NULL;
}

static const char *late(unsigned char *mbar, unsigned int what, uint32_t n)
{
	uint64_t token;

	return unpack(load(mbar)).is_one ? update(mbar, what, n, &token) : NULL;
}

const char *gsb_emu_mbar_arrive(unsigned char *mbar)
{
	return late(mbar, GSB_PTX_OP_MBAR_ARRIVE, 1);
}

const char *gsb_emu_mbar_complete_tx(unsigned char *mbar, uint32_t bytes)
{
	return late(mbar, GSB_PTX_OP_MBAR_COMPLETE_TX, bytes);
}

/* ---- handlers ---- */

unsigned char *gsb_emu_mbar_at(struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint64_t addr)
{
	const bool own = op->n == GSB_PTX_SPACE_SHARED, generic = op->n == GSB_PTX_SPACE_GENERIC;
	const uint64_t offset = generic ? addr - GSB_EMU_SHARED_WINDOW : (uint32_t)addr;
	const enum gsb_ptx_space space = own ? GSB_PTX_SPACE_SHARED : GSB_PTX_SPACE_CLUSTER;
	unsigned char *at = gsb_emu_cluster_at(x->block, space, offset, 8);

	if (!at && offset == (uint32_t)offset && gsb_emu_cluster_refuses(x, space, offset))
		return NULL;
	if (!at) {
		gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr,
			     "mbarrier at 0x%llx, which is not shared memory of its block",
			     (unsigned long long)addr);
		return NULL;
	}
	if (offset % 8) {
		gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
			     "mbarrier at 0x%llx, which is not aligned to 8 bytes",
			     (unsigned long long)addr);
		return NULL;
	}
	return at;
}

static const struct gsb_emu_op *broken(struct gsb_emu_exec *x, uint64_t addr, const char *wrong)
{
	return gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, addr, "mbarrier at 0x%llx: %s",
			    (unsigned long long)addr, wrong);
}

GSB_EMU_HANDLER(gsb_emu_do_MBAR_UPDATE)
{
	const uint64_t *addr = (const void *)(r + op->a);
	const uint32_t *count = (const void *)(r + op->b);
	uint64_t *d = (void *)(r + op->d);

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		unsigned char *at = gsb_emu_mbar_at(x, op, addr[i]);
		const char *wrong;
		uint64_t token;

		if (!at)
			return NULL;
		wrong = update(at, op->e, count[i], &token);
		if (wrong)
			return broken(x, addr[i], wrong);
		d[i] = token;
	}
	return op + 1;
}

/* Is the phase over that a token or a parity (op->b) names? */
static bool is_over(const struct gsb_emu_op *op, const char *r, unsigned int lane,
		    const struct mbar *m)
{
	const uint64_t *token = (const void *)(r + op->b);
	const uint32_t *parity = (const void *)(r + op->b);

	if (op->flags & GSB_EMU_F_ADDR64)
		return unpack(token[lane]).phase != m->phase;
	return (m->phase & 1) != (parity[lane] & 1);
}

/* Why nobody will end the phase that is asked for, if it is not @over; NULL: somebody may. */
static const char *cannot_end(const struct mbar *m, bool over)
{
	if (m->is_one || (over && m->tx == TX_GONE))
		return NULL;
	return m->tx == TX_GONE ? "it was made invalid before the phase that is waited for was over"
				: "it was not initialised";
}

/*
 * try_wait may keep a thread for a while: it gives up the warp's turn instead, so that who waits in a
 * loop does not keep those from running for whom it waits. What it found is what it says.
 */
GSB_EMU_HANDLER(gsb_emu_do_MBAR_TEST)
{
	const uint64_t *addr = (const void *)(r + op->a);
	const unsigned char *last = NULL;
	uint32_t over = 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		unsigned char *at = gsb_emu_mbar_at(x, op, addr[i]);
		const char *wrong;
		struct mbar m;

		if (!at || (at != last && !gsb_emu_async_looked_at(x, at)))
			return NULL;
		last = at;
		m = unpack(load(at));
		wrong = cannot_end(&m, is_over(op, r, i, &m));
		if (wrong)
			return broken(x, addr[i], wrong);
		over |= (uint32_t)is_over(op, r, i, &m) << i;
	}
	gsb_emu_predicate_set(r, op->d, mask, over);
	if (!op->e && !over)
		gsb_emu_looked_in_vain(x);
	if (!op->e || over == mask)
		return op + 1;
	gsb_emu_leave(x, gsb_emu_index_of(x, op) + 1);
	return gsb_emu_stop(x, GSB_EMU_STOP_SLEEP);
}
