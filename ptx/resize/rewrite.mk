# The rewriter: variants of kernels.
noinst_LTLIBRARIES += librewrite.la
librewrite_la_SOURCES = \
	ptx/resize/rewrite.c ptx/resize/rewrite.h ptx/resize/rewrite_parts.h \
	ptx/resize/rewrite_count.c ptx/resize/rewrite_count.h \
	ptx/resize/rewrite_edit.c ptx/resize/rewrite_edit.h \
	ptx/resize/rewrite_hint.c \
	ptx/resize/rewrite_ids.c \
	ptx/resize/rewrite_loop.c \
	ptx/resize/rewrite_slice.c \
	ptx/resize/variant.c ptx/resize/variant.h

# Originals against variants on the interpreter: gsb-ptx diff-run, and the tests.
noinst_LTLIBRARIES += libptxdiff.la
resize_libs = libptxdiff.la librewrite.la libresize.la libemuexec.la
libptxdiff_la_SOURCES = tools/ptx/diff.c tools/ptx/diff.h tools/ptx/grid.c tools/ptx/grid.h
