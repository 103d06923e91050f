/*
 * exports.h - declarations of what the runtime exports, made from entries.def.
 */
#ifndef GSB_CUDART_EXPORTS_H
#define GSB_CUDART_EXPORTS_H

#include "base/compiler.h"
#include "cudart/abi.h"

#define GSB_RT(class, symbol, params, call) GSB_EXPORT cudaError_t symbol params;
#define GSB_RT_PT(class, symbol, suffix, params, call) \
	GSB_EXPORT cudaError_t symbol params;          \
	GSB_EXPORT cudaError_t symbol##_##suffix params;
#define GSB_RT_REFUSED(symbol) GSB_EXPORT cudaError_t symbol(void);
#include "cudart/entries.def"

GSB_EXPORT const char *cudaGetErrorName(cudaError_t error);
GSB_EXPORT const char *cudaGetErrorString(cudaError_t error);
GSB_EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind);

#endif
