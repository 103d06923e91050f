/*
 * log.c - see log.h.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"

#define LINE_MAX_BYTES 1024
#define NOTE_MAX_BYTES 128 /* with the note before it, a line is still one atomic write to a pipe */

static const char *const level_names[] = {"off", "error", "warn", "info", "debug"};
static const char *log_program = "gsbroker";
static enum gsb_log_level log_level = GSB_LOG_WARN;

/* How a line is written without waiting. */
static enum {
	SINK_SHARED, /* stderr, after a look for room */
	SINK_SOCKET, /* stderr, by a send that does not wait */
	SINK_OWN     /* a second, non-blocking opening of stderr's file */
} sink = SINK_SHARED;
static int sink_fd = STDERR_FILENO;
static atomic_uint n_dropped; /* and not said yet */
static atomic_ullong n_dropped_ever;
static atomic_bool is_torn; /* a line was taken in part: the next begins with the end of it */

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
	if (env && !strcmp(env, "quiet"))
		log_level = GSB_LOG_OFF;
	else if (env && !gsb_log_level_parse(env, &log_level))
		log_level = GSB_LOG_DEBUG; /* GSB_DEBUG=1, the usual form */
}

bool gsb_log_enabled(enum gsb_log_level level)
{
	return level <= log_level;
}

/* ---- where lines go ---- */

/* A second opening has flags of its own. A plain file's would have a position of its own, too. */
static int open_again(mode_t mode)
{
	if (!S_ISFIFO(mode) && !isatty(STDERR_FILENO))
		return -1;
	return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void gsb_log_never_wait(void)
{
	int saved = errno;
	struct stat st = {0};
	int fd;

	if (sink == SINK_OWN)
		close(sink_fd);
	sink = SINK_SHARED;
	sink_fd = STDERR_FILENO;
	fstat(STDERR_FILENO, &st);
	fd = open_again(st.st_mode);
	if (S_ISSOCK(st.st_mode)) {
		sink = SINK_SOCKET;
	} else if (fd >= 0) {
		sink = SINK_OWN;
		sink_fd = fd;
	}
	errno = saved;
}

static bool has_room(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

/* Whoever says something may have a lock. */
static ssize_t put(const char *text, size_t n)
{
	ssize_t done = -1;
	int was = gsb_cancel_hold();

	do {
		if (sink == SINK_SOCKET)
			done = send(sink_fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		else if (sink == SINK_OWN || has_room(sink_fd))
			done = write(sink_fd, text, n);
		else
			break;
	} while (done < 0 && errno == EINTR);
	gsb_cancel_let_go(was);
	return done;
}

uint64_t gsb_log_n_dropped(void)
{
	return atomic_load(&n_dropped_ever);
}

/* What must be said before the next line. */
static size_t make_note(char note[NOTE_MAX_BYTES], unsigned dropped, bool torn)
{
	int n = 0;

	if (torn)
		note[n++] = '\n';
	if (dropped)
		n += snprintf(note + n, NOTE_MAX_BYTES - 1,
			      "%.64s: warn: log: %u lines were dropped\n", log_program, dropped);
	return (size_t)n;
}

static void emit(const char *line, size_t n)
{
	unsigned dropped = atomic_exchange(&n_dropped, 0);
	bool torn = atomic_exchange(&is_torn, false);
	char text[NOTE_MAX_BYTES + LINE_MAX_BYTES];
	size_t note = make_note(text, dropped, torn);
	ssize_t done;

	memcpy(text + note, line, n);
	done = put(text, note + n);
	if (done == (ssize_t)(note + n))
		return;
	atomic_fetch_add(&n_dropped, dropped + 1);
	atomic_fetch_add(&n_dropped_ever, 1);
	if (torn || done > 0)
		atomic_store(&is_torn, true);
}

/* Texts of tenants (names, lines of PTX) must neither begin a line of the log nor talk to a terminal. */
static void blank_control(char *text, int n)
{
	for (int i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
}

/* The text behind the n bytes that are in line already; it is cut where the line is full. */
GSB_PRINTF(3, 0)
static void emit_text(char line[LINE_MAX_BYTES], int n, const char *fmt, va_list ap)
{
	int m;

	if (n < 0 || n >= LINE_MAX_BYTES - 1)
		n = 0;
	m = vsnprintf(line + n, LINE_MAX_BYTES - 1 - (size_t)n, fmt, ap);
	n += m < 0 ? 0 : m;
	if (n > LINE_MAX_BYTES - 2)
		n = LINE_MAX_BYTES - 2;
	blank_control(line, n);
	line[n++] = '\n';
	emit(line, (size_t)n);
}

void gsb_log(enum gsb_log_level level, const char *topic, const char *fmt, ...)
{
	int n, saved = errno;
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (!gsb_log_enabled(level) || level == GSB_LOG_OFF)
		return;
	n = snprintf(line, sizeof(line), "%s: %s: %s: ", log_program, level_names[level], topic);
	va_start(ap, fmt);
	errno = saved; /* for %m */
	emit_text(line, n, fmt, ap);
	va_end(ap);
	errno = saved;
}

void gsb_log_say(const char *fmt, ...)
{
	int n, saved = errno;
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (log_level == GSB_LOG_OFF)
		return;
	n = snprintf(line, sizeof(line), "%s: ", log_program);
	va_start(ap, fmt);
	errno = saved;
	emit_text(line, n, fmt, ap);
	va_end(ap);
	errno = saved;
}

/* ---- limits ---- */

/* Each line costs GSB_LOG_EVERY_NS; credit is given up to GSB_LOG_BURST lines. */
bool gsb_log_limit_pass(struct gsb_log_limit *l, uint64_t now_ns, unsigned *n_held)
{
	uint64_t paid = l->paid_ns > now_ns ? l->paid_ns : now_ns;

	if (paid - now_ns > (GSB_LOG_BURST - 1) * GSB_LOG_EVERY_NS) {
		l->n_held++;
		return false;
	}
	l->paid_ns = paid + GSB_LOG_EVERY_NS;
	*n_held = l->n_held;
	l->n_held = 0;
	return true;
}
