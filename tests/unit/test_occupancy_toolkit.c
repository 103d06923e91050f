/*
 * test_occupancy_toolkit.c - our occupancy against the calculator in the CUDA toolkit's header, for
 * every GPU of the table that the header knows. Built only where there is a toolkit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <cuda_occupancy.h>
#include <stdio.h>

#include "model/gpu/arch.h"
#include "model/placement/occupancy.h"

static struct cudaOccDeviceProp properties_of(const struct gsb_arch *a)
{
	return (struct cudaOccDeviceProp){
		.computeMajor = (int)a->cc_major,
		.computeMinor = (int)a->cc_minor,
		.maxThreadsPerBlock = (int)a->max_threads_per_block,
		.maxThreadsPerMultiprocessor = (int)a->max_warps * GSB_WARP_SIZE,
		.regsPerBlock = (int)a->max_regs_per_block,
		.regsPerMultiprocessor = (int)a->regs,
		.warpSize = GSB_WARP_SIZE,
		.sharedMemPerBlock = a->smem_per_block_bytes,
		.sharedMemPerMultiprocessor = a->smem_bytes,
		.numSms = (int)a->n_sms,
		.sharedMemPerBlockOptin = a->smem_per_block_optin_bytes,
		.reservedSharedMemPerBlock = a->smem_reserved_bytes,
	};
}

/* -1: the header does not know the GPU. */
static int theirs(const struct gsb_arch *arch, const struct gsb_kernel *k)
{
	struct cudaOccDeviceProp properties = properties_of(arch);
	struct cudaOccDeviceState device = {.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
	struct cudaOccFuncAttributes function = {
		.maxThreadsPerBlock = INT_MAX,
		.numRegs = (int)k->regs_per_thread,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = k->smem_bytes,
		.numBlockBarriers = 1,
	};
	struct cudaOccResult result;
	cudaOccError err = cudaOccMaxActiveBlocksPerMultiprocessor(
		&result, &properties, &function, &device, (int)k->threads_per_block, k->smem_bytes);

	return err ? -1 : result.activeBlocksPerMultiprocessor;
}

static unsigned long compare_all(const struct gsb_arch *arch)
{
	static const uint32_t smem[] = {0,     1,     127,    128,    1000,   1024,  4096,
					10000, 16384, 20000,  24576,  33000,  48128, 49152,
					65536, 99000, 101376, 116736, 166912, 232448};
	unsigned long n = 0;

	for (uint32_t t = 1; t <= arch->max_threads_per_block; t += t < 32 ? 31 : 32) {
		for (uint32_t r = 1; r <= arch->max_regs_per_thread; r++) {
			for (size_t s = 0; s < sizeof(smem) / sizeof(smem[0]); s++) {
				const struct gsb_kernel k = {t, r, smem[s], 1};
				struct gsb_occupancy ours;
				int expected = theirs(arch, &k);

				if (expected < 0)
					return n;
				assert_int_equal(
					gsb_occupancy(arch, &k, &gsb_rules_hardware, &ours), 0);
				if ((int)ours.blocks_per_sm != expected)
					fail_msg("%s: %u threads, %u registers, %u bytes: %u, "
						 "theirs %d",
						 arch->name, t, r, smem[s], ours.blocks_per_sm,
						 expected);
				n++;
			}
		}
	}
	return n;
}

static void test_occupancy_equals_the_toolkits_calculator(void **state)
{
	unsigned int gpus = 0;

	for (size_t i = 0; gsb_arch_at(i); i++) {
		unsigned long n = compare_all(gsb_arch_at(i));

		printf("%s: %lu configurations, no difference\n", gsb_arch_at(i)->name, n);
		gpus += n > 0;
	}
	assert_true(gpus >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_occupancy_equals_the_toolkits_calculator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
