/*
 * log.c - see log.h.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static const char *const level_names[] = {"off", "error", "warn", "info", "debug"};
static const char *log_program = "gsbroker";
static enum gsb_log_level log_level = GSB_LOG_WARN;

bool gsb_log_level_parse(const char *word, enum gsb_log_level *out)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(level_names); i++)
		if (!strcmp(word, level_names[i])) {
			*out = (enum gsb_log_level)i;
			return true;
		}
	return false;
}

void gsb_log_init(const char *program, enum gsb_log_level level)
{
	const char *env = secure_getenv("GSB_DEBUG");

	log_program = program;
	log_level = level;
	if (env && !gsb_log_level_parse(env, &log_level))
		log_level = GSB_LOG_DEBUG; /* GSB_DEBUG=1, the usual form */
}

bool gsb_log_enabled(enum gsb_log_level level)
{
	return level <= log_level;
}

/* Texts of tenants (names, lines of PTX) must neither begin a line of the log nor talk to a terminal. */
static void blank_control(char *text, int n)
{
	for (int i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
}

void gsb_log(enum gsb_log_level level, const char *topic, const char *fmt, ...)
{
	int saved = errno;
	char line[LINE_MAX_BYTES];
	va_list ap;
	int n, m;

	if (!gsb_log_enabled(level) || level == GSB_LOG_OFF)
		return;
	n = snprintf(line, sizeof(line), "%s: %s: %s: ", log_program, level_names[level], topic);
	if (n < 0 || n >= (int)sizeof(line) - 1)
		n = 0;
	va_start(ap, fmt);
	errno = saved; /* for %m */
	m = vsnprintf(line + n, sizeof(line) - 1 - (size_t)n, fmt, ap);
	va_end(ap);
	n += m < 0 ? 0 : m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	blank_control(line, n);
	line[n++] = '\n';
	while (write(STDERR_FILENO, line, (size_t)n) < 0 && errno == EINTR)
		;
	errno = saved;
}
