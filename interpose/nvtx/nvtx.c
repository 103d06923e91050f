/*
 * nvtx.c - ranges that a program marks by NVTX, for who traces: so that a trace says which query a launch was of.
 *
 * NVTX opens the library that NVTX_INJECTION64_PATH names (abi.h); gsbrun sets that to libgsbroker.so itself, which is in the process
 * already and posts into its ring. A library beside it would need a way into this one for each range. Only ranges are taken:
 * marks, categories and names of threads stay unanswered.
 */
#include <stdatomic.h>

#include "base/compiler.h"
#include "interpose/core/range.h"
#include "interpose/nvtx/abi.h"
#include "interpose/nvtx/text.h"

/* Numbers are given whoever listens: a range may end in a recording that began after it. */
static uint64_t next_range(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* ---- with attributes, in a domain or in the default one, which is NULL ---- */

static uint64_t domain_start(void *domain, const struct gsb_nvtx_attributes *a)
{
	uint64_t id = next_range();
	struct gsb_nvtx_text text;

	if (gsb_range_is_wanted()) {
		gsb_nvtx_message(&text, domain, a);
		gsb_range_post(GSB_RANGE_START, id, text.bytes);
	}
	return id;
}

static void domain_end(void *domain, uint64_t id)
{
	if (gsb_range_is_wanted())
		gsb_range_post(GSB_RANGE_END, id, NULL);
}

static int domain_push(void *domain, const struct gsb_nvtx_attributes *a)
{
	struct gsb_nvtx_text text;

	if (gsb_range_is_wanted()) {
		gsb_nvtx_message(&text, domain, a);
		gsb_range_post(GSB_RANGE_PUSH, gsb_nvtx_domain_number(domain), text.bytes);
	}
	return GSB_NVTX_NOT_COUNTED;
}

static int domain_pop(void *domain)
{
	if (gsb_range_is_wanted())
		gsb_range_post(GSB_RANGE_POP, gsb_nvtx_domain_number(domain), NULL);
	return GSB_NVTX_NOT_COUNTED;
}

/* ---- the same in the default domain, by attributes or by a plain text ---- */

static struct gsb_nvtx_attributes plain(int32_t kind, const void *message)
{
	return (struct gsb_nvtx_attributes){
		.bytes = sizeof(struct gsb_nvtx_attributes),
		.message_kind = kind,
		.message = message,
	};
}

#define BY_TEXT(name, result, of_domain, kind, character)                  \
	static result name(const character *message)                       \
	{                                                                  \
		const struct gsb_nvtx_attributes a = plain(kind, message); \
                                                                           \
		return of_domain(NULL, &a);                                \
	}

static uint64_t start_ex(const struct gsb_nvtx_attributes *a)
{
	return domain_start(NULL, a);
}
BY_TEXT(start_narrow, uint64_t, domain_start, GSB_NVTX_MESSAGE_ASCII, char)
BY_TEXT(start_wide, uint64_t, domain_start, GSB_NVTX_MESSAGE_WIDE, wchar_t)

static void end(uint64_t id)
{
	domain_end(NULL, id);
}

static int push_ex(const struct gsb_nvtx_attributes *a)
{
	return domain_push(NULL, a);
}
BY_TEXT(push_narrow, int, domain_push, GSB_NVTX_MESSAGE_ASCII, char)
BY_TEXT(push_wide, int, domain_push, GSB_NVTX_MESSAGE_WIDE, wchar_t)

static int pop(void)
{
	return domain_pop(NULL);
}

/* ---- domains and strings ---- */

static const void *register_narrow(void *domain, const char *string)
{
	struct gsb_nvtx_text text;

	gsb_nvtx_text_narrow(&text, string);
	return gsb_nvtx_register(&text);
}

static const void *register_wide(void *domain, const wchar_t *string)
{
	struct gsb_nvtx_text text;

	gsb_nvtx_text_wide(&text, string);
	return gsb_nvtx_register(&text);
}

static void *create_narrow(const char *name)
{
	struct gsb_nvtx_text text;

	gsb_nvtx_text_narrow(&text, name);
	return gsb_nvtx_domain(&text);
}

static void *create_wide(const wchar_t *name)
{
	struct gsb_nvtx_text text;

	gsb_nvtx_text_wide(&text, name);
	return gsb_nvtx_domain(&text);
}

/* ---- the places ---- */

struct answer {
	unsigned place;
	gsb_nvtx_function *function;
};

#define ANSWER(place, function)                      \
	{                                            \
		place, (gsb_nvtx_function *)function \
	}

static const struct answer core[] = {
	ANSWER(GSB_NVTX_RANGE_START_EX, start_ex),  ANSWER(GSB_NVTX_RANGE_START_A, start_narrow),
	ANSWER(GSB_NVTX_RANGE_START_W, start_wide), ANSWER(GSB_NVTX_RANGE_END, end),
	ANSWER(GSB_NVTX_RANGE_PUSH_EX, push_ex),    ANSWER(GSB_NVTX_RANGE_PUSH_A, push_narrow),
	ANSWER(GSB_NVTX_RANGE_PUSH_W, push_wide),   ANSWER(GSB_NVTX_RANGE_POP, pop),
};

static const struct answer core2[] = {
	ANSWER(GSB_NVTX_DOMAIN_RANGE_START_EX, domain_start),
	ANSWER(GSB_NVTX_DOMAIN_RANGE_END, domain_end),
	ANSWER(GSB_NVTX_DOMAIN_RANGE_PUSH_EX, domain_push),
	ANSWER(GSB_NVTX_DOMAIN_RANGE_POP, domain_pop),
	ANSWER(GSB_NVTX_DOMAIN_REGISTER_STRING_A, register_narrow),
	ANSWER(GSB_NVTX_DOMAIN_REGISTER_STRING_W, register_wide),
	ANSWER(GSB_NVTX_DOMAIN_CREATE_A, create_narrow),
	ANSWER(GSB_NVTX_DOMAIN_CREATE_W, create_wide),
};

/* An older NVTX has fewer places. */
static void answer_module(const struct gsb_nvtx_callbacks *c, uint32_t module,
			  const struct answer *answers, unsigned n_answers)
{
	const struct gsb_nvtx_place *places;
	unsigned n;

	if (!c->get_module(module, &places, &n))
		return;
	for (unsigned i = 0; i < n_answers; i++)
		if (answers[i].place < n && places[answers[i].place].function)
			*places[answers[i].place].function = answers[i].function;
}

GSB_EXPORT int InitializeInjectionNvtx2(gsb_nvtx_get_table *get_table);

/* Return: 1, taken; 0, NVTX stays without anybody. */
GSB_EXPORT int InitializeInjectionNvtx2(gsb_nvtx_get_table *get_table)
{
	const struct gsb_nvtx_callbacks *c = get_table(GSB_NVTX_TABLE_CALLBACKS);

	if (!c || c->bytes < sizeof(*c))
		return 0;
	answer_module(c, GSB_NVTX_CORE, core, GSB_ARRAY_LEN(core));
	answer_module(c, GSB_NVTX_CORE2, core2, GSB_ARRAY_LEN(core2));
	return 1;
}
