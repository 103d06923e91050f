# tools/ptx: gsb-ptx, which says what the re-sizer knows of a file's kernels.
bin_PROGRAMS += tools/ptx/gsb-ptx
tools_ptx_gsb_ptx_SOURCES = \
	tools/cli.c tools/cli.h \
	tools/emu_file.c tools/emu_file.h \
	tools/model_report.c tools/model_report.h \
	tools/ptx/classify.c \
	tools/ptx/commands.h \
	tools/ptx/gsb-ptx.c
tools_ptx_gsb_ptx_LDADD = libprogram.la libresize.la libptx.la libbase.la
dist_man_MANS += doc/man/gsb-ptx.1

check_SCRIPTS += tests/integ/gsb_ptx.sh
EXTRA_DIST += tests/integ/gsb_ptx.sh
