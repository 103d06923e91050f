/*
 * proofs.h - what was found out about images, in files: proofs, demands and the text with the variants, so that it is found
 * out once, whatever engines end and begin. A file an image, named by its hash and by the shapes that it has.
 *
 * What is damaged, of another version, or half written is dropped, and that is said (cache.h).
 */
#ifndef GSB_BROKER_ENGINE_CODE_PROOFS_H
#define GSB_BROKER_ENGINE_CODE_PROOFS_H

#include <stdint.h>

struct gsb_proof;
struct gsb_resizing;
struct gsb_variants;

/* To be counted up with each change of struct gsb_proof, of the analyses, or of what the rewriter writes. */
#define GSB_PROOFS_VERSION 3

/* All of them: the loader's thread; nothing happens without [resize] cache. */

/* What is kept of the image @hash with these shapes. 0, -ENOENT, -errno. */
int gsb_proofs_read(const struct gsb_resizing *r, const char *hash, uint32_t wanted,
		    struct gsb_variants **out);
/* Keep it; the longest unused files make room. */
void gsb_proofs_write(const struct gsb_resizing *r, const struct gsb_variants *v);
/*
 * gsb_proofs_add() - what has been learnt of one kernel of @v since
 * @what: of it, refuted shapes and demands are added to what is kept, which others may have changed meanwhile
 */
void gsb_proofs_add(const struct gsb_resizing *r, const struct gsb_variants *v, const char *kernel,
		    const struct gsb_proof *what);

#endif
