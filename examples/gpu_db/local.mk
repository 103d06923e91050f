# The sample database: links nothing of ours and sees no header of ours (its own CPPFLAGS).
#
# Kernels: nvcc if configure found one, else clang, else the text kept in ptx/. `make gpu-db-ptx`
# renews that text (with nvcc); tests/gpu_db/ptx.sh fails when it is stale. Under nvcc there is also
# a fatbin of each, as nvcc makes them by default (compressed), for `gpu_db run --image fatbin`.

noinst_PROGRAMS += examples/gpu_db/gpu_db examples/gpu_db/embed
noinst_LTLIBRARIES += examples/gpu_db/libgpudata.la

# What needs no GPU: data, files and reference; unit tests link this too. The compiler must not fuse
# what the reference spells out: results are compared in every bit.
examples_gpu_db_libgpudata_la_SOURCES = \
	examples/gpu_db/column.c examples/gpu_db/column.h \
	examples/gpu_db/data.c examples/gpu_db/data.h \
	examples/gpu_db/mix.h \
	examples/gpu_db/reference.c examples/gpu_db/reference.h \
	examples/gpu_db/sizes.c examples/gpu_db/sizes.h
examples_gpu_db_libgpudata_la_CPPFLAGS = -D_GNU_SOURCE
examples_gpu_db_libgpudata_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
examples_gpu_db_libgpudata_la_LIBADD = -lm

examples_gpu_db_gpu_db_SOURCES = \
	examples/gpu_db/counter.c \
	examples/gpu_db/cu.c examples/gpu_db/cu.def examples/gpu_db/cu.h \
	examples/gpu_db/distance.c \
	examples/gpu_db/gpu_db.c \
	examples/gpu_db/images.h \
	examples/gpu_db/join.c \
	examples/gpu_db/matmul.c \
	examples/gpu_db/md5.c \
	examples/gpu_db/query.h \
	examples/gpu_db/report.c examples/gpu_db/report.h \
	examples/gpu_db/run.c examples/gpu_db/run.h \
	examples/gpu_db/session.c examples/gpu_db/session.h \
	examples/gpu_db/table.c examples/gpu_db/table.h
nodist_examples_gpu_db_gpu_db_SOURCES = examples/gpu_db/images.c
examples_gpu_db_gpu_db_CPPFLAGS = -D_GNU_SOURCE -DGPU_DB_VERSION='"$(PACKAGE_VERSION)"' -I$(srcdir)/examples/gpu_db
examples_gpu_db_gpu_db_LDADD = examples/gpu_db/libgpudata.la -ldl -lm
CLEANFILES += examples/gpu_db/images.c

examples_gpu_db_embed_SOURCES = examples/gpu_db/embed.c
examples_gpu_db_embed_CPPFLAGS = -D_GNU_SOURCE

GPU_DB_KERNELS = join md5 matmul distance check counter
GPU_DB_CU = $(GPU_DB_KERNELS:%=examples/gpu_db/kernels/%.cu)
GPU_DB_PTX = $(GPU_DB_KERNELS:%=examples/gpu_db/kernels/%.ptx)
GPU_DB_SHIPPED = $(GPU_DB_KERNELS:%=examples/gpu_db/ptx/%.ptx)

EXTRA_DIST += $(GPU_DB_CU) $(GPU_DB_SHIPPED) examples/gpu_db/kernels/kernel.h examples/gpu_db/README.md \
	examples/gpu_db/gpu_db.1
CLEANFILES += $(GPU_DB_PTX)

if HAVE_CUDA
GPU_DB_FATBIN = $(GPU_DB_KERNELS:%=examples/gpu_db/kernels/%.fatbin)
CLEANFILES += $(GPU_DB_FATBIN)
examples/gpu_db/kernels/%.ptx: examples/gpu_db/kernels/%.cu examples/gpu_db/kernels/kernel.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) -ptx -arch=compute_75 -fmad=false -o $@ $<
examples/gpu_db/kernels/%.fatbin: examples/gpu_db/kernels/%.cu examples/gpu_db/kernels/kernel.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
		$(NVCC) -fatbin -gencode arch=compute_75,code=compute_75 -fmad=false -o $@ $<
else
GPU_DB_FATBIN =
if HAVE_CLANG_PTX
examples/gpu_db/kernels/%.ptx: examples/gpu_db/kernels/%.cu examples/gpu_db/kernels/kernel.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CLANG) $(CLANG_PTX) -O2 -ffp-contract=off -S -o $@ $<
else
examples/gpu_db/kernels/%.ptx: examples/gpu_db/ptx/%.ptx
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $< $@
endif
endif

examples/gpu_db/images.c: examples/gpu_db/embed$(EXEEXT) $(GPU_DB_PTX) $(GPU_DB_FATBIN)
	$(AM_V_GEN)./examples/gpu_db/embed$(EXEEXT) $@ $(GPU_DB_PTX) $(GPU_DB_FATBIN)

.PHONY: gpu-db-ptx
gpu-db-ptx: $(GPU_DB_PTX)
	cp $(GPU_DB_PTX) $(srcdir)/examples/gpu_db/ptx/

check_PROGRAMS += tests/unit/test_gpu_db
tests_unit_test_gpu_db_SOURCES = tests/unit/test_gpu_db.c
tests_unit_test_gpu_db_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gpu_db_LDADD = examples/gpu_db/libgpudata.la $(CMOCKA_LIBS)

check_SCRIPTS += tests/gpu_db/cli.sh tests/gpu_db/ptx.sh
EXTRA_DIST += tests/gpu_db/cli.sh tests/gpu_db/ptx.sh tests/gpu_db/fake_cuda.c

# Two drivers for cli.sh: one without a device, one that lacks a call.
GPU_DB_FAKES = tests/gpu_db/fake/libcuda.so.1 tests/gpu_db/fake_old/libcuda.so.1
check_DATA += $(GPU_DB_FAKES)
CLEANFILES += $(GPU_DB_FAKES)
tests/gpu_db/fake/libcuda.so.1: tests/gpu_db/fake_cuda.c examples/gpu_db/cu.def examples/gpu_db/cu.h
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) -I$(top_srcdir) $(AM_CFLAGS) $(CFLAGS) -shared -fPIC \
		-o $@ $(srcdir)/tests/gpu_db/fake_cuda.c
tests/gpu_db/fake_old/libcuda.so.1: tests/gpu_db/fake_cuda.c examples/gpu_db/cu.def examples/gpu_db/cu.h
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) -I$(top_srcdir) $(AM_CFLAGS) $(CFLAGS) -DFAKE_OLD -shared \
		-fPIC -o $@ $(srcdir)/tests/gpu_db/fake_cuda.c
