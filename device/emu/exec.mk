# The PTX interpreter: a library of its own, which libdevice takes in. The handlers are built once for
# each x86-64 level, and the best one is taken at run time; elsewhere there is one plain build. Rows are vector
# code whatever the level of optimisation: the tests count that.
# They do without -frounding-math, which keeps fma from becoming vector code: where they change the mode,
# they pin the operands themselves. They do without SLP, which takes apart what is computed in scalars. No vector
# crosses from one object to another, so that its ABI is nobody's concern. What has AVX2 takes prefetchw, or for no operation. clang says of loops that call libm that they are no vector code.
noinst_LTLIBRARIES += libemuexec.la
libemuexec_la_SOURCES = \
	device/emu/code/code.c device/emu/code/code.h device/emu/code/forms.def \
	device/emu/lower/access.c device/emu/lower/access.h device/emu/lower/again.c device/emu/lower/again.h device/emu/lower/call.c device/emu/lower/call.h \
	device/emu/lower/combine.c device/emu/lower/combine.h device/emu/exec/combine.c device/emu/exec/combine.h \
	device/emu/lower/frame.c device/emu/lower/frame.h device/emu/lower/least.c device/emu/lower/least.h device/emu/lower/tally.c device/emu/lower/tally.h device/emu/lower/lower.c device/emu/lower/lower.h \
	device/emu/lower/lowering.c device/emu/lower/lowering.h device/emu/lower/operand.c \
	device/emu/code/video.h device/emu/lower/video.c device/emu/lower/video.h device/emu/exec/video.c \
	device/emu/exec/half.h \
	device/emu/lower/operand.h device/emu/lower/operate.c device/emu/lower/operate.h \
	device/emu/lower/rows.c device/emu/lower/rows.h device/emu/lower/select.c device/emu/lower/select.h \
	device/emu/code/reduction.h device/emu/exec/reduce.c device/emu/exec/reduce.h \
	device/emu/exec/cluster.c device/emu/exec/cluster.h device/emu/exec/cluster_run.c device/emu/exec/async.c device/emu/exec/async.h device/emu/exec/mbarrier.c device/emu/exec/mbarrier.h \
	device/emu/code/tensor_map.c device/emu/code/tensor_map.h device/emu/exec/box.c device/emu/exec/box.h device/emu/exec/place.c device/emu/exec/place.h \
	device/emu/exec/tensor.c device/emu/lower/tensor.c device/emu/lower/tensor.h \
	device/emu/lower/async.c device/emu/lower/async.h device/emu/exec/alloc.c device/emu/exec/builtin.h \
	device/emu/memory/malloc.c device/emu/memory/malloc.h \
	device/emu/exec/matrix.c device/emu/lower/matrix.c device/emu/lower/matrix.h \
	device/emu/exec/stack.c device/emu/exec/stack.h device/emu/lower/stack.c device/emu/lower/stack.h \
	device/emu/lower/texture.c device/emu/lower/texture.h \
	device/emu/exec/access.c device/emu/exec/access.h \
	device/emu/exec/alu.h device/emu/exec/atom.h device/emu/exec/block.c device/emu/exec/convert.c device/emu/exec/exec.h \
	device/emu/exec/fault.c device/emu/exec/fault.h device/emu/exec/flow.c device/emu/exec/guard.c \
	device/emu/exec/guard.h device/emu/exec/isa.c device/emu/exec/isa.h device/emu/exec/lane.h device/emu/exec/look.c device/emu/exec/look.h \
	device/emu/exec/mem.h device/emu/exec/moves.c device/emu/exec/moves.h device/emu/exec/print.c \
	device/emu/exec/print.h device/print.c device/print.h device/emu/exec/reach.h device/emu/exec/glance.h device/emu/exec/quads.h device/emu/exec/single.h device/emu/exec/split.c device/emu/exec/split.h device/emu/exec/state.h device/emu/exec/tally.h \
	device/emu/exec/profile.h device/emu/exec/sync.c device/emu/exec/sync.h \
	device/emu/exec/watch.c device/emu/exec/watch.h \
	device/emu/exec/texel.c device/emu/exec/texel.h \
	device/emu/exec/texture.c \
	device/emu/memory/address.h device/emu/memory/fifo.c device/emu/memory/fifo.h \
	device/emu/memory/storage.c device/emu/memory/storage.h
emu_handler_flags = $(AM_CFLAGS) -ftree-vectorize -fwrapv -ffp-contract=off -fno-trapping-math -fno-math-errno -fno-tree-slp-vectorize -Wno-pass-failed -Wno-psabi
libemuexec_la_CFLAGS = $(AM_CFLAGS) -fwrapv -ffp-contract=off -frounding-math
libemuexec_la_LIBADD = libptx.la libbase.la -lm
libdevice_la_LIBADD = libemuexec.la

if X86_64
noinst_LTLIBRARIES += libemuv2.la libemuv3.la libemuv4.la
libemuv2_la_SOURCES = device/emu/exec/handlers.c
libemuv2_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_EMU_ISA=v2
libemuv2_la_CFLAGS = $(emu_handler_flags) -march=x86-64-v2
libemuv3_la_SOURCES = device/emu/exec/handlers.c
libemuv3_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_EMU_ISA=v3
libemuv3_la_CFLAGS = $(emu_handler_flags) -march=x86-64-v3 -mprfchw
libemuv4_la_SOURCES = device/emu/exec/handlers.c
libemuv4_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_EMU_ISA=v4
libemuv4_la_CFLAGS = $(emu_handler_flags) -march=x86-64-v4 -mprfchw
libemuexec_la_LIBADD += libemuv2.la libemuv3.la libemuv4.la
else
noinst_LTLIBRARIES += libemuplain.la
libemuplain_la_SOURCES = device/emu/exec/handlers.c
libemuplain_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_EMU_ISA=plain
libemuplain_la_CFLAGS = $(emu_handler_flags)
libemuexec_la_LIBADD += libemuplain.la
endif

emu_harness = tests/unit/emu_harness.c tests/unit/emu_harness.h
emu_rows = tests/unit/emu_rows.c tests/unit/emu_rows.h
emu_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off -frounding-math
emu_test_ldadd = libemuexec.la $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_emu_exec
tests_unit_test_emu_exec_SOURCES = tests/unit/test_emu_exec.c $(emu_harness)
tests_unit_test_emu_exec_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_exec_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_opcodes
tests_unit_test_emu_opcodes_SOURCES = tests/unit/test_emu_opcodes.c $(emu_harness)
tests_unit_test_emu_opcodes_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_opcodes_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_half
tests_unit_test_emu_half_SOURCES = tests/unit/test_emu_half.c $(emu_harness)
tests_unit_test_emu_half_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_half_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_calls
tests_unit_test_emu_calls_SOURCES = tests/unit/test_emu_calls.c $(emu_harness)
tests_unit_test_emu_calls_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_calls_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_members
tests_unit_test_emu_members_SOURCES = tests/unit/test_emu_members.c $(emu_harness)
tests_unit_test_emu_members_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_members_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_spin
tests_unit_test_emu_spin_SOURCES = tests/unit/test_emu_spin.c $(emu_harness)
tests_unit_test_emu_spin_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_spin_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_warp
tests_unit_test_emu_warp_SOURCES = tests/unit/test_emu_warp.c $(emu_harness)
tests_unit_test_emu_warp_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_warp_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_ops
tests_unit_test_emu_ops_SOURCES = tests/unit/test_emu_ops.c $(emu_rows) $(emu_harness)
tests_unit_test_emu_ops_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_ops_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_forms
tests_unit_test_emu_forms_SOURCES = tests/unit/test_emu_forms.c $(emu_rows)
tests_unit_test_emu_forms_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_forms_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_random
tests_unit_test_emu_random_SOURCES = tests/unit/test_emu_random.c $(emu_harness) \
	tests/random/random_program.c tests/random/random_program.h tests/random/reference.c \
	tests/random/reference.h tests/random/reference_parse.c tests/random/reference_compute.c
tests_unit_test_emu_random_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_random_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_memory
tests_unit_test_emu_memory_SOURCES = tests/unit/test_emu_memory.c tests/unit/emu_threads.c tests/unit/emu_threads.h \
	tests/unit/emu_watch.c tests/unit/emu_watch.h $(emu_harness)
tests_unit_test_emu_memory_CFLAGS = $(emu_test_cflags) -mcx16
tests_unit_test_emu_memory_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_again
tests_unit_test_emu_again_SOURCES = tests/unit/test_emu_again.c $(emu_harness)
tests_unit_test_emu_again_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_again_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_combine
tests_unit_test_emu_combine_SOURCES = tests/unit/test_emu_combine.c $(emu_harness)
tests_unit_test_emu_combine_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_combine_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_db
tests_unit_test_emu_db_SOURCES = tests/unit/test_emu_db.c $(emu_harness)
tests_unit_test_emu_db_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_db_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_async
tests_unit_test_emu_async_SOURCES = tests/unit/test_emu_async.c $(emu_harness)
tests_unit_test_emu_async_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_async_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_tensor
tests_unit_test_emu_tensor_SOURCES = tests/unit/test_emu_tensor.c $(emu_harness)
tests_unit_test_emu_tensor_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_tensor_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_heap
tests_unit_test_emu_heap_SOURCES = tests/unit/test_emu_heap.c $(emu_harness)
tests_unit_test_emu_heap_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_heap_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_mma
tests_unit_test_emu_mma_SOURCES = tests/unit/test_emu_mma.c $(emu_harness)
tests_unit_test_emu_mma_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_mma_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_matrix
tests_unit_test_emu_matrix_SOURCES = tests/unit/test_emu_matrix.c $(emu_harness)
tests_unit_test_emu_matrix_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_matrix_LDADD = $(emu_test_ldadd)

check_PROGRAMS += tests/unit/test_emu_profile
tests_unit_test_emu_profile_SOURCES = tests/unit/test_emu_profile.c tests/unit/ptx_text.h $(emu_harness)
tests_unit_test_emu_profile_CFLAGS = $(emu_test_cflags)
tests_unit_test_emu_profile_LDADD = $(emu_test_ldadd)
