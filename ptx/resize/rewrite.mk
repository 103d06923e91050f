# The rewriter: variants of kernels.
noinst_LTLIBRARIES += librewrite.la
librewrite_la_SOURCES = \
	ptx/resize/count_sites.c \
	ptx/resize/rewrite.c ptx/resize/rewrite.h ptx/resize/rewrite_parts.h \
	ptx/resize/rewrite_count.c ptx/resize/rewrite_count.h \
	ptx/resize/rewrite_edit.c ptx/resize/rewrite_edit.h \
	ptx/resize/rewrite_hint.c \
	ptx/resize/rewrite_ids.c \
	ptx/resize/rewrite_kept.c ptx/resize/rewrite_kept.h \
	ptx/resize/rewrite_loop.c \
	ptx/resize/rewrite_slice.c \
	ptx/resize/variant.c ptx/resize/variant.h

# Originals against variants on the interpreter: gsb-ptx diff-run, and the tests.
noinst_LTLIBRARIES += libptxdiff.la
resize_libs = libptxdiff.la librewrite.la libresize.la libemuexec.la
libptxdiff_la_SOURCES = tools/ptx/diff.c tools/ptx/diff.h tools/ptx/grid.c tools/ptx/grid.h

resize_kit = tools/ptx/subject.c tools/ptx/subject.h tests/unit/resize_kit.c tests/unit/resize_kit.h tools/emu_args.c tools/emu_args.h tools/emu_file.c tools/emu_file.h
check_PROGRAMS += tests/unit/test_resize_corpus
tests_unit_test_resize_corpus_SOURCES = tests/unit/test_resize_corpus.c $(resize_kit)
tests_unit_test_resize_corpus_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_corpus_LDADD = $(resize_libs) libprogram.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_resize_diff
tests_unit_test_resize_diff_SOURCES = tests/unit/test_resize_diff.c tests/unit/resize_subjects.def $(resize_kit)
tests_unit_test_resize_diff_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_diff_LDADD = $(resize_libs) libprogram.la $(CMOCKA_LIBS) -lm
EXTRA_DIST += tests/resize

check_PROGRAMS += tests/unit/test_resize_random
tests_unit_test_resize_random_SOURCES = tests/unit/test_resize_random.c tests/random/random_program.c tests/random/random_program.h $(resize_kit)
tests_unit_test_resize_random_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_random_LDADD = $(resize_libs) libprogram.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_resize_rewrite
tests_unit_test_resize_rewrite_SOURCES = tests/unit/test_resize_rewrite.c $(resize_kit)
tests_unit_test_resize_rewrite_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_rewrite_LDADD = $(resize_libs) libprogram.la $(CMOCKA_LIBS) -lm
tests_unit_test_resize_rewrite_CPPFLAGS = $(AM_CPPFLAGS) $(with_ptxas)
EXTRA_DIST += doc/results/2026-11-23-resize-counting-h200.tsv doc/results/2026-11-23-resize-times-h200.tsv doc/results/2026-11-23-resize-results-h200.tsv doc/results/2026-11-23-resize-variants-h200.tsv
EXTRA_DIST += doc/results/2026-11-24-resize-counting-h200.tsv doc/results/2026-11-24-resize-overlap-h200.tsv doc/results/2026-11-24-resize-share-h200.tsv doc/results/2026-11-24-resize-hints-h200.tsv
EXTRA_DIST += doc/results/2026-11-24-resize-cub-h200.tsv doc/results/2026-11-24-resize-forms-h200.tsv
EXTRA_DIST += doc/results/2026-11-26-resize-hints-h100.tsv doc/results/2026-11-26-resize-results-h100.tsv doc/results/2026-11-26-resize-forms-h100.tsv
EXTRA_DIST += doc/results/2026-11-22-resize-registers.txt doc/results/2026-11-24-resize-instructions.txt
