/*
 * names.h - a table of names with nested scopes, in an arena: private to ptx/.
 *
 * An inner declaration hides an outer one until its scope is left. A range ("%r<100>") is one entry;
 * gsb_ptx_names_find() resolves "%r42" to it. Nothing is freed before the arena is.
 */
#ifndef GSB_PTX_NAMES_H
#define GSB_PTX_NAMES_H

#include "base/arena.h"

enum gsb_ptx_name_kind {
	GSB_PTX_NAME_VAR,   /* p: struct gsb_ptx_var */
	GSB_PTX_NAME_FUNC,  /* p: struct gsb_ptx_func */
	GSB_PTX_NAME_REG,   /* index */
	GSB_PTX_NAME_RANGE, /* index of the first of count registers */
	GSB_PTX_NAME_LABEL, /* index */
	GSB_PTX_NAME_TABLE, /* index */
	GSB_PTX_NAME_PROTO, /* index */
};

struct gsb_ptx_name {
	const char *text;
	size_t len;
	uint64_t hash;
	struct gsb_ptx_name *below; /* next in the bucket: older, or hidden */
	uint32_t order;		    /* position in the stack of all that are visible */
	uint32_t line;		    /* where it was declared */
	int kind;
	uint32_t index, count;
	void *p;
};

struct gsb_ptx_names {
	struct gsb_arena *arena;
	uint64_t seed; /* of the hash */
	struct gsb_ptx_name **buckets, **stack;
	uint32_t n_buckets; /* a power of two; also the capacity of the stack */
	uint32_t n;
};

/* 0, -ENOMEM */
int gsb_ptx_names_init(struct gsb_ptx_names *t, struct gsb_arena *arena);

/* A scope is entered by remembering t->n, and left by giving it back. */
void gsb_ptx_names_leave(struct gsb_ptx_names *t, uint32_t mark);

/* A new entry that hides any other of this name; the text is copied. NULL without memory. */
struct gsb_ptx_name *gsb_ptx_names_add(struct gsb_ptx_names *t, const char *text, size_t len);

/* Exactly this name, or NULL. "%r<50>" declares %r0 to %r49 and says nothing of %r, which may be declared beside it. */
struct gsb_ptx_name *gsb_ptx_names_get(const struct gsb_ptx_names *t, const char *text, size_t len);
/* The range of exactly this name, or NULL. */
struct gsb_ptx_name *gsb_ptx_names_range(const struct gsb_ptx_names *t, const char *text,
					 size_t len);

/* A range that has this name and was declared at @mark or later, or NULL. */
struct gsb_ptx_name *gsb_ptx_names_covering(const struct gsb_ptx_names *t, const char *text,
					    size_t len, uint32_t mark);

/* This name, or the range that covers it; *index is then the register. */
struct gsb_ptx_name *gsb_ptx_names_find(const struct gsb_ptx_names *t, const char *text, size_t len,
					uint32_t *index);

#endif
