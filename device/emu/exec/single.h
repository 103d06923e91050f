/*
 * single.h - what one lane moves by one instruction, moved by one access of memory: 1, 2, 4, 8 or 16
 * bytes, scalar or vector. Other threads see all of it or nothing, as on a GPU, and they see it in order:
 * a load acquires, a store releases, which costs nothing on x86-64.
 *
 * 16 bytes rest on the processor. With AVX, an aligned 16-byte move is one access (Intel SDM volume 3,
 * 9.1.1; AMD APM volume 2, 7.3.2); without it only a locked cmpxchg16b is, which every x86-64-v2 has and which
 * writes what it reads, so that memory must be writable. ThreadSanitizer sees neither; it brings its own
 * operations for the compiler's, and elsewhere libatomic has them.
 *
 * More than 16 bytes of one lane are several accesses of 16.
 */
#ifndef GSB_DEVICE_EMU_EXEC_SINGLE_H
#define GSB_DEVICE_EMU_EXEC_SINGLE_H

#include <stdint.h>

#define SINGLE_BYTES 16 /* the most that is one access */

typedef unsigned __int128 single16;
/* The same in a register of vectors, which is where it comes from with AVX. */
typedef long long single_vector __attribute__((vector_size(16)));

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SINGLE_BY_COMPILER
#endif
#endif
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define SINGLE_BY_COMPILER
#endif

#if defined(SINGLE_BY_COMPILER)
static inline single16 single_load16(const unsigned char *p)
{
	return __atomic_load_n((const single16 *)(const void *)p, __ATOMIC_ACQUIRE);
}

static inline void single_store16(unsigned char *p, single16 v)
{
	__atomic_store_n((single16 *)(void *)p, v, __ATOMIC_RELEASE);
}

/* As the compiler's compare-and-exchange: *old is what was there. */
static inline int single_swap16(single16 *p, single16 *old, single16 next)
{
	return __atomic_compare_exchange_n(p, old, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
#elif defined(__AVX__)
#define SINGLE_IN_VECTORS

/* Written out, because a compiler may move a variable of 16 bytes in two halves. */
static inline single_vector single_load_vector(const unsigned char *p)
{
	single_vector v;

	__asm__ volatile("vmovdqa %1, %0"
			 : "=x"(v)
			 : "m"(*(const single16 *)(const void *)p)
			 : "memory");
	return v;
}

static inline void single_store_vector(unsigned char *p, single_vector v)
{
	__asm__ volatile("vmovdqa %1, %0" : "=m"(*(single16 *)(void *)p) : "x"(v) : "memory");
}

static inline single16 single_load16(const unsigned char *p)
{
	return (single16)single_load_vector(p);
}

static inline void single_store16(unsigned char *p, single16 v)
{
	single_store_vector(p, (single_vector)v);
}
#else
static inline single16 single_load16(const unsigned char *p)
{
	return __sync_val_compare_and_swap((single16 *)(uintptr_t)p, 0, 0);
}

static inline void single_store16(unsigned char *p, single16 v)
{
	single16 *at = (void *)p, was = 0, now;

	while ((now = __sync_val_compare_and_swap(at, was, v)) != was)
		was = now;
}
#endif

#if !defined(SINGLE_BY_COMPILER)
static inline int single_swap16(single16 *p, single16 *old, single16 next)
{
	single16 was = *old;

	*old = __sync_val_compare_and_swap(p, was, next);
	return *old == was;
}
#endif

#if !defined(SINGLE_IN_VECTORS)
static inline single_vector single_load_vector(const unsigned char *p)
{
	return (single_vector)single_load16(p);
}

static inline void single_store_vector(unsigned char *p, single_vector v)
{
	single_store16(p, (single16)v);
}
#endif

#define SINGLE_LOAD(T, to, p) \
	(*(T *)(void *)(to) = __atomic_load_n((const T *)(const void *)(p), __ATOMIC_ACQUIRE))
#define SINGLE_STORE(T, p, from) \
	__atomic_store_n((T *)(void *)(p), *(const T *)(const void *)(from), __ATOMIC_RELEASE)

/* @len bytes, a power of two; both places are aligned to it, or to 16 bytes if it is more. */
static inline void single_load(unsigned char *to, const unsigned char *p, uint32_t len)
{
	switch (len) {
	case 1: SINGLE_LOAD(uint8_t, to, p); break;
	case 2: SINGLE_LOAD(uint16_t, to, p); break;
	case 4: SINGLE_LOAD(uint32_t, to, p); break;
	case 8: SINGLE_LOAD(uint64_t, to, p); break;
	default:
		for (uint32_t at = 0; at < len; at += SINGLE_BYTES)
			*(single16 *)(void *)(to + at) = single_load16(p + at);
		break;
	}
}

static inline void single_store(unsigned char *p, const unsigned char *from, uint32_t len)
{
	switch (len) {
	case 1: SINGLE_STORE(uint8_t, p, from); break;
	case 2: SINGLE_STORE(uint16_t, p, from); break;
	case 4: SINGLE_STORE(uint32_t, p, from); break;
	case 8: SINGLE_STORE(uint64_t, p, from); break;
	default:
		for (uint32_t at = 0; at < len; at += SINGLE_BYTES)
			single_store16(p + at, *(const single16 *)(const void *)(from + at));
		break;
	}
}

#endif
