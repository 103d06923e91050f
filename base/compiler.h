/*
 * compiler.h - the GNU attributes that the project uses, by one name each.
 */
#ifndef GSB_BASE_COMPILER_H
#define GSB_BASE_COMPILER_H

#define GSB_EXPORT	    __attribute__((visibility("default")))
#define GSB_OWN		    __attribute__((visibility("hidden"))) /* an extern of no library */
#define GSB_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define GSB_CACHE_ALIGNED   __attribute__((aligned(64)))
#define GSB_UNUSED	    __attribute__((unused))
#define GSB_COLD	    __attribute__((cold, noinline)) /* off the path that must stay short */
#define GSB_NORETURN	    __attribute__((noreturn))
#define GSB_NOINLINE	    __attribute__((noinline))
#define GSB_ALWAYS_INLINE   inline __attribute__((always_inline))

#define gsb_likely(x)	__builtin_expect(!!(x), 1)
#define gsb_unlikely(x) __builtin_expect(!!(x), 0)

#define GSB_ARRAY_LEN(a)	     (sizeof(a) / sizeof((a)[0]))
#define gsb_container_of(p, type, m) ((type *)((char *)(p)-offsetof(type, m)))

/* Have the memory at p in the cache soon: all lines of it. */
static inline void gsb_prefetch(const void *p, unsigned int bytes)
{
	for (unsigned int at = 0; at < bytes; at += 64)
		__builtin_prefetch((const char *)p + at, 1);
}

/* Tell the processor that this is a spin loop, so that its sibling thread runs. */
static inline void gsb_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

#endif
