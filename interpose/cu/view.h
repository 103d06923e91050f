/*
 * cu/view.h - where the program sees pages of the host window, beside the window itself. It may move, protect or unmap memory that it has
 * registered, or map something else there: only the kernel knows what has become of it.
 */
#ifndef GSB_INTERPOSE_CU_VIEW_H
#define GSB_INTERPOSE_CU_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* What this thread has mapped. What the kernel says of the process is what the first thread has, and that is nothing when it has ended. */
#define GSB_MAPS "/proc/thread-self/maps"

/* Whole pages, one behind the other. */
struct gsb_page_view {
	uint64_t addr, size;
	uint64_t at; /* in the window */
	int access;  /* PROT_* */
};

struct gsb_views {
	struct gsb_page_view *all;
	uint32_t n;
};

/* The window is this file, mapped from its beginning on. Before any other call; an fd that is none: there is no window. */
void gsb_views_of(int fd, uint64_t base, uint64_t bytes);

/* As of now. False: nobody can tell, for there is no /proc, or no memory; then *out is empty. */
bool gsb_views_read(struct gsb_views *out);
void gsb_views_finish(struct gsb_views *views);

#endif
