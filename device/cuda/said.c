/*
 * said.c - see said.h.
 */
#include "device/cuda/said.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define LINE_BYTES 4096	 /* a longer one comes as several */
#define OUT_BYTES  65536 /* of a stream, until it is flushed */

/* One of the two streams: its line that has not ended yet, and what of it was logged. Who prints much does not silence the other. */
struct line {
	size_t n, n_logged;
	bool is_full;
	char text[LINE_BYTES];
};

static struct {
	pthread_mutex_t lock;
	FILE *err, *out;
	struct line err_line, out_line;
	size_t n_kept;
	char kept[CUDA_SAID_MAX];
	cuda_said_print_fn *print; /* NULL: nobody listens */
	void *print_arg;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `text` failed. */
static bool is_assertion(const struct line *l)
{
	static const char word[] = " Assertion `";

	return memmem(l->text, l->n, word, sizeof(word) - 1);
}

/* A kernel may fail in each of its threads. */
static bool is_too_much(struct line *l)
{
	if (!l->is_full && l->n_logged + l->n <= CUDA_SAID_MAX)
		return false;
	if (!l->is_full)
		gsb_log(GSB_LOG_WARN, "cuda", "the driver says more than is kept");
	l->is_full = true;
	return true;
}

/* Whether it was logged. */
static bool log_line(struct line *l)
{
	if (is_too_much(l))
		return false;
	gsb_log(GSB_LOG_WARN, "cuda", "the driver says: %.*s", (int)strcspn(l->text, "\n"),
		l->text);
	l->n_logged += l->n;
	return true;
}

static void end_err_line(struct line *l)
{
	if (!log_line(l) || !is_assertion(l))
		return;
	memcpy(said.kept + said.n_kept, l->text, l->n);
	said.n_kept += l->n;
}

static void end_out_line(struct line *l)
{
	log_line(l);
}

static void take_lines(struct line *l, const char *text, size_t n, void (*end)(struct line *))
{
	for (size_t i = 0; i < n; i++) {
		l->text[l->n++] = text[i];
		if (text[i] == '\n' || l->n == LINE_BYTES - 1) {
			l->text[l->n] = 0;
			end(l);
			l->n = 0;
		}
	}
}

static ssize_t hear_err(void *cookie, const char *text, size_t n)
{
	pthread_mutex_lock(&said.lock);
	take_lines(&said.err_line, text, n, end_err_line);
	pthread_mutex_unlock(&said.lock);
	return (ssize_t)n;
}

static ssize_t hear_out(void *cookie, const char *text, size_t n)
{
	pthread_mutex_lock(&said.lock);
	if (!said.print || !said.print(said.print_arg, text, n))
		take_lines(&said.out_line, text, n, end_out_line);
	pthread_mutex_unlock(&said.lock);
	return (ssize_t)n;
}

static FILE *open_ear(cookie_write_function_t *hear, int buffering)
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = hear});

	if (stream)
		setvbuf(stream, NULL, buffering, OUT_BYTES);
	return stream;
}

/* Of what is printed there may be much, and it is asked for; of a failed assertion nobody may be able to ask. */
void cuda_said_hear(void)
{
	if (!said.err && (said.err = open_ear(hear_err, _IOLBF)))
		stderr = said.err;
	if (!said.out && (said.out = open_ear(hear_out, _IOFBF)))
		stdout = said.out;
}

void cuda_said_listen(cuda_said_print_fn *print, void *arg)
{
	cuda_said_flush();
	pthread_mutex_lock(&said.lock);
	said.print = print;
	said.print_arg = arg;
	pthread_mutex_unlock(&said.lock);
}

void cuda_said_flush(void)
{
	if (said.out)
		fflush(said.out);
}

size_t cuda_said_bytes(void)
{
	size_t n;

	pthread_mutex_lock(&said.lock);
	n = said.n_kept;
	pthread_mutex_unlock(&said.lock);
	return n;
}

size_t cuda_said_read(size_t *at, char *buf, size_t size)
{
	size_t n;

	pthread_mutex_lock(&said.lock);
	n = said.n_kept - *at < size ? said.n_kept - *at : size;
	memcpy(buf, said.kept + *at, n);
	*at += n;
	pthread_mutex_unlock(&said.lock);
	return n;
}
