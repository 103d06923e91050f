/*
 * text.h - the names that a program gives to NVTX: of domains, registered once, or with each range, narrow or wide. All of them
 * become short texts of plain ASCII.
 *
 * A domain is a number here, and its handle is made of that: a handle of nobody's is no danger, and there is nothing to
 * destroy. A registered string is never given back, in NVTX neither; the same text is the same string.
 */
#ifndef GSB_INTERPOSE_NVTX_TEXT_H
#define GSB_INTERPOSE_NVTX_TEXT_H

#include <stdint.h>
#include <wchar.h>

#include "gsb/wire.h"
#include "interpose/nvtx/abi.h"

#define GSB_NVTX_DOMAINS_MAX 64 /* ranges of further ones have no domain's name before theirs */

struct gsb_nvtx_text {
	char bytes[GSB_RANGE_TEXT_MAX + 1];
};

void gsb_nvtx_text_narrow(struct gsb_nvtx_text *out, const char *text);
void gsb_nvtx_text_wide(struct gsb_nvtx_text *out, const wchar_t *text);

/* A domain's handle; the same name has the same. Any thread. */
void *gsb_nvtx_domain(const struct gsb_nvtx_text *name);
/* 0: the default domain, which is NULL. */
uint64_t gsb_nvtx_domain_number(const void *domain);

/* The same text gives the same. NULL without memory. Any thread. */
const struct gsb_nvtx_text *gsb_nvtx_register(const struct gsb_nvtx_text *text);

/* "DOMAIN: MESSAGE", or the message alone; "range" where there is none. */
void gsb_nvtx_message(struct gsb_nvtx_text *out, const void *domain,
		      const struct gsb_nvtx_attributes *a);

#endif
