/* The same with --default-stream per-thread, which makes NULL the thread's own stream. */
#include "threads.cu"
