/*
 * bench.h - the parts of gsb-bench. Each measures one thing, native and ours in the same run where both
 * exist, and prints an aligned table. argv[0] is "gsb-bench PART".
 */
#ifndef GSB_TOOLS_BENCH_H
#define GSB_TOOLS_BENCH_H

/* Return: exit status 0 measured, 1 a measurement failed, 2 usage. */
int gsb_bench_transport(int argc, char **argv);
int gsb_bench_memory(int argc, char **argv);
int gsb_bench_threads(int argc, char **argv);
int gsb_bench_model(int argc, char **argv);
int gsb_bench_emu(int argc, char **argv);
int gsb_bench_compare(int argc, char **argv);
int gsb_bench_device(int argc, char **argv); /* and launch, sync, ...: bench/rows.def */
/* Not for the user: what transport, threads and memory run inside a tenant. */
int gsb_bench_tenant(int argc, char **argv);
/* The same for what device runs. */
int gsb_bench_probe(int argc, char **argv);

#endif
