/*
 * threads.h - the threads of an engine that come to device/cuda, each of which makes its own calls of the driver and no others.
 *
 * The engine's thread issues and must never wait: while it does, nobody's work begins, and nobody's end is seen. So what waits in the
 * driver, for kernels or for its compiler, is for others; driver.def says of each call who makes it, threads.def where they begin.
 * A thread is known by its name, in `ps -L` and to the fake driver of the tests; one that has none has its maker's.
 */
#ifndef GSB_DEVICE_CUDA_THREADS_H
#define GSB_DEVICE_CUDA_THREADS_H

#define CUDA_UNLOADER_NAME  "gsb-unloader"
#define CUDA_REGISTRAR_NAME "gsb-registrar"

/* A set. */
enum cuda_threads {
	CUDA_START =
		1, /* the engine's, before it serves anybody and when it serves nobody any more */
	CUDA_ENGINE = 2, /* the engine's */
	CUDA_RARELY =
		4, /* the engine's, in functions of which threads.def says why it may wait there */
	CUDA_LOADER = 8,     /* the engine's second one, for code: GSB_LOADER_NAME */
	CUDA_PINNER = 16,    /* those that prepare host memory: GSB_PINNER_NAME */
	CUDA_UNLOADER = 32,  /* the helper that waits for kernels */
	CUDA_REGISTRAR = 64, /* the helper that never does */
	CUDA_WAITS =
		128 /* no thread: the driver may wait in the call, or stop launches meanwhile; never CUDA_ENGINE's */
};

#endif
