/*
 * times.c - see times.h. A file is a head and the means.
 */
#include "broker/engine/work/times.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "broker/engine/code/cache.h"
#include "broker/policy/estimate.h"
#include "gsb/device_info.h"

#define MAGIC "gsbtimes"

struct head {
	char magic[8];
	uint32_t version, mean_bytes;
	uint64_t device, n;
};

/* Devices of one kind take equally long. */
static uint64_t hash(const struct gsb_device_info *info)
{
	uint64_t h = gsb_hash_bytes(GSB_HASH_BEGIN, info->name, strlen(info->name));

	h = gsb_hash_number(h, info->arch.n_sms);
	return gsb_hash_number(h, info->total_mem_bytes);
}

static void file_name(const struct gsb_device_info *info, char out[GSB_CACHE_NAME_MAX])
{
	snprintf(out, GSB_CACHE_NAME_MAX, "%016llx-%d" GSB_CACHE_TIMES,
		 (unsigned long long)hash(info), GSB_TIMES_VERSION);
}

static int restore(const struct gsb_device_info *info, const uint8_t *bytes, size_t size,
		   struct gsb_estimates *e)
{
	struct gsb_kept_mean *means;
	struct head h;

	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, bytes, sizeof(h));
	if (memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0 || h.version != GSB_TIMES_VERSION ||
	    h.mean_bytes != sizeof(*means) || h.device != hash(info) || h.n > GSB_N_ESTIMATES ||
	    size != sizeof(h) + h.n * sizeof(*means))
		return -EBADMSG;
	means = calloc(h.n + 1, sizeof(*means));
	if (!means)
		return -ENOMEM;
	memcpy(means, bytes + sizeof(h), h.n * sizeof(*means));
	gsb_estimates_restore(e, means, h.n);
	free(means);
	return 0;
}

static void read_file(int dir, const struct gsb_device_info *info, struct gsb_estimates *e)
{
	char name[GSB_CACHE_NAME_MAX];
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err;

	file_name(info, name);
	err = gsb_cache_read(dir, name, &bytes, &size);
	if (!err) {
		err = restore(info, bytes, size, e);
		free(bytes);
	}
	if (err == -EBADMSG)
		gsb_cache_drop(dir, name);
}

void gsb_times_read(const struct gsb_resizing *r, const struct gsb_device_info *info,
		    struct gsb_estimates *e)
{
	int dir = gsb_cache_open(r);

	if (dir < 0)
		return;
	read_file(dir, info, e);
	close(dir);
}

static void write_locked(const struct gsb_resizing *r, int dir, const struct gsb_device_info *info,
			 const struct gsb_estimates *e)
{
	struct gsb_kept_mean *means = calloc(GSB_N_ESTIMATES, sizeof(*means));
	char name[GSB_CACHE_NAME_MAX];
	struct head h = {.magic = MAGIC,
			 .version = GSB_TIMES_VERSION,
			 .mean_bytes = sizeof(*means),
			 .device = hash(info)};

	if (!means)
		return;
	h.n = gsb_estimates_keep(e, means);
	file_name(info, name);
	if (h.n)
		gsb_cache_write(
			r, dir, name,
			(const struct iovec[]){{&h, sizeof(h)}, {means, h.n * sizeof(*means)}}, 2);
	free(means);
}

void gsb_times_write(const struct gsb_resizing *r, const struct gsb_device_info *info,
		     const struct gsb_estimates *e)
{
	int dir = gsb_cache_open(r), lock;

	if (dir < 0)
		return;
	lock = gsb_cache_lock(dir);
	if (lock >= 0) {
		write_locked(r, dir, info, e);
		close(lock);
	}
	close(dir);
}
