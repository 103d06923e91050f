/*
 * kernels.h - kernels that each keep one thing of a GPU busy and nothing else, as PTX.
 *
 * Each thread goes round its loop n times; p is memory that reads as zero, mask the size of what a kernel uses of it, a power of two, less
 * one. What comes out is stored under a condition that does not hold, so that no compiler can leave the work out.
 */
#ifndef GPU_LOOP_KERNELS_H
#define GPU_LOOP_KERNELS_H

#define KERNEL(name, before, body)                                                               \
	".visible .entry " name "(.param .u64 p, .param .u64 mask, .param .u64 n)\n{\n"          \
	"	.reg .pred %p;\n	.reg .b32 %t<4>, %h, %x<8>;\n	.reg .f32 %f<5>;\n"                     \
	"	.reg .b64 %v<8>, %s, %i, %n, %a, %m, %g, %d, %q<4>;\n"                                 \
                                                                                                 \
	"	ld.param.u64 %a, [p];\n	ld.param.u64 %m, [mask];\n	ld.param.u64 %n, [n];\n"            \
	"	mov.u32 %t0, %ctaid.x;\n	mov.u32 %t1, %ntid.x;\n	mov.u32 %t2, %tid.x;\n"               \
	"	mad.lo.u32 %h, %t0, %t1, %t2;\n	cvt.u64.u32 %g, %h;\n	mov.u32 %t0, %nctaid.x;\n"       \
	"	mul.wide.u32 %d, %t0, %t1;\n	mov.u64 %i, 0;\n	mov.u64 %s, 0;\n" before \
	"L:\n" body "	add.u64 %i, %i, 1;\n	setp.lt.u64 %p, %i, %n;\n	@%p bra L;\n"               \
	"	setp.eq.u64 %p, %s, 12345;\n	@%p st.global.u64 [%a], %s;\n	ret;\n}\n"

#define LOAD_WIDE(v0, v1, at) "	ld.global.v2.u64 {" v0 ", " v1 "}, [" at "];\n"
#define LOAD_WRAPPED(v0, v1)                                                \
	"	and.b64 %q1, %q0, %m;\n	add.u64 %q1, %a, %q1;\n" LOAD_WIDE( \
		v0, v1, "%q1") "	add.u64 %q0, %q0, %d;\n"
#define LOAD_ONCE(v0, v1, at, next) LOAD_WIDE(v0, v1, at) "	add.u64 " next ", " at ", %d;\n"
#define XOR_WIDE                                                                    \
	"	xor.b64 %v0, %v0, %v2;\n	xor.b64 %v4, %v4, %v6;\n	xor.b64 %s, %s, %v0;\n" \
	"	xor.b64 %s, %s, %v4;\n	xor.b64 %s, %s, %v1;\n	xor.b64 %s, %s, %v3;\n"     \
	"	xor.b64 %s, %s, %v5;\n	xor.b64 %s, %s, %v7;\n"
#define READ_BYTES 64
/* words anywhere, four under way */
#define READ_SOMEWHERE(name)                                                     \
	KERNEL(name, "",                                                         \
	       LOAD_SOMEWHERE("%x0") LOAD_SOMEWHERE("%x1") LOAD_SOMEWHERE("%x2") \
		       LOAD_SOMEWHERE("%x3") ADD("%x0") ADD("%x1") ADD("%x2") ADD("%x3"))
#define LOAD_SOMEWHERE(x)                                                         \
	"	mad.lo.u32 %h, %h, 1664525, 1013904223;\n	cvt.u64.u32 %q0, %h;\n"       \
	"	shl.b64 %q0, %q0, 2;\n	and.b64 %q0, %q0, %m;\n	add.u64 %q0, %a, %q0;\n" \
	"	ld.global.u32 " x ", [%q0];\n"
#define ADD(x) "	cvt.u64.u32 %q1, " x ";\n	add.u64 %s, %s, %q1;\n"
#define FMA                                                                  \
	"	fma.rn.f32 %f0, %f0, %f4, %f4;\n	fma.rn.f32 %f1, %f1, %f4, %f4;\n" \
	"	fma.rn.f32 %f2, %f2, %f4, %f4;\n	fma.rn.f32 %f3, %f3, %f4, %f4;\n"
#define FLOATS                                                               \
	"	cvt.rn.f32.u32 %f0, %h;\n	mov.f32 %f1, %f0;\n	mov.f32 %f2, %f0;\n" \
	"	mov.f32 %f3, %f0;\n	mov.f32 %f4, 0f3F000001;\n"
#define KEEP_FLOATS                                                                   \
	"	add.f32 %f0, %f0, %f1;\n	add.f32 %f0, %f0, %f2;\n	add.f32 %f0, %f0, %f3;\n" \
	"	mov.b32 %x0, %f0;\n" ADD("%x0")
#define SPECIAL                                                  \
	"	ex2.approx.f32 %f0, %f0;\n	sin.approx.f32 %f1, %f1;\n" \
	"	ex2.approx.f32 %f2, %f2;\n	sin.approx.f32 %f3, %f3;\n"
#define LOAD_SHARED(x, at) "	ld.shared.u32 " x ", [%t3+" at "];\n"
/* Zero, as all of them are; the next loads wait for it. */
#define XOR_ALL                                                                       \
	"	xor.b32 %x0, %x0, %x1;\n	xor.b32 %x2, %x2, %x3;\n	xor.b32 %x4, %x4, %x5;\n" \
	"	xor.b32 %x6, %x6, %x7;\n	xor.b32 %x0, %x0, %x2;\n	xor.b32 %x4, %x4, %x6;\n" \
	"	xor.b32 %x0, %x0, %x4;\n"
#define LOAD_NEAR(x, at) "	ld.global.ca.u32 " x ", [%q2+" at "];\n"

static const char gpu_loop_ptx[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
	/* 64 bytes a thread a turn, the whole grid side by side: round and round, and once */
	KERNEL("stream", "	shl.b64 %q0, %g, 4;\n	shl.b64 %d, %d, 4;\n",
	       LOAD_WRAPPED("%v0", "%v1") LOAD_WRAPPED("%v2", "%v3") LOAD_WRAPPED("%v4", "%v5")
		       LOAD_WRAPPED("%v6", "%v7") XOR_WIDE)
		KERNEL("scan",
		       "	shl.b64 %q0, %g, 4;\n	add.u64 %q0, %a, %q0;\n	shl.b64 %d, %d, 4;\n",
		       LOAD_ONCE("%v0", "%v1", "%q0", "%q1") LOAD_ONCE("%v2", "%v3", "%q1", "%q2")
			       LOAD_ONCE("%v4", "%v5", "%q2", "%q3")
				       LOAD_ONCE("%v6", "%v7", "%q3", "%q0") XOR_WIDE)
			READ_SOMEWHERE("gather") READ_SOMEWHERE("probe")
	/* words anywhere, each from where the last one says */
	KERNEL("chase", "",
	       LOAD_SOMEWHERE("%x0") "	add.u32 %h, %h, %x0;\n" LOAD_SOMEWHERE(
		       "%x1") "	add.u32 %h, %h, %x1;\n" ADD("%x0") ADD("%x1"))
	/* nothing is added, so that the memory stays what it is */
	KERNEL("atomic", "	mov.u32 %x0, 0;\n",
	       "	mad.lo.u32 %h, %h, 1664525, 1013904223;\n	cvt.u64.u32 %q0, %h;\n"
	       "	shl.b64 %q0, %q0, 2;\n	and.b64 %q0, %q0, %m;\n	add.u64 %q0, %a, %q0;\n"
	       "	red.global.add.u32 [%q0], %x0;\n") KERNEL("fma", FLOATS,
								  FMA FMA FMA FMA KEEP_FLOATS)
		KERNEL("sfu", FLOATS, SPECIAL SPECIAL SPECIAL SPECIAL KEEP_FLOATS) KERNEL(
			"lds",
			"	.shared .align 16 .b8 table[4096];\n	mov.u32 %t3, table;\n	mov.u32 %x0, 0;\n"
			"	shl.b32 %x1, %t2, 4;\n	add.u32 %x1, %t3, %x1;\n"
			"	st.shared.v4.u32 [%x1], {%x0, %x0, %x0, %x0};\n	bar.sync 0;\n"
			"	and.b32 %t2, %t2, 31;\n	shl.b32 %t2, %t2, 2;\n	add.u32 %t3, %t3, %t2;\n",
			LOAD_SHARED("%x0", "0") LOAD_SHARED("%x1", "128") LOAD_SHARED("%x2", "256")
				LOAD_SHARED("%x3", "384") LOAD_SHARED("%x4", "512")
					LOAD_SHARED("%x5", "640") LOAD_SHARED("%x6", "768")
						LOAD_SHARED("%x7", "896") XOR_ALL
			"	add.u32 %t3, %t3, %x0;\n" ADD("%x0"))
			KERNEL("l1hit",
			       "	and.b32 %t2, %t2, 31;\n	mul.wide.u32 %q2, %t2, 4;\n	add.u64 %q2, %a, %q2;\n",
			       LOAD_NEAR("%x0", "0") LOAD_NEAR("%x1", "128") LOAD_NEAR("%x2", "256")
				       LOAD_NEAR("%x3", "384") LOAD_NEAR("%x4", "512")
					       LOAD_NEAR("%x5", "640") LOAD_NEAR("%x6", "768")
						       LOAD_NEAR("%x7", "896") XOR_ALL
			       "	cvt.u64.u32 %q0, %x0;\n	add.u64 %q2, %q2, %q0;\n" ADD(
				       "%x0"));

/*
 * What a kernel uses of the memory: much more than the L2, what the L2 holds (probe, atomic), what the L1 holds. A scan touches each place once, so its
 * memory says how many turns a launch may have.
 */
static const struct {
	const char *name;
	unsigned long long bytes;
	unsigned
		bytes_a_turn; /* that a thread touches and no other turn of any does; 0: it comes back */
} gpu_loop_kinds[] = {
	{"stream", 1ull << 30, 0}, {"scan", 1ull << 33, READ_BYTES},
	{"gather", 1ull << 30, 0}, {"probe", 1 << 24, 0},
	{"chase", 1ull << 30, 0},  {"atomic", 1 << 24, 0},
	{"fma", 4096, 0},	   {"sfu", 4096, 0},
	{"lds", 4096, 0},	   {"l1hit", 4096, 0},
};

#endif
