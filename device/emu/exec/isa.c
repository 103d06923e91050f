/*
 * isa.c - which build of the handlers this processor can execute.
 */
#include "device/emu/exec/isa.h"

#if defined(__x86_64__)
extern const struct gsb_emu_isa gsb_emu_isa_v2, gsb_emu_isa_v3, gsb_emu_isa_v4;

static bool has_v2(void)
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

static bool has_v3(void)
{
	return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool has_v4(void)
{
	return has_v3() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static const struct {
	const struct gsb_emu_isa *isa;
	bool (*has)(void);
} builds[] = {{&gsb_emu_isa_v4, has_v4}, {&gsb_emu_isa_v3, has_v3}, {&gsb_emu_isa_v2, has_v2}};
#else
extern const struct gsb_emu_isa gsb_emu_isa_plain;

static bool always(void)
{
	return true;
}

static const struct {
	const struct gsb_emu_isa *isa;
	bool (*has)(void);
} builds[] = {{&gsb_emu_isa_plain, always}};
#endif

const struct gsb_emu_isa *gsb_emu_isa_nth(unsigned int i)
{
	for (size_t k = 0; k < GSB_ARRAY_LEN(builds); k++) {
		if (builds[k].has() && i-- == 0)
			return builds[k].isa;
	}
	return NULL;
}

/* x86-64-v2 is what this project asks for: an older processor gets no further than NULL here. */
const struct gsb_emu_isa *gsb_emu_isa_best(void)
{
	static const struct gsb_emu_isa *best;
	const struct gsb_emu_isa *isa = __atomic_load_n(&best, __ATOMIC_RELAXED);

	if (!isa) {
		isa = gsb_emu_isa_nth(0);
		__atomic_store_n(&best, isa, __ATOMIC_RELAXED);
	}
	return isa;
}
