/*
 * resize_kernels.h - beside those of bound_kernels.h: one that the load-store pipe bounds, one that reads a table at random, and one
 * that does one thing a thread.
 */
#ifndef GSB_TESTS_GPU_RESIZE_KERNELS_H
#define GSB_TESTS_GPU_RESIZE_KERNELS_H

/* pipe: n turns of four loads of shared memory. probe: n reads a thread of a table of p[0] + 1 words. plus: a word a thread. */
static const char resize_ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".visible .entry pipe(.param .u64 p, .param .u64 n)\n{\n"
	"	.reg .pred %p;\n	.reg .b32 %r<8>;\n	.reg .b64 %i, %n, %a;\n"
	"	.shared .align 16 .b8 s[8192];\n"
	"	ld.param.u64 %a, [p];\n	ld.param.u64 %n, [n];\n	mov.u64 %i, 0;\n"
	"	mov.u32 %r0, %tid.x;\n	and.b32 %r0, %r0, 511;\n	shl.b32 %r0, %r0, 2;\n"
	"	mov.u32 %r1, s;\n	add.u32 %r0, %r0, %r1;\n	mov.u32 %r2, 0;\n"
	"	st.shared.u32 [%r0], %r2;\n	st.shared.u32 [%r0+2048], %r2;\n"
	"	st.shared.u32 [%r0+4096], %r2;\n	st.shared.u32 [%r0+6144], %r2;\n	bar.sync 0;\n"
	"L:	ld.volatile.shared.u32 %r4, [%r0];\n	ld.volatile.shared.u32 %r5, [%r0+2048];\n"
	"	ld.volatile.shared.u32 %r6, [%r0+4096];\n	ld.volatile.shared.u32 %r7, [%r0+6144];\n"
	"	xor.b32 %r2, %r2, %r4;\n	xor.b32 %r2, %r2, %r5;\n	xor.b32 %r2, %r2, %r6;\n"
	"	xor.b32 %r2, %r2, %r7;\n	add.u64 %i, %i, 1;\n	setp.lt.u64 %p, %i, %n;\n"
	"	@%p bra L;\n	setp.eq.u32 %p, %r2, 12345;\n	@%p st.global.u32 [%a], %r2;\n	ret;\n}\n"
	".visible .entry probe(.param .u64 p, .param .u64 n)\n{\n"
	"	.reg .pred %p;\n	.reg .b32 %r<8>;\n	.reg .b64 %i, %n, %a, %b, %q, %s;\n"
	"	ld.param.u64 %a, [p];\n	ld.param.u64 %n, [n];\n	mov.u64 %i, 0;\n"
	"	mov.u32 %r0, %tid.x;\n	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n"
	"	mad.lo.u32 %r0, %r1, %r2, %r0;\n	ld.global.u32 %r3, [%a];\n	mov.u32 %r6, 0;\n"
	"	add.u64 %b, %a, 256;\n"
	"L:	mad.lo.u32 %r0, %r0, 1664525, 1013904223;\n	shr.u32 %r4, %r0, 5;\n"
	"	and.b32 %r4, %r4, %r3;\n	mul.wide.u32 %q, %r4, 4;\n	add.u64 %q, %b, %q;\n"
	"	ld.global.u32 %r5, [%q];\n	xor.b32 %r6, %r6, %r5;\n"
	"	add.u64 %i, %i, 1;\n	setp.lt.u64 %p, %i, %n;\n	@%p bra L;\n"
	"	setp.eq.u32 %p, %r6, 12345;\n	@%p st.global.u32 [%b], %r6;\n	ret;\n}\n"
	".visible .entry plus(.param .u64 p, .param .u64 n)\n{\n"
	"	.reg .b32 %r<4>;\n	.reg .b64 %a, %i;\n"
	"	ld.param.u64 %a, [p];\n	mov.u32 %r0, %tid.x;\n	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n	mad.lo.u32 %r0, %r1, %r2, %r0;\n	mul.wide.u32 %i, %r0, 4;\n"
	"	add.u64 %a, %a, %i;\n	ld.global.u32 %r3, [%a];\n	add.u32 %r3, %r3, 1;\n"
	"	st.global.u32 [%a], %r3;\n	ret;\n}\n";

#endif
