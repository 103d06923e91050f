/*
 * arch.c - table of GPUs, bounds of a sane one, and the parser of the text form.
 *
 * Sources of the table. Limits per SM and per block: CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability" (8.0 guide for 2.0, 12.x for the rest). Allocation units:
 * NVIDIA's occupancy calculator. SMs, clocks, memory: NVIDIA's data sheets and architecture
 * whitepapers (GF100, GK104, GK110, GP102, GV100, GA100, GH100, AD104, GB100), the boost clock
 * where two are given. gtx680, k40, titanx-pascal and c2070 are the GPUs of the papers; h200 is as
 * its driver reports it. Results a cycle: "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide (4.2 for
 * 2.x, 10.0 to 12.x for 3.0 to 9.0; since 13.0 it is in the Best Practices Guide), the rows of 32-bit integer add and multiply, of reciprocals and their like, and of
 * 64-bit floating-point add. Before 7.0 a product was three instructions (5.0 to 6.2), which is a third of the adds. The kernel limits are the sort that decides a block's fate, so they are
 * exact; clock and bandwidth are nominal. sm_group is what cuda.h (13.0) says of green contexts; GPUs from before
 * Pascal have none, the emulated ones give any SM away.
 */
#include "model/gpu/arch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "model/gpu/interference.h"

#define KIB(n) ((n)*1024u)
#define MIB(n) ((n)*1024u * 1024u)
#define GIB(n) ((n)*1024ull * 1024 * 1024)

/* What no GPU is likely to pass; keeps every product of the models inside 64 bits. */
#define SMS_MAX	   4096
#define WARPS_MAX  1024
#define PER_SM_MAX (1u << 26)

/* clang-format off: one line per subject, so that two GPUs can be compared. */
#define CC_2_0                                              \
	{                                                   \
		.alu = 32, .imul = 16, .sfu = 4, .fp64 = 16 \
	}
#define CC_2_1                                             \
	{                                                  \
		.alu = 48, .imul = 16, .sfu = 8, .fp64 = 4 \
	}
#define CC_3_0                                               \
	{                                                    \
		.alu = 160, .imul = 32, .sfu = 32, .fp64 = 8 \
	}
#define CC_3_5                                                \
	{                                                     \
		.alu = 160, .imul = 32, .sfu = 32, .fp64 = 64 \
	}
#define CC_5_0                                               \
	{                                                    \
		.alu = 128, .imul = 42, .sfu = 32, .fp64 = 4 \
	}
#define CC_6_0                                               \
	{                                                    \
		.alu = 64, .imul = 21, .sfu = 16, .fp64 = 32 \
	}
#define CC_6_1 CC_5_0
#define CC_7_0                                               \
	{                                                    \
		.alu = 64, .imul = 64, .sfu = 16, .fp64 = 32 \
	}
#define CC_7_5                                              \
	{                                                   \
		.alu = 64, .imul = 64, .sfu = 16, .fp64 = 2 \
	}
#define CC_8_0 CC_7_0
#define CC_8_6 CC_7_5
#define CC_9_0                                               \
	{                                                    \
		.alu = 64, .imul = 64, .sfu = 16, .fp64 = 64 \
	}
#define CC_12_0                                              \
	{                                                    \
		.alu = 128, .imul = 64, .sfu = 16, .fp64 = 2 \
	}

/* By the first compute capability that has them. */
static const struct {
	uint32_t major, minor;
	struct gsb_arch_rates per_cycle;
} rates[] = {
	{0, 0, CC_2_0}, {2, 1, CC_2_1}, {3, 0, CC_3_0},	  {3, 5, CC_3_5}, {5, 0, CC_5_0},
	{6, 0, CC_6_0}, {6, 1, CC_6_1}, {7, 0, CC_7_0},	  {7, 5, CC_7_5}, {8, 0, CC_8_0},
	{8, 6, CC_8_6}, {9, 0, CC_9_0}, {12, 0, CC_12_0},
};

static const struct gsb_arch archs[] = {
	{
		.name = "c2070",
		.marketing_name = "Tesla C2070",
		.cc_major = 2,
		.cc_minor = 0,
		.n_sms = 14,
		.sm_group = 1,
		.max_warps = 48,
		.max_blocks = 8,
		.max_threads_per_block = 1024,
		.regs = 32768,
		.max_regs_per_block = 32768,
		.max_regs_per_thread = 63,
		.reg_unit = 64,
		.warp_unit = 2,
		.smem_bytes = KIB(48),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(48),
		.smem_unit_bytes = 128,
		.issue_width = 2,
		.per_cycle = CC_2_0,
		.clock_khz = 1150000,
		.mem_clock_khz = 1494000,
		.mem_bus_bits = 384,
		.mem_bandwidth_bytes_per_s = 144000000000,
		.mem_bytes = GIB(6),
		.l2_bytes = KIB(768),
		.max_resident_grids = 16,
	},
	{
		.name = "gtx680",
		.marketing_name = "GeForce GTX 680",
		.cc_major = 3,
		.cc_minor = 0,
		.n_sms = 8,
		.sm_group = 1,
		.max_warps = 64,
		.max_blocks = 16,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 63,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(48),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(48),
		.smem_unit_bytes = 256,
		.issue_width = 4,
		.per_cycle = CC_3_0,
		.clock_khz = 1058000,
		.mem_clock_khz = 3004000,
		.mem_bus_bits = 256,
		.mem_bandwidth_bytes_per_s = 192200000000,
		.mem_bytes = GIB(2),
		.l2_bytes = KIB(512),
		.max_resident_grids = 16,
	},
	{
		.name = "k40",
		.marketing_name = "Tesla K40",
		.cc_major = 3,
		.cc_minor = 5,
		.n_sms = 15,
		.sm_group = 1,
		.max_warps = 64,
		.max_blocks = 16,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(48),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(48),
		.smem_unit_bytes = 256,
		.issue_width = 4,
		.per_cycle = CC_3_5,
		.clock_khz = 875000,
		.mem_clock_khz = 3004000,
		.mem_bus_bits = 384,
		.mem_bandwidth_bytes_per_s = 288000000000,
		.mem_bytes = GIB(12),
		.l2_bytes = KIB(1536),
		.max_resident_grids = 32,
	},
	{
		.name = "titanx-pascal",
		.marketing_name = "NVIDIA TITAN X (Pascal)",
		.cc_major = 6,
		.cc_minor = 1,
		.n_sms = 28,
		.sm_group = 2,
		.max_warps = 64,
		.max_blocks = 32,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(96),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(48),
		.smem_unit_bytes = 256,
		.issue_width = 4,
		.per_cycle = CC_6_1,
		.clock_khz = 1531000,
		.mem_clock_khz = 5005000,
		.mem_bus_bits = 384,
		.mem_bandwidth_bytes_per_s = 480000000000,
		.mem_bytes = GIB(12),
		.l2_bytes = MIB(3),
		.max_resident_grids = 32,
	},
	{
		.name = "v100",
		.marketing_name = "Tesla V100-SXM2-16GB",
		.cc_major = 7,
		.cc_minor = 0,
		.n_sms = 80,
		.sm_group = 2,
		.max_warps = 64,
		.max_blocks = 32,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(96),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(96),
		.smem_unit_bytes = 256,
		.issue_width = 4,
		.per_cycle = CC_7_0,
		.clock_khz = 1530000,
		.mem_clock_khz = 877000,
		.mem_bus_bits = 4096,
		.mem_bandwidth_bytes_per_s = 900000000000,
		.mem_bytes = GIB(16),
		.l2_bytes = MIB(6),
		.max_resident_grids = 128,
	},
	{
		.name = "a100",
		.marketing_name = "NVIDIA A100-SXM4-40GB",
		.cc_major = 8,
		.cc_minor = 0,
		.n_sms = 108,
		.sm_group = 2,
		.max_warps = 64,
		.max_blocks = 32,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(164),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(163),
		.smem_reserved_bytes = 1024,
		.smem_unit_bytes = 128,
		.issue_width = 4,
		.per_cycle = CC_8_0,
		.clock_khz = 1410000,
		.mem_clock_khz = 1215000,
		.mem_bus_bits = 5120,
		.mem_bandwidth_bytes_per_s = 1555000000000,
		.mem_bytes = GIB(40),
		.l2_bytes = MIB(40),
		.max_resident_grids = 128,
	},
	{
		.name = "l4",
		.marketing_name = "NVIDIA L4",
		.cc_major = 8,
		.cc_minor = 9,
		.n_sms = 58,
		.sm_group = 2,
		.max_warps = 48,
		.max_blocks = 24,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(100),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(99),
		.smem_reserved_bytes = 1024,
		.smem_unit_bytes = 128,
		.issue_width = 4,
		.per_cycle = CC_8_6,
		.clock_khz = 2040000,
		.mem_clock_khz = 6251000,
		.mem_bus_bits = 192,
		.mem_bandwidth_bytes_per_s = 300000000000,
		.mem_bytes = GIB(24),
		.l2_bytes = MIB(48),
		.max_resident_grids = 128,
	},
	{
		.name = "h100",
		.marketing_name = "NVIDIA H100 80GB HBM3",
		.cc_major = 9,
		.cc_minor = 0,
		.n_sms = 132,
		.sm_group = 8,
		.gpc_sms = 18,
		.max_warps = 64,
		.max_blocks = 32,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(228),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(227),
		.smem_reserved_bytes = 1024,
		.smem_unit_bytes = 128,
		.issue_width = 4,
		.per_cycle = CC_9_0,
		.clock_khz = 1980000,
		.mem_clock_khz = 2619000,
		.mem_bus_bits = 5120,
		.mem_bandwidth_bytes_per_s = 3352000000000,
		.mem_bytes = GIB(80),
		.l2_bytes = MIB(50),
		.max_resident_grids = 128,
	},
	{
		.name = "h200",
		.marketing_name = "NVIDIA H200",
		.cc_major = 9,
		.cc_minor = 0,
		.n_sms = 132,
		.sm_group = 8,
		.gpc_sms = 18,
		.max_warps = 64,
		.max_blocks = 32,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(228),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(227),
		.smem_reserved_bytes = 1024,
		.smem_unit_bytes = 128,
		.issue_width = 4,
		.per_cycle = CC_9_0,
		.clock_khz = 1980000,
		.mem_clock_khz = 3201000,
		.mem_bus_bits = 6144,
		.mem_bandwidth_bytes_per_s = 4800000000000,
		.mem_bytes = GIB(139),
		.l2_bytes = MIB(60),
		.max_resident_grids = 128,
	},
	{
		.name = "b200",
		.marketing_name = "NVIDIA B200",
		.cc_major = 10,
		.cc_minor = 0,
		.n_sms = 148,
		.sm_group = 8,
		.gpc_sms = 20,
		.max_warps = 64,
		.max_blocks = 32,
		.max_threads_per_block = 1024,
		.regs = 65536,
		.max_regs_per_block = 65536,
		.max_regs_per_thread = 255,
		.reg_unit = 256,
		.warp_unit = 4,
		.smem_bytes = KIB(228),
		.smem_per_block_bytes = KIB(48),
		.smem_per_block_optin_bytes = KIB(227),
		.smem_reserved_bytes = 1024,
		.smem_unit_bytes = 128,
		.issue_width = 4,
		.per_cycle = CC_9_0,
		.clock_khz = 1965000,
		.mem_clock_khz = 3996000,
		.mem_bus_bits = 8192,
		.mem_bandwidth_bytes_per_s = 8000000000000,
		.mem_bytes = GIB(180),
		.l2_bytes = MIB(126),
		.max_resident_grids = 128,
	},
};
/* clang-format on */

const struct gsb_arch *gsb_arch_at(size_t i)
{
	return i < GSB_ARRAY_LEN(archs) ? &archs[i] : NULL;
}

struct gsb_arch_rates gsb_arch_rates(uint32_t cc_major, uint32_t cc_minor)
{
	size_t i = GSB_ARRAY_LEN(rates) - 1;

	while (rates[i].major > cc_major ||
	       (rates[i].major == cc_major && rates[i].minor > cc_minor))
		i--;
	return rates[i].per_cycle;
}

const struct gsb_arch *gsb_arch_find(const char *name)
{
	for (size_t i = 0; name && i < GSB_ARRAY_LEN(archs); i++)
		if (!strcasecmp(archs[i].name, name))
			return &archs[i];
	return NULL;
}

void gsb_arch_names(char *out, size_t size)
{
	size_t n = 0;

	if (size)
		*out = '\0';
	for (size_t i = 0; i < GSB_ARRAY_LEN(archs) && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", archs[i].name);
}

/* Bounds of the fields that the models use; offsets keep this and the parser one list. */
struct field {
	const char *key;
	size_t offset;
	bool wide; /* uint64_t */
	uint64_t min, max;
};

#define FIELD(f, lo, hi)                                                                         \
	{                                                                                        \
#f, offsetof(struct gsb_arch, f), sizeof(((struct gsb_arch *)0)->f) == 8, lo, hi \
	}

#define RATES_MAX 4096
#define RATE(f)                                                                              \
	{                                                                                    \
#f "_per_cycle", offsetof(struct gsb_arch, per_cycle.f), false, 1, RATES_MAX \
	}

static const struct field fields[] = {
	FIELD(cc_major, 1, 99),
	FIELD(cc_minor, 0, 99),
	FIELD(n_sms, 1, SMS_MAX),
	FIELD(sm_group, 1, SMS_MAX),
	FIELD(gpc_sms, 0, GSB_GPC_SMS_MAX - 4),
	FIELD(max_warps, 1, WARPS_MAX),
	FIELD(max_blocks, 1, WARPS_MAX),
	FIELD(max_threads_per_block, GSB_WARP_SIZE, WARPS_MAX *GSB_WARP_SIZE),
	FIELD(regs, 1, PER_SM_MAX),
	FIELD(max_regs_per_block, 1, PER_SM_MAX),
	FIELD(max_regs_per_thread, 1, 4096),
	FIELD(reg_unit, 1, 65536),
	FIELD(warp_unit, 1, 8),
	FIELD(smem_bytes, 0, PER_SM_MAX),
	FIELD(smem_per_block_bytes, 0, PER_SM_MAX),
	FIELD(smem_per_block_optin_bytes, 0, PER_SM_MAX),
	FIELD(smem_reserved_bytes, 0, 65536),
	FIELD(smem_unit_bytes, 1, 65536),
	FIELD(issue_width, 1, 64),
	RATE(alu),
	RATE(imul),
	RATE(sfu),
	RATE(fp64),
	FIELD(clock_khz, 1, 100000000),
	FIELD(mem_clock_khz, 0, 100000000),
	FIELD(mem_bus_bits, 0, 1u << 20),
	FIELD(mem_bandwidth_bytes_per_s, 1, 1ull << 50),
	FIELD(mem_bytes, 1, 1ull << 50),
	FIELD(l2_bytes, 0, UINT32_MAX),
	FIELD(max_resident_grids, 1, 65536),
};

static uint64_t field_get(const struct gsb_arch *arch, const struct field *f)
{
	const char *p = (const char *)arch + f->offset;

	return f->wide ? *(const uint64_t *)p : *(const uint32_t *)p;
}

static void field_set(struct gsb_arch *arch, const struct field *f, uint64_t value)
{
	char *p = (char *)arch + f->offset;

	if (f->wide)
		*(uint64_t *)p = value;
	else
		*(uint32_t *)p = (uint32_t)value;
}

/* The first reason why the GPU is refused, or NULL. */
static const char *arch_fault(const struct gsb_arch *arch)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(fields); i++) {
		uint64_t value = field_get(arch, &fields[i]);

		if (value < fields[i].min || value > fields[i].max)
			return fields[i].key;
	}
	if (arch->max_regs_per_block > arch->regs)
		return "max_regs_per_block exceeds regs";
	if (arch->smem_per_block_optin_bytes > arch->smem_bytes)
		return "smem_per_block_optin_bytes exceeds smem_bytes";
	if (arch->smem_per_block_bytes > arch->smem_per_block_optin_bytes)
		return "smem_per_block_bytes exceeds smem_per_block_optin_bytes";
	if (arch->max_threads_per_block > arch->max_warps * GSB_WARP_SIZE)
		return "max_threads_per_block exceeds the SM's warps";
	return NULL;
}

int gsb_arch_check(const struct gsb_arch *arch)
{
	return arch && !arch_fault(arch) ? 0 : -EINVAL;
}

int gsb_arch_find_sms(const struct gsb_arch *arch, struct gsb_sm_range asked,
		      struct gsb_sm_range *out)
{
	uint32_t left = arch->n_sms - asked.first;

	if (!asked.first && !asked.n)
		asked.n = arch->n_sms;
	else if (!asked.n || asked.first >= arch->n_sms || asked.n > left ||
		 asked.first % arch->sm_group || (asked.n < left && asked.n % arch->sm_group))
		return -EINVAL;
	*out = asked;
	return 0;
}

/* As many GPCs as are needed, in which pairs of SMs are spread. */
struct gsb_gpc gsb_arch_gpc(const struct gsb_arch *arch, uint32_t sm)
{
	const uint32_t n_gpcs = (arch->n_sms + arch->gpc_sms - 1) / arch->gpc_sms;
	const uint32_t n_pairs = (arch->n_sms + 1) / 2;
	const uint32_t i = ((sm / 2 + 1) * n_gpcs - 1) / n_pairs;
	struct gsb_gpc gpc = {.first = 2 * (n_pairs * i / n_gpcs),
			      .end = 2 * (n_pairs * (i + 1) / n_gpcs)};

	if (gpc.end > arch->n_sms)
		gpc.end = arch->n_sms;
	return gpc;
}

static bool copy_name(char *to, size_t size, const char *from)
{
	if (strlen(from) >= size || !*from)
		return false;
	memset(to, 0, size);
	memcpy(to, from, strlen(from));
	return true;
}

static int set_base(struct gsb_arch *arch, const char *value, unsigned int line,
		    struct gsb_text_error *err)
{
	const struct gsb_arch *base = gsb_arch_find(value);
	char names[GSB_ARCH_NAMES_MAX];

	if (arch->name[0])
		return gsb_text_refuse(err, line, "'base' must be the first key");
	if (!base) {
		gsb_arch_names(names, sizeof(names));
		return gsb_text_refuse(err, line, "unknown base GPU '%.40s'; there are %s", value,
				       names);
	}
	*arch = *base;
	return 0;
}

static int set_key(struct gsb_arch *arch, const char *key, const char *value, unsigned int line,
		   struct gsb_text_error *err)
{
	uint64_t number;

	if (!strcmp(key, "base"))
		return set_base(arch, value, line, err);
	if (!strcmp(key, "name"))
		return copy_name(arch->name, sizeof(arch->name), value)
			       ? 0
			       : gsb_text_refuse(err, line, "name must have 1 to %zu characters",
						 sizeof(arch->name) - 1);
	if (!strcmp(key, "marketing_name"))
		return copy_name(arch->marketing_name, sizeof(arch->marketing_name), value)
			       ? 0
			       : gsb_text_refuse(err, line,
						 "marketing_name must have 1 to %zu characters",
						 sizeof(arch->marketing_name) - 1);
	for (size_t i = 0; i < GSB_ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];

		if (strcmp(key, f->key))
			continue;
		if (!gsb_text_u64(value, &number) || number < f->min || number > f->max)
			return gsb_text_refuse(err, line,
					       "%s = '%.40s': must be a whole number from %" PRIu64
					       " to %" PRIu64,
					       key, value, f->min, f->max);
		field_set(arch, f, number);
		return 0;
	}
	return gsb_text_refuse(err, line, "unknown key '%.60s'", key);
}

static int parse_line(struct gsb_arch *arch, char *line, unsigned int number,
		      struct gsb_text_error *err)
{
	char *equals = strchr(line, '=');

	/* Of the same GPU, but of no limit of it: interference.c reads it. */
	if (!strncmp(line, GSB_INTERFERENCE_KEY, strlen(GSB_INTERFERENCE_KEY)))
		return 0;
	if (!equals)
		return gsb_text_refuse(err, number, "expected 'key = value', found '%.60s'", line);
	*equals = '\0';
	return set_key(arch, gsb_text_trim(line), gsb_text_trim(equals + 1), number, err);
}

static void set_rate(uint32_t *rate, uint32_t usual)
{
	*rate = *rate ? *rate : usual;
}

/* What the text has not said. */
static void set_rates(struct gsb_arch *arch)
{
	const struct gsb_arch_rates usual = gsb_arch_rates(arch->cc_major, arch->cc_minor);

	set_rate(&arch->per_cycle.alu, usual.alu);
	set_rate(&arch->per_cycle.imul, usual.imul);
	set_rate(&arch->per_cycle.sfu, usual.sfu);
	set_rate(&arch->per_cycle.fp64, usual.fp64);
}

int gsb_arch_parse(const char *text, size_t len, struct gsb_arch *out, struct gsb_text_error *err)
{
	struct gsb_text reader = {.at = text, .left = len};
	struct gsb_arch arch = {.sm_group = 1};
	const char *fault;
	int got;

	while ((got = gsb_text_next(&reader, err)) > 0) {
		int refused = parse_line(&arch, reader.line, reader.number, err);

		if (refused)
			return refused;
	}
	if (got < 0)
		return got;
	if (!arch.name[0])
		return gsb_text_refuse(err, 0, "no 'name' (and no 'base')");
	set_rates(&arch);
	fault = arch_fault(&arch);
	if (fault)
		return gsb_text_refuse(err, 0, "%s: missing, or contradicts another limit", fault);
	*out = arch;
	return 0;
}

int gsb_arch_print(const struct gsb_arch *arch, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "name = %s\n", arch->name);

	if (arch->marketing_name[0] && n < size)
		n += (size_t)snprintf(out + n, size - n, "marketing_name = %s\n",
				      arch->marketing_name);
	for (size_t i = 0; i < GSB_ARRAY_LEN(fields) && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s = %" PRIu64 "\n", fields[i].key,
				      field_get(arch, &fields[i]));
	return n < size ? 0 : -ENOSPC;
}
