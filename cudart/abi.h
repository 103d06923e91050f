/*
 * abi.h - the CUDA runtime's binary interface, in our own declarations.
 *
 * Names, values and layouts are the runtime's, so that code here reads like code against it; no toolkit is
 * needed to build. tests/unit/test_rtabi.c compares them with the toolkit's headers where there is one.
 * GSB_CUDART says which of the two libraries this is compiled for, 12 or 13.
 *
 * Handles are the driver's: the interface says that the two may be mixed.
 */
#ifndef GSB_CUDART_ABI_H
#define GSB_CUDART_ABI_H

#include "gsb/cuabi.h"

#if GSB_CUDART == 12
#define CUDART_VERSION 12090
#else
#define CUDART_VERSION 13000
#endif

typedef enum cudaError {
#define GSB_RT_ERROR(name, value)	    name = value,
#define GSB_RT_OWN_ERROR(name, value, text) name = value,
#include "cudart/errors.def"
} cudaError_t;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUipcEventHandle cudaIpcEventHandle_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUipcMemHandle cudaIpcMemHandle_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUfunction cudaFunction_t;
typedef CUarray cudaArray_t;
typedef CUarray cudaArray_const_t;
typedef CUmipmappedArray cudaMipmappedArray_t;
typedef CUmipmappedArray cudaMipmappedArray_const_t;
typedef CUtexObject cudaTextureObject_t;
typedef CUsurfObject cudaSurfaceObject_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUuserObject cudaUserObject_t;

typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4
};

enum cudaMemoryType {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3
};

enum { cudaInvalidDeviceId = -2, cudaCpuDeviceId = -1 };
enum { cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
enum { cudaInitDeviceFlagsAreValid = 1 };

typedef struct dim3 {
	unsigned x, y, z;
} dim3;

struct cudaPos {
	size_t x, y, z;
};

struct cudaExtent {
	size_t width, height, depth;
};

struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
};

struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	struct cudaExtent extent;
	enum cudaMemcpyKind kind;
};

struct cudaMemcpy3DPeerParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	int srcDevice;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	int dstDevice;
	struct cudaExtent extent;
};

enum cudaChannelFormatKind {
	cudaChannelFormatKindSigned = 0,
	cudaChannelFormatKindUnsigned = 1,
	cudaChannelFormatKindFloat = 2,
	cudaChannelFormatKindNone = 3,
	cudaChannelFormatKindNV12 = 4, /* from here on: planar, normalized, compressed */
	cudaChannelFormatKindUnsignedNormalized1010102 = 31
};

struct cudaChannelFormatDesc {
	int x, y, z, w;
	enum cudaChannelFormatKind f;
};

/* Flags of arrays, kinds of resources, address and filter modes are the driver's numbers. */
struct cudaResourceDesc {
	CUresourcetype resType;
	union {
		struct {
			cudaArray_t array;
		} array;
		struct {
			cudaMipmappedArray_t mipmap;
		} mipmap;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t sizeInBytes;
		} linear;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t width, height, pitchInBytes;
		} pitch2D;
#if GSB_CUDART >= 13
		struct {
			int reserved[32];
		} reserved;
#endif
	} res;
#if GSB_CUDART >= 13
	unsigned flags;
#endif
};

struct cudaResourceViewDesc {
	CUresourceViewFormat format;
	size_t width, height, depth;
	unsigned firstMipmapLevel, lastMipmapLevel;
	unsigned firstLayer, lastLayer;
#if GSB_CUDART >= 13
	unsigned reserved[16];
#endif
};

enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

struct cudaTextureDesc {
	CUaddress_mode addressMode[3];
	CUfilter_mode filterMode;
	enum cudaTextureReadMode readMode;
	int sRGB;
	float borderColor[4];
	int normalizedCoords;
	unsigned maxAnisotropy;
	CUfilter_mode mipmapFilterMode;
	float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
	int disableTrilinearOptimization;
	int seamlessCubemap;
};

struct cudaMemLocation {
	int type;
	int id;
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer;
	void *hostPointer;
#if GSB_CUDART >= 13
	long reserved[8];
#endif
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock;
	int numRegs;
	int ptxVersion;
	int binaryVersion;
	int cacheModeCA;
	int maxDynamicSharedSizeBytes;
	int preferredShmemCarveout;
	int clusterDimMustBeSet;
	int requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
	int clusterSchedulingPolicyPreference;
	int nonPortableClusterSizeAllowed;
	int reserved[16];
};

typedef struct cudaLaunchConfig_st {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	CUlaunchAttribute *attrs; /* the runtime's are the driver's */
	unsigned numAttrs;
} cudaLaunchConfig_t;

/* Descriptions of fills, host functions, edges and results of graphs are the driver's. */
struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim, blockDim;
	unsigned sharedMemBytes;
	void **kernelParams;
	void **extra;
};

struct cudaMemcpyNodeParams {
	int flags, reserved[3];
	struct cudaMemcpy3DParms copyParams;
};

/* All kinds but these two are as the driver has them. */
struct cudaGraphNodeParams {
	CUgraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cudaKernelNodeParams kernel;
		struct cudaMemcpyNodeParams memcpy;
		CUDA_CHILD_GRAPH_NODE_PARAMS graph;
		CUDA_MEM_ALLOC_NODE_PARAMS alloc;
		CUDA_CONDITIONAL_NODE_PARAMS conditional; /* without a context */
	};
	long long reserved2;
};

/* The members that only one of the two versions has are rows of their own (properties.def). */
#define GSB_RT_MEMBER(type, name, n, source) type name n;
#define GSB_RT_NO_MEMBER(type, name, n, source)
struct cudaDeviceProp {
	char name[256];
	CUuuid uuid;
	char luid[8];
	unsigned luidDeviceNodeMask;
	size_t totalGlobalMem;
#define GSB_RT_PROPERTY GSB_RT_MEMBER
#if GSB_CUDART == 12
#define GSB_RT_PROPERTY_12 GSB_RT_MEMBER
#define GSB_RT_PROPERTY_13 GSB_RT_NO_MEMBER
#else
#define GSB_RT_PROPERTY_12 GSB_RT_NO_MEMBER
#define GSB_RT_PROPERTY_13 GSB_RT_MEMBER
#endif
#include "cudart/properties.def"
#if GSB_CUDART == 12
	int reserved[63];
#else
	int reserved[56];
#endif
};

#endif
