/*
 * array_pool.c - see array_pool.h.
 */
#include "device/cuda/array_pool.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"

#define DEAD_BYTES_MAX (256ull << 20)
#define DEAD_NS	       200000000ull

/* ---- the driver's arrays ---- */

static int make_plain(struct cuda_device *dev, struct cuda_array *a,
		      const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	return cuda_refusal(dev, dev->cu.cuArray3DCreate_v2(&a->levels[0], desc));
}

static int make_levels(struct cuda_device *dev, struct cuda_array *a,
		       const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	const struct cuda_driver *cu = &dev->cu;
	CUresult result = cu->cuMipmappedArrayCreate(&a->mipmap, desc, a->is.n_levels);

	if (result)
		return cuda_refusal(dev, result);
	for (unsigned i = 0; !result && i < a->is.n_levels; i++)
		result = cu->cuMipmappedArrayGetLevel(&a->levels[i], a->mipmap, i);
	if (result)
		cu->cuMipmappedArrayDestroy(a->mipmap);
	return cuda_refusal(dev, result);
}

static int make(struct cuda_device *dev, struct cuda_array *a)
{
	const CUDA_ARRAY3D_DESCRIPTOR desc = {
		.Width = a->is.width,
		.Height = a->is.height,
		.Depth = a->is.depth,
		.Format = (CUarray_format)a->is.format,
		.NumChannels = a->is.n_channels,
		.Flags = a->is.flags,
	};

	return a->is.n_levels ? make_levels(dev, a, &desc) : make_plain(dev, a, &desc);
}

static void destroy(struct cuda_device *dev, struct cuda_array *a)
{
	cuda_note(dev, a->mipmap ? dev->cu.cuMipmappedArrayDestroy(a->mipmap)
				 : dev->cu.cuArrayDestroy(a->levels[0]));
	free(a);
}

/* ---- the dead ---- */

static void remove_dead(struct cuda_device *dev, struct cuda_array *a)
{
	DL_DELETE(dev->dead_arrays, a);
	dev->dead_bytes -= a->size;
}

void cuda_arrays_bury(struct cuda_device *dev)
{
	struct cuda_array *a, *next;

	DL_FOREACH_SAFE (dev->dead_arrays, a, next) {
		remove_dead(dev, a);
		destroy(dev, a);
	}
}

uint64_t cuda_arrays_tidy(struct cuda_device *dev, uint64_t now)
{
	if (dev->dead_arrays && now >= dev->dead_until_ns && !dev->n_in_flight)
		cuda_arrays_bury(dev);
	if (!dev->dead_arrays)
		return 0;
	return now < dev->dead_until_ns ? dev->dead_until_ns - now : 1;
}

/* They are in nobody's books: what is too much of them goes though kernels run. */
static void bury_excess(struct cuda_device *dev)
{
	while (dev->dead_bytes > DEAD_BYTES_MAX) {
		struct cuda_array *a = dev->dead_arrays;

		remove_dead(dev, a);
		destroy(dev, a);
	}
}

void cuda_array_keep(struct cuda_device *dev, struct cuda_array *a)
{
	DL_APPEND(dev->dead_arrays, a);
	dev->dead_bytes += a->size;
	dev->dead_until_ns = gsb_clock_ns() + DEAD_NS;
	bury_excess(dev);
}

/* One that is just like it, whoever has had it. */
static struct cuda_array *take_dead(struct cuda_device *dev, const struct gsb_array *is)
{
	struct cuda_array *a;

	DL_FOREACH (dev->dead_arrays, a)
		if (!memcmp(&a->is, is, sizeof(*is))) {
			remove_dead(dev, a);
			return a;
		}
	return NULL;
}

int cuda_array_make(struct cuda_device *dev, const struct gsb_array *is, struct cuda_array **out)
{
	struct cuda_array *a = take_dead(dev, is);
	int err;

	*out = a;
	if (a)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->is = *is;
	err = make(dev, a);
	if (err)
		free(a);
	else
		*out = a;
	return err;
}
