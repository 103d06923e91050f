/*
 * file.h - memory that may be mapped at several addresses: a sparse file.
 *
 * Each heap has one for its window, and the backings have one; those of the host have each its own, of the one descriptor of their
 * tenant's. It lives as long as somebody uses it.
 *
 * Context: the lock of the card.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_FILE_H
#define GSB_DEVICE_EMU_MEMORY_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct emu_heap;
struct emu_share;
struct gsb_host_file;

struct emu_file {
	int fd;
	struct gsb_host_file *host; /* whose the descriptor is; NULL: this one's */
	unsigned n_users;
	struct emu_heap *heap;	  /* of whose window it is; NULL: of none, or that has ended */
	struct emu_share *shares; /* what of it others may have (share.c) */
};

/* Consumes the descriptor. -ENOMEM. */
int emu_file_adopt(int fd, struct emu_file **out);
int emu_file_create(const char *name, uint64_t size, struct emu_file **out);
/* Consumes a user of it, also if it fails. -ENOMEM. */
int emu_file_of_host(struct gsb_host_file *host, struct emu_file **out);
void emu_file_get(struct emu_file *f);
void emu_file_put(struct emu_file *f); /* takes NULL, too */
/* The same in two: true from the first when the second is due, which needs no lock. */
bool emu_file_drop(struct emu_file *f);
void emu_file_destroy(struct emu_file *f);

/* At these addresses, in place of what is there. -ENOMEM. */
int emu_file_map(const struct emu_file *f, uint64_t at, uint64_t size, uint64_t addr,
		 int protection);

/* Whoever has this part next reads zeroes. False: it must not be used again, and that was said. */
bool emu_file_scrub(const struct emu_file *f, uint64_t at, uint64_t size);

#endif
