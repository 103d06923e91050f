# libimage.la: kind and length of an image, and linked texts: all that the preloaded library needs. libptx.la has it too.
noinst_LTLIBRARIES += libimage.la libptx.la
libimage_la_SOURCES = ptx/image.c ptx/image.h ptx/texts.c ptx/texts.h ptx/bytes.h

libptx_la_SOURCES = \
	ptx/ops.c ptx/ops.h ptx/ops.def ptx/words.def \
	ptx/fit.c ptx/fit.h \
	ptx/layout.h \
	ptx/lex.c ptx/lex.h \
	ptx/names.c ptx/names.h \
	ptx/parse.c ptx/parse.h ptx/parser.c ptx/module.c ptx/units.c ptx/vars.c ptx/consts.c ptx/body.c ptx/scope.c ptx/insn.c ptx/check.c \
	ptx/debug.c ptx/unknown.c ptx/assemble.c ptx/assemble.h \
	ptx/cfg.c ptx/cfg.h \
	ptx/live.c ptx/live.h \
	ptx/kernel.c ptx/kernel.h \
	ptx/matrix.c ptx/matrix.h \
	ptx/tensor.c ptx/tensor.h \
	ptx/types.c \
	ptx/print.c ptx/print.h \
	ptx/managed.c ptx/managed.h \
	ptx/redirect.c ptx/redirect.h \
	ptx/condition.c ptx/condition.h \
	ptx/fatbin.c ptx/fatbin.h \
	ptx/cubin.c ptx/cubin.h \
	ptx/elf.c ptx/elf.h \
	ptx/program.c ptx/program.h \
	ptx/unit.c ptx/unit.h \
	ptx/ptx.h
libptx_la_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(LZ4_CFLAGS)
libptx_la_LIBADD = libimage.la libbase.la $(ZSTD_LIBS) $(LZ4_LIBS)

EXTRA_DIST += tests/kernels tests/ptx doc/ptx.md doc/ptx-coverage.md doc/kernel-state.md

check_PROGRAMS += tests/unit/test_ptx_ops tests/unit/test_ptx_lex tests/unit/test_ptx_parse
tests_unit_test_ptx_ops_SOURCES = tests/unit/test_ptx_ops.c
tests_unit_test_ptx_ops_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_ops_LDADD = libptx.la $(CMOCKA_LIBS)
tests_unit_test_ptx_lex_SOURCES = tests/unit/test_ptx_lex.c
tests_unit_test_ptx_lex_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_lex_LDADD = libptx.la $(CMOCKA_LIBS)
tests_unit_test_ptx_parse_SOURCES = tests/unit/test_ptx_parse.c tests/unit/ptx_text.h
tests_unit_test_ptx_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_parse_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_assemble
tests_unit_test_ptx_assemble_SOURCES = tests/unit/test_ptx_assemble.c
tests_unit_test_ptx_assemble_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_assemble_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_redirect
tests_unit_test_ptx_redirect_SOURCES = tests/unit/test_ptx_redirect.c
tests_unit_test_ptx_redirect_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_redirect_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_units
tests_unit_test_ptx_units_SOURCES = tests/unit/test_ptx_units.c tests/unit/ptx_text.h
tests_unit_test_ptx_units_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_units_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_errors
tests_unit_test_ptx_errors_SOURCES = tests/unit/test_ptx_errors.c tests/unit/ptx_text.h
tests_unit_test_ptx_errors_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_errors_LDFLAGS = -Wl,--wrap=calloc -Wl,--wrap=reallocarray
tests_unit_test_ptx_errors_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_cfg tests/unit/test_ptx_kernel
tests_unit_test_ptx_cfg_SOURCES = tests/unit/test_ptx_cfg.c tests/unit/ptx_text.h
tests_unit_test_ptx_cfg_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_cfg_LDADD = libptx.la $(CMOCKA_LIBS)
tests_unit_test_ptx_kernel_SOURCES = tests/unit/test_ptx_kernel.c tests/unit/ptx_text.h
tests_unit_test_ptx_kernel_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_kernel_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_fit
tests_unit_test_ptx_fit_SOURCES = tests/unit/test_ptx_fit.c
tests_unit_test_ptx_fit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_fit_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_image
tests_unit_test_ptx_image_SOURCES = tests/unit/test_ptx_image.c tests/unit/ptx_text.h
tests_unit_test_ptx_image_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ZSTD_CFLAGS) $(LZ4_CFLAGS)
tests_unit_test_ptx_image_LDADD = libptx.la $(CMOCKA_LIBS) $(ZSTD_LIBS) $(LZ4_LIBS)

check_PROGRAMS += tests/unit/test_ptx_managed
tests_unit_test_ptx_managed_SOURCES = tests/unit/test_ptx_managed.c tests/unit/cubin.h
tests_unit_test_ptx_managed_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_managed_LDADD = libptx.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ptx_program
tests_unit_test_ptx_program_SOURCES = tests/unit/test_ptx_program.c tests/unit/fatbin.h
tests_unit_test_ptx_program_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ptx_program_LDADD = libptx.la $(CMOCKA_LIBS)

# With a toolkit, what nvcc makes is read too: one fatbin for each way to compress it.
tests_unit_test_ptx_parse_CPPFLAGS = $(AM_CPPFLAGS) $(with_ptxas)
tests_unit_test_ptx_image_CPPFLAGS = $(AM_CPPFLAGS) $(with_fatbins)
if HAVE_CUDA
with_ptxas = -DTEST_PTXAS='"$(CUDA_DIR)/bin/ptxas"'
with_fatbins = -DTEST_FATBIN_DIR='"tests/fatbin"'
test_fatbins = tests/fatbin/vadd.none.fatbin tests/fatbin/vadd.speed.fatbin tests/fatbin/vadd.size.fatbin
EXTRA_tests_unit_test_ptx_image_DEPENDENCIES = $(test_fatbins)
CLEANFILES += $(test_fatbins)
$(test_fatbins): tests/kernels/vadd.cu tests/kernels/cuda_words.h
	$(AM_V_GEN)mkdir -p tests/fatbin && mode=$@ && mode=$${mode#*vadd.} && \
	$(NVCC) -fatbin -gencode arch=compute_75,code=[sm_75,compute_75] --compress-mode=$${mode%.fatbin} \
		-o $@ $(srcdir)/tests/kernels/vadd.cu
endif

# Fuzz targets: replayed by `make check`; `make fuzz` builds them for libFuzzer (tests/fuzz/fuzz.h).
check_PROGRAMS += tests/fuzz/replay_ptx tests/fuzz/replay_image
tests_fuzz_replay_ptx_SOURCES = tests/fuzz/fuzz_ptx.c tests/fuzz/replay.c tests/fuzz/fuzz.h
tests_fuzz_replay_ptx_LDADD = libptx.la
tests_fuzz_replay_image_SOURCES = tests/fuzz/fuzz_image.c tests/fuzz/replay.c tests/fuzz/fuzz.h
tests_fuzz_replay_image_LDADD = libptx.la
EXTRA_DIST += tests/fuzz/seeds

.PHONY: fuzz
fuzz:
	@test -n "$(CLANG)" || { echo "make fuzz needs clang: apt-get install clang, and configure again"; exit 1; }
	mkdir -p tests/fuzz
	for t in ptx image workload resize; do \
		$(CLANG) $(AM_CPPFLAGS) $(GSB_CFLAGS) -g -O1 -fsanitize=fuzzer,address,undefined \
			-o tests/fuzz/fuzz_$$t $(srcdir)/tests/fuzz/fuzz_$$t.c \
			$(addprefix $(srcdir)/,$(filter %.c,$(libresize_la_SOURCES) $(libptx_la_SOURCES) \
			$(libimage_la_SOURCES) $(libbase_la_SOURCES))) \
			$(srcdir)/model/input/workload.c $(srcdir)/model/gpu/text.c \
			$(ZSTD_LIBS) $(LZ4_LIBS) || exit 1; \
	done
CLEANFILES += tests/fuzz/fuzz_ptx tests/fuzz/fuzz_image tests/fuzz/fuzz_workload tests/fuzz/fuzz_resize
