/*
 * embed.c - build tool: writes files as C arrays, so that a program carries them and runs from any folder.
 *
 * embed OUT.c FILE... makes the table of images.h, each entry named by the file without its folder. A
 * zero byte follows each file, since the driver takes PTX as a C string.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int write_bytes(FILE *out, const char *path, unsigned number)
{
	FILE *in = fopen(path, "rb");
	size_t n = 0;
	int c;

	if (!in) {
		fprintf(stderr, "embed: %s: %s\n", path, strerror(errno));
		return -1;
	}
	fprintf(out, "static const unsigned char __attribute__((aligned(8))) bytes_%u[] = {",
		number);
	for (; (c = getc(in)) != EOF; n++)
		fprintf(out, "%s%d,", n % 20 ? "" : "\n\t", c);
	fputs("\n\t0};\n\n", out);
	fclose(in);
	return n ? 0 : -1;
}

static int write_table(FILE *out, char **files, unsigned n)
{
	fputs("/* made by embed */\n#include \"images.h\"\n\n", out);
	for (unsigned i = 0; i < n; i++) {
		if (write_bytes(out, files[i], i))
			return -1;
	}
	fputs("const struct image gpu_db_images[] = {\n", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "\t{\"%s\", bytes_%u, sizeof(bytes_%u) - 1},\n", base_name(files[i]),
			i, i);
	fprintf(out, "};\nconst size_t gpu_db_n_images = %u;\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	FILE *out;
	int error;

	if (argc < 3) {
		fputs("usage: embed OUT.c FILE...\n", stderr);
		return 2;
	}
	out = fopen(argv[1], "wb");
	if (!out) {
		fprintf(stderr, "embed: %s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	error = write_table(out, argv + 2, (unsigned)argc - 2);
	if (fclose(out) || error) {
		remove(argv[1]);
		return 2;
	}
	return 0;
}
