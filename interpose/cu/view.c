/*
 * view.c - see view.h.
 */
#include "interpose/cu/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cancel.h"

static struct {
	uint64_t base, bytes, inode;
	unsigned major, minor;
} window;

void gsb_views_of(int fd, uint64_t base, uint64_t bytes)
{
	struct stat st = {0};

	fstat(fd, &st);
	window.base = base;
	window.bytes = bytes;
	window.inode = st.st_ino;
	window.major = major(st.st_dev);
	window.minor = minor(st.st_dev);
}

static int access_of(const char *text)
{
	return (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
	       (text[2] == 'x' ? PROT_EXEC : 0);
}

/* Whether a line of GSB_MAPS is one. */
static bool read_view(const char *line, struct gsb_page_view *v)
{
	uint64_t end, offset, inode;
	unsigned major, minor;
	char access[8];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64, &v->addr, &end,
		   access, &offset, &major, &minor, &inode) != 7)
		return false;
	if (!window.bytes || inode != window.inode || major != window.major ||
	    minor != window.minor)
		return false;
	v->size = end - v->addr;
	v->at = window.base + offset;
	v->access = access_of(access);
	return v->addr - window.base >= window.bytes;
}

static bool add(struct gsb_views *views, const struct gsb_page_view *v)
{
	struct gsb_page_view *grown = realloc(views->all, (views->n + 1) * sizeof(*grown));

	if (!grown)
		return false;
	views->all = grown;
	views->all[views->n++] = *v;
	return true;
}

static bool read_all(FILE *maps, struct gsb_views *views)
{
	struct gsb_page_view v;
	char line[512];

	while (fgets(line, sizeof(line), maps))
		if (read_view(line, &v) && !add(views, &v))
			return false;
	return true;
}

bool gsb_views_read(struct gsb_views *out)
{
	const int was = gsb_cancel_hold();
	FILE *maps = fopen(GSB_MAPS, "re");
	bool is_known;

	*out = (struct gsb_views){0};
	is_known = maps && read_all(maps, out);
	if (maps)
		fclose(maps);
	if (!is_known)
		gsb_views_finish(out);
	gsb_cancel_let_go(was);
	return is_known;
}

void gsb_views_finish(struct gsb_views *views)
{
	free(views->all);
	*views = (struct gsb_views){0};
}
