/*
 * fuzz_records.c - a hostile tenant's records against a live engine, beside a healthy tenant.
 *
 * A valid session (every record type, in an order that makes sense) is laid out in the hostile
 * tenant's ring. The input is a list of edits to it, so that most of what the engine sees stays
 * plausible and the mutations reach the checks behind the first one:
 *
 *   byte 0       bit 0: the device completes nothing by itself, so the tenant dies with work in
 *                flight
 *   then 4 each  offset low, offset high, operation, operand
 *
 * Whatever happens to the hostile one, the healthy tenant's kernel must run and its bytes be right,
 * and all of the hostile one's memory must be freed once it is gone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/session.h"
#include "tests/unit/engine_kit.h"

const char *const gsb_fuzz_seeds = "tests/fuzz/seeds/records/*";

struct bench {
	struct kit_engine k;
	struct kit_tenant good;
	uint64_t good_mem;
	uint32_t count; /* what the healthy tenant's word must hold */
};

static struct bench *bench;

static void start_bench(void)
{
	gsb_log_init("fuzz", GSB_LOG_OFF);
	bench = calloc(1, sizeof(*bench));
	kit_engine_init(&bench->k, false);
	kit_device_auto(bench->k.dev);
	kit_tenant_init(&bench->good, &bench->k, NULL);
	bench->good_mem = kit_alloc(&bench->good, 64);
	kit_load_inc(&bench->good, 0, 0);
}

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_good(void)
{
	kit_launch_inc(&bench->good, 0, 0, bench->good_mem, 1);
	kit_settle(&bench->k);
	bench->count++;
	must(*(uint32_t *)(uintptr_t)bench->good_mem == bench->count);
	must(kit_done(&bench->good, 0) == bench->count);
	must(!kit_error(&bench->good, 0));
	must(!atomic_load(&bench->good.region->header.fatal));
}

static void run_hostile(struct kit_tenant *bad, const uint8_t *data, size_t size)
{
	uint64_t mem = kit_alloc(bad, 256), begin;
	uint8_t *ring = bad->region->ring;

	kit_load_inc(bad, 0, 0);
	begin = bad->producer.tail; /* well before the end of the ring */
	kit_post_session(bad, mem);
	for (size_t i = 1; i + KIT_EDIT_BYTES <= size; i += KIT_EDIT_BYTES)
		kit_edit(ring + begin, bad->producer.tail - begin, data + i);
	kit_settle(&bench->k);
	kit_host_func_done(bad, 3); /* asked for or not; it may have been cut off already */
	kit_settle(&bench->k);
}

void gsb_fuzz_records_seen(unsigned *n_tenants, unsigned *n_cut)
{
	*n_tenants = (unsigned)bench->k.engine->n_admitted - 1;
	*n_cut = (unsigned)bench->k.engine->n_cut;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsb_tenant_limits limits = {
		.device_mem_bytes = 1 << 20,
		.host_mem_bytes = 1 << 20,
		.staging_bytes = 1 << 16,
		.image_max_bytes = 1 << 16,
	};
	struct kit_tenant bad;

	if (!bench)
		start_bench();
	kit_tenant_init(&bad, &bench->k, &limits);
	bench->k.dev->automatic = !size || !(data[0] & 1);
	run_hostile(&bad, data, size);
	kit_tenant_finish(&bad);
	bench->k.dev->automatic = true;
	check_good();
	must(bench->k.dev->n_spaces == 1 && bench->k.dev->used_bytes == 64);
	must(bench->k.dev->n_modules == 1 && bench->k.engine->n_tenants == 1);
	kit_device_forget(bench->k.dev);
	return 0;
}
