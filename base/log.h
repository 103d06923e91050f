/*
 * log.h - one line per thing that went wrong or that an operator wants to know.
 *
 * Signal-safe: a fixed buffer and one write(2) to stderr; errno is kept. Say what failed, on what,
 * and what happens next. What happens often is a trace record, never a log line.
 * The level is set by the program (gsb_log_init); inside a tenant only GSB_DEBUG raises it.
 */
#ifndef GSB_BASE_LOG_H
#define GSB_BASE_LOG_H

#include <stdbool.h>

#include "base/compiler.h"

enum gsb_log_level { GSB_LOG_OFF, GSB_LOG_ERROR, GSB_LOG_WARN, GSB_LOG_INFO, GSB_LOG_DEBUG };

/*
 * gsb_log_init() - name the program and set the level
 * @program: prefix of each line, kept (not copied)
 * @level:   lines above it are dropped; GSB_DEBUG=<off|error|warn|info|debug> in the environment
 * wins, except in a setuid program
 */
void gsb_log_init(const char *program, enum gsb_log_level level);

/* Write "<program>: <level>: <topic>: <text>\n" when level is enabled. It is one line whatever the text:
 * control characters become blanks, lines over 1,000 bytes are cut. */
void gsb_log(enum gsb_log_level level, const char *topic, const char *fmt, ...) GSB_PRINTF(3, 4);

bool gsb_log_enabled(enum gsb_log_level level);

/* "off", "error", ...; returns false and leaves *out alone when the word is none of them. */
bool gsb_log_level_parse(const char *word, enum gsb_log_level *out);

#endif
