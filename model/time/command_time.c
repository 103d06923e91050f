/*
 * command_time.c - see command_time.h.
 */
#include "model/time/command_time.h"

#define COPY_LATENCY_NS	      1300	     /* without its bytes */
#define HOST_LINK_BYTES_PER_S 55000000000ull /* PCIe 5 x16 */
#define NS_PER_S	      1000000000ull

uint64_t gsb_transfer_time_ns(const struct gsb_arch *arch, enum gsb_transfer kind, uint64_t bytes)
{
	uint64_t rate = HOST_LINK_BYTES_PER_S;

	if (kind == GSB_TRANSFER_FILL)
		rate = arch->mem_bandwidth_bytes_per_s;
	else if (kind == GSB_TRANSFER_DEVICE)
		rate = arch->mem_bandwidth_bytes_per_s / 2;
	return COPY_LATENCY_NS +
	       (uint64_t)((unsigned __int128)bytes * NS_PER_S / (rate ? rate : 1));
}
