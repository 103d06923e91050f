/*
 * replay.c - a main() for a fuzz target: its seeds, then mutations of each by a fixed random sequence.
 *
 * Files named on the command line are run as they are, once each: that is how a crash found by the
 * fuzzer is looked at. GSB_FUZZ_ROUNDS sets the number of mutations of each seed (default 400).
 */
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define DEFAULT_ROUNDS 400
#define MAX_EXTRA      64 /* bytes that mutations may add */

static uint64_t seed;

static size_t random_below(size_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t)((seed >> 32) % n);
}

/* Seeds of binary forms are kept as text, two hexadecimal digits a byte: decoded in place. */
static size_t decode_hex(uint8_t *text, size_t size)
{
	size_t n = 0;
	unsigned byte;
	int used;

	text[size] = 0;
	for (char *at = (char *)text; sscanf(at, "%2x%n", &byte, &used) == 1; at += used)
		text[n++] = (uint8_t)byte;
	return n;
}

static bool is_hex(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".hex");
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long end;

	if (!f || fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	rewind(f);
	bytes = malloc((size_t)end + MAX_EXTRA + 1);
	if (!bytes)
		exit(1);
	*size = fread(bytes, 1, (size_t)end, f);
	fclose(f);
	if (is_hex(path))
		*size = decode_hex(bytes, *size);
	return bytes;
}

/* One input in memory of exactly its size, so that a sanitizer sees a read past its end. */
static void run_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t mutate_once(uint8_t *d, size_t size)
{
	size_t at = random_below(size), n = 1 + random_below(16), from = random_below(size);

	n = n < size - at ? n : size - at;
	switch (random_below(6)) {
	case 0: d[at] = (uint8_t)random_below(256); return size;
	case 1: d[at] ^= (uint8_t)(1u << random_below(8)); return size;
	case 2: memset(d + at, random_below(2) ? 0xff : 0, n); return size;
	case 3: memmove(d + at, d + at + n, size - at - n); return size - n;
	case 4: /* double a piece */ memmove(d + at + n, d + at, size - at); return size + n;
	default:
		n = n < size - from ? n : size - from;
		memmove(d + at, d + from, n);
		return size;
	}
}

static void run_mutations(const uint8_t *data, size_t size, long rounds)
{
	uint8_t *copy = malloc(size + MAX_EXTRA);

	if (!copy)
		exit(1);
	for (long i = 0; i < rounds && size; i++) {
		size_t n = size;

		memcpy(copy, data, size);
		for (size_t k = 1 + random_below(4); k > 0 && n > 0; k--)
			n = mutate_once(copy, n);
		if (i % 16 == 0)
			n = random_below(n + 1);
		run_one(copy, n);
	}
	free(copy);
}

static void run_file(const char *path, long rounds)
{
	size_t size;
	uint8_t *data = read_file(path, &size);

	run_one(data, size);
	run_mutations(data, size, rounds);
	free(data);
}

static void run_seeds(long rounds)
{
	const char *srcdir = getenv("srcdir");
	char pattern[4096];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/%s", srcdir ? srcdir : ".", gsb_fuzz_seeds);
	if (glob(pattern, 0, NULL, &g)) {
		fprintf(stderr, "no seeds: %s\n", pattern);
		exit(1);
	}
	for (size_t i = 0; i < g.gl_pathc; i++) {
		seed = 1 + i;
		run_file(g.gl_pathv[i], rounds);
	}
	globfree(&g);
}

/* A crash ends the program, and with it the case; nothing else can fail here. */
int main(int argc, char **argv)
{
	const char *rounds = getenv("GSB_FUZZ_ROUNDS"), *name = strrchr(argv[0], '/');

	for (int i = 1; i < argc; i++)
		run_file(argv[i], 0);
	if (argc > 1)
		return 0;
	name = name ? name + 1 : argv[0];
	printf("[ RUN      ] %s\n", name);
	run_seeds(rounds ? atol(rounds) : DEFAULT_ROUNDS);
	printf("[       OK ] %s\n", name);
	return 0;
}
