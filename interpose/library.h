/*
 * library.h - making and dropping libraries; what they are stands in module.h.
 */
#ifndef GSB_INTERPOSE_LIBRARY_H
#define GSB_INTERPOSE_LIBRARY_H

#include <stdbool.h>

#include "interpose/module.h"

/* is_preserved: the program keeps the image where it is until the library is unloaded; else it is copied. */
CUresult gsb_cu_library_create(const struct gsb_image *image, bool is_preserved,
			       struct gsb_cu_library **out);
void gsb_cu_library_destroy(struct gsb_cu_library *lib);

#endif
