/*
 * config.c - see config.h: the table of keys, defaults, printing, reload, looking up.
 */
#include "broker/config/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/policy/policy.h"

#define DEFAULT_DEVICE	"emu:h200"
#define HELP_COLUMNS	92
#define REPORT_LINE_MAX 512

/* Section name -> its struct. */
#define STRUCT_BROKER	 struct gsb_broker_config
#define STRUCT_METRICS	 struct gsb_metrics_config
#define STRUCT_ADMISSION struct gsb_admission_config
#define STRUCT_RESIZE	 struct gsb_resize_config
#define STRUCT_ENGINE	 struct gsb_device_config
#define STRUCT_DEFAULT	 struct gsb_tenant_config

const struct gsb_config_key gsb_config_keys[] = {
#define GSB_KEY(SECTION, key, TYPE, min, max, deflt, WHEN, help) \
	{GSB_SECTION_##SECTION,                                  \
	 #key,                                                   \
	 GSB_TYPE_##TYPE,                                        \
	 offsetof(STRUCT_##SECTION, key),                        \
	 sizeof(((STRUCT_##SECTION *)0)->key),                   \
	 min,                                                    \
	 max,                                                    \
	 deflt,                                                  \
	 GSB_WHEN_##WHEN,                                        \
	 help},
#include "broker/config/keys.def"
#undef GSB_KEY
};
const unsigned gsb_n_config_keys = GSB_ARRAY_LEN(gsb_config_keys);

static const void *field_of(const struct gsb_config_key *k, const void *base)
{
	return (const char *)base + k->offset;
}

void gsb_config_defaults(enum gsb_config_section section, void *base)
{
	char why[GSB_CONFIG_WHY_MAX];

	for (unsigned i = 0; i < gsb_n_config_keys; i++) {
		const struct gsb_config_key *k = &gsb_config_keys[i];

		if (k->section == section) /* test_config.c holds that each default parses */
			gsb_config_parse_value(k, k->deflt, (char *)base + k->offset, why);
	}
}

struct gsb_config *gsb_config_create(void)
{
	struct gsb_config *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	gsb_config_defaults(GSB_SECTION_BROKER, &c->broker);
	gsb_config_defaults(GSB_SECTION_METRICS, &c->metrics);
	gsb_config_defaults(GSB_SECTION_ADMISSION, &c->admission);
	gsb_config_defaults(GSB_SECTION_RESIZE, &c->resize);
	gsb_config_defaults(GSB_SECTION_ENGINE, &c->engine);
	gsb_config_defaults(GSB_SECTION_DEFAULT, &c->tenant);
	c->n_devices = 1;
	c->devices[0] = c->engine;
	strcpy(c->devices[0].spec, DEFAULT_DEVICE);
	return c;
}

int gsb_config_use_device(struct gsb_config *c, const char *spec, char why[GSB_CONFIG_WHY_MAX])
{
	if (!gsb_config_spec_ok(spec, why))
		return -EINVAL;
	c->n_devices = 1;
	c->devices[0] = c->engine;
	strcpy(c->devices[0].spec, spec);
	return 0;
}

static const struct gsb_config_key *find_key(enum gsb_config_section section, const char *name)
{
	const struct gsb_config_key *k = gsb_config_keys;

	while (k->section != section || strcmp(k->name, name) != 0)
		k++;
	return k;
}

int gsb_config_use(struct gsb_config *c, const char *key, const char *text,
		   char why[GSB_CONFIG_WHY_MAX])
{
	const struct gsb_config_key *k = find_key(GSB_SECTION_ENGINE, key);
	int err = gsb_config_parse_value(k, text, (char *)&c->engine + k->offset, why);

	for (uint32_t i = 0; !err && i < c->n_devices; i++)
		gsb_config_parse_value(k, text, (char *)&c->devices[i] + k->offset, why);
	return err;
}

/* ---- printing ---- */

static void print_help(const char *help, FILE *f)
{
	size_t n;

	while (strlen(help) > HELP_COLUMNS) {
		for (n = HELP_COLUMNS; n && help[n] != ' '; n--)
			;
		fprintf(f, "# %.*s\n", (int)n, help);
		help += n + 1;
	}
	fprintf(f, "# %s\n", help);
}

static void print_section(enum gsb_config_section section, const void *base, bool help, FILE *f)
{
	for (unsigned i = 0; i < gsb_n_config_keys; i++) {
		const struct gsb_config_key *k = &gsb_config_keys[i];

		if (k->section != section)
			continue;
		if (help)
			print_help(k->help, f);
		gsb_config_print_value(k, field_of(k, base), f);
	}
}

void gsb_config_print(const struct gsb_config *c, FILE *f)
{
	fputs("[broker]\n", f);
	print_section(GSB_SECTION_BROKER, &c->broker, true, f);
	fputs("\n[metrics]\n", f);
	print_section(GSB_SECTION_METRICS, &c->metrics, true, f);
	fputs("\n[admission]\n", f);
	print_section(GSB_SECTION_ADMISSION, &c->admission, true, f);
	fputs("\n[resize]\n", f);
	print_section(GSB_SECTION_RESIZE, &c->resize, true, f);
	fputs("\n[engine]\n", f);
	print_section(GSB_SECTION_ENGINE, &c->engine, true, f);
	for (uint32_t i = 0; i < c->n_devices; i++) {
		fprintf(f, "\n[device \"%s\"]\n", c->devices[i].spec);
		print_section(GSB_SECTION_ENGINE, &c->devices[i], false, f);
	}
	fputs("\n[default]\n", f);
	print_section(GSB_SECTION_DEFAULT, &c->tenant, true, f);
	for (uint32_t i = 0; i < c->n_tenants; i++) {
		fprintf(f, "\n[tenant \"%s\"]\n", c->tenants[i].name);
		print_section(GSB_SECTION_DEFAULT, &c->tenants[i], false, f);
	}
}

/* ---- reload ---- */

/* All devices are of the section of the one: what changed there is not said key by key. */
static bool engines_differ(const struct gsb_config *a, const struct gsb_config *b)
{
	return a->n_devices != b->n_devices ||
	       memcmp(a->devices, b->devices, a->n_devices * sizeof(a->devices[0])) != 0;
}

static bool resizing_differs(const struct gsb_config *a, const struct gsb_config *b)
{
	return memcmp(&a->resize, &b->resize, sizeof(a->resize)) != 0;
}

/* Where the sections lie that have keys that need a restart; the others have no name. */
static const struct {
	const char *name;
	size_t offset;
} fixed[GSB_SECTION_DEFAULT + 1] = {
	[GSB_SECTION_BROKER] = {"broker", offsetof(struct gsb_config, broker)},
	[GSB_SECTION_METRICS] = {"metrics", offsetof(struct gsb_config, metrics)},
};

void gsb_config_reload(const struct gsb_config *current, struct gsb_config *next,
		       gsb_config_report *report, void *ctx)
{
	char line[REPORT_LINE_MAX];

	for (unsigned i = 0; i < gsb_n_config_keys; i++) {
		const struct gsb_config_key *k = &gsb_config_keys[i];
		size_t at = fixed[k->section].offset + k->offset;
		const char *old = (const char *)current + at;
		char *new = (char *)next + at;

		if (!fixed[k->section].name || k->when != GSB_WHEN_RESTART ||
		    !memcmp(old, new, k->size))
			continue;
		memcpy(new, old, k->size);
		snprintf(line, sizeof(line),
			 "[%s] %s has changed: it takes effect when gsbrokerd is restarted",
			 fixed[k->section].name, k->name);
		report(ctx, line);
	}
	if (engines_differ(current, next))
		report(ctx, "devices have changed: engines that run stay as they are, "
			    "engines started from now on follow");
	if (resizing_differs(current, next))
		report(ctx, "[resize] has changed: engines that run stay as they are, "
			    "engines started from now on follow");
}

/* ---- looking up ---- */

const struct gsb_tenant_config *gsb_config_tenant(const struct gsb_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_tenants; i++)
		if (!strcmp(c->tenants[i].name, name))
			return &c->tenants[i];
	return &c->tenant;
}

const struct gsb_device_config *gsb_config_device(const struct gsb_config *c,
						  const struct gsb_tenant_config *t)
{
	if (!*t->device)
		return &c->devices[0];
	for (uint32_t i = 0; i < c->n_devices; i++)
		if (!strcmp(c->devices[i].spec, t->device))
			return &c->devices[i];
	return NULL;
}

unsigned gsb_config_socket_mode(const struct gsb_config *c)
{
	if (c->broker.socket_mode != GSB_MODE_BY_LISTS)
		return (unsigned)c->broker.socket_mode;
	return c->admission.allow_uid.n || c->admission.allow_gid.n ? 0666 : 0660;
}

bool gsb_id_list_has(const struct gsb_id_list *l, uint32_t id)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (id >= l->at[i].lo && id <= l->at[i].hi)
			return true;
	return false;
}

/* ---- nearest word ---- */

#define WORD_MAX 64 /* longer words are not worth a guess */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein's distance, one row at a time. Both words are shorter than WORD_MAX. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX], n = (unsigned)strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n];
}

bool gsb_config_uses_mps(const struct gsb_device_config *d)
{
	return (d->isolation == GSB_ISOLATION_MPS || d->isolation == GSB_ISOLATION_LANES) &&
	       !strncmp(d->spec, "cuda:", strlen("cuda:"));
}

bool gsb_config_is_per_process(const struct gsb_device_config *d)
{
	return d->isolation == GSB_ISOLATION_PROCESS || d->isolation == GSB_ISOLATION_MPS;
}

const char *gsb_config_nearest(const char *word, const char *const *candidates, unsigned n)
{
	const char *best = NULL;
	unsigned best_distance = (unsigned)strlen(word) / 3 + 2; /* two slips and one in three */

	if (strlen(word) >= WORD_MAX)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		unsigned d = distance(word, candidates[i]);

		if (d < best_distance) {
			best_distance = d;
			best = candidates[i];
		}
	}
	return best;
}
