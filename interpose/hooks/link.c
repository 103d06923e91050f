/*
 * hooks/link.c - cuLink of PTX: texts are put one behind the other, and that is what a "cubin" is here. The parser
 * reads it as one module, in which a declaration of one text means the definition in another.
 *
 * Whether they fit together is for the engine to say, which has the parser: completing loads the result once and lets
 * it go again. The program's own load finds it parsed.
 */
#include <stdlib.h>

#include "interpose/cu/ctx.h"
#include "interpose/cu/link.h"
#include "interpose/hooks/hooks.h"
#include "interpose/hooks/input.h"

static struct gsb_cu_link *find(CUlinkState state)
{
	return gsb_object_get(&gsb_cu_links, (uint64_t)state);
}

CUresult hook_cuLinkCreate(unsigned n, CUjit_option *options, void **values, CUlinkState *out)
{
	struct gsb_jit_logs logs = {0};
	struct gsb_cu_ctx_life life;
	struct gsb_cu_link *link;
	CUresult result =
		out ? gsb_input_options(n, options, values, &logs) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_cu_ctx_live(&life);
	if (result)
		return result;
	link = gsb_object_take(&gsb_cu_links, 0, 0);
	if (!link)
		return CUDA_ERROR_OUT_OF_MEMORY;
	link->logs = logs;
	link->texts = (struct gsb_ptx_texts){0};
	*out = (CUlinkState)gsb_object_name(link);
	gsb_object_publish(&gsb_cu_links, link);
	return CUDA_SUCCESS;
}

static CUresult refuse_input(struct gsb_cu_link *link, const char *reason)
{
	gsb_jit_logs_fail(&link->logs, reason);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult appended(int err)
{
	return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* What was linked here before is a cubin for whoever links it again. */
static CUresult add(CUlinkState state, CUjitInputType type, const void *data, size_t size)
{
	struct gsb_cu_link *link = find(state);

	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || !size || type >= CU_JIT_NUM_INPUT_TYPES)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_LIBRARY)
		return appended(gsb_ptx_texts_add_library(&link->texts));
	if (type > CU_JIT_INPUT_PTX)
		return refuse_input(link, "only PTX can be linked for this device: compile to PTX "
					  "instead of an object or LTO-IR");
	if (gsb_image_kind(data, size) == GSB_IMAGE_PTX)
		return appended(gsb_ptx_texts_add(&link->texts, data, size));
	if (type == CU_JIT_INPUT_CUBIN)
		return refuse_input(link, "a cubin of NVIDIA's compiler cannot be linked for this "
					  "device: compile to PTX");
	gsb_jit_logs_fail(&link->logs, "an input is no PTX: it begins with no directive");
	return CUDA_ERROR_INVALID_PTX;
}

CUresult hook_cuLinkAddData(CUlinkState state, CUjitInputType type, const void *data, size_t size)
{
	return add(state, type, data, size);
}

CUresult hook_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path)
{
	struct gsb_image image;
	CUresult result = path ? gsb_input_file(path, &image) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	result = add(state, type, image.bytes, image.size);
	free((void *)image.bytes);
	return result;
}

static CUresult try_load(struct gsb_cu_link *link)
{
	const struct gsb_image image = {
		.kind = GSB_IMAGE_PTX, .bytes = link->texts.text, .size = link->texts.n};
	struct gsb_cu_ctx_life life;
	uint64_t module;
	CUresult result = gsb_cu_ctx_live(&life);

	if (!result)
		result = gsb_cu_module_load(
			&(struct gsb_cu_load){.wire = life.wire, .image = &image}, &link->logs,
			&module);
	return result ? result : gsb_cu_module_unload(module);
}

CUresult hook_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	struct gsb_cu_link *link = find(state);
	CUresult result;

	if (!link)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!cubin || !link->texts.n)
		return CUDA_ERROR_INVALID_VALUE;
	result = try_load(link);
	if (result)
		return result;
	*cubin = link->texts.text;
	if (size)
		*size = link->texts.n + 1;
	return CUDA_SUCCESS;
}

CUresult hook_cuLinkDestroy(CUlinkState state)
{
	struct gsb_cu_link *link = find(state);

	if (!link || !gsb_object_retire(&gsb_cu_links, (uint64_t)state))
		return CUDA_ERROR_INVALID_HANDLE;
	gsb_ptx_texts_finish(&link->texts);
	gsb_object_release(&gsb_cu_links, (uint64_t)state);
	return CUDA_SUCCESS;
}
