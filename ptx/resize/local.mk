# What may be done with a kernel's geometry: analyses of parsed PTX (doc/resizing.md)
noinst_LTLIBRARIES += libresize.la
libresize_la_SOURCES = \
	ptx/resize/address.c \
	ptx/resize/analysis.h \
	ptx/resize/early.c \
	ptx/resize/facts.c ptx/resize/facts.h \
	ptx/resize/features.c \
	ptx/resize/find.c \
	ptx/resize/flow.c \
	ptx/resize/lanes.c ptx/resize/lanes.h \
	ptx/resize/linear.c \
	ptx/resize/loops.c ptx/resize/loops.h \
	ptx/resize/place.c ptx/resize/place.h \
	ptx/resize/poly.c ptx/resize/poly.h \
	ptx/resize/rules.def \
	ptx/resize/stream.c ptx/resize/stream.h \
	ptx/resize/uniform.c \
	ptx/resize/wait.c
libresize_la_LIBADD = libptx.la

EXTRA_DIST += doc/resizing.md tests/resize

check_PROGRAMS += tests/unit/test_resize_facts tests/unit/test_resize_lanes tests/unit/test_resize_streams tests/unit/test_resize_traps
tests_unit_test_resize_facts_SOURCES = tests/unit/test_resize_facts.c tests/unit/ptx_text.h
tests_unit_test_resize_facts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_facts_LDADD = libresize.la libptx.la $(CMOCKA_LIBS)
tests_unit_test_resize_lanes_SOURCES = tests/unit/test_resize_lanes.c tests/unit/ptx_text.h
tests_unit_test_resize_lanes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_lanes_LDADD = libresize.la libptx.la $(CMOCKA_LIBS)
tests_unit_test_resize_streams_SOURCES = tests/unit/test_resize_streams.c tests/unit/ptx_text.h
tests_unit_test_resize_streams_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_streams_LDADD = libresize.la libptx.la $(CMOCKA_LIBS)
tests_unit_test_resize_traps_SOURCES = tests/unit/test_resize_traps.c tests/unit/ptx_text.h
tests_unit_test_resize_traps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resize_traps_LDADD = libresize.la libptx.la $(CMOCKA_LIBS)

# Fuzz target, as those of ptx/
check_PROGRAMS += tests/fuzz/replay_resize
tests_fuzz_replay_resize_SOURCES = tests/fuzz/fuzz_resize.c tests/fuzz/replay.c tests/fuzz/fuzz.h
tests_fuzz_replay_resize_LDADD = libresize.la libptx.la
