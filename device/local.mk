# device: the vtable and its devices.
noinst_LTLIBRARIES += libdevice.la
libdevice_la_SOURCES = \
	device/ops.h device/device.c device/devices.def \
	device/attrs.def device/info.c device/info.h \
	device/code.c device/code.h \
	device/done.c device/done.h \
	device/host_file.c device/host_file.h \
	device/range.c device/range.h \
	device/cuda/array.c device/cuda/array.h \
	device/cuda/array_pool.c device/cuda/array_pool.h \
	device/cuda/backing.c device/cuda/backing.h \
	device/cuda/chain.c device/cuda/chain.h \
	device/cuda/chunk.c device/cuda/chunk.h \
	device/cuda/cuda.c device/cuda/cuda.h \
	device/cuda/device.h \
	device/cuda/driver.c device/cuda/driver.h device/cuda/driver.def \
	device/cuda/fifo.c device/cuda/fifo.h \
	device/cuda/flight.c device/cuda/flight.h \
	device/cuda/helper.c device/cuda/helper.h \
	device/cuda/host.c device/cuda/host.h \
	device/cuda/image.c device/cuda/image.h \
	device/cuda/info.c device/cuda/info.h \
	device/cuda/joint.c device/cuda/joint.h \
	device/cuda/launch.c device/cuda/launch.h \
	device/cuda/link.c device/cuda/link.h \
	device/cuda/managed.c device/cuda/managed.h \
	device/cuda/memory.c device/cuda/memory.h \
	device/cuda/module.c device/cuda/module.h \
	device/cuda/pace.c device/cuda/pace.h \
	device/cuda/pages.c device/cuda/pages.h \
	device/cuda/partition.c device/cuda/partition.h \
	device/cuda/place.c device/cuda/place.h \
	device/cuda/print.c device/cuda/print.h \
	device/cuda/queue.c device/cuda/queue.h \
	device/cuda/room.c device/cuda/room.h \
	device/cuda/running.c device/cuda/running.h \
	device/cuda/said.c device/cuda/said.h \
	device/cuda/send.c device/cuda/send.h \
	device/cuda/space.c device/cuda/space.h \
	device/cuda/tensor.c device/cuda/tensor.h \
	device/cuda/texture.c device/cuda/texture.h \
	device/cuda/threads.def device/cuda/threads.h \
	device/cuda/variables.c device/cuda/variables.h \
	device/cuda/zero.c device/cuda/zero.h \
	device/lanes/lanes.c device/lanes/lanes.h \
	device/lanes/answer.c \
	device/lanes/calls.def \
	device/lanes/lane.c device/lanes/lane.h \
	device/lanes/memory.c \
	device/lanes/part.c \
	device/lanes/notice.c \
	device/lanes/pool.c \
	device/lanes/serve.c device/lanes/serve.h \
	device/lanes/table.c device/lanes/table.h \
	device/lanes/wire.c device/lanes/wire.h \
	device/lanes/work.c \
	device/null/null.c device/null/null.h \
	device/emu/emu.c device/emu/emu.h \
	device/emu/device.h \
	device/emu/flip.c device/emu/flip.h \
	device/emu/tensor.c device/emu/tensor.h \
	device/emu/issue.c device/emu/issue.h \
	device/emu/module.c device/emu/module.h \
	device/emu/space.c device/emu/space.h \
	device/emu/clock/clock.c device/emu/clock/clock.h \
	device/emu/clock/command.c device/emu/clock/command.h \
	device/emu/clock/copy.c device/emu/clock/copy.h \
	device/emu/clock/launch.c device/emu/clock/launch.h \
	device/emu/clock/run.c device/emu/clock/run.h \
	device/emu/clock/state.h \
	device/emu/clock/work.h \
	device/emu/clock/worker.c device/emu/clock/worker.h \
	device/emu/clock/report.c device/emu/clock/report.h \
	device/emu/memory/backing.c device/emu/memory/backing.h \
	device/emu/memory/file.c device/emu/memory/file.h \
	device/emu/memory/heap.c device/emu/memory/heap.h \
	device/emu/memory/near.c device/emu/memory/near.h \
	device/emu/memory/share.c device/emu/memory/share.h \
	device/emu/memory/sweep.c device/emu/memory/sweep.h

EXTRA_DIST += doc/emulated-device.md

# What is put behind PTX that prints, and the kernel that tells of the end of another, as strings.
EXTRA_DIST += device/cuda/print.ptx device/cuda/mark.ptx
device/cuda/print.lo: device/cuda/print_ptx.h
device/cuda/chain.lo: device/cuda/mark_ptx.h
CLEANFILES += device/cuda/print_ptx.h device/cuda/mark_ptx.h
device/cuda/%_ptx.h: device/cuda/%.ptx
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { echo 'static const char cuda_$*_ptx[] ='; \
		sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $<; echo ';'; } >$@

include device/emu/exec.mk
libdevice_la_LIBADD += libmodel.la libshm.la

# Beside gsb-engine, which starts it.
libexec_PROGRAMS += broker/gsb-lane
broker_gsb_lane_SOURCES = device/lanes/main.c
broker_gsb_lane_LDADD = libdevice.la libprogram.la
lane_program = -DGSB_LANE_PROGRAM='"$(abs_top_builddir)/broker/gsb-lane"'

check_PROGRAMS += tests/unit/test_said
tests_unit_test_said_SOURCES = tests/unit/test_said.c
tests_unit_test_said_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_said_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_device_range
tests_unit_test_device_range_SOURCES = tests/unit/test_device_range.c
tests_unit_test_device_range_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_range_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_host_file
tests_unit_test_host_file_SOURCES = tests/unit/test_host_file.c
tests_unit_test_host_file_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_host_file_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_device_ops
tests_unit_test_device_ops_SOURCES = tests/unit/test_device_ops.c tests/unit/device_kernels.h
EXTRA_tests_unit_test_device_ops_DEPENDENCIES = broker/gsb-lane
tests_unit_test_device_ops_CPPFLAGS = $(AM_CPPFLAGS) $(lane_program)
tests_unit_test_device_ops_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_ops_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_lanes
tests_unit_test_lanes_SOURCES = tests/unit/test_lanes.c
EXTRA_tests_unit_test_lanes_DEPENDENCIES = broker/gsb-lane
tests_unit_test_lanes_CPPFLAGS = $(AM_CPPFLAGS) $(lane_program)
tests_unit_test_lanes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_lanes_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_workers
tests_unit_test_emu_workers_SOURCES = tests/unit/test_emu_workers.c
tests_unit_test_emu_workers_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_workers_LDADD = libdevice.la $(CMOCKA_LIBS)

device_kit = tests/unit/device_kit.c tests/unit/device_kit.h
check_PROGRAMS += tests/unit/test_emu_groups
tests_unit_test_emu_groups_SOURCES = tests/unit/test_emu_groups.c $(device_kit)
tests_unit_test_emu_groups_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_groups_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_device_limits
tests_unit_test_device_limits_SOURCES = tests/unit/test_device_limits.c $(device_kit)
tests_unit_test_device_limits_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_limits_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_device_code
tests_unit_test_device_code_SOURCES = tests/unit/test_device_code.c
tests_unit_test_device_code_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_device_code_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_cluster
tests_unit_test_emu_cluster_SOURCES = tests/unit/test_emu_cluster.c $(device_kit)
tests_unit_test_emu_cluster_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_cluster_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_hands
tests_unit_test_emu_hands_SOURCES = tests/unit/test_emu_hands.c
tests_unit_test_emu_hands_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_hands_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_order
tests_unit_test_emu_order_SOURCES = tests/unit/test_emu_order.c $(device_kit)
tests_unit_test_emu_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_order_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_rates
tests_unit_test_emu_rates_SOURCES = tests/unit/test_emu_rates.c $(device_kit)
tests_unit_test_emu_rates_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_rates_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_repeat
tests_unit_test_emu_repeat_SOURCES = tests/unit/test_emu_repeat.c
tests_unit_test_emu_repeat_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_repeat_LDADD = libdevice.la $(CMOCKA_LIBS)

if HAVE_CUDA
check_PROGRAMS += tests/unit/test_device_attrs
endif
tests_unit_test_device_attrs_SOURCES = tests/unit/test_device_attrs.c
tests_unit_test_device_attrs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -isystem $(CUDA_DIR)/include
tests_unit_test_device_attrs_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emu_report
tests_unit_test_emu_report_SOURCES = tests/unit/test_emu_report.c
tests_unit_test_emu_report_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emu_report_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cuda
tests_unit_test_cuda_SOURCES = tests/unit/test_cuda.c
tests_unit_test_cuda_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_LDADD = libdevice.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cuda_pace
tests_unit_test_cuda_pace_SOURCES = tests/unit/test_cuda_pace.c
tests_unit_test_cuda_pace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_pace_LDADD = libdevice.la $(CMOCKA_LIBS)
