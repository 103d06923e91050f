/*
 * text.c - see text.h.
 */
#include "model/gpu/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gsb_text_refuse(struct gsb_text_error *err, unsigned int line, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -EINVAL;
	err->line = line;
	va_start(ap, fmt);
	vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

char *gsb_text_trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	return s;
}

int gsb_text_next(struct gsb_text *t, struct gsb_text_error *err)
{
	while (t->left) {
		const char *newline = memchr(t->at, '\n', t->left);
		size_t n = newline ? (size_t)(newline - t->at) : t->left;

		t->number++;
		if (n >= sizeof(t->buf) || memchr(t->at, '\0', n))
			return gsb_text_refuse(err, t->number, "not text, or longer than %zu bytes",
					       sizeof(t->buf) - 1);
		memcpy(t->buf, t->at, n);
		t->buf[n] = '\0';
		t->at += n + (newline != NULL);
		t->left -= n + (newline != NULL);
		t->buf[strcspn(t->buf, "#")] = '\0';
		t->line = gsb_text_trim(t->buf);
		if (*t->line)
			return 1;
	}
	return 0;
}

bool gsb_text_u64(const char *s, uint64_t *out)
{
	uint64_t value = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return false;
	}
	*out = value;
	return true;
}

bool gsb_text_double(const char *s, double *out)
{
	double value = 0, place = 1;
	bool digits = false, point = false;

	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (*s < '0' || *s > '9')
			return false;
		digits = true;
		value = value * 10 + (*s - '0');
		place *= point ? 10 : 1;
		if (value > 1e15)
			return false;
	}
	if (digits)
		*out = value / place;
	return digits;
}
