/*
 * gsb-emu.c - kernels on the emulated device, without a program around them and without a broker: run, count, list.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "tools/cli.h"
#include "tools/emu_launch.h"
#include "tools/emu_option.h"
#include "tools/emu_stat.h"
#include "tools/model_report.h"

enum { LIST, RUN, STAT };

#define OF(command) (1u << (command))
#define LAUNCHES    (OF(RUN) | OF(STAT))

static const struct gsb_cli_command commands[] = {
	[LIST] = {"list", "FILE", "the kernels in a file: parameters, registers, memory"},
	[RUN] = {"run", "FILE [ARGUMENT...]", "launch a kernel once"},
	[STAT] = {"stat", "FILE [ARGUMENT...]", "the same, and say what it has done"},
	{NULL, NULL, NULL},
};

enum { OPT_ARGS = 256, OPT_COOPERATIVE, OPT_PRINT, OPT_UNINIT, OPT_BOUNDS, OPT_DEMANDS };

static const struct gsb_cli_option options[] = {
	{{"arch", 'a', "GPU", 0, "a name, or the path of a file with a '/' (default h200)", 0}, 0},
	{{"workers", 'w', "N", 0, "threads that execute blocks (default: one a CPU)", 0}, LAUNCHES},
	{{"kernel", 'k', "NAME", 0, "which, where there are several; a part will do", 0}, LAUNCHES},
	{{"grid", 'g', "X[,Y[,Z]]", 0, "blocks (default 1)", 0}, LAUNCHES},
	{{"block", 'b', "X[,Y[,Z]]", 0, "threads of a block (default 1)", 0}, LAUNCHES},
	{{"shared", 's', "BYTES", 0, "dynamic shared memory of a block", 0}, LAUNCHES},
	{{"cooperative", OPT_COOPERATIVE, NULL, 0, "all blocks are resident at once", 0}, LAUNCHES},
	{{"args", OPT_ARGS, NULL, 0, "what follows are arguments; may be left out", 0}, LAUNCHES},
	{{"print", OPT_PRINT, "NAME[:RANGE]", 0, "show the memory of an argument afterwards", 0},
	 LAUNCHES},
	{{"check-uninit", OPT_UNINIT, NULL, 0, "reads of shared memory that nobody wrote fail", 0},
	 LAUNCHES},
	{{"check-bounds", OPT_BOUNDS, NULL, 0, "accesses outside by a byte fail", 0}, LAUNCHES},
	{{"json", 'j', NULL, 0, "print one JSON object", 0}, OF(LIST) | OF(STAT)},
	{{"demands", OPT_DEMANDS, NULL, 0, "print a table that gsb-model reads", 0}, OF(STAT)},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
};

static int add_print(struct emu_options *o, const char *value)
{
	if (o->n_prints == EMU_PRINTS_MAX) {
		fprintf(stderr, "gsb-emu: more than %d times --print\n", EMU_PRINTS_MAX);
		return -1;
	}
	o->print[o->n_prints++] = value;
	return 0;
}

static int set_option(void *input, int key, char *value)
{
	struct emu_options *o = input;

	switch (key) {
	case 'a': o->arch = value; return 0;
	case 'w': return emu_option_number("workers", value, 256, &o->n_workers);
	case 'k': o->kernel = value; return 0;
	case 'g': return emu_option_dims("grid", value, o->grid);
	case 'b': return emu_option_dims("block", value, o->block);
	case 's': return emu_option_number("shared", value, UINT32_MAX, &o->smem_bytes);
	case OPT_ARGS: return 0;
	case OPT_COOPERATIVE: o->cooperative = true; return 0;
	case OPT_PRINT: return add_print(o, value);
	case OPT_UNINIT: o->watch |= GSB_EMU_WATCH_UNINIT; return 0;
	case OPT_BOUNDS: o->watch |= GSB_EMU_WATCH_BOUNDS; return 0;
	case 'j': o->json = true; return 0;
	case OPT_DEMANDS: o->demands = true; return 0;
	}
	return -1;
}

/* ---- list ---- */

/* ".u64 .u64 .b8[16]" */
static void say_parameters(const struct gsb_ptx_func *f, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (uint32_t i = 0; i < f->n_params && n < size; i++) {
		const struct gsb_ptx_var *p = &f->params[i];

		n += (size_t)snprintf(out + n, size - n, "%s.%s", i ? " " : "",
				      gsb_ptx_type_name(p->type));
		if (p->is_array && n < size)
			n += (size_t)snprintf(out + n, size - n, "[%" PRIu64 "]", p->n_elems);
	}
}

static void row_of(struct report *r, const struct emu_kernel *k)
{
	const struct gsb_ptx_func *f = k->entry;
	struct gsb_ptx_kernel layout = {0};
	struct gsb_arena arena;
	char params[1024];

	say_parameters(f, params, sizeof(params));
	gsb_arena_init(&arena, (size_t)1 << 30);
	report_text(r, f->name);
	if (gsb_ptx_kernel_build(k->module->ptx, f, &arena, &layout)) {
		for (int i = 0; i < 4; i++)
			report_none(r);
	} else {
		report_number(r, "%u", layout.regs);
		report_number(r, "%" PRIu64, layout.static_shared_bytes);
		report_number(r, "%" PRIu64, layout.local_bytes);
		report_number(r, "%u", layout.max_threads);
	}
	report_text(r, params);
	if (layout.refused)
		report_text(r, layout.refused->spelling);
	else
		report_none(r);
	gsb_arena_finish(&arena);
}

static int list(const struct emu_options *o, const char *path)
{
	static const char *const columns[] = {"kernel",	     "regs",	   "smem",	 "local",
					      "max threads", "parameters", "not carried"};
	static struct emu_file file;
	struct gsb_device *dev;
	struct emu_kernel k;
	struct report r;
	int err = emu_device_open(o, &dev);

	if (err)
		return GSB_WRONG_USAGE;
	err = emu_file_open(&file, path, emu_arch(dev)->cc_major * 10 + emu_arch(dev)->cc_minor);
	report_init(&r, o->json, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; !err && emu_file_kernel(&file, i, &k); i++)
		row_of(&r, &k);
	if (!err)
		report_finish(&r);
	emu_file_close(&file);
	dev->ops->close(dev);
	return err ? GSB_WRONG_USAGE : 0;
}

/* ---- run, stat ---- */

static int parse_ranges(struct emu_launch *l, const struct emu_options *o, struct emu_range *ranges)
{
	for (size_t i = 0; i < o->n_prints; i++)
		if (emu_range_parse(&ranges[i], l->args, l->n_args, o->print[i]))
			return -1;
	return 0;
}

static int show_memory(struct emu_launch *l, const struct emu_range *ranges, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n; i++)
		emu_range_print(&ranges[i]);
	for (size_t i = 0; i < l->n_args; i++)
		if (l->args[i].out)
			err |= emu_arg_write(&l->args[i]);
	return err;
}

static void show_profile(struct emu_launch *l, const struct emu_options *o)
{
	const struct gsb_emu_profile p = gsb_emu_profile(l->dev);

	if (o->demands)
		emu_stat_demands(l, o, &p);
	else
		emu_stat_show(l, o, &p);
}

/* What a kernel that died has written is shown, too. */
static int launch(struct emu_launch *l, const struct emu_options *o, const struct emu_range *ranges,
		  bool profile)
{
	bool failed = emu_launch_run(l, o);

	if (!l->done.end_ns) /* it was refused */
		return 1;
	if (show_memory(l, ranges, o->n_prints))
		failed = true;
	if (!failed && profile)
		show_profile(l, o);
	return failed;
}

static int open_and_launch(const struct emu_options *o, const struct gsb_cli_call *call)
{
	static struct emu_launch l;
	static struct emu_range ranges[EMU_PRINTS_MAX];
	int status = GSB_WRONG_USAGE;

	if (!emu_launch_open(&l, o, call->words, call->n_words) && !parse_ranges(&l, o, ranges))
		status = launch(&l, o, ranges, call->command == STAT);
	emu_launch_close(&l);
	return status;
}

int main(int argc, char **argv)
{
	static const struct gsb_cli cli = {
		.name = "gsb-emu",
		.doc = "Kernels of a file on the emulated device, without a program and a broker."
		       "\vARGUMENT: [NAME=]TYPE:VALUE | hex:BYTES | buf:TYPE:COUNT[:FILL] | "
		       "in:FILE[:TYPE] | out:FILE:TYPE:COUNT | at:NAME[+BYTES]; gsb-emu(1) has more.",
		.commands = commands,
		.options = options,
		.set = set_option,
	};
	static struct emu_options o = {.arch = "h200", .grid = {1, 1, 1}, .block = {1, 1, 1}};
	struct gsb_cli_call call;

	gsb_program_init(cli.name, argv);
	gsb_cli_parse(&cli, argc, argv, &o, &call);
	if (call.n_words < 1 || (call.command == LIST && call.n_words > 1)) {
		fprintf(stderr, "gsb-emu: %s takes %s\n", commands[call.command].name,
			commands[call.command].args);
		return GSB_WRONG_USAGE;
	}
	if (call.command == LIST)
		return list(&o, call.words[0]);
	if (call.command == STAT)
		o.watch |= GSB_EMU_WATCH_PROFILE;
	return open_and_launch(&o, &call);
}
