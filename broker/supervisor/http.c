/*
 * http.c - see http.h.
 */
#include "broker/supervisor/http.h"

#include <stdio.h>
#include <string.h>

/* Where an empty line ends the headers; 0: it has not come. */
static size_t head_end(const char *text, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (text[i] != '\n')
			continue;
		if (text[i - 1] == '\n' || (i >= 3 && !memcmp(text + i - 3, "\r\n\r", 3)))
			return i + 1;
	}
	return 0;
}

/* The next word of the line, ended by one blank or the line's end; its length. */
static size_t word(const char *text, size_t n)
{
	size_t len = 0;

	while (len < n && text[len] > ' ' && text[len] <= '~')
		len++;
	return len;
}

static bool is(const char *text, size_t n, const char *want)
{
	return n == strlen(want) && !memcmp(text, want, n);
}

/* method SP target SP HTTP/1.digit */
static int check_line(const char *line, size_t n, const char *path, bool *no_body)
{
	size_t method = word(line, n), target, version, at = method + 1;
	const char *page;

	if (!method || at >= n || line[method] != ' ')
		return 400;
	page = line + at;
	target = word(page, n - at);
	at += target + 1;
	if (!target || at >= n || page[target] != ' ')
		return 400;
	version = word(line + at, n - at);
	if (at + version != n || version != 8 || memcmp(line + at, "HTTP/", 5) != 0)
		return 400;
	if (line[at + 5] != '1' || line[at + 6] != '.')
		return 505;
	*no_body = is(line, method, "HEAD");
	if (!*no_body && !is(line, method, "GET"))
		return 405;
	for (size_t i = 0; i < target; i++)
		if (page[i] == '?')
			target = i;
	return is(page, target, path) ? 200 : 404;
}

int gsb_http_parse(const char *text, size_t n, const char *path, bool *no_body)
{
	const char *newline = memchr(text, '\n', n);
	size_t line;

	*no_body = false;
	if (memchr(text, 0, n))
		return 400;
	if (!head_end(text, n))
		return n >= GSB_HTTP_REQUEST_MAX ? 431 : 0;
	line = (size_t)(newline - text);
	if (line && text[line - 1] == '\r')
		line--;
	return check_line(text, line, path, no_body);
}

static const char *reason(int status)
{
	switch (status) {
	case 200: return "OK";
	case 400: return "Bad Request";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 431: return "Request Header Fields Too Large";
	case 505: return "HTTP Version Not Supported";
	default: return "Internal Server Error";
	}
}

size_t gsb_http_head(char out[GSB_HTTP_HEAD_MAX], int status, const char *type, size_t body_bytes)
{
	int n = snprintf(out, GSB_HTTP_HEAD_MAX,
			 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			 "Connection: close\r\n%s\r\n",
			 status, reason(status), type, body_bytes,
			 status == 405 ? "Allow: GET, HEAD\r\n" : "");

	return (size_t)n;
}
