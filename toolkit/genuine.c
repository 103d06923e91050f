/*
 * genuine.c - see genuine.h. A library that the program is linked with comes behind ours in the order of search. One
 * that it opened for itself alone does not, and is found by its file among those that are loaded.
 */
#include "toolkit/genuine.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

struct search {
	const char *library, *name;
	void *found;
};

static bool is_file_of(const char *path, const char *library)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	size_t n = strlen(library);

	return !strncmp(file, library, n) && !strncmp(file + n, ".so", 3);
}

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	void *library;

	(void)size;
	if (!info->dlpi_name || !is_file_of(info->dlpi_name, s->library))
		return 0;
	library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return 0;
	s->found = dlsym(library, s->name);
	dlclose(library); /* the program's own reference keeps it */
	return s->found != NULL;
}

void *gsb_toolkit_genuine(const char *library, const char *name)
{
	struct search s = {.library = library, .name = name, .found = dlsym(RTLD_NEXT, name)};

	if (!s.found)
		dl_iterate_phdr(look_into, &s);
	return s.found;
}
