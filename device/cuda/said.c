/*
 * said.c - see said.h.
 */
#include "device/cuda/said.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"

#define LINE_BYTES 4096 /* a longer one comes as several */

static struct {
	pthread_mutex_t lock;
	FILE *stream;
	size_t n_line, n_logged, n_kept;
	bool is_full;
	char line[LINE_BYTES], kept[CUDA_SAID_MAX];
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `text` failed. */
static bool is_assertion(void)
{
	static const char word[] = " Assertion `";

	return memmem(said.line, said.n_line, word, sizeof(word) - 1);
}

/* A kernel may fail in each of its threads. */
static bool is_too_much(void)
{
	if (!said.is_full && said.n_logged + said.n_line <= CUDA_SAID_MAX)
		return false;
	if (!said.is_full)
		gsb_log(GSB_LOG_WARN, "cuda", "the driver says more than is kept");
	said.is_full = true;
	return true;
}

static void end_line(void)
{
	if (!is_too_much()) {
		gsb_log(GSB_LOG_WARN, "cuda", "the driver says: %.*s",
			(int)strcspn(said.line, "\n"), said.line);
		said.n_logged += said.n_line;
		if (is_assertion()) {
			memcpy(said.kept + said.n_kept, said.line, said.n_line);
			said.n_kept += said.n_line;
		}
	}
	said.n_line = 0;
}

static ssize_t hear(void *cookie, const char *text, size_t n)
{
	pthread_mutex_lock(&said.lock);
	for (size_t i = 0; i < n; i++) {
		said.line[said.n_line++] = text[i];
		if (text[i] == '\n' || said.n_line == LINE_BYTES - 1) {
			said.line[said.n_line] = 0;
			end_line();
		}
	}
	pthread_mutex_unlock(&said.lock);
	return (ssize_t)n;
}

void cuda_said_hear(void)
{
	if (said.stream)
		return;
	said.stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = hear});
	if (!said.stream)
		return;
	setvbuf(said.stream, NULL, _IOLBF, 0);
	stderr = said.stream;
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
