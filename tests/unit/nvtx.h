/*
 * nvtx.h - NVTX as a program has it: opens the library that it is told to, has it fill the places of its tables, and calls
 * what is in them. The numbers are NVTX's own, written down a second time, so that a wrong one in the library is seen.
 */
#ifndef GSB_TESTS_NVTX_H
#define GSB_TESTS_NVTX_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

typedef void nvtx_function(void);

#define NVTX_PLACES 17 /* of the larger module, one behind its end among them */

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type; /* 1: char, 2: wchar_t, 3: registered */
	const void *message;
};

/* What a program without a tool has: nothing is called. */
static nvtx_function *nvtx_core[NVTX_PLACES], *nvtx_core2[NVTX_PLACES];
static nvtx_function **nvtx_core_places[NVTX_PLACES], **nvtx_core2_places[NVTX_PLACES];
static unsigned nvtx_n_places = 16;
static bool nvtx_has_callbacks = true;

static inline int nvtx_get_module(uint32_t module, nvtx_function ****places, unsigned *n)
{
	if (module != 1 && module != 5)
		return 0;
	*places = module == 1 ? nvtx_core_places : nvtx_core2_places;
	*n = nvtx_n_places;
	return 1;
}

static inline const void *nvtx_get_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*get_module)(uint32_t module, nvtx_function ****places, unsigned *n);
	} callbacks = {sizeof(callbacks), nvtx_get_module};

	return id == 1 && nvtx_has_callbacks ? &callbacks : NULL;
}

/* Return: what the library says; 1: it is there. */
static inline int nvtx_open(const char *path)
{
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(const void *(*)(uint32_t)) = NULL;

	for (unsigned i = 1; i < NVTX_PLACES; i++) {
		nvtx_core[i] = nvtx_core2[i] = NULL;
		nvtx_core_places[i] = &nvtx_core[i];
		nvtx_core2_places[i] = &nvtx_core2[i];
	}
	if (library)
		*(void **)&init = dlsym(library, "InitializeInjectionNvtx2");
	return init ? init(nvtx_get_table) : 0;
}

#define NVTX_CALL(table, place, type, ...) (((type)(table)[place])(__VA_ARGS__))

static inline uint64_t nvtx_start(const char *text)
{
	return NVTX_CALL(nvtx_core, 5, uint64_t(*)(const char *), text);
}

static inline void nvtx_end(uint64_t id)
{
	NVTX_CALL(nvtx_core, 7, void (*)(uint64_t), id);
}

static inline int nvtx_push(const char *text)
{
	return NVTX_CALL(nvtx_core, 9, int (*)(const char *), text);
}

static inline int nvtx_push_wide(const wchar_t *text)
{
	return NVTX_CALL(nvtx_core, 10, int (*)(const wchar_t *), text);
}

static inline int nvtx_push_ex(const struct nvtx_attributes *a)
{
	return NVTX_CALL(nvtx_core, 8, int (*)(const struct nvtx_attributes *), a);
}

static inline int nvtx_pop(void)
{
	return NVTX_CALL(nvtx_core, 11, int (*)(void));
}

static inline void *nvtx_domain(const char *name)
{
	return NVTX_CALL(nvtx_core2, 12, void *(*)(const char *), name);
}

static inline void *nvtx_register(void *domain, const char *text)
{
	return NVTX_CALL(nvtx_core2, 10, void *(*)(void *, const char *), domain, text);
}

static inline uint64_t nvtx_domain_start(void *domain, const struct nvtx_attributes *a)
{
	return NVTX_CALL(nvtx_core2, 2, uint64_t(*)(void *, const struct nvtx_attributes *), domain,
			 a);
}

static inline void nvtx_domain_end(void *domain, uint64_t id)
{
	NVTX_CALL(nvtx_core2, 3, void (*)(void *, uint64_t), domain, id);
}

static inline int nvtx_domain_push(void *domain, const struct nvtx_attributes *a)
{
	return NVTX_CALL(nvtx_core2, 4, int (*)(void *, const struct nvtx_attributes *), domain, a);
}

static inline int nvtx_domain_pop(void *domain)
{
	return NVTX_CALL(nvtx_core2, 5, int (*)(void *), domain);
}

static inline struct nvtx_attributes nvtx_message(int32_t type, const void *message)
{
	return (struct nvtx_attributes){.version = 3,
					.size = sizeof(struct nvtx_attributes),
					.message_type = type,
					.message = message};
}

#endif
