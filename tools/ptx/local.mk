# tools/ptx: gsb-ptx, which says what the re-sizer knows of a file's kernels.
bin_PROGRAMS += tools/ptx/gsb-ptx
tools_ptx_gsb_ptx_SOURCES = \
	tools/cli.c tools/cli.h \
	tools/emu_args.c tools/emu_args.h \
	tools/emu_file.c tools/emu_file.h \
	tools/emu_option.c tools/emu_option.h \
	tools/model_report.c tools/model_report.h \
	tools/ptx/classify.c \
	tools/ptx/commands.h \
	tools/ptx/diff_command.c \
	tools/ptx/gsb-ptx.c \
	tools/ptx/rewrite_command.c \
	tools/ptx/subject.c tools/ptx/subject.h
tools_ptx_gsb_ptx_LDADD = $(resize_libs) libmodel.la libprogram.la -lm
dist_man_MANS += doc/man/gsb-ptx.1

check_SCRIPTS += tests/integ/gsb_ptx.sh
EXTRA_DIST += tests/integ/gsb_ptx.sh
