/*
 * frame.c - see frame.h.
 */
#include "interpose/core/frame.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

struct range {
	uintptr_t from;
	size_t bytes;
};

static bool is_in(const struct range *r, uintptr_t at)
{
	return at - r->from < r->bytes;
}

/* Of no bytes where there is none, or one that disarms itself and is in use. */
static struct range alternate_stack(void)
{
	stack_t s;

	if (sigaltstack(NULL, &s) || s.ss_flags & SS_DISABLE)
		return (struct range){0};
	return (struct range){.from = (uintptr_t)s.ss_sp, .bytes = s.ss_size};
}

static struct range own_stack(void)
{
	struct range r = {0};
	pthread_attr_t attr;
	void *from;

	if (pthread_getattr_np(pthread_self(), &attr))
		return r;
	if (!pthread_attr_getstack(&attr, &from, &r.bytes))
		r.from = (uintptr_t)from;
	pthread_attr_destroy(&attr);
	return r;
}

bool gsb_frame_is_left(uintptr_t before, uintptr_t now)
{
	const struct range alternate = alternate_stack();
	struct range own;

	if (is_in(&alternate, before))
		return !is_in(&alternate, now) || now >= before;
	if (is_in(&alternate, now) || now < before)
		return false;
	own = own_stack();
	return is_in(&own, before) && is_in(&own, now);
}
