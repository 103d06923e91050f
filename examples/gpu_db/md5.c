/*
 * md5.c - Q3: digests of 4,096 interleaved messages.
 *
 * The text is uploaded through pinned staging on the copy stream; the compute streams wait for its
 * end by event and take a share of the messages each. One kernel per stream, few blocks, long: 64
 * blocks of 64 threads in one stream, as in the paper, or 128 blocks of 32 over several.
 */
#include "query.h"

#include <string.h>

#define DIGEST_BYTES  UINT64_C(16)
#define DIGESTS_BYTES (DIGEST_BYTES * MD5_MESSAGES)

static struct grid md5_grid(uint32_t messages, unsigned n_streams)
{
	unsigned threads = n_streams == 1 ? 64 : 32;

	return (struct grid){
		.x = div_up(messages, threads), .y = 1, .block_x = threads, .block_y = 1};
}

struct share {
	uint32_t first, last;
};

static struct share share_of(uint32_t items, unsigned i, unsigned n)
{
	return (struct share){.first = (uint32_t)((uint64_t)items * i / n),
			      .last = (uint32_t)((uint64_t)items * (i + 1) / n)};
}

static void upload_text(struct session *s, const struct data *d, CUdeviceptr text)
{
	CUevent loaded = event_create(CU_EVENT_DISABLE_TIMING);
	size_t span = span_begin(s, PHASE_READ, s->copy);

	upload_staged(s, text, &d->column[COLUMN_TEXT]);
	span_end(s, span, s->copy);
	CU(cuEventRecord, (loaded, s->copy), "marking the end of reading");
	for (unsigned i = 0; i < s->options.n_streams; i++)
		CU(cuStreamWaitEvent, (s->stream[i], loaded, 0), "waiting for the text");
	event_destroy(loaded);
}

struct hashing {
	struct session *s;
	struct kernel kernel;
	CUdeviceptr text, digest;
	uint32_t words_each;
	uint32_t *host; /* pinned: the digests */
};

static void hash_share(struct hashing *h, CUstream stream, struct share m)
{
	uint32_t messages = MD5_MESSAGES;
	struct grid g = md5_grid(m.last - m.first, h->s->options.n_streams);
	uint64_t bytes = (m.last - m.first) * DIGEST_BYTES;
	size_t span = span_begin(h->s, PHASE_COMPUTE, stream);

	launch(h->s, stream, &h->kernel, &g,
	       ARGS(&h->text, &messages, &h->words_each, &m.first, &m.last, &h->digest));
	span_end(h->s, span, stream);
	if (h->s->options.hot)
		return;
	span = span_begin(h->s, PHASE_FETCH, stream);
	download(h->s, h->host + 4 * m.first, h->digest + m.first * DIGEST_BYTES, bytes, stream);
	span_end(h->s, span, stream);
}

static void hash_all(struct hashing *h, const struct slice *text)
{
	struct session *s = h->s;

	if (s->options.hot)
		hot_begin(s, s->copy);
	for (unsigned i = 0; i < s->options.n_streams; i++)
		hash_share(h, s->stream[i], share_of(MD5_MESSAGES, i, s->options.n_streams));
	session_check(s, s->stream[0], text);
	for (unsigned i = 0; i < s->options.n_streams; i++)
		CU(cuStreamSynchronize, (s->stream[i]), "hashing");
	if (s->options.hot)
		hot_add_words(s, s->stream[0], h->digest, MD5_MESSAGES * 4);
}

static void run_md5(struct session *s, const struct program *p, const struct data *d,
		    struct result *out)
{
	const struct column *text = &d->column[COLUMN_TEXT];
	struct hashing h = {.s = s,
			    .kernel = program_kernel(p, "md5_messages"),
			    .text = device_alloc(text->rows * 4, "the text"),
			    .digest = device_alloc(DIGESTS_BYTES, "digests"),
			    .words_each = d->sizes.md5_words / MD5_MESSAGES,
			    .host = pinned_alloc(DIGESTS_BYTES, "digests")};
	struct slice slice = {.id = COLUMN_TEXT, .at = h.text, .words = (uint32_t)text->rows};
	uint32_t *digests = host_alloc(DIGESTS_BYTES, "digests");

	upload_text(s, d, h.text);
	session_enter(s, PHASE_COMPUTE);
	do
		hash_all(&h, &slice);
	while (hot_again(s));
	run_end(s);
	memcpy(digests, h.host, DIGESTS_BYTES);
	*out = result_of_run(s, MD5_MESSAGES, digests, MD5_MESSAGES * 4);
	device_free(h.text, "the text");
	device_free(h.digest, "digests");
	pinned_free(h.host, "digests");
}

static uint64_t md5_bytes(const struct sizes *sizes)
{
	return (uint64_t)sizes->md5_words * 4 + DIGESTS_BYTES;
}

const struct query query_md5 = {
	.name = "q3",
	.title = "md5 of interleaved messages",
	.columns = 1u << COLUMN_TEXT,
	.image = "md5",
	.path = LOAD_MODULE_EX,
	.device_bytes = md5_bytes,
	.run = run_md5,
	.reference = reference_md5,
};
