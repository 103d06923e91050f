EXTRA_DIST += tests/summary tests/skips tests/run-all tests/lint tests/driver-calls tests/rooms tests/long-functions \
	tests/cppcheck.suppress tests/demo tests/mutants
# By name: the build has a folder of this name, too, with logs in it, and make dist would take those.
EXTRA_DIST += tests/oracle/fresh tests/oracle/generate tests/oracle/columns.py tests/oracle/ieee.py tests/oracle/series.py tests/oracle/forms_compare.py \
	tests/oracle/forms_convert.py tests/oracle/forms_float.py tests/oracle/forms_half.py tests/oracle/forms_int.py \
	tests/oracle/forms_memory.py tests/oracle/forms_pairs.py tests/oracle/rows tests/oracle/elsewhere

check_SCRIPTS += tests/lint tests/oracle/fresh

# The long counts (random instances, mutations, rounds) and make distcheck: before a release, or before an issue is closed.
.PHONY: check-long
check-long:
	@GSB_CHECK_LONG=1 $(top_srcdir)/tests/run-all $(abs_top_builddir)

# Headers that tests of many rooms share.
noinst_HEADERS += tests/unit/descriptors.h tests/unit/failing_send.h tests/unit/patient.h tests/unit/task.h tests/unit/temp.h tests/unit/trace_ring.h

# One-change mutants of the sources, each with the test that must catch it: tests/mutants/run says how. MUTANTS names some.
.PHONY: check-mutants check-data
check-mutants:
	@$(top_srcdir)/tests/mutants/run $(abs_top_builddir) $(MUTANTS)
check-data: $(check_DATA)

.PHONY: lint format
lint:
	@cd $(srcdir) && srcdir=. tests/lint
format:
	@cd $(srcdir) && find include base shm trace interpose cudart ptx model device broker sim tools examples tests \
		\( -name '*.c' -o -name '*.h' \) | xargs clang-format -i

# What a machine with a GPU needs, and nothing else there: programs, their libraries, kernels. GPU_BUNDLE is ignored by git.
GPU_BUNDLE = $(abs_top_srcdir)/.bundle
.PHONY: gpu-bundle gpu-check
gpu-check: gpu-bundle
	@$(GPU_BUNDLE)/tests/gpu/check
# One make after the other: two at once write the same libraries.
gpu-bundle: all
	@$(MAKE) $(AM_MAKEFLAGS) $(gpu_bundle_needs) tests/gpu/gsbctl tests/unit/test_device_ops tests/integ/semantics tests/integ/graphs tests/integ/virtual tests/integ/occupancy tests/integ/conditions tests/integ/ipc tests/integ/misuse tests/integ/badcode tests/integ/textures tests/rules/rules
	@$(top_srcdir)/tests/gpu/bundle $(abs_top_builddir) $(GPU_BUNDLE)
