/*
 * fuzz_workload.c - any text as a recorded load; what is read is written, and must then be read as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "model/input/workload.h"
#include "tests/fuzz/fuzz.h"

const char *const gsb_fuzz_seeds = "tests/fuzz/seeds/workloads/*";

static char *text_of(const struct gsb_workload *l, size_t *size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, size);

	if (!to)
		abort();
	gsb_workload_write(to, l);
	fclose(to);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsb_workload l, again;
	struct gsb_text_error err;
	size_t first_size, second_size;
	char *first, *second;

	if (gsb_workload_parse((const char *)data, size, &l, &err))
		return 0;
	first = text_of(&l, &first_size);
	if (gsb_workload_parse(first, first_size, &again, &err))
		abort();
	second = text_of(&again, &second_size);
	if (first_size != second_size || memcmp(first, second, first_size))
		abort();
	free(first);
	free(second);
	gsb_workload_finish(&again);
	gsb_workload_finish(&l);
	return 0;
}
