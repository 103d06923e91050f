# tests/litmus: the PTX memory model on the emulated device; tests/gpu/litmus is the same on a real GPU.
litmus_sources = tests/litmus/litmus.h tests/litmus/litmus.def tests/litmus/parse.c tests/litmus/ptx.c \
	tests/litmus/outcome.c tests/litmus/run.c tests/litmus/programs.c tests/litmus/programs.def

check_PROGRAMS += tests/litmus/test_litmus
tests_litmus_test_litmus_SOURCES = tests/litmus/test_litmus.c tests/litmus/emu.c tests/litmus/emu.h $(litmus_sources)
tests_litmus_test_litmus_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_litmus_test_litmus_LDADD = libdevice.la $(CMOCKA_LIBS)
