/*
 * bound_kernels.h - a kernel that arithmetic bounds and one that memory does.
 */
#ifndef GSB_TESTS_GPU_BOUND_KERNELS_H
#define GSB_TESTS_GPU_BOUND_KERNELS_H

/* n turns of arithmetic a thread; and n bytes read by all threads, 64 at a time each, so that few SMs are enough. What comes out is kept from being removed. */
static const char bound_ptx[] =
	".version 7.8\n.target sm_80\n.address_size 64\n"
	".visible .entry spin(.param .u64 p, .param .u64 n)\n{\n"
	"	.reg .pred %p;\n	.reg .f32 %f<5>;\n	.reg .b64 %i, %n, %a;\n"
	"	ld.param.u64 %a, [p];\n	ld.param.u64 %n, [n];\n	mov.u64 %i, 0;\n"
	"	mov.f32 %f0, 0f3F800001;\n	mov.f32 %f1, 0f3F800002;\n	mov.f32 %f2, 0f3F800003;\n"
	"	mov.f32 %f3, 0f3F800004;\n"
	"L:	fma.rn.f32 %f0, %f0, %f0, %f1;\n	fma.rn.f32 %f1, %f1, %f1, %f2;\n"
	"	fma.rn.f32 %f2, %f2, %f2, %f3;\n	fma.rn.f32 %f3, %f3, %f3, %f0;\n"
	"	add.u64 %i, %i, 1;\n	setp.lt.u64 %p, %i, %n;\n	@%p bra L;\n"
	"	setp.eq.f32 %p, %f3, 0f3E99999A;\n	@%p st.global.f32 [%a], %f3;\n	ret;\n}\n"
	".visible .entry scan(.param .u64 p, .param .u64 n)\n{\n"
	"	.reg .pred %p;\n	.reg .b32 %t<4>;\n	.reg .b64 %v<8>, %s, %i, %j, %n, %a, %e, %d, %q;\n"
	"	ld.param.u64 %a, [p];\n	ld.param.u64 %n, [n];\n	add.u64 %e, %a, %n;\n"
	"	mov.u32 %t0, %ctaid.x;\n	mov.u32 %t1, %ntid.x;\n	mov.u32 %t2, %tid.x;\n"
	"	mad.lo.u32 %t3, %t0, %t1, %t2;\n	mul.wide.u32 %i, %t3, 16;\n	add.u64 %i, %a, %i;\n"
	"	mov.u32 %t0, %nctaid.x;\n	mul.lo.u32 %t3, %t0, %t1;\n	mul.wide.u32 %d, %t3, 16;\n"
	"	mul.lo.u64 %q, %d, 4;\n	mov.u64 %s, 0;\n"
	"L:	setp.ge.u64 %p, %i, %e;\n	@%p bra E;\n"
	"	ld.global.v2.u64 {%v0, %v1}, [%i];\n	add.u64 %j, %i, %d;\n"
	"	ld.global.v2.u64 {%v2, %v3}, [%j];\n	add.u64 %j, %j, %d;\n"
	"	ld.global.v2.u64 {%v4, %v5}, [%j];\n	add.u64 %j, %j, %d;\n"
	"	ld.global.v2.u64 {%v6, %v7}, [%j];\n"
	"	xor.b64 %s, %s, %v0;\n	xor.b64 %s, %s, %v1;\n	xor.b64 %s, %s, %v2;\n"
	"	xor.b64 %s, %s, %v3;\n	xor.b64 %s, %s, %v4;\n	xor.b64 %s, %s, %v5;\n"
	"	xor.b64 %s, %s, %v6;\n	xor.b64 %s, %s, %v7;\n	add.u64 %i, %i, %q;\n	bra L;\n"
	"E:	setp.eq.u64 %p, %s, 12345;\n	@%p st.global.u64 [%a], %s;\n	ret;\n}\n";

#endif
