/* Opcodes that compilers seldom choose, by name. */
#include "cuda_words.h"

#ifdef __CUDACC__
#define OP2(text, d, a, b) asm volatile(text " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define OP3(text, d, a, b, c) asm volatile(text " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c))

KERNEL rare_integer(const unsigned int *a, const unsigned int *b, unsigned int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	unsigned int x = a[i], y = b[i], *o = out + 24 * i;

	OP2("mul24.lo.u32", o[0], x, y);
	OP2("mul24.hi.s32", o[1], x, y);
	OP3("mad24.lo.s32", o[2], x, y, x);
	OP3("sad.u32", o[3], x, y, y);
	OP3("dp4a.u32.s32", o[4], x, y, x);
	OP3("dp2a.lo.s32.s32", o[5], x, y, y);
	OP2("add.sat.s32", o[6], x, y);
	OP2("sub.sat.s32", o[7], x, y);
	OP3("bfe.s32", o[8], x, y & 63, x & 63);
	OP3("bfe.u32", o[9], x, y & 63, x & 63);
	asm volatile("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(o[10]) : "r"(x), "r"(y), "r"(y & 31), "r"(x & 31));
	asm volatile("bfind.u32 %0, %1;" : "=r"(o[11]) : "r"(x));
	asm volatile("bfind.shiftamt.s32 %0, %1;" : "=r"(o[12]) : "r"(x));
	OP3("prmt.b32", o[13], x, y, 0x3251);
	OP3("prmt.b32.f4e", o[14], x, y, x);
	OP3("prmt.b32.rc16", o[15], x, y, y);
	OP3("shf.l.clamp.b32", o[16], x, y, x & 63);
	OP3("shf.r.wrap.b32", o[17], x, y, y & 63);
	OP2("bmsk.clamp.b32", o[18], x & 63, y & 63);
	OP2("szext.wrap.s32", o[19], x, y & 31);
	asm volatile("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(o[20]) : "r"(x), "r"(y), "r"(x + y));
	asm volatile("fns.b32 %0, %1, %2, %3;" : "=r"(o[21]) : "r"(x), "r"(y & 31), "r"(1));
	asm volatile("{ .reg .pred p, q; setp.lt.and.u32 p|q, %1, %2, 1; selp.u32 %0, 1, 2, p; @q add.u32 %0, %0, 4; }"
		     : "=r"(o[22]) : "r"(x), "r"(y));
	asm volatile("set.gt.u32.s32 %0, %1, %2;" : "=r"(o[23]) : "r"(x), "r"(y));
}

KERNEL rare_carry(const unsigned int *a, unsigned int *out, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	const unsigned int *x = a + 4 * i;
	unsigned int *o = out + 4 * i;

	asm volatile("{ add.cc.u32 %0, %4, %5; addc.cc.u32 %1, %6, %7; addc.u32 %2, %4, %7; subc.u32 %3, %5, %6; }"
		     : "=&r"(o[0]), "=&r"(o[1]), "=&r"(o[2]), "=&r"(o[3])
		     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
}

KERNEL rare_float(const float *a, const float *b, float *out, int n)
{
	int i = CTA_X * NTID_X + TID_X, p;

	if (i >= n)
		return;
	float x = a[i], y = b[i], *o = out + 8 * i;

	asm volatile("add.sat.f32 %0, %1, %2;" : "=f"(o[0]) : "f"(x), "f"(y));
	asm volatile("add.ftz.f32 %0, %1, %2;" : "=f"(o[1]) : "f"(x), "f"(y));
	asm volatile("copysign.f32 %0, %1, %2;" : "=f"(o[2]) : "f"(x), "f"(y));
	asm volatile("slct.f32.s32 %0, %1, %2, %3;" : "=f"(o[3]) : "f"(x), "f"(y), "r"(i - 3));
	asm volatile("{ .reg .pred p; testp.finite.f32 p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(p) : "f"(x));
	o[4] = (float)p;
	asm volatile("min.f32 %0, %1, %2;" : "=f"(o[5]) : "f"(x), "f"(y));
	asm volatile("cvt.rni.sat.f32.f32 %0, %1;" : "=f"(o[6]) : "f"(x));
	asm volatile("cvt.rmi.f32.f32 %0, %1;" : "=f"(o[7]) : "f"(y));
}

/* Where an address points, and a barrier of some of the threads. */
KERNEL rare_space(int *out, int n)
{
	__shared__ int cell[64];
	int p, q, i = CTA_X * NTID_X + TID_X;

	cell[TID_X % 64] = i;
	asm volatile("barrier.sync 1, %0;" ::"r"((NTID_X + 31) / 32 * 32));
	asm volatile("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(p) : "l"(cell));
	asm volatile("{ .reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(q) : "l"(out));
	asm volatile("prefetch.global.L2 [%0];" ::"l"(out));
	asm volatile("nanosleep.u32 20;");
	if (i < n)
		out[i] = p + 2 * q + 4 * cell[TID_X % 64];
}
#endif
