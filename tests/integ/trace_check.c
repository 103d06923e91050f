/*
 * trace_check.c - is a trace whole? Every operation's events are there and in order, times never go back, what each tenant
 * did is what the broker counted of it, and a policy was shown what was on the device. Then prints, for each tenant,
 * a line of name=value pairs with the same keys as gsbctl totals --json.
 *
 *   trace_check FILE          exit status 0: whole, and nothing of it lost
 *   trace_check --begun FILE  it begins or ends in the middle: chains may be open at either end
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "gsb/wire.h"
#include "trace/read.h"

#define TENANTS_MAX 1024

enum stage { NONE, QUEUED, TOLD, READY, HELD, DECIDED, ISSUED, FINISHED, COMPLETED };

struct chain {
	uint32_t tenant, stream;
	uint8_t stage, kind, before;
	uint64_t at_ns; /* device time of its last event */
};

struct sums {
	char name[64];
	uint64_t records, launches, kernels, copies, fills, device_ns, instructions;
	uint64_t numbers[GSB_N_STREAMS]; /* what each stream's word says */
	bool there, gone;
};

static struct {
	struct chain *chains; /* by serial */
	uint64_t n_chains;
	struct sums *tenants; /* by number */
	uint64_t n_events, n_flights, last_ns, last_step_ns, last_end_ns, last_serial, n_bad;
	bool begun, charged;
} all;

static void bad(const struct gsb_trace_record *rec, const char *what)
{
	if (++all.n_bad < 20)
		fprintf(stderr, "trace_check: event %" PRIu64 ", %s of tenant %u: %s\n",
			rec->number, rec->event->name, rec->any->head.tenant, what);
}

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "trace_check: out of memory\n");
		exit(2);
	}
	return p;
}

static struct chain *chain_of(const struct gsb_trace_record *rec, uint64_t serial)
{
	static struct chain none;

	if (serial >= all.n_chains) {
		uint64_t n = all.n_chains ? all.n_chains : 1024;

		if (serial >= 1ull << 32) {
			bad(rec, "a serial that there cannot be");
			return &none;
		}
		while (n <= serial)
			n *= 2;
		all.chains = need(realloc(all.chains, n * sizeof(*all.chains)));
		memset(all.chains + all.n_chains, 0, (n - all.n_chains) * sizeof(*all.chains));
		all.n_chains = n;
	}
	return &all.chains[serial];
}

static struct sums *sums_of(const struct gsb_trace_record *rec)
{
	static struct sums none;
	uint32_t id = rec->any->head.tenant;

	if (id && id < TENANTS_MAX)
		return &all.tenants[id];
	bad(rec, "a tenant that there cannot be");
	return &none;
}

static bool is_device_work(const struct chain *c)
{
	return c->kind <= GSB_TRACE_OP_FILL;
}

static bool has_detail(const struct chain *c)
{
	return c->kind <= GSB_TRACE_OP_FILL || c->kind == GSB_TRACE_OP_EVENT_RECORD ||
	       c->kind == GSB_TRACE_OP_EVENT_WAIT;
}

/* Go on to stage, which must be next after one of from (bits); what was there before the recording may jump. */
static struct chain *step(const struct gsb_trace_record *rec, enum stage to, unsigned from)
{
	struct chain *c = chain_of(rec, rec->any->queued.serial);

	if (c->tenant != rec->any->head.tenant && (c->stage != NONE || !all.begun))
		bad(rec, "its serial is another tenant's, or nobody's");
	if (!(from >> c->stage & 1) && !c->before && !(all.begun && c->stage == NONE))
		bad(rec, "not in its order");
	c->stage = (uint8_t)to;
	return c;
}

static void pass_time(const struct gsb_trace_record *rec, struct chain *c, uint64_t ns)
{
	if (ns < c->at_ns)
		bad(rec, "device time goes back");
	c->at_ns = ns;
}

static void on_queued(const struct gsb_trace_record *rec)
{
	static const uint8_t stages[] = {QUEUED, QUEUED, READY, ISSUED};
	const struct gsb_trace_queued *q = &rec->any->queued;
	struct chain *c = chain_of(rec, q->serial);

	if (c->stage != NONE)
		bad(rec, "a serial is given twice");
	if (!q->before && q->serial != all.last_serial + 1 && !(all.begun && !all.last_serial))
		bad(rec, "serials have a gap");
	if (q->stream >= GSB_N_STREAMS || q->kind > GSB_TRACE_OP_NOP)
		bad(rec, "a stream or a kind that there cannot be");
	*c = (struct chain){q->head.tenant, q->stream, stages[q->before % 4],
			    q->kind,	    q->before, 0};
	all.n_flights += q->before == 3;
	if (!q->before) {
		all.last_serial = q->serial;
		sums_of(rec)->records++;
		sums_of(rec)->launches += q->kind == GSB_TRACE_OP_LAUNCH;
	}
}

static void on_detail(const struct gsb_trace_record *rec)
{
	static const uint8_t kinds[GSB_N_TRACE_TYPES] = {
		[GSB_TRACE_COPY] = GSB_TRACE_OP_COPY,
		[GSB_TRACE_FILL] = GSB_TRACE_OP_FILL,
		[GSB_TRACE_RECORDS] = GSB_TRACE_OP_EVENT_RECORD,
		[GSB_TRACE_WAITS_FOR] = GSB_TRACE_OP_EVENT_WAIT,
	};

	struct chain *c = chain_of(rec, rec->any->launch.serial);

	if (c->kind != kinds[rec->type])
		bad(rec, "it is of another kind");
	if (c->before <= 1) /* else it is past that already */
		step(rec, TOLD, 1u << QUEUED);
}

/* Before it can start, it was said what it is. */
static unsigned begun_stages(const struct gsb_trace_record *rec)
{
	return has_detail(chain_of(rec, rec->any->queued.serial)) ? 1u << TOLD : 1u << QUEUED;
}

static void on_parked(const struct gsb_trace_record *rec)
{
	struct chain *c = chain_of(rec, rec->any->parked.serial);

	step(rec, c->stage, begun_stages(rec));
}

static void on_ready(const struct gsb_trace_record *rec)
{
	struct chain *c = step(rec, READY, begun_stages(rec));

	if (!is_device_work(c))
		bad(rec, "that is no work for a device");
	pass_time(rec, c, rec->any->ready.ready_device_ns);
}

static void on_decided(const struct gsb_trace_record *rec)
{
	const struct gsb_trace_decided *d = &rec->any->decided;
	unsigned n = 0;

	if (d->verdict == GSB_TRACE_VERDICT_HOLD)
		step(rec, HELD, 1u << READY);
	else
		step(rec, DECIDED, 1u << READY | 1u << HELD);
	/* What goes on behind another in its queue is told as that one ends, which is not beside it. */
	if (d->n_running + (d->reason == GSB_TRACE_REASON_RUN ? 1u : 0) != all.n_flights)
		bad(rec, "the policy was not shown what is on the device");
	while (n < GSB_ARRAY_LEN(d->beside) && d->beside[n]) {
		if (chain_of(rec, d->beside[n++])->stage != ISSUED)
			bad(rec, "what is beside it is not on the device");
	}
	if (n != (d->n_running < 4 ? d->n_running : 4))
		bad(rec, "not all that is beside it is named");
}

static void on_issued(const struct gsb_trace_record *rec)
{
	step(rec, ISSUED, 1u << DECIDED);
	all.n_flights++;
}

static void on_finished(const struct gsb_trace_record *rec)
{
	const struct gsb_trace_finished *f = &rec->any->finished;
	struct chain *c = step(rec, FINISHED, 1u << ISSUED);
	struct sums *s = sums_of(rec);

	all.n_flights--;
	pass_time(rec, c, f->start_device_ns);
	pass_time(rec, c, f->end_device_ns);
	if (f->end_device_ns > all.last_end_ns)
		all.last_end_ns = f->end_device_ns;
	s->instructions += c->kind == GSB_TRACE_OP_LAUNCH ? f->n_instructions : 0;
	s->device_ns += c->kind == GSB_TRACE_OP_LAUNCH ? f->end_device_ns - f->start_device_ns : 0;
	s->kernels += c->kind == GSB_TRACE_OP_LAUNCH && !f->result;
	s->copies += c->kind == GSB_TRACE_OP_COPY;
	s->fills += c->kind == GSB_TRACE_OP_FILL;
}

static void on_completed(const struct gsb_trace_record *rec)
{
	const struct gsb_trace_completed *e = &rec->any->completed;
	struct chain *c = chain_of(rec, e->serial);
	uint64_t *number = &sums_of(rec)->numbers[e->stream % GSB_N_STREAMS];

	if (e->failed)
		step(rec, COMPLETED, ~(1u << COMPLETED));
	else
		step(rec, COMPLETED, is_device_work(c) ? 1u << FINISHED : begun_stages(rec));
	if (c->stream != e->stream && !all.begun)
		bad(rec, "it is of another stream");
	if (*number + 1 != e->number && !(all.begun && !*number))
		bad(rec, "the stream's word jumps");
	*number = e->number;
	if (!e->failed)
		pass_time(rec, c, e->device_ns);
}

static void on_come(const struct gsb_trace_record *rec)
{
	struct sums *s = sums_of(rec);

	if (s->there)
		bad(rec, "it is there already");
	s->there = true;
	snprintf(s->name, sizeof(s->name), "%s", rec->any->tenant_come.name);
}

static void on_gone(const struct gsb_trace_record *rec)
{
	const struct gsb_trace_tenant_gone *g = &rec->any->tenant_gone;
	struct sums *s = sums_of(rec);

	s->gone = true;
	if (all.begun)
		return;
	if (s->records != g->n_records || s->launches != g->n_launches ||
	    s->kernels != g->n_kernels || s->copies != g->n_copies || s->fills != g->n_fills ||
	    s->device_ns != g->kernels_device_ns)
		bad(rec, "the broker has counted otherwise");
}

static void on_time_step(const struct gsb_trace_record *rec)
{
	const struct gsb_trace_time_step *t = &rec->any->time_step;

	if (t->to_device_ns < t->from_device_ns || t->from_device_ns < all.last_step_ns)
		bad(rec, "virtual time goes back");
	/* It went on to where something ended, and no further; once a tenant was charged, as far as that. */
	all.charged |= t->why == GSB_TRACE_STEP_CHARGE;
	if (all.charged ? t->to_device_ns < all.last_end_ns : t->to_device_ns != all.last_end_ns)
		bad(rec, "nothing ended when it did");
	all.last_step_ns = t->to_device_ns;
}

static void on_record(const struct gsb_trace_record *rec)
{
	if (rec->any->head.time_ns < all.last_ns)
		bad(rec, "time goes back");
	all.last_ns = rec->any->head.time_ns;
	all.n_events++;
	switch (rec->type) {
	case GSB_TRACE_TENANT_COME: on_come(rec); break;
	case GSB_TRACE_TENANT_GONE: on_gone(rec); break;
	case GSB_TRACE_TAKEN: sums_of(rec)->records++; break;
	case GSB_TRACE_QUEUED: on_queued(rec); break;
	case GSB_TRACE_LAUNCH:
	case GSB_TRACE_COPY:
	case GSB_TRACE_FILL:
	case GSB_TRACE_RECORDS:
	case GSB_TRACE_WAITS_FOR: on_detail(rec); break;
	case GSB_TRACE_PARKED: on_parked(rec); break;
	case GSB_TRACE_READY: on_ready(rec); break;
	case GSB_TRACE_DECIDED: on_decided(rec); break;
	case GSB_TRACE_ISSUED: on_issued(rec); break;
	case GSB_TRACE_FINISHED: on_finished(rec); break;
	case GSB_TRACE_COMPLETED: on_completed(rec); break;
	case GSB_TRACE_TIME_STEP: on_time_step(rec); break;
	default: break;
	}
}

static uint64_t count_open(void)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < all.n_chains; i++)
		n += all.chains[i].stage != NONE && all.chains[i].stage != COMPLETED;
	return n;
}

static void print_sums(void)
{
	for (int i = 0; i < TENANTS_MAX; i++) {
		const struct sums *s = &all.tenants[i];

		if (s->there)
			printf("tenant=%s records=%" PRIu64 " launches=%" PRIu64 " kernels=%" PRIu64
			       " copies=%" PRIu64 " fills=%" PRIu64 " device_ns=%" PRIu64
			       " instructions=%" PRIu64 " gone=%d\n",
			       s->name, s->records, s->launches, s->kernels, s->copies, s->fills,
			       s->device_ns, s->instructions, s->gone);
	}
}

int main(int argc, char **argv)
{
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	char why[GSB_TRACE_WHY_MAX];
	uint64_t n_open;

	all.begun = argc == 3 && !strcmp(argv[1], "--begun");
	if (argc != 2 && !all.begun)
		return 2;
	if (gsb_trace_open(argv[argc - 1], &r, why)) {
		fprintf(stderr, "trace_check: %s\n", why);
		return 1;
	}
	all.tenants = need(calloc(TENANTS_MAX, sizeof(*all.tenants)));
	while (gsb_trace_next(r, &rec) > 0)
		on_record(&rec);
	n_open = count_open();
	print_sums();
	printf("events=%" PRIu64 " operations=%" PRIu64 " open=%" PRIu64 " lost=%" PRIu64
	       " bad=%" PRIu64 " ending=%d\n",
	       all.n_events, all.last_serial, n_open, gsb_trace_n_lost(r), all.n_bad,
	       (int)gsb_trace_ending(r));
	return all.n_bad || gsb_trace_n_lost(r) ||
	       (!all.begun && (n_open || gsb_trace_ending(r) != GSB_TRACE_COMPLETE));
}
