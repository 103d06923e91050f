/*
 * assemble.c - see assemble.h. One pass over instructions that are decoded: a table by opcode, and a look at the words of those
 * that were not understood, of which most texts have none.
 */
#include "ptx/assemble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* 0: any */
static const struct {
	uint8_t version, sm;
} since[GSB_PTX_N_OPS] = {
#define GSB_PTX_SINCE(id, version, sm) [GSB_PTX_OP_##id] = {version, sm},
#include "ptx/ops.def"
};

/* The first word of each opcode that is carried, or known and refused. */
static const char *const known[] = {
#define GSB_PTX_OP(id, spelling, ...)	spelling,
#define GSB_PTX_OP_ALIAS(id, spelling)	spelling,
#define GSB_PTX_REFUSED(spelling, what) spelling,
#include "ptx/ops.def"
};

static size_t word_len(const char *s)
{
	return strcspn(s, ". \t\r\n\f\v;,([{%");
}

static bool is_known(const char *spelling, size_t len)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(known); i++) {
		if (word_len(known[i]) == len && !memcmp(known[i], spelling, len))
			return true;
	}
	return false;
}

static bool is_newer(const struct gsb_ptx_module *m)
{
	return m->version_major == GSB_PTX_NEWEST_MAJOR && m->version_minor > GSB_PTX_NEWEST_MINOR;
}

static int check_head(const struct gsb_ptx_module *m, char *log, size_t log_size)
{
	if (m->version_major > GSB_PTX_NEWEST_MAJOR) {
		snprintf(
			log, log_size,
			"the text is PTX %u.%u, and the newest known is of %d: make it with an older toolkit",
			m->version_major, m->version_minor, GSB_PTX_NEWEST_MAJOR);
		return -ENOPKG;
	}
	if (m->address_bits == 32) {
		snprintf(
			log, log_size,
			"'.address_size 32': no GPU of today has 32-bit addresses; compile for 64 bits");
		return -EILSEQ;
	}
	return 0;
}

/* Directives that are not known are for the kernel that has them. */
static int check_unknown(const struct gsb_ptx_module *m, const struct gsb_ptx_insn *in, char *log,
			 size_t log_size)
{
	size_t len = word_len(in->spelling);

	if (*in->spelling == '.' || is_known(in->spelling, len) || is_newer(m))
		return 0;
	snprintf(log, log_size, "line %u: '%.*s' is no opcode of PTX: look at what has written it",
		 in->line, (int)(len < 64 ? len : 64), in->spelling);
	return -EILSEQ;
}

static int check_age(const struct gsb_ptx_module *m, const struct gsb_ptx_insn *in, char *log,
		     size_t log_size)
{
	uint32_t version = m->version_major * 10 + m->version_minor;

	if (version >= since[in->op].version && m->target_sm >= since[in->op].sm)
		return 0;
	snprintf(
		log, log_size,
		"line %u: '%.64s' needs .version %u.%u and .target sm_%u or later: compile for them",
		in->line, in->spelling, since[in->op].version / 10, since[in->op].version % 10,
		since[in->op].sm);
	return -EILSEQ;
}

static bool begins_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* What the device has itself, and what launches from kernels, which a driver links to them. libdevice it links to none. */
static bool is_systems(const char *name)
{
	if (begins_with(name, "__nv_"))
		return !strcmp(name, "__nv_aligned_device_malloc");
	return !strcmp(name, "vprintf") || !strcmp(name, "malloc") || !strcmp(name, "free") ||
	       begins_with(name, "__") || begins_with(name, "cuda");
}

static int check_call(const struct gsb_ptx_insn *in, char *log, size_t log_size)
{
	const struct gsb_ptx_func *f = in->call->target.func;

	if (in->call->target.kind != GSB_PTX_OPERAND_FUNC || f->has_body || f->alias_of ||
	    is_systems(f->name))
		return 0;
	snprintf(log, log_size,
		 "line %u: function '%.128s' is called and nowhere defined: link what has it",
		 in->line, f->name);
	return -EILSEQ;
}

static int check_insn(const struct gsb_ptx_module *m, const struct gsb_ptx_insn *in, char *log,
		      size_t log_size)
{
	if (in->op == GSB_PTX_OP_UNSUPPORTED)
		return check_unknown(m, in, log, log_size);
	if (since[in->op].version)
		return check_age(m, in, log, log_size);
	return in->call ? check_call(in, log, log_size) : 0;
}

int gsb_ptx_assembles(const struct gsb_ptx_module *m, char *log, size_t log_size)
{
	int err = check_head(m, log, log_size);

	for (uint32_t i = 0; i < m->n_funcs && !err; i++) {
		const struct gsb_ptx_func *f = m->funcs[i];

		for (uint32_t k = 0; k < f->n_insns && !err; k++)
			err = check_insn(m, &f->insns[k], log, log_size);
	}
	return err;
}
