/*
 * fake_nvjitlink.c - as much of nvJitLink as decides what a link gives. LTO-IR is PTX behind the word LTO; with -ptx
 * nothing else is taken, and the result is its PTX; without, the result is no PTX. What NVIDIA's refuses is refused.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ELF file's header, and nothing in it. */
static const char cubin[64] = "\177ELF\2\1\1";

enum {
	SUCCESS = 0,
	INVALID_INPUT = 3,
	INCOMPATIBLE_OPTIONS = 11,
	INCORRECT_TYPE = 12,
	NO_LTO = 18
};
enum { INPUT_CUBIN = 1, INPUT_PTX, INPUT_LTOIR };

struct link {
	int lto, ptx, is_complete;
	char text[1 << 14];
};

#define EXPORT(name, args) \
	int name args;     \
	int name args

static int create(struct link **out, uint32_t n, const char **options)
{
	struct link *l = calloc(1, sizeof(*l));

	for (uint32_t i = 0; i < n; i++) {
		l->lto += !strcmp(options[i], "-lto");
		l->ptx += !strcmp(options[i], "-ptx");
	}
	if ((l->ptx && !l->lto) || l->ptx > 1) {
		free(l);
		return INCOMPATIBLE_OPTIONS;
	}
	*out = l;
	return SUCCESS;
}

static int add(struct link *l, int type, const char *bytes)
{
	if (type == INPUT_LTOIR) {
		if (!l->lto)
			return NO_LTO;
		if (strncmp(bytes, "LTO", 3))
			return INVALID_INPUT;
		strcat(l->text, bytes + 3);
		return SUCCESS;
	}
	if (l->ptx)
		return INCORRECT_TYPE;
	if (type == INPUT_PTX)
		return bytes[0] == '.' ? SUCCESS : INVALID_INPUT;
	return type == INPUT_CUBIN && bytes[0] != '\177' ? INVALID_INPUT : SUCCESS;
}

EXPORT(nvJitLinkCreate, (struct link * *out, uint32_t n, const char **options))
{
	return create(out, n, options);
}

EXPORT(__nvJitLinkCreate_12_4, (struct link * *out, uint32_t n, const char **options))
{
	return create(out, n, options);
}

EXPORT(nvJitLinkDestroy, (struct link * *l))
{
	free(*l);
	*l = NULL;
	return SUCCESS;
}

EXPORT(__nvJitLinkDestroy_12_4, (struct link * *l))
{
	return nvJitLinkDestroy(l);
}

EXPORT(nvJitLinkAddData,
       (struct link * l, int type, const char *bytes, size_t size, const char *name))
{
	return size && name ? add(l, type, bytes) : INVALID_INPUT;
}

EXPORT(__nvJitLinkAddData_12_4,
       (struct link * l, int type, const char *bytes, size_t size, const char *name))
{
	return nvJitLinkAddData(l, type, bytes, size, name);
}

EXPORT(nvJitLinkAddFile, (struct link * l, int type, const char *path))
{
	return l && type && path ? INVALID_INPUT : SUCCESS; /* what can be read comes as data */
}

EXPORT(nvJitLinkComplete, (struct link * l))
{
	l->is_complete = 1;
	return SUCCESS;
}

EXPORT(__nvJitLinkComplete_12_4, (struct link * l))
{
	return nvJitLinkComplete(l);
}

EXPORT(nvJitLinkGetLinkedCubinSize, (struct link * l, size_t *size))
{
	*size = sizeof(cubin);
	return l->is_complete ? SUCCESS : INVALID_INPUT;
}

EXPORT(__nvJitLinkGetLinkedCubinSize_12_4, (struct link * l, size_t *size))
{
	return nvJitLinkGetLinkedCubinSize(l, size);
}

EXPORT(nvJitLinkGetLinkedCubin, (struct link * l, void *to))
{
	memcpy(to, cubin, sizeof(cubin));
	return l->is_complete ? SUCCESS : INVALID_INPUT;
}

EXPORT(__nvJitLinkGetLinkedCubin_12_4, (struct link * l, void *to))
{
	return nvJitLinkGetLinkedCubin(l, to);
}

EXPORT(nvJitLinkGetLinkedPtxSize, (struct link * l, size_t *size))
{
	*size = strlen(l->text) + 1;
	return l->is_complete && l->ptx ? SUCCESS : INVALID_INPUT;
}

EXPORT(__nvJitLinkGetLinkedPtxSize_12_4, (struct link * l, size_t *size))
{
	return nvJitLinkGetLinkedPtxSize(l, size);
}

EXPORT(nvJitLinkGetLinkedPtx, (struct link * l, char *to))
{
	strcpy(to, l->text);
	return l->is_complete && l->ptx ? SUCCESS : INVALID_INPUT;
}

EXPORT(__nvJitLinkGetLinkedPtx_12_4, (struct link * l, char *to))
{
	return nvJitLinkGetLinkedPtx(l, to);
}
