/*
 * tensor.c - see tensor.h. No address is looked at, as by the driver: what a kernel may touch is seen when it does.
 */
#include "device/emu/tensor.h"

#include <errno.h>
#include <string.h>

#include "device/emu/code/tensor_map.h"

#define MAX_INTERLEAVE 2 /* CU_TENSOR_MAP_INTERLEAVE_32B */

/* One that there is, with another address. */
static int move(const struct gsb_tensor_map *m, struct gsb_tensor_map *out)
{
	struct gsb_emu_tensor_map packed;

	memcpy(&packed, m->encoded, sizeof(packed));
	if (!gsb_emu_tensor_map_unpack(&packed, out))
		return -EINVAL;
	out->addr = m->addr;
	return 0;
}

int emu_tensor_map(struct gsb_device *dev, uint64_t owner, const struct gsb_tensor_map *m,
		   uint64_t words[GSB_TENSOR_MAP_WORDS])
{
	struct gsb_emu_tensor_map packed;
	struct gsb_tensor_map map = *m;

	(void)dev, (void)owner;
	if (m->form == GSB_TENSOR_MOVED && move(m, &map))
		return -EINVAL;
	if (map.interleave && map.interleave <= MAX_INTERLEAVE)
		return -ENOTSUP;
	if (gsb_emu_tensor_map_wrong(&map))
		return -EINVAL;
	gsb_emu_tensor_map_pack(&map, &packed);
	memcpy(words, &packed, sizeof(packed));
	return 0;
}
