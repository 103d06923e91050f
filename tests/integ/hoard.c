/*
 * hoard.c - a tenant that takes device memory until it is refused, as a plain program of the driver API.
 *
 *   hoard MIB       pieces of so many MiB, and then what standard input says, a word a line:
 *     take          take until refused
 *     give          give all back
 *     context       end the context and make a new one
 *     end
 *
 * It answers each with "N pieces, free F of T MiB" as cuMemGetInfo has it. Exits 0 at the end, 2 when a call fails
 * otherwise than it should.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/tenant.h"

#define PIECES_MAX 4096

static struct cu cu;
static CUcontext ctx;
static CUdeviceptr pieces[PIECES_MAX];
static unsigned n_pieces;

static void need(const char *what, CUresult r)
{
	const char *name = "?";

	if (!r)
		return;
	cu.cuGetErrorName(r, &name);
	printf("%s: %s\n", what, name);
	exit(2);
}

static void make_context(void)
{
	need("context", cu.cuCtxCreate_v2(&ctx, 0, 0));
}

static void take(size_t bytes)
{
	CUresult r = CUDA_SUCCESS;

	while (n_pieces < PIECES_MAX) {
		r = cu.cuMemAlloc_v2(&pieces[n_pieces], bytes);
		if (r)
			break;
		n_pieces++;
	}
	if (r != CUDA_ERROR_OUT_OF_MEMORY)
		need("allocation", r ? r : CUDA_ERROR_UNKNOWN);
}

static void give(void)
{
	while (n_pieces)
		need("free", cu.cuMemFree_v2(pieces[--n_pieces]));
}

static void answer(void)
{
	size_t free_bytes, total_bytes;

	need("cuMemGetInfo", cu.cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("%u pieces, free %zu of %zu MiB\n", n_pieces, free_bytes >> 20, total_bytes >> 20);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 2 ? strtoul(argv[1], NULL, 10) << 20 : 0;
	char word[16];

	if (!bytes)
		return 2;
	cu_load(&cu);
	need("cuInit", cu.cuInit(0));
	make_context();
	while (scanf("%15s", word) == 1 && strcmp(word, "end")) {
		if (!strcmp(word, "take")) {
			take(bytes);
		} else if (!strcmp(word, "give")) {
			give();
		} else {
			need("end of context", cu.cuCtxDestroy_v2(ctx));
			n_pieces = 0;
			make_context();
		}
		answer();
	}
	return 0;
}
