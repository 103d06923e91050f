/*
 * column.c - see column.h.
 */
#include "column.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mix.h"

#define COLUMN_MAGIC	"GPUDBCOL" /* 8 bytes, no terminator in the file */
#define COLUMN_ROWS_MAX (UINT32_C(1) << 31)
#define COLUMN_PATH_MAX 4096

struct column_header {
	char magic[8];
	uint32_t version;
	uint32_t kind;
	char name[16];
	uint64_t rows;
	uint64_t seed;
	double scale;
	uint64_t checksum;
	uint64_t header_checksum; /* of all words before it */
};
_Static_assert(sizeof(struct column_header) == 72, "the file format has no padding");

static const struct {
	const char *name;
	enum column_kind kind;
} columns[COLUMN_N] = {
	[COLUMN_R_KEY] = {"r_key", COLUMN_U32}, [COLUMN_R_VAL] = {"r_val", COLUMN_U32},
	[COLUMN_S_KEY] = {"s_key", COLUMN_U32}, [COLUMN_S_VAL] = {"s_val", COLUMN_U32},
	[COLUMN_Z_KEY] = {"z_key", COLUMN_U32}, [COLUMN_Z_VAL] = {"z_val", COLUMN_U32},
	[COLUMN_TEXT] = {"text", COLUMN_U32},	[COLUMN_A] = {"a", COLUMN_F32},
	[COLUMN_B] = {"b", COLUMN_F32},		[COLUMN_X] = {"x", COLUMN_F32},
	[COLUMN_Y] = {"y", COLUMN_F32},
};

int explain(struct failure *f, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return code;
}

const char *column_name(enum column_id id)
{
	return columns[id].name;
}

enum column_kind column_kind(enum column_id id)
{
	return columns[id].kind;
}

static int column_path(char *path, const char *dir, enum column_id id, struct failure *f)
{
	if (snprintf(path, COLUMN_PATH_MAX, "%s/%s.col", dir, columns[id].name) >=
	    COLUMN_PATH_MAX - 8)
		return explain(f, -ENAMETOOLONG, "%.64s...: name of the data folder is too long",
			       dir);
	return 0;
}

static uint64_t header_checksum(const struct column_header *h)
{
	uint32_t words[offsetof(struct column_header, header_checksum) / sizeof(uint32_t)];

	memcpy(words, h, sizeof(words));
	return mix_words(words, sizeof(words) / sizeof(words[0]));
}

static int write_all(FILE *file, const struct column_header *h, const uint32_t *words)
{
	if (fwrite(h, sizeof(*h), 1, file) != 1)
		return -EIO;
	if (fwrite(words, sizeof(*words), h->rows, file) != h->rows)
		return -EIO;
	return fflush(file) ? -EIO : 0;
}

int column_write(const char *dir, enum column_id id, struct column *c, struct failure *f)
{
	struct column_header h = {
		.version = COLUMN_VERSION,
		.kind = columns[id].kind,
		.rows = c->rows,
		.seed = c->seed,
		.scale = c->scale,
		.checksum = mix_words(c->words, c->rows),
	};
	char path[COLUMN_PATH_MAX], temporary[COLUMN_PATH_MAX + 8];
	int error = column_path(path, dir, id, f);
	FILE *file;

	if (error)
		return error;
	memcpy(h.magic, COLUMN_MAGIC, sizeof(h.magic));
	memcpy(h.name, columns[id].name, strlen(columns[id].name));
	h.header_checksum = header_checksum(&h);
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	file = fopen(temporary, "wb");
	if (!file)
		return explain(f, -errno, "%s: cannot create: %s", temporary, strerror(errno));
	error = write_all(file, &h, c->words);
	if (fclose(file) && !error)
		error = -EIO;
	if (!error && rename(temporary, path))
		error = -errno;
	if (error) {
		unlink(temporary);
		return explain(f, error, "%s: cannot write: is the disk full?", path);
	}
	c->checksum = h.checksum;
	return 0;
}

static int check_header(const char *path, enum column_id id, const struct column_header *h,
			struct failure *f)
{
	char name[sizeof(h->name)] = {0};

	if (memcmp(h->magic, COLUMN_MAGIC, sizeof(h->magic)) != 0)
		return explain(f, -EINVAL, "%s: not a column file of gpu_db", path);
	if (h->version != COLUMN_VERSION)
		return explain(f, -EINVAL,
			       "%s: format version %u, this program reads %u: generate again", path,
			       h->version, COLUMN_VERSION);
	if (h->header_checksum != header_checksum(h))
		return explain(f, -EINVAL, "%s: header is damaged: generate again", path);
	memcpy(name, columns[id].name, strlen(columns[id].name));
	if (memcmp(h->name, name, sizeof(name)) != 0 || h->kind != columns[id].kind)
		return explain(f, -EINVAL, "%s: holds column '%.16s': a renamed file?", path,
			       h->name);
	if (h->rows > COLUMN_ROWS_MAX)
		return explain(f, -EINVAL, "%s: %llu rows, more than this program reads", path,
			       (unsigned long long)h->rows);
	return 0;
}

static int check_length(const char *path, FILE *file, uint64_t rows, struct failure *f)
{
	uint64_t expected = sizeof(struct column_header) + rows * sizeof(uint32_t);
	struct stat st;

	if (fstat(fileno(file), &st))
		return explain(f, -errno, "%s: %s", path, strerror(errno));
	if ((uint64_t)st.st_size != expected)
		return explain(f, -EINVAL, "%s: %lld bytes, its header says %llu: generate again",
			       path, (long long)st.st_size, (unsigned long long)expected);
	return 0;
}

static int read_words(const char *path, FILE *file, const struct column_header *h, uint32_t *words,
		      struct failure *f)
{
	if (fread(words, sizeof(*words), h->rows, file) != h->rows)
		return explain(f, -EIO, "%s: cannot read %llu rows", path,
			       (unsigned long long)h->rows);
	if (mix_words(words, h->rows) != h->checksum)
		return explain(f, -EINVAL,
			       "%s: damaged, its checksum does not match: generate again", path);
	return 0;
}

static int read_file(const char *path, enum column_id id, FILE *file, struct column *out,
		     struct failure *f)
{
	struct column_header h;
	uint32_t *words;
	int error;

	if (fread(&h, sizeof(h), 1, file) != 1)
		return explain(f, -EINVAL, "%s: too short for a column file of gpu_db", path);
	error = check_header(path, id, &h, f);
	if (!error)
		error = check_length(path, file, h.rows, f);
	if (error)
		return error;
	words = malloc(h.rows * sizeof(*words) + 1); /* never a size of 0 */
	if (!words)
		return explain(f, -ENOMEM, "%s: no memory for %llu rows", path,
			       (unsigned long long)h.rows);
	error = read_words(path, file, &h, words, f);
	if (error) {
		free(words);
		return error;
	}
	*out = (struct column){.words = words,
			       .rows = h.rows,
			       .seed = h.seed,
			       .scale = h.scale,
			       .checksum = h.checksum};
	return 0;
}

int column_read(const char *dir, enum column_id id, struct column *out, struct failure *f)
{
	char path[COLUMN_PATH_MAX];
	int error = column_path(path, dir, id, f);
	FILE *file;

	if (error)
		return error;
	file = fopen(path, "rb");
	if (!file && errno == ENOENT)
		return explain(f, -ENOENT, "%s: no such file: make it with gpu_db gen --data %s",
			       path, dir);
	if (!file)
		return explain(f, -errno, "%s: cannot open: %s", path, strerror(errno));
	error = read_file(path, id, file, out, f);
	fclose(file);
	return error;
}

void column_finish(struct column *c)
{
	if (!c)
		return;
	free(c->words);
	*c = (struct column){0};
}
