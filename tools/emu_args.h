/*
 * emu_args.h - the arguments of a kernel as a user writes them, and what is in the buffers afterwards.
 *
 *	TYPE:VALUE		    a number: u32:5, s64:-1, f32:1.5, b32:0xff
 *	hex:BYTES		    a structure that is passed by value
 *	buf:TYPE:COUNT[:FILL]	    memory; FILL is zero, iota, rand, rand:SEED, or a number
 *	in:FILE[:TYPE]		    memory with what the file has
 *	out:FILE:TYPE:COUNT	    memory of zeroes that goes to the file afterwards
 *	at:NAME[+BYTES]		    an address in the memory of another argument, or outside of it
 *
 * Each may have a name before it: NAME=... Without one it is the number of the argument, from 0, or the name of the
 * parameter.
 */
#ifndef GSB_TOOLS_EMU_ARGS_H
#define GSB_TOOLS_EMU_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_ARG_BYTES 4096 /* of a value */

struct emu_type; /* u32, f64, ... */

struct emu_arg {
	const char *name; /* as given, or NULL; not NUL-terminated: name_len */
	size_t name_len;
	const char *parameter; /* its name in the PTX */
	enum { EMU_ARG_VALUE, EMU_ARG_MEMORY, EMU_ARG_ADDRESS } kind;
	const struct emu_type *type; /* of VALUE and MEMORY; NULL: bytes */
	uint8_t value[EMU_ARG_BYTES];
	size_t value_size;
	uint8_t *bytes; /* MEMORY: before the launch, then after it */
	bool random;	/* MEMORY: filled so */
	size_t size;
	uint64_t address;
	const char *of; /* ADDRESS: the argument that it lies in */
	size_t of_len;
	int64_t offset;
	const char *out; /* FILE; NULL: none */
	size_t out_len;
};

/* Memory of floats of so many bytes? */
bool emu_arg_is_float(const struct emu_arg *arg, unsigned int size);

/* One argument from what the user wrote, which must stay. 0; -1: told on stderr. */
int emu_arg_parse(struct emu_arg *arg, const char *word);
void emu_arg_finish(struct emu_arg *arg);

/* Memory that is filled at random gets the numbers of another seed. */
void emu_arg_refill(struct emu_arg *arg, uint64_t seed);

/* The argument of that name, or number; NULL: there is none. */
struct emu_arg *emu_arg_find(struct emu_arg *args, size_t n, const char *name, size_t len);

/* Elements of a memory argument: NAME, NAME:FROM, NAME:FROM-TO or NAME:FROM-. */
struct emu_range {
	const struct emu_arg *arg;
	const char *name; /* as the user wrote it */
	size_t name_len;
	uint64_t from, to; /* both counted */
};

/* 0; -1: told. */
int emu_range_parse(struct emu_range *r, struct emu_arg *args, size_t n, const char *word);
void emu_range_print(const struct emu_range *r);

/* Memory of out: to its file. 0; -1: told. */
int emu_arg_write(const struct emu_arg *arg);

#endif
