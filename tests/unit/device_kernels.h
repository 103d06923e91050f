/*
 * device_kernels.h - small kernels in PTX that the device tests launch.
 */
#ifndef GSB_TESTS_DEVICE_KERNELS_H
#define GSB_TESTS_DEVICE_KERNELS_H

/* clang-format off */
static const char device_kernels_ptx[] =
	".version 9.0\n"
	".target sm_90\n"
	".address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .const .align 8 .u64 pointer = counter;\n"

	/* p[i] = v + block, one word a thread */
	".visible .entry store(.param .u64 p, .param .u32 v)\n"
	"{\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [v];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	add.s32 %r6, %r1, %r2;\n"
	"	mul.wide.u32 %rd2, %r5, 4;\n"
	"	add.s64 %rd3, %rd1, %rd2;\n"
	"	st.global.u32 [%rd3], %r6;\n"
	"	ret;\n"
	"}\n"

	/* n turns, then p[block] = n */
	".visible .entry loop(.param .u64 p, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, 0;\n"
	"$again:\n"
	"	add.s32 %r2, %r2, 1;\n"
	"	setp.lt.u32 %p1, %r2, %r1;\n"
	"	@%p1 bra $again;\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mul.wide.u32 %rd2, %r3, 4;\n"
	"	add.s64 %rd3, %rd1, %rd2;\n"
	"	st.global.u32 [%rd3], %r2;\n"
	"	ret;\n"
	"}\n"

	/* p[1] = 1, then until p[0] is not 0 */
	".visible .entry spin(.param .u64 p)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	mov.u32 %r1, 1;\n"
	"	st.volatile.global.u32 [%rd1+4], %r1;\n"
	"$again:\n"
	"	ld.volatile.global.u32 %r1, [%rd1];\n"
	"	setp.eq.s32 %p1, %r1, 0;\n"
	"	@%p1 bra $again;\n"
	"	ret;\n"
	"}\n"

	/* *p = v */
	".visible .entry set(.param .u64 p, .param .u32 v)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [v];\n"
	"	st.volatile.global.u32 [%rd1], %r1;\n"
	"	ret;\n"
	"}\n"

	/* counter += 1 by each thread; the parameter is not used */
	".visible .entry bump(.param .u64 p)\n"
	"{\n"
	"	.reg .b64 %rd<3>;\n"
	"	ld.const.u64 %rd2, [pointer];\n"
	"	red.global.add.u32 [%rd2], 1;\n"
	"	ret;\n"
	"}\n"

	/* blocks of exactly 64 x 2 threads, 1,024 bytes of shared memory */
	".visible .entry shaped(.param .u64 p)\n"
	".reqntid 64, 2, 1\n"
	"{\n"
	"	.shared .align 4 .b8 tile[1024];\n"
	"	.reg .b32 %r<2>;\n"
	"	st.shared.u32 [tile], %r1;\n"
	"	ret;\n"
	"}\n";

/* An opcode that no CPU device runs, in a module that loads. */
static const char device_unsupported_ptx[] =
	".version 9.0\n"
	".target sm_90\n"
	".address_size 64\n"
	".visible .entry later(.param .u64 p)\n"
	"{\n"
	"	griddepcontrol.wait;\n"
	"	ret;\n"
	"}\n";
/* clang-format on */

#endif
