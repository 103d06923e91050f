/*
 * model_error.h - how wrong a prediction was: |predicted / measured - 1|. The one definition: the engine counts by it as kernels
 * end, and gsb-trace reckons by it from a trace, so that both say the same of one run to the last digit.
 */
#ifndef GSB_MODEL_ERROR_H
#define GSB_MODEL_ERROR_H

#include <math.h>
#include <stdint.h>

#define GSB_MODEL_ERROR_MAX 1e12 /* a million times: more is as bad, and sums have room */

/* In whole millionths, whose sums are the same in any order. @measured: more than 0 */
static inline uint64_t gsb_model_error_ppm(double predicted, double measured)
{
	double ppm = fabs(predicted - measured) / measured * 1e6 + 0.5;

	return (uint64_t)(ppm < GSB_MODEL_ERROR_MAX ? ppm : GSB_MODEL_ERROR_MAX);
}

#endif
