/*
 * resizing.h - what [resize] of gsbroker.conf says, for an engine's life: in which geometries kernels may be launched.
 */
#ifndef GSB_BROKER_ENGINE_CODE_RESIZING_H
#define GSB_BROKER_ENGINE_CODE_RESIZING_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/control.h"
#include "broker/policy/shape.h"

struct gsb_resizing {
	enum gsb_resize_mode mode;
	struct gsb_shape force; /* of every launch that admits it */
	const char *allow,
		*deny; /* patterns, blanks between them; NULL or "": allow all, deny none */
	uint64_t max_loss_percent;
	const char *cache; /* a folder; NULL or "": none */
	uint64_t cache_bytes;
	uint64_t shadow_every, shadow_bytes, shadow_limit_ns;
};

/* May this kernel be resized, as the lists have it? @hash: of its image, in hex digits. */
bool gsb_resizing_allows(const struct gsb_resizing *r, const char *kernel, const char *hash);

#endif
