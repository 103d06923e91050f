/*
 * texts.c - see texts.h.
 */
#include "ptx/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/image.h"

/* Each text ends its last line, so that a comment there does not take in what follows. */
int gsb_ptx_texts_add(struct gsb_ptx_texts *texts, const char *text, size_t n)
{
	char *grown;

	n = strnlen(text, n);
	if (n > GSB_IMAGE_MAX_BYTES - 2 - texts->n)
		return -EFBIG;
	grown = realloc(texts->text, texts->n + n + 2);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + texts->n, text, n);
	memcpy(grown + texts->n + n, "\n", 2);
	texts->text = grown;
	texts->n += n + 1;
	return 0;
}

/*
 * Of the documented interface of cooperative groups only a grid's scope (1) is carried. %envreg1 and 2 have the grid's
 * workspace, or 0 where the launch is not cooperative; its second word is the barrier. The first block's arrival is worth
 * what makes all of them together turn the top bit, so that each barrier leaves the word ready for the next.
 */
static const char device_runtime[] =
	".version 6.0\n.target sm_70\n.address_size 64\n"
	".weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
	"	.reg .pred %other;\n	.reg .b32 %scope, %high, %low;\n	.reg .b64 %handle;\n"
	"	ld.param.u32 %scope, [scope];\n	setp.ne.u32 %other, %scope, 1;\n"
	"	mov.u32 %high, %envreg1;\n	mov.u32 %low, %envreg2;\n"
	"	mov.b64 %handle, {%low, %high};\n	@%other mov.u64 %handle, 0;\n"
	"	st.param.b64 [handle], %handle;\n	ret;\n}\n"
	".weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n{\n"
	"	.reg .pred %none, %other, %later, %wait;\n	.reg .b32 %x, %y, %add, %old, %now;\n"
	"	.reg .b64 %handle;\n"
	"	ld.param.u64 %handle, [handle];\n	setp.eq.u64 %none, %handle, 0;\n"
	"	@%none bra refuse;\n"
	"	bar.sync 0;\n"
	"	mov.u32 %x, %tid.x;\n	mov.u32 %y, %tid.y;\n	or.b32 %x, %x, %y;\n"
	"	mov.u32 %y, %tid.z;\n	or.b32 %x, %x, %y;\n	setp.ne.u32 %other, %x, 0;\n"
	"	@%other bra arrived;\n"
	"	mov.u32 %add, %nctaid.x;\n	mov.u32 %y, %nctaid.y;\n	mul.lo.u32 %add, %add, %y;\n"
	"	mov.u32 %y, %nctaid.z;\n	mul.lo.u32 %add, %add, %y;\n"
	"	sub.u32 %add, 0x80000001, %add;\n"
	"	mov.u32 %x, %ctaid.x;\n	mov.u32 %y, %ctaid.y;\n	or.b32 %x, %x, %y;\n"
	"	mov.u32 %y, %ctaid.z;\n	or.b32 %x, %x, %y;\n	setp.ne.u32 %later, %x, 0;\n"
	"	@%later mov.u32 %add, 1;\n"
	"	fence.acq_rel.gpu;\n	atom.add.u32 %old, [%handle+4], %add;\n"
	"again:\n"
	"	ld.acquire.gpu.u32 %now, [%handle+4];\n	xor.b32 %now, %now, %old;\n"
	"	setp.ge.s32 %wait, %now, 0;\n	@%wait bra again;\n"
	"arrived:\n"
	"	bar.sync 0;\n	st.param.b32 [error], 0;\n	ret;\n"
	"refuse:\n"
	"	st.param.b32 [error], 1;\n	ret;\n}\n";

int gsb_ptx_texts_add_library(struct gsb_ptx_texts *texts)
{
	return gsb_ptx_texts_add(texts, device_runtime, sizeof(device_runtime));
}

void gsb_ptx_texts_finish(struct gsb_ptx_texts *texts)
{
	free(texts->text);
	*texts = (struct gsb_ptx_texts){0};
}
