/*
 * http.h - as much of HTTP as a server of one page needs: pure.
 *
 * A library would bring connections that stay open, bodies, forms and threads, all of which are only ways to be
 * attacked here, and would not bound how long a whole request may take. What is left is a request line.
 */
#ifndef GSB_BROKER_SUPERVISOR_HTTP_H
#define GSB_BROKER_SUPERVISOR_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define GSB_HTTP_REQUEST_MAX 4096 /* bytes, with all headers */
#define GSB_HTTP_HEAD_MAX    256

/*
 * gsb_http_parse() - the status that a request deserves
 * @text:    the first n bytes of what has come
 * @path:    of the only page
 * @no_body: set when the answer is the head alone
 *
 * Return: 0: more must come; 200; 400: no request; 404: another page; 405: not GET or HEAD; 431: too long;
 * 505: not HTTP/1.
 */
int gsb_http_parse(const char *text, size_t n, const char *path, bool *no_body);

/* The head of the answer. Returns its length. */
size_t gsb_http_head(char out[GSB_HTTP_HEAD_MAX], int status, const char *type, size_t body_bytes);

#endif
