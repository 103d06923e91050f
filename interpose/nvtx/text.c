/*
 * text.c - see text.h.
 */
#include "interpose/nvtx/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* never an exit in somebody else's process */
#include <uthash.h>

#include "base/compiler.h"

struct registered {
	struct gsb_nvtx_text text;
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered *registered;
static struct gsb_nvtx_text domains[GSB_NVTX_DOMAINS_MAX];
static _Atomic uint32_t n_domains;

/* What is no plain ASCII becomes a question mark; NULL is empty. */
void gsb_nvtx_text_narrow(struct gsb_nvtx_text *out, const char *text)
{
	unsigned n = 0;

	for (; text && text[n] && n < GSB_RANGE_TEXT_MAX; n++)
		out->bytes[n] = text[n] < ' ' || text[n] > '~' ? '?' : text[n];
	out->bytes[n] = '\0';
}

void gsb_nvtx_text_wide(struct gsb_nvtx_text *out, const wchar_t *text)
{
	unsigned n = 0;

	for (; text && text[n] && n < GSB_RANGE_TEXT_MAX; n++)
		out->bytes[n] = text[n] < L' ' || text[n] > L'~' ? '?' : (char)text[n];
	out->bytes[n] = '\0';
}

/* ---- domains ---- */

static uint32_t find_domain(const struct gsb_nvtx_text *name)
{
	uint32_t i = 0;

	while (i < n_domains && strcmp(domains[i].bytes, name->bytes))
		i++;
	return i;
}

void *gsb_nvtx_domain(const struct gsb_nvtx_text *name)
{
	uint32_t i;

	pthread_mutex_lock(&lock);
	i = find_domain(name);
	if (i == n_domains && i < GSB_NVTX_DOMAINS_MAX) {
		domains[i] = *name;
		n_domains++;
	}
	pthread_mutex_unlock(&lock);
	return (void *)(uintptr_t)(i + 1);
}

uint64_t gsb_nvtx_domain_number(const void *domain)
{
	return (uintptr_t)domain;
}

static const char *domain_name(const void *domain)
{
	uint64_t number = gsb_nvtx_domain_number(domain);

	return number && number <= n_domains ? domains[number - 1].bytes : "";
}

/* ---- messages ---- */

static struct registered *keep(const struct gsb_nvtx_text *text)
{
	struct registered *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->text = *text;
	HASH_ADD(hh, registered, text.bytes, strlen(r->text.bytes), r);
	if (r->hh.tbl)
		return r;
	free(r);
	return NULL;
}

const struct gsb_nvtx_text *gsb_nvtx_register(const struct gsb_nvtx_text *text)
{
	struct registered *r;

	pthread_mutex_lock(&lock);
	HASH_FIND(hh, registered, text->bytes, strlen(text->bytes), r);
	if (!r)
		r = keep(text);
	pthread_mutex_unlock(&lock);
	return r ? &r->text : NULL;
}

static void take_message(struct gsb_nvtx_text *out, const struct gsb_nvtx_attributes *a)
{
	gsb_nvtx_text_narrow(out, NULL);
	if (!a || a->bytes < sizeof(*a) || !a->message)
		return;
	switch (a->message_kind) {
	case GSB_NVTX_MESSAGE_ASCII: gsb_nvtx_text_narrow(out, a->message); break;
	case GSB_NVTX_MESSAGE_WIDE: gsb_nvtx_text_wide(out, a->message); break;
	case GSB_NVTX_MESSAGE_REGISTERED: *out = *(const struct gsb_nvtx_text *)a->message; break;
	default: break;
	}
}

void gsb_nvtx_message(struct gsb_nvtx_text *out, const void *domain,
		      const struct gsb_nvtx_attributes *a)
{
	const char *owner = domain_name(domain);
	struct gsb_nvtx_text message;

	take_message(&message, a);
	snprintf(out->bytes, sizeof(out->bytes), "%s%s%s", owner, *owner ? ": " : "",
		 *message.bytes ? message.bytes : "range");
}
