/*
 * log.h - one line per thing that went wrong or that an operator wants to know.
 *
 * Signal-safe and safe for threads: a fixed buffer and one write(2) to stderr; errno is kept. Say what
 * failed, on what, and what happens next. What happens often is a trace record, never a log line.
 * The level is set by the program (gsb_log_init); inside a tenant only GSB_DEBUG raises it.
 *
 * A line that stderr does not take at once (a pipe that nobody reads, a stopped terminal, a full
 * disk) is dropped and counted, and the count is said with the next line that is taken.
 */
#ifndef GSB_BASE_LOG_H
#define GSB_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum gsb_log_level { GSB_LOG_OFF, GSB_LOG_ERROR, GSB_LOG_WARN, GSB_LOG_INFO, GSB_LOG_DEBUG };

/*
 * gsb_log_init() - name the program and set the level
 * @program: prefix of each line, kept (not copied)
 * @level:   lines above it are dropped; GSB_DEBUG=<off|error|warn|info|debug> in the environment
 * wins, except in a setuid program; quiet is another word for off there
 */
void gsb_log_init(const char *program, enum gsb_log_level level);

/*
 * gsb_log_never_wait() - for a program that others depend on, once, before threads and before giving
 * up root: no line ever waits for whoever reads stderr
 *
 * Pipe and terminal are opened a second time, non-blocking, because the flags of stderr itself are
 * shared with other processes. Where that is not possible, and without this call, a line waits only
 * if another process takes the last room between the look for room and the write.
 */
void gsb_log_never_wait(void);

/* Write "<program>: <level>: <topic>: <text>\n" when level is enabled. It is one line whatever the text:
 * control characters become blanks, lines over 1,000 bytes are cut. */
void gsb_log(enum gsb_log_level level, const char *topic, const char *fmt, ...) GSB_PRINTF(3, 4);

/* "<program>: <text>\n": what who runs the program must know, unless the level is off. */
void gsb_log_say(const char *fmt, ...) GSB_PRINTF(1, 2);

/* Lines of this process that stderr has not taken, so far. */
uint64_t gsb_log_n_dropped(void);

bool gsb_log_enabled(enum gsb_log_level level);

/* "off", "error", ...; returns false and leaves *out alone when the word is none of them. */
bool gsb_log_level_parse(const char *word, enum gsb_log_level *out);

/*
 * What others can cause as often as they like is limited for each of them: GSB_LOG_BURST lines at
 * once, then one every GSB_LOG_EVERY_NS. Zeroed is fresh.
 */
#define GSB_LOG_BURST	 10
#define GSB_LOG_EVERY_NS 1000000000ull

struct gsb_log_limit {
	uint64_t paid_ns; /* the lines so far are paid for at this time */
	unsigned n_held;  /* lines since the last one that was let through */
};

/*
 * gsb_log_limit_pass() - whether one more line may be logged
 * @now_ns: any clock that does not go back
 * @n_held: how many lines were held back before this one, to be said with it ("... and 7 more like
 *          it"); written only when the line may be logged
 */
bool gsb_log_limit_pass(struct gsb_log_limit *l, uint64_t now_ns, unsigned *n_held);

#endif
