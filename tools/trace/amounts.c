/*
 * amounts.c - see amounts.h.
 */
#include "tools/trace/amounts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"

void gsb_ns_text(uint64_t ns, char out[GSB_AMOUNT_MAX])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double x = (double)ns;
	unsigned i = 0;

	for (; x >= 1000 && i + 1 < GSB_ARRAY_LEN(units); i++)
		x /= 1000;
	snprintf(out, GSB_AMOUNT_MAX, i ? "%.2f %s" : "%.0f %s", x, units[i]);
}

void gsb_bytes_text(uint64_t bytes, char out[GSB_AMOUNT_MAX])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double x = (double)bytes;
	unsigned i = 0;

	for (; x >= 1024 && i + 1 < GSB_ARRAY_LEN(units); i++)
		x /= 1024;
	snprintf(out, GSB_AMOUNT_MAX, i ? "%.1f %s" : "%.0f %s", x, units[i]);
}
