# A tenant that keeps one thing of a GPU busy. Like gpu_db it links nothing of ours; the driver is opened by what gpu_db has for that.

noinst_PROGRAMS += examples/gpu_loop/gpu_loop
examples_gpu_loop_gpu_loop_SOURCES = \
	examples/gpu_db/cu.c examples/gpu_db/cu.def examples/gpu_db/cu.h \
	examples/gpu_loop/gpu_loop.c examples/gpu_loop/kernels.h
examples_gpu_loop_gpu_loop_CPPFLAGS = -D_GNU_SOURCE -I$(srcdir)/examples/gpu_db
examples_gpu_loop_gpu_loop_LDADD = -ldl
