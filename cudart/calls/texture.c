/*
 * calls/texture.c - texture and surface objects. What the runtime says in members of their own, the driver says in a format
 * and in flags; the rest has the same numbers.
 */
#include <string.h>

#include "cudart/calls/calls.h"
#include "cudart/error.h"

/* ---- resources ---- */

static cudaError_t to_linear(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *out)
{
	out->res.linear.devPtr = (CUdeviceptr)r->res.linear.devPtr;
	out->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
	return gsb_rt_format(&r->res.linear.desc, &out->res.linear.format,
			     &out->res.linear.numChannels);
}

static cudaError_t to_pitched(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *out)
{
	out->res.pitch2D.devPtr = (CUdeviceptr)r->res.pitch2D.devPtr;
	out->res.pitch2D.width = r->res.pitch2D.width;
	out->res.pitch2D.height = r->res.pitch2D.height;
	out->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
	return gsb_rt_format(&r->res.pitch2D.desc, &out->res.pitch2D.format,
			     &out->res.pitch2D.numChannels);
}

static cudaError_t to_resource(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *out)
{
	*out = (CUDA_RESOURCE_DESC){.resType = r->resType};
#if GSB_CUDART >= 13
	out->flags = r->flags;
#endif
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY: out->res.array.hArray = r->res.array.array; return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		out->res.mipmap.hMipmappedArray = r->res.mipmap.mipmap;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR: return to_linear(r, out);
	case CU_RESOURCE_TYPE_PITCH2D: return to_pitched(r, out);
	}
	return cudaErrorInvalidValue;
}

static void from_linear(const CUDA_RESOURCE_DESC *r, struct cudaResourceDesc *out)
{
	out->res.linear.devPtr = (void *)r->res.linear.devPtr;
	out->res.linear.desc = gsb_rt_channels(r->res.linear.format, r->res.linear.numChannels);
	out->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
}

static void from_pitched(const CUDA_RESOURCE_DESC *r, struct cudaResourceDesc *out)
{
	out->res.pitch2D.devPtr = (void *)r->res.pitch2D.devPtr;
	out->res.pitch2D.desc = gsb_rt_channels(r->res.pitch2D.format, r->res.pitch2D.numChannels);
	out->res.pitch2D.width = r->res.pitch2D.width;
	out->res.pitch2D.height = r->res.pitch2D.height;
	out->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
}

static void from_resource(const CUDA_RESOURCE_DESC *r, struct cudaResourceDesc *out)
{
	memset(out, 0, sizeof(*out));
	out->resType = r->resType;
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY: out->res.array.array = r->res.array.hArray; break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		out->res.mipmap.mipmap = r->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR: from_linear(r, out); break;
	case CU_RESOURCE_TYPE_PITCH2D: from_pitched(r, out); break;
	}
}

/* ---- how a texture is read ---- */

static unsigned flags_of(const struct cudaTextureDesc *t)
{
	return (t->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
	       (t->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
	       (t->sRGB ? CU_TRSF_SRGB : 0u) |
	       (t->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
	       (t->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
}

static CUDA_TEXTURE_DESC to_texture(const struct cudaTextureDesc *t)
{
	CUDA_TEXTURE_DESC out = {.filterMode = t->filterMode,
				 .flags = flags_of(t),
				 .maxAnisotropy = t->maxAnisotropy,
				 .mipmapFilterMode = t->mipmapFilterMode,
				 .mipmapLevelBias = t->mipmapLevelBias,
				 .minMipmapLevelClamp = t->minMipmapLevelClamp,
				 .maxMipmapLevelClamp = t->maxMipmapLevelClamp};

	memcpy(out.addressMode, t->addressMode, sizeof(out.addressMode));
	memcpy(out.borderColor, t->borderColor, sizeof(out.borderColor));
	return out;
}

static struct cudaTextureDesc from_texture(const CUDA_TEXTURE_DESC *t)
{
	struct cudaTextureDesc out = {
		.filterMode = t->filterMode,
		.readMode = t->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
							       : cudaReadModeNormalizedFloat,
		.sRGB = !!(t->flags & CU_TRSF_SRGB),
		.normalizedCoords = !!(t->flags & CU_TRSF_NORMALIZED_COORDINATES),
		.maxAnisotropy = t->maxAnisotropy,
		.mipmapFilterMode = t->mipmapFilterMode,
		.mipmapLevelBias = t->mipmapLevelBias,
		.minMipmapLevelClamp = t->minMipmapLevelClamp,
		.maxMipmapLevelClamp = t->maxMipmapLevelClamp,
		.disableTrilinearOptimization =
			!!(t->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
		.seamlessCubemap = !!(t->flags & CU_TRSF_SEAMLESS_CUBEMAP),
	};

	memcpy(out.addressMode, t->addressMode, sizeof(out.addressMode));
	memcpy(out.borderColor, t->borderColor, sizeof(out.borderColor));
	return out;
}

/* Of an array, or of the first level of several. */
static cudaError_t describe_array(const CUDA_RESOURCE_DESC *r, CUDA_ARRAY3D_DESCRIPTOR *out)
{
	CUarray array = r->res.array.hArray;
	CUresult result = CUDA_SUCCESS;

	if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		result = gsb_rt_drivers->cuMipmappedArrayGetLevel(&array,
								  r->res.mipmap.hMipmappedArray, 0);
	if (!result)
		result = gsb_rt_drivers->cuArray3DGetDescriptor(out, array);
	return gsb_rt_error(result);
}

/* Of what a texture looks at. */
static cudaError_t format_of(const CUDA_RESOURCE_DESC *r, CUarray_format *format)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error;

	switch (r->resType) {
	case CU_RESOURCE_TYPE_LINEAR: *format = r->res.linear.format; return cudaSuccess;
	case CU_RESOURCE_TYPE_PITCH2D: *format = r->res.pitch2D.format; return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
	case CU_RESOURCE_TYPE_ARRAY: break;
	}
	error = describe_array(r, &d);
	if (!error)
		*format = d.Format;
	return error;
}

/* Only what is read as a float can be filtered: integers of 32 bits never are, whatever the program asks for. */
static bool reads_floats(CUarray_format format, enum cudaTextureReadMode mode)
{
	switch (format) {
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_FLOAT: return true;
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_UNSIGNED_INT32: return false;
	default: return mode == cudaReadModeNormalizedFloat;
	}
}

/* Only integers of 8 and 16 bits become fractions. */
static bool has_fractions(CUarray_format format)
{
	return format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_UNSIGNED_INT16 ||
	       format == CU_AD_FORMAT_SIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT16;
}

static bool is_cube(const CUDA_RESOURCE_DESC *r)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	return (r->resType == CU_RESOURCE_TYPE_ARRAY ||
		r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) &&
	       !describe_array(r, &d) && d.Flags & CUDA_ARRAY3D_CUBEMAP;
}

static cudaError_t check_reading(const CUDA_RESOURCE_DESC *r, const struct cudaTextureDesc *t)
{
	CUarray_format format;
	cudaError_t error = format_of(r, &format);

	if (error)
		return error;
	if (t->filterMode == CU_TR_FILTER_MODE_LINEAR && !reads_floats(format, t->readMode))
		return cudaErrorInvalidFilterSetting;
	if (t->readMode == cudaReadModeNormalizedFloat && !has_fractions(format))
		return cudaErrorInvalidNormSetting;
	return t->seamlessCubemap && !is_cube(r) ? cudaErrorInvalidValue : cudaSuccess;
}

static CUDA_RESOURCE_VIEW_DESC to_view(const struct cudaResourceViewDesc *v)
{
	return (CUDA_RESOURCE_VIEW_DESC){.format = v->format,
					 .width = v->width,
					 .height = v->height,
					 .depth = v->depth,
					 .firstMipmapLevel = v->firstMipmapLevel,
					 .lastMipmapLevel = v->lastMipmapLevel,
					 .firstLayer = v->firstLayer,
					 .lastLayer = v->lastLayer};
}

/* ---- objects ---- */

cudaError_t rt_cudaCreateTextureObject(cudaTextureObject_t *object,
				       const struct cudaResourceDesc *resource,
				       const struct cudaTextureDesc *texture,
				       const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_VIEW_DESC v;
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC t;
	cudaError_t error = object && resource ? to_resource(resource, &r) : cudaErrorInvalidValue;

	if (!error && !texture)
		error = cudaErrorInvalidResourceHandle; /* as NVIDIA's says */
	if (!error)
		error = check_reading(&r, texture);
	if (error)
		return error;
	t = to_texture(texture);
	if (view)
		v = to_view(view);
	return gsb_rt_error(gsb_rt_drivers->cuTexObjectCreate(object, &r, &t, view ? &v : NULL));
}

cudaError_t rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *object,
				       const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC r;
	cudaError_t error = object && resource ? to_resource(resource, &r) : cudaErrorInvalidValue;

	return error ? error : gsb_rt_error(gsb_rt_drivers->cuSurfObjectCreate(object, &r));
}

cudaError_t rt_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *out,
						cudaTextureObject_t object)
{
	CUDA_RESOURCE_DESC r;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuTexObjectGetResourceDesc(&r, object));

	if (!out)
		return cudaErrorInvalidValue;
	if (!error)
		from_resource(&r, out);
	return error;
}

cudaError_t rt_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *out,
						cudaSurfaceObject_t object)
{
	CUDA_RESOURCE_DESC r;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuSurfObjectGetResourceDesc(&r, object));

	if (!out)
		return cudaErrorInvalidValue;
	if (!error)
		from_resource(&r, out);
	return error;
}

cudaError_t rt_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *out,
					       cudaTextureObject_t object)
{
	CUDA_TEXTURE_DESC t;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuTexObjectGetTextureDesc(&t, object));

	if (!out)
		return cudaErrorInvalidValue;
	if (!error)
		*out = from_texture(&t);
	return error;
}

cudaError_t rt_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *out,
						    cudaTextureObject_t object)
{
	CUDA_RESOURCE_VIEW_DESC v;
	cudaError_t error =
		gsb_rt_error(gsb_rt_drivers->cuTexObjectGetResourceViewDesc(&v, object));

	if (!out)
		return cudaErrorInvalidValue;
	if (!error)
		*out = (struct cudaResourceViewDesc){.format = v.format,
						     .width = v.width,
						     .height = v.height,
						     .depth = v.depth,
						     .firstMipmapLevel = v.firstMipmapLevel,
						     .lastMipmapLevel = v.lastMipmapLevel,
						     .firstLayer = v.firstLayer,
						     .lastLayer = v.lastLayer};
	return error;
}
