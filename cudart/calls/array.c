/*
 * calls/array.c - arrays: making one, what it says of itself, and its end. The runtime describes a texel by the bits of
 * its four channels, the driver by a format and a number of channels.
 */
#include <string.h>

#include "base/compiler.h"
#include "cudart/calls/calls.h"
#include "cudart/error.h"

static const struct {
	enum cudaChannelFormatKind kind;
	int bits;
	CUarray_format format;
} formats[] = {
	{cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
	{cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
	{cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
	{cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
	{cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
	{cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
	{cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
	{cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

static bool is_special(enum cudaChannelFormatKind kind)
{
	return kind >= cudaChannelFormatKindNV12 &&
	       kind <= cudaChannelFormatKindUnsignedNormalized1010102;
}

/* How many channels there are: 1, 2 or 4 of the same size, from x on; 0: they are something else. */
static unsigned count_channels(const int bits[4])
{
	unsigned n = 0;

	while (n < 4 && bits[n] == bits[0])
		n++;
	for (unsigned i = n; i < 4; i++)
		if (bits[i])
			return 0;
	return n == 3 ? 0 : n;
}

cudaError_t gsb_rt_format(const struct cudaChannelFormatDesc *desc, CUarray_format *format,
			  unsigned *n)
{
	static _Atomic bool said;
	const int bits[4] = {desc->x, desc->y, desc->z, desc->w};
	unsigned n_channels = count_channels(bits);

	if (is_special(desc->f))
		return gsb_rt_refuse("an array of planar, normalized or compressed channels",
				     &said);
	for (unsigned i = 0; n_channels && i < GSB_ARRAY_LEN(formats); i++) {
		if (formats[i].kind != desc->f || formats[i].bits != bits[0])
			continue;
		*format = formats[i].format;
		*n = n_channels;
		return cudaSuccess;
	}
	return cudaErrorInvalidChannelDescriptor;
}

struct cudaChannelFormatDesc gsb_rt_channels(CUarray_format format, unsigned n)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(formats); i++) {
		int bits = formats[i].bits;

		if (formats[i].format == format)
			return (struct cudaChannelFormatDesc){bits, n > 1 ? bits : 0,
							      n > 2 ? bits : 0, n > 3 ? bits : 0,
							      formats[i].kind};
	}
	return (struct cudaChannelFormatDesc){.f = cudaChannelFormatKindNone};
}

cudaError_t gsb_rt_array_shape(cudaArray_t array, struct gsb_rt_array_shape *out)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuArray3DGetDescriptor(&d, array));

	if (error)
		return error;
	out->texel_bytes = (size_t)gsb_rt_channels(d.Format, 1).x / 8 * d.NumChannels;
	out->row_bytes = d.Width * out->texel_bytes;
	out->n_rows = d.Height ? d.Height : 1;
	return cudaSuccess;
}

static cudaError_t describe(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			    unsigned flags, CUDA_ARRAY3D_DESCRIPTOR *out)
{
	*out = (CUDA_ARRAY3D_DESCRIPTOR){.Width = extent.width,
					 .Height = extent.height,
					 .Depth = extent.depth,
					 .Flags = flags};
	return desc ? gsb_rt_format(desc, &out->Format, &out->NumChannels) : cudaErrorInvalidValue;
}

cudaError_t rt_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
				 struct cudaExtent extent, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = array ? describe(desc, extent, flags, &d) : cudaErrorInvalidValue;

	return error ? error : gsb_rt_error(gsb_rt_drivers->cuArray3DCreate(array, &d));
}

cudaError_t rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *array,
					const struct cudaChannelFormatDesc *desc,
					struct cudaExtent extent, unsigned n_levels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = array ? describe(desc, extent, flags, &d) : cudaErrorInvalidValue;

	return error ? error
		     : gsb_rt_error(gsb_rt_drivers->cuMipmappedArrayCreate(array, &d, n_levels));
}

cudaError_t rt_cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
	return array ? gsb_rt_error(gsb_rt_drivers->cuMipmappedArrayDestroy(array)) : cudaSuccess;
}

cudaError_t rt_cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array,
					  unsigned nth)
{
	return gsb_rt_error(gsb_rt_drivers->cuMipmappedArrayGetLevel(level, array, nth));
}

cudaError_t rt_cudaFreeArray(cudaArray_t array)
{
	return array ? gsb_rt_error(gsb_rt_drivers->cuArrayDestroy(array)) : cudaSuccess;
}

/* Whoever asks may want one of the three alone. */
cudaError_t rt_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
				unsigned *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuArray3DGetDescriptor(&d, array));

	if (error)
		return error;
	if (desc)
		*desc = gsb_rt_channels(d.Format, d.NumChannels);
	if (extent)
		*extent = (struct cudaExtent){d.Width, d.Height, d.Depth};
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

cudaError_t rt_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_t array)
{
	return desc ? rt_cudaArrayGetInfo(desc, NULL, NULL, array) : cudaErrorInvalidValue;
}
