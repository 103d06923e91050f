/*
 * link.c - see link.h.
 *
 * The list is the library's, what stands in it the program's: like nvJitLink's own, a link is for one thread at a time.
 */
#include "toolkit/link.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ptx/image.h"
#include "toolkit/genuine.h"

struct link {
	struct link *next;
	void *handle;
	struct gsb_nj_form form;
	struct gsb_ptx_texts texts;
	void *lto; /* the second link; NULL: none, for there is no -lto */
	bool has_lto, is_complete;
	bool is_machine_code; /* an input has nothing else: so has the result */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct link *links;

void *gsb_nj_genuine(const struct gsb_nj_form *form, const char *verb)
{
	char name[80];

	snprintf(name, sizeof(name), "%s%s%s", form->prefix, verb, form->suffix);
	return gsb_toolkit_genuine("libnvJitLink", name);
}

static struct link **place_of(void *handle)
{
	struct link **at = &links;

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static struct link *find(void *handle)
{
	struct link *l;

	pthread_mutex_lock(&lock);
	l = *place_of(handle);
	pthread_mutex_unlock(&lock);
	return l;
}

/* ---- begin and end ---- */

static bool has_option(const char *option, uint32_t n, const char **options)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(options[i], option))
			return true;
	return false;
}

/* The program's options and one more. */
static void *begin_lto(const struct gsb_nj_form *form, uint32_t n, const char **options)
{
	gsb_nj_create_fn *create = (gsb_nj_create_fn *)gsb_nj_genuine(form, "Create");
	const char **more = has_option("-lto", n, options)
				    ? calloc((size_t)n + 1, sizeof(*more))
				    : NULL;
	void *lto = NULL;

	if (!more)
		return NULL;
	memcpy(more, options, n * sizeof(*more));
	more[n] = "-ptx";
	if (!create || create(&lto, n + 1, more))
		lto = NULL;
	free(more);
	return lto;
}

void gsb_nj_link_begin(const struct gsb_nj_form *form, void *handle, uint32_t n,
		       const char **options)
{
	struct link *l;

	gsb_nj_link_end(handle); /* one that was destroyed behind our back */
	if (has_option("-ptx", n, options))
		return; /* the program knows what it wants */
	l = calloc(1, sizeof(*l));
	if (!l)
		return;
	l->handle = handle;
	l->form = *form;
	l->lto = begin_lto(form, n, options);
	pthread_mutex_lock(&lock);
	l->next = links;
	links = l;
	pthread_mutex_unlock(&lock);
}

static void end_lto(struct link *l)
{
	gsb_nj_destroy_fn *destroy = (gsb_nj_destroy_fn *)gsb_nj_genuine(&l->form, "Destroy");

	if (l->lto && destroy)
		destroy(&l->lto);
}

void gsb_nj_link_end(void *handle)
{
	struct link **at, *l;

	pthread_mutex_lock(&lock);
	at = place_of(handle);
	l = *at;
	if (l)
		*at = l->next;
	pthread_mutex_unlock(&lock);
	if (!l)
		return;
	end_lto(l);
	gsb_ptx_texts_finish(&l->texts);
	free(l);
}

/* ---- inputs ---- */

static bool add_lto(struct link *l, const struct gsb_nj_input_data *in)
{
	gsb_nj_data_fn *add = (gsb_nj_data_fn *)gsb_nj_genuine(&l->form, "AddData");

	if (!l->lto || !add || add(l->lto, in->type, in->bytes, in->size, in->name))
		return false;
	l->has_lto = true;
	return true;
}

/* Whether its PTX is there, now or once the second link is complete. */
static bool add(struct link *l, const struct gsb_nj_input_data *in)
{
	if (in->type == GSB_NJ_INPUT_LIBRARY)
		return !gsb_ptx_texts_add_library(&l->texts);
	if (gsb_image_kind(in->bytes, in->size) == GSB_IMAGE_PTX)
		return !gsb_ptx_texts_add(&l->texts, in->bytes, in->size);
	return in->type == GSB_NJ_INPUT_INDEX || add_lto(l, in);
}

void gsb_nj_link_add(void *handle, const struct gsb_nj_input_data *in)
{
	struct link *l = find(handle);

	if (l && !add(l, in))
		l->is_machine_code = true;
}

/* ---- result ---- */

static bool take_lto(struct link *l)
{
	gsb_nj_complete_fn *complete = (gsb_nj_complete_fn *)gsb_nj_genuine(&l->form, "Complete");
	gsb_nj_size_fn *get_size = (gsb_nj_size_fn *)gsb_nj_genuine(&l->form, "GetLinkedPtxSize");
	gsb_nj_get_fn *get = (gsb_nj_get_fn *)gsb_nj_genuine(&l->form, "GetLinkedPtx");
	size_t size = 0;
	bool is_taken;
	char *text;

	if (!complete || !get_size || !get || complete(l->lto) || get_size(l->lto, &size))
		return false;
	text = malloc(size + 1);
	is_taken = text && !get(l->lto, text) && !gsb_ptx_texts_add(&l->texts, text, size);
	free(text);
	return is_taken;
}

void gsb_nj_link_complete(void *handle)
{
	struct link *l = find(handle);

	if (!l || l->is_complete)
		return;
	l->is_complete = true;
	if (!l->is_machine_code && l->has_lto && !take_lto(l))
		l->is_machine_code = true;
	if (!l->is_machine_code)
		return;
	gsb_log_init("gsbroker", GSB_LOG_WARN);
	gsb_log(GSB_LOG_WARN, "nvJitLink",
		"an input has neither PTX nor LTO-IR: the result is machine code, which an "
		"emulated device cannot run: compile the inputs to PTX");
}

const struct gsb_ptx_texts *gsb_nj_link_result(void *handle)
{
	struct link *l = find(handle);

	return l && l->is_complete && !l->is_machine_code && l->texts.n ? &l->texts : NULL;
}
