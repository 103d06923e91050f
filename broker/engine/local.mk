# gsb-engine: the program that owns a device.

noinst_LTLIBRARIES += libengine.la
libengine_la_SOURCES = \
	broker/control.h \
	broker/engine/engine.h \
	broker/engine/admission.c broker/engine/admission.h \
	broker/engine/context.c broker/engine/context.h \
	broker/engine/control.c broker/engine/control.h \
	broker/engine/dismissal.c broker/engine/dismissal.h \
	broker/engine/dispatch.c broker/engine/dispatch.h \
	broker/engine/event_ipc.c broker/engine/event_ipc.h \
	broker/engine/gate.c broker/engine/gate.h \
	broker/engine/orphan.c broker/engine/orphan.h \
	broker/engine/precede.c broker/engine/precede.h \
	broker/engine/loop.c broker/engine/loop.h \
	broker/engine/start_line.c broker/engine/start_line.h \
	broker/engine/status.c broker/engine/status.h \
	broker/engine/tell.c broker/engine/tell.h \
	broker/engine/tracing.c broker/engine/tracing.h \
	broker/engine/watch.c broker/engine/watch.h \
	broker/engine/watchdog.c broker/engine/watchdog.h \
	broker/engine/order/clock.h \
	broker/engine/order/epoch.c broker/engine/order/epoch.h \
	broker/engine/order/event.c broker/engine/order/event.h \
	broker/engine/order/fence.c broker/engine/order/fence.h \
	broker/engine/order/order.c broker/engine/order/order.h \
	broker/engine/order/pool.c broker/engine/order/pool.h \
	broker/engine/order/shared.c broker/engine/order/shared.h \
	broker/engine/order/stream.c broker/engine/order/stream.h \
	broker/engine/order/types.h \
	broker/engine/order/wait.c broker/engine/order/wait.h \
	broker/engine/tenant/answer.c \
	broker/engine/tenant/ctx.c \
	broker/engine/tenant/export.c broker/engine/tenant/export.h \
	broker/engine/tenant/host_func.c \
	broker/engine/tenant/later.c broker/engine/tenant/later.h \
	broker/engine/tenant/log.c \
	broker/engine/tenant/mailbox.c broker/engine/tenant/mailbox.h \
	broker/engine/tenant/print.c \
	broker/engine/tenant/table.c broker/engine/tenant/table.h \
	broker/engine/tenant/tenant.h \
	broker/engine/memory/addresses.c broker/engine/memory/addresses.h \
	broker/engine/memory/check.c \
	broker/engine/memory/drain.c broker/engine/memory/drain.h \
	broker/engine/memory/grant.c broker/engine/memory/grant.h \
	broker/engine/memory/kept.c broker/engine/memory/kept.h \
	broker/engine/memory/pinner.c broker/engine/memory/pinner.h \
	broker/engine/memory/account.c broker/engine/memory/account.h \
	broker/engine/memory/alias.c broker/engine/memory/alias.h \
	broker/engine/memory/free.c \
	broker/engine/memory/ipc.c \
	broker/engine/memory/puncher.c broker/engine/memory/puncher.h \
	broker/engine/memory/host.c broker/engine/memory/host.h \
	broker/engine/memory/memory.c broker/engine/memory/memory.h \
	broker/engine/memory/share.c broker/engine/memory/share.h \
	broker/engine/memory/texture.c \
	broker/engine/memory/virtual.c broker/engine/memory/virtual.h \
	broker/engine/code/admit.c \
	broker/engine/code/code.h \
	broker/engine/code/compare.c broker/engine/code/compare.h \
	broker/engine/code/counting.c broker/engine/code/counting.h \
	broker/engine/code/demand.c broker/engine/code/demand.h \
	broker/engine/code/facts.c broker/engine/code/facts.h \
	broker/engine/code/function.c \
	broker/engine/code/upload.c broker/engine/code/upload.h \
	broker/engine/code/job.c broker/engine/code/job.h \
	broker/engine/code/loaded.c \
	broker/engine/code/loader.c broker/engine/code/loader.h \
	broker/engine/code/module.c \
	broker/engine/code/proofs.c broker/engine/code/proofs.h \
	broker/engine/code/cache.c broker/engine/code/cache.h \
	broker/engine/code/resizing.c broker/engine/code/resizing.h \
	broker/engine/code/scratch.c broker/engine/code/scratch.h \
	broker/engine/code/variants.c broker/engine/code/variants.h \
	broker/engine/code/variants_make.c broker/engine/code/variants_make.h \
	broker/engine/code/occupancy.c \
	broker/engine/code/tensor_map.c \
	broker/engine/work/complete.c \
	broker/engine/work/course.c broker/engine/work/course.h \
	broker/engine/work/issue.c \
	broker/engine/work/item.c \
	broker/engine/work/queue_pool.c broker/engine/work/queue_pool.h \
	broker/engine/work/ready.c broker/engine/work/ready.h \
	broker/engine/work/run.c broker/engine/work/run.h \
	broker/engine/work/scheduler.h \
	broker/engine/work/shadow.c broker/engine/work/shadow.h \
	broker/engine/work/times.c broker/engine/work/times.h \
	broker/engine/work/view.c broker/engine/work/view.h \
	broker/engine/trace/buffer.c broker/engine/trace/buffer.h \
	broker/engine/trace/provider.c broker/engine/trace/provider.h \
	broker/engine/trace/trace.c broker/engine/trace/trace.h
libengine_la_CPPFLAGS = $(AM_CPPFLAGS) -DGSB_PKGLIBDIR='"$(pkglibdir)"'
libengine_la_LIBADD = librewrite.la libresize.la libtrace.la libpolicy.la libdevice.la libmodel.la libshm.la libbase.la

libexec_PROGRAMS += broker/gsb-engine
broker_gsb_engine_SOURCES = broker/engine/main.c
broker_gsb_engine_LDADD = libengine.la libprogram.la

if HAVE_LTTNG
pkglib_LTLIBRARIES += broker/gsb-tp.la
broker_gsb_tp_la_SOURCES = broker/engine/trace/gsb_tp.c broker/engine/trace/gsb_tp.h broker/engine/trace/provider.h
broker_gsb_tp_la_CFLAGS = $(AM_CFLAGS) $(LTTNG_UST_CFLAGS)
broker_gsb_tp_la_LDFLAGS = -module -avoid-version -shared
broker_gsb_tp_la_LIBADD = $(LTTNG_UST_LIBS)
endif

# What events cost an engine: the same program with them, and with an engine that was built without.
check_PROGRAMS += tests/integ/engine_path tests/integ/engine_path_untraced
check_SCRIPTS += tests/integ/engine_path.sh
EXTRA_DIST += tests/integ/engine_path.sh
tests_integ_engine_path_SOURCES = tests/integ/engine_path.c $(engine_kit)
tests_integ_engine_path_CFLAGS = $(engine_test_cflags)
tests_integ_engine_path_LDFLAGS = -Wl,--wrap=gsb_pidfd_open
tests_integ_engine_path_LDADD = $(engine_test_libs)
tests_integ_engine_path_untraced_SOURCES = tests/integ/engine_path.c $(engine_kit) $(libengine_la_SOURCES)
tests_integ_engine_path_untraced_CPPFLAGS = $(libengine_la_CPPFLAGS) -DGSB_TRACE_NEVER
tests_integ_engine_path_untraced_CFLAGS = $(engine_test_cflags)
tests_integ_engine_path_untraced_LDFLAGS = -Wl,--wrap=gsb_pidfd_open
tests_integ_engine_path_untraced_LDADD = $(libengine_la_LIBADD) $(CMOCKA_LIBS)

engine_tests = tests/unit/test_engine_stream tests/unit/test_engine_order \
	tests/unit/test_engine_gate tests/unit/test_engine_start_line tests/unit/test_engine_hostile tests/unit/test_engine_fuzz \
	tests/unit/test_engine_control tests/unit/test_engine_counts tests/unit/test_engine_log tests/unit/test_engine_memory \
	tests/unit/test_engine_kept \
	tests/unit/test_engine_shared \
	tests/unit/test_engine_later \
	tests/unit/test_engine_share \
	tests/unit/test_engine_mirror \
	tests/unit/test_engine_virtual \
	tests/unit/test_mailbox \
	tests/unit/test_engine_policy tests/unit/test_engine_release tests/unit/test_engine_resize tests/unit/test_engine_upload \
	tests/unit/test_facts tests/unit/test_grant tests/unit/test_pool tests/unit/test_proofs tests/unit/test_queue_pool tests/unit/test_ready tests/fuzz/replay_records
check_PROGRAMS += $(engine_tests)
tenant_kit = tests/unit/tenant_kit.c tests/unit/tenant_kit.h
engine_kit = tests/unit/engine_kit.c tests/unit/engine_kit.h $(tenant_kit)
control_kit = tests/unit/control_kit.c tests/unit/control_kit.h
fuzz_session = tests/fuzz/session.c tests/fuzz/session.h
engine_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
engine_test_libs = libengine.la $(CMOCKA_LIBS)
tests_unit_test_engine_stream_SOURCES = tests/unit/test_engine_stream.c $(engine_kit)
tests_unit_test_engine_stream_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_stream_LDADD = $(engine_test_libs)
tests_unit_test_engine_order_SOURCES = tests/unit/test_engine_order.c $(engine_kit)
tests_unit_test_engine_order_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_order_LDADD = $(engine_test_libs)
tests_unit_test_engine_start_line_SOURCES = tests/unit/test_engine_start_line.c $(engine_kit)
tests_unit_test_engine_start_line_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_start_line_LDADD = $(engine_test_libs)
tests_unit_test_engine_gate_SOURCES = tests/unit/test_engine_gate.c $(engine_kit)
tests_unit_test_engine_gate_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_gate_LDADD = $(engine_test_libs)
tests_unit_test_engine_counts_SOURCES = tests/unit/test_engine_counts.c $(engine_kit)
tests_unit_test_engine_counts_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_counts_LDADD = $(engine_test_libs)
tests_unit_test_engine_hostile_SOURCES = tests/unit/test_engine_hostile.c $(engine_kit)
tests_unit_test_engine_hostile_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_hostile_LDADD = $(engine_test_libs)
tests_unit_test_engine_fuzz_SOURCES = tests/unit/test_engine_fuzz.c tests/fuzz/fuzz_records.c \
	tests/fuzz/fuzz.h $(fuzz_session) $(engine_kit)
tests_unit_test_engine_fuzz_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_fuzz_LDADD = $(engine_test_libs)
tests_fuzz_replay_records_SOURCES = tests/fuzz/fuzz_records.c tests/fuzz/replay.c tests/fuzz/fuzz.h \
	$(fuzz_session) $(engine_kit)
tests_fuzz_replay_records_CFLAGS = $(engine_test_cflags)
tests_fuzz_replay_records_LDADD = $(engine_test_libs)
tests_unit_test_engine_control_SOURCES = tests/unit/test_engine_control.c $(engine_kit) $(control_kit)
tests_unit_test_engine_control_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_control_LDADD = $(engine_test_libs)
tests_unit_test_engine_policy_SOURCES = tests/unit/test_engine_policy.c $(engine_kit)
tests_unit_test_engine_policy_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_policy_LDADD = $(engine_test_libs)
tests_unit_test_engine_release_SOURCES = tests/unit/test_engine_release.c $(engine_kit)
tests_unit_test_engine_release_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_release_LDADD = $(engine_test_libs)
tests_unit_test_engine_resize_SOURCES = tests/unit/test_engine_resize.c $(engine_kit)
tests_unit_test_engine_resize_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_resize_LDADD = $(engine_test_libs)
tests_unit_test_engine_share_SOURCES = tests/unit/test_engine_share.c $(engine_kit)
tests_unit_test_engine_share_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_share_LDADD = $(engine_test_libs)
tests_unit_test_mailbox_SOURCES = tests/unit/test_mailbox.c broker/engine/tenant/mailbox.c broker/engine/tenant/mailbox.h
tests_unit_test_mailbox_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mailbox_LDADD = libbase.la $(CMOCKA_LIBS)
tests_unit_test_engine_mirror_SOURCES = tests/unit/test_engine_mirror.c $(engine_kit)
tests_unit_test_engine_mirror_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_mirror_LDADD = $(engine_test_libs)
tests_unit_test_engine_virtual_SOURCES = tests/unit/test_engine_virtual.c $(engine_kit)
tests_unit_test_engine_virtual_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_virtual_LDADD = $(engine_test_libs)
tests_unit_test_engine_shared_SOURCES = tests/unit/test_engine_shared.c $(engine_kit)
tests_unit_test_engine_shared_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_shared_LDADD = $(engine_test_libs)
tests_unit_test_engine_later_SOURCES = tests/unit/test_engine_later.c $(engine_kit)
tests_unit_test_engine_later_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_later_LDADD = $(engine_test_libs)

tests_unit_test_engine_kept_SOURCES = tests/unit/test_engine_kept.c $(engine_kit) $(control_kit)
tests_unit_test_engine_kept_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_kept_LDFLAGS = -Wl,--wrap=gsb_puncher_give
tests_unit_test_engine_kept_LDADD = $(engine_test_libs)
tests_unit_test_engine_memory_SOURCES = tests/unit/test_engine_memory.c $(engine_kit) $(control_kit)
tests_unit_test_engine_memory_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_memory_LDADD = $(engine_test_libs)
# Both halves of the ledger: the only program that has them in one.
tests_unit_test_grant_SOURCES = tests/unit/test_grant.c
tests_unit_test_grant_CFLAGS = $(engine_test_cflags)
tests_unit_test_grant_LDADD = libengine.la libbrokerd.la $(CMOCKA_LIBS)
tests_unit_test_engine_upload_SOURCES = tests/unit/test_engine_upload.c $(engine_kit)
tests_unit_test_engine_upload_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_upload_LDADD = $(engine_test_libs)
tests_unit_test_engine_log_SOURCES = tests/unit/test_engine_log.c $(engine_kit)
tests_unit_test_engine_log_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_log_LDADD = $(engine_test_libs)
tests_unit_test_proofs_SOURCES = tests/unit/test_proofs.c
tests_unit_test_proofs_CFLAGS = $(engine_test_cflags)
tests_unit_test_proofs_LDADD = $(engine_test_libs)
tests_unit_test_facts_SOURCES = tests/unit/test_facts.c
tests_unit_test_facts_CFLAGS = $(engine_test_cflags)
tests_unit_test_facts_LDADD = $(engine_test_libs)
tests_unit_test_queue_pool_SOURCES = tests/unit/test_queue_pool.c
tests_unit_test_queue_pool_CFLAGS = $(engine_test_cflags)
tests_unit_test_queue_pool_LDADD = $(engine_test_libs)
tests_unit_test_ready_SOURCES = tests/unit/test_ready.c
tests_unit_test_ready_CFLAGS = $(engine_test_cflags)
tests_unit_test_ready_LDADD = $(engine_test_libs)
tests_unit_test_pool_SOURCES = tests/unit/test_pool.c
tests_unit_test_pool_CFLAGS = $(engine_test_cflags)
tests_unit_test_pool_LDADD = $(engine_test_libs)

check_PROGRAMS += tests/unit/test_engine_run
tests_unit_test_engine_run_SOURCES = tests/unit/test_engine_run.c $(engine_kit)
tests_unit_test_engine_run_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_run_LDADD = $(engine_test_libs)

check_PROGRAMS += tests/unit/test_engine_burst
tests_unit_test_engine_burst_SOURCES = tests/unit/test_engine_burst.c $(engine_kit)
tests_unit_test_engine_burst_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_burst_LDADD = $(engine_test_libs)

check_PROGRAMS += tests/unit/test_watchdog
tests_unit_test_watchdog_SOURCES = tests/unit/test_watchdog.c
tests_unit_test_watchdog_CFLAGS = $(engine_test_cflags)
tests_unit_test_watchdog_LDFLAGS = -Wl,--wrap=gsb_clock_ns
tests_unit_test_watchdog_LDADD = $(engine_test_libs)

check_PROGRAMS += tests/unit/test_engine_turn
tests_unit_test_engine_turn_SOURCES = tests/unit/test_engine_turn.c $(engine_kit)
tests_unit_test_engine_turn_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_turn_LDADD = $(engine_test_libs)

check_PROGRAMS += tests/unit/test_engine_trace tests/unit/test_trace_buffer tests/unit/test_trace_compact
tests_unit_test_engine_trace_SOURCES = tests/unit/test_engine_trace.c $(engine_kit)
tests_unit_test_engine_trace_CFLAGS = $(engine_test_cflags)
tests_unit_test_engine_trace_LDADD = $(engine_test_libs)
tests_unit_test_trace_buffer_SOURCES = tests/unit/test_trace_buffer.c
tests_unit_test_trace_buffer_CFLAGS = $(engine_test_cflags)
tests_unit_test_trace_buffer_LDADD = $(engine_test_libs)
tests_unit_test_trace_compact_SOURCES = tests/unit/test_trace_compact.c
tests_unit_test_trace_compact_CFLAGS = $(engine_test_cflags)
tests_unit_test_trace_compact_LDADD = $(engine_test_libs)
check_PROGRAMS += tests/unit/test_trace_lttng
tests_unit_test_trace_lttng_SOURCES = tests/unit/test_trace_lttng.c
tests_unit_test_trace_lttng_CFLAGS = $(engine_test_cflags)
tests_unit_test_trace_lttng_LDFLAGS = -Wl,--wrap=gsb_trace_load_provider,--wrap=gsb_stamp_clock_ns
tests_unit_test_trace_lttng_LDADD = $(engine_test_libs)

# The records' fuzz target for libFuzzer, beside those of ptx: `make fuzz`.
fuzz: tests/fuzz/fuzz_records
tests/fuzz/fuzz_records: $(libengine_la_SOURCES) tests/fuzz/fuzz_records.c $(fuzz_session) $(engine_kit)
	mkdir -p tests/fuzz
	$(CLANG) $(AM_CPPFLAGS) $(GSB_CFLAGS) $(CMOCKA_CFLAGS) -g -O1 -fsanitize=fuzzer,address,undefined \
		-o $@ $(srcdir)/tests/fuzz/fuzz_records.c \
		$(addprefix $(srcdir)/,$(filter %.c,$(fuzz_session) $(engine_kit))) \
		$(addprefix $(srcdir)/,$(filter %.c,$(libengine_la_SOURCES) $(librewrite_la_SOURCES) $(libresize_la_SOURCES) \
			$(libptx_la_SOURCES) $(libimage_la_SOURCES) $(libtrace_la_SOURCES) $(libmodel_la_SOURCES) \
			$(libshm_la_SOURCES) $(libbase_la_SOURCES)) device/range.c) $(CMOCKA_LIBS) $(ZSTD_LIBS) $(LZ4_LIBS) -lm
CLEANFILES += tests/fuzz/fuzz_records

