/*
 * config_file.c - an ini file into struct gsb_config, and all that can be wrong with it.
 *
 * inih splits "key = value"; the rest is done in a line reader of our own, because of what inih
 * does silently: a long line is cut and its rest read as another, an indented line continues the
 * value before it, a section's name is cut at 49 characters, a section without keys is never heard
 * of, the names after a damaged header go to the section before it, and only the first bad line is
 * told. So the reader counts lines, strips indentation, takes section headers itself, and notices
 * when inih did not call the handler for a line that has something in it.
 *
 * Reading goes on after an error: a user gets all of them at once.
 */
#include "broker/config/key.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gsb/tenant_name.h"

#define SECTIONS_MAX	(6 + GSB_CONFIG_DEVICES_MAX + GSB_CONFIG_TENANTS_MAX)
#define REPORT_LINE_MAX 512
#define NAMES_MAX	(32 + GSB_CONFIG_DEVICES_MAX)

enum {
#define GSB_KEY(SECTION, key, ...) KEY_##SECTION##_##key,
#include "broker/config/keys.def"
#undef GSB_KEY
	N_KEYS
};

enum kind {
	KIND_BROKER,
	KIND_METRICS,
	KIND_ADMISSION,
	KIND_RESIZE,
	KIND_ENGINE,
	KIND_DEVICE,
	KIND_DEFAULT,
	KIND_TENANT
};

static const struct {
	const char *name;
	enum gsb_config_section keys;
	const char *argument; /* what stands in quotes; NULL: nothing may */
} kinds[] = {
	[KIND_BROKER] = {"broker", GSB_SECTION_BROKER, NULL},
	[KIND_METRICS] = {"metrics", GSB_SECTION_METRICS, NULL},
	[KIND_ADMISSION] = {"admission", GSB_SECTION_ADMISSION, NULL},
	[KIND_RESIZE] = {"resize", GSB_SECTION_RESIZE, NULL},
	[KIND_ENGINE] = {"engine", GSB_SECTION_ENGINE, NULL},
	[KIND_DEVICE] = {"device", GSB_SECTION_ENGINE, "emu:h200"},
	[KIND_DEFAULT] = {"default", GSB_SECTION_DEFAULT, NULL},
	[KIND_TENANT] = {"tenant", GSB_SECTION_DEFAULT, "alice"},
};

struct section {
	enum kind kind;
	char argument[GSB_CONFIG_SPEC_MAX];
	unsigned line;
	void *base;		   /* its struct in the configuration */
	unsigned key_line[N_KEYS]; /* where each key was given; 0: not yet */
};

struct parser {
	FILE *f;
	const char *name;
	gsb_config_report *report;
	void *ctx;
	struct gsb_config *config;
	unsigned line, n_errors;
	bool unclaimed;		 /* the line has something in it and no one took it yet */
	bool section_bad;	 /* its keys are skipped: the header was reported */
	struct section *section; /* NULL before the first */
	unsigned n_sections;
	struct section sections[SECTIONS_MAX];
};

/* A file may be anything: what would move a terminal's cursor is shown as '?'. */
static void blank_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

GSB_PRINTF(3, 4)
static void error_at(struct parser *p, unsigned line, const char *fmt, ...)
{
	char text[REPORT_LINE_MAX];
	va_list ap;
	int n = snprintf(text, sizeof(text), "%s:%u: ", p->name, line);

	if (n < 0 || n >= (int)sizeof(text))
		n = 0;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	blank_controls(text);
	p->report(p->ctx, text);
	p->n_errors++;
}

/* ---- sections ---- */

static int find_kind(struct parser *p, const char *word)
{
	const char *names[GSB_ARRAY_LEN(kinds)], *near;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(kinds); i++) {
		if (!strcmp(word, kinds[i].name))
			return (int)i;
		names[i] = kinds[i].name;
	}
	near = gsb_config_nearest(word, names, GSB_ARRAY_LEN(names));
	if (near)
		error_at(p, p->line, "unknown section [%.40s]; did you mean [%s]?", word, near);
	else
		error_at(p, p->line,
			 "unknown section [%.40s]; sections are [broker], [metrics], [admission], "
			 "[resize], [engine], [device \"SPEC\"], [default] and [tenant \"NAME\"]",
			 word);
	return -1;
}

static bool argument_ok(struct parser *p, enum kind kind, const char *argument)
{
	char why[GSB_CONFIG_WHY_MAX];

	if (!kinds[kind].argument) {
		if (*argument)
			error_at(p, p->line, "section [%s] takes no name", kinds[kind].name);
		return !*argument;
	}
	if (!*argument) {
		error_at(p, p->line, "section [%s] needs a name, as in [%s \"%s\"]",
			 kinds[kind].name, kinds[kind].name, kinds[kind].argument);
		return false;
	}
	if (kind == KIND_TENANT && !gsb_tenant_name_ok(argument)) {
		error_at(p, p->line, "tenant name \"%.80s\" must be " GSB_TENANT_NAME_RULE,
			 argument);
		return false;
	}
	if (kind == KIND_DEVICE && !gsb_config_spec_ok(argument, why)) {
		error_at(p, p->line, "device \"%.80s\" %s", argument, why);
		return false;
	}
	return true;
}

/* The struct that a section fills; NULL when there are too many. */
static void *section_base(struct gsb_config *c, enum kind kind, const char *argument)
{
	switch (kind) {
	case KIND_BROKER: return &c->broker;
	case KIND_METRICS: return &c->metrics;
	case KIND_ADMISSION: return &c->admission;
	case KIND_RESIZE: return &c->resize;
	case KIND_ENGINE: return &c->engine;
	case KIND_DEFAULT: return &c->tenant;
	case KIND_DEVICE:
		if (c->n_devices == GSB_CONFIG_DEVICES_MAX)
			return NULL;
		memset(&c->devices[c->n_devices], 0, sizeof(c->devices[0]));
		strcpy(c->devices[c->n_devices].spec, argument);
		return &c->devices[c->n_devices++];
	case KIND_TENANT:
		if (c->n_tenants == GSB_CONFIG_TENANTS_MAX)
			return NULL;
		strcpy(c->tenants[c->n_tenants].name, argument);
		return &c->tenants[c->n_tenants++];
	}
	return NULL;
}

static void begin_section(struct parser *p, enum kind kind, const char *argument)
{
	struct section *s = &p->sections[p->n_sections];
	void *base;

	for (unsigned i = 0; i < p->n_sections; i++)
		if (p->sections[i].kind == kind && !strcmp(p->sections[i].argument, argument)) {
			error_at(p, p->line, "section given twice, first at line %u",
				 p->sections[i].line);
			return;
		}
	base = section_base(p->config, kind, argument);
	if (!base) {
		error_at(p, p->line, "too many [%s] sections: at most %d", kinds[kind].name,
			 kind == KIND_DEVICE ? GSB_CONFIG_DEVICES_MAX : GSB_CONFIG_TENANTS_MAX);
		return;
	}
	s->kind = kind;
	strcpy(s->argument, argument);
	s->line = p->line;
	s->base = base;
	p->n_sections++;
	p->section = s;
	p->section_bad = false;
}

/* header = "[" word [ '"' argument '"' ] "]" [ (";" | "#") comment ] */
static void on_header(struct parser *p, char *text)
{
	char word[41] = "", argument[GSB_CONFIG_SPEC_MAX] = "";
	const char *s = text + 1;
	int n = 0, kind;

	p->section_bad = true; /* until begin_section() is content */
	s += strspn(s, " \t");
	if (sscanf(s, "%40[^] \t\"\r\n]%n", word, &n) < 1)
		goto malformed;
	s += n;
	s += strspn(s, " \t");
	if (*s == '"') {
		n = 0;
		if (s[1] == '"')
			n = 2; /* no name: argument_ok() says so */
		else if (sscanf(s, "\"%127[^\"\r\n]\"%n", argument, &n) < 1 || !n)
			goto malformed;
		s += n;
		s += strspn(s, " \t");
	}
	if (*s++ != ']')
		goto malformed;
	s += strspn(s, " \t\r\n");
	if (*s && *s != ';' && *s != '#')
		goto malformed;
	kind = find_kind(p, word);
	if (kind >= 0 && argument_ok(p, (enum kind)kind, argument))
		begin_section(p, (enum kind)kind, argument);
	return;
malformed:
	text[strcspn(text, "\r\n")] = 0;
	error_at(p, p->line, "'%.80s' is no section header: write [name] or [name \"argument\"]",
		 text);
}

/* ---- keys ---- */

static void unknown_key(struct parser *p, const char *name)
{
	const struct section *s = p->section;
	const char *names[N_KEYS], *near;
	unsigned n = 0;

	for (unsigned i = 0; i < N_KEYS; i++)
		if (gsb_config_keys[i].section == kinds[s->kind].keys)
			names[n++] = gsb_config_keys[i].name;
	near = gsb_config_nearest(name, names, n);
	if (near)
		error_at(p, p->line, "unknown key '%.80s' in [%s]; did you mean '%s'?", name,
			 kinds[s->kind].name, near);
	else
		error_at(p, p->line, "unknown key '%.80s' in [%s]; see gsbroker.conf(5)", name,
			 kinds[s->kind].name);
}

static bool is_list(const struct gsb_config_key *k)
{
	return k->type == GSB_TYPE_IDS_USER || k->type == GSB_TYPE_IDS_GROUP ||
	       k->type == GSB_TYPE_NAMES;
}

static void on_key(struct parser *p, const char *name, const char *value)
{
	struct section *s = p->section;
	char why[GSB_CONFIG_WHY_MAX];
	const struct gsb_config_key *k;
	unsigned i;

	for (i = 0; i < N_KEYS; i++)
		if (gsb_config_keys[i].section == kinds[s->kind].keys &&
		    !strcmp(gsb_config_keys[i].name, name))
			break;
	if (i == N_KEYS) {
		unknown_key(p, name);
		return;
	}
	k = &gsb_config_keys[i];
	if (s->key_line[i] && !is_list(k)) {
		error_at(p, p->line, "key '%s' given twice in this section, first at line %u", name,
			 s->key_line[i]);
		return;
	}
	s->key_line[i] = p->line;
	if (gsb_config_parse_value(k, value, (char *)s->base + k->offset, why))
		error_at(p, p->line, "%s = %.80s: %s", name, value, why);
}

/* inih's handler. The section it names may be cut; ours is in the parser. */
static int on_pair(void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;

	p->unclaimed = false;
	if (p->section_bad)
		return 1;
	if (!p->section)
		error_at(p, p->line, "'%.80s' stands before the first section", name);
	else
		on_key(p, name, value);
	return 1;
}

/* ---- lines ---- */

static void check_claimed(struct parser *p)
{
	if (p->unclaimed)
		error_at(p, p->line, "expected 'key = value', '[section]' or a comment");
	p->unclaimed = false;
}

/*
 * One line without indentation into buf, as fgets would; a line that does not fit, or holds a NUL,
 * is reported and read as empty. Return: false at the end of the file.
 */
static bool read_raw(struct parser *p, char *buf, int size)
{
	const char *problem = NULL;
	int c, n = 0;

	c = getc(p->f);
	if (c == EOF)
		return false;
	p->line++;
	for (; c != EOF && c != '\n'; c = getc(p->f)) {
		if (c == 0)
			problem = "a NUL byte";
		else if (n == 0 && (c == ' ' || c == '\t'))
			continue;
		else if (n < size - 2)
			buf[n++] = (char)c;
		else
			problem = "more bytes than a line may have";
	}
	if (problem) {
		error_at(p, p->line, "the line holds %s: at most %d of text, please", problem,
			 size - 2);
		n = 0;
	}
	buf[n++] = '\n';
	buf[n] = 0;
	return true;
}

/* inih's reader: what it sees are comments, blank lines and candidates for key = value. */
static char *read_line(char *buf, int size, void *stream)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct parser *p = stream;

	check_claimed(p); /* the line before this one */
	if (!read_raw(p, buf, size))
		return NULL;
	if (p->line == 1 && !strncmp(buf, bom, 3))
		memmove(buf, buf + 3, strlen(buf + 3) + 1);
	if (*buf == '[') {
		on_header(p, buf);
		strcpy(buf, "\n");
	}
	p->unclaimed = !strchr(";#\r\n", *buf);
	return buf;
}

/* ---- the whole ---- */

/* What a [device] or [tenant] does not say, it has from [engine] or [default]. */
static void inherit(struct section *s, const void *from)
{
	for (unsigned i = 0; i < N_KEYS; i++) {
		const struct gsb_config_key *k = &gsb_config_keys[i];

		if (k->section == kinds[s->kind].keys && !s->key_line[i])
			memcpy((char *)s->base + k->offset, (const char *)from + k->offset,
			       k->size);
	}
}

static void check_device(struct parser *p, const struct section *s)
{
	const struct gsb_tenant_config *t = s->base;

	if (s->key_line[KEY_DEFAULT_device] && !gsb_config_device(p->config, t))
		error_at(p, s->key_line[KEY_DEFAULT_device],
			 "device = %s: this file has no [device \"%s\"]", t->device, t->device);
}

static void complete(struct parser *p)
{
	struct gsb_config *c = p->config;

	if (!c->n_devices) {
		char spec[GSB_CONFIG_SPEC_MAX];

		strcpy(spec, c->devices[0].spec); /* of gsb_config_create() */
		c->devices[c->n_devices++] = c->engine;
		strcpy(c->devices[0].spec, spec);
	}
	for (unsigned i = 0; i < p->n_sections; i++) {
		struct section *s = &p->sections[i];

		if (s->kind == KIND_DEVICE)
			inherit(s, &c->engine);
		if (s->kind == KIND_TENANT)
			inherit(s, &c->tenant);
		if (s->kind == KIND_TENANT || s->kind == KIND_DEFAULT)
			check_device(p, s);
	}
}

int gsb_config_read(FILE *f, const char *name, gsb_config_report *report, void *ctx,
		    struct gsb_config **out)
{
	struct parser *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->config = gsb_config_create();
	if (!p->config)
		goto out_parser;
	p->config->n_devices = 0;
	p->f = f;
	p->name = name;
	p->report = report;
	p->ctx = ctx;
	ini_parse_stream(read_line, p, on_pair, p); /* errors: the reader saw them */
	check_claimed(p);
	if (ferror(f))
		error_at(p, p->line, "cannot be read further");
	complete(p);
	err = p->n_errors ? -EINVAL : 0;
	if (!err) {
		*out = p->config;
		p->config = NULL;
	}
	free(p->config);
out_parser:
	free(p);
	return err;
}

/* NULL, with errno: a folder opens as a file does, and is no good. */
static FILE *open_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;

	if (!f || fstat(fileno(f), &st) || !S_ISDIR(st.st_mode))
		return f;
	fclose(f);
	errno = EISDIR;
	return NULL;
}

int gsb_config_load(const char *path, gsb_config_report *report, void *ctx, struct gsb_config **out)
{
	char line[REPORT_LINE_MAX];
	FILE *f = open_file(path);
	int err = -errno;

	if (!f) {
		snprintf(line, sizeof(line), "%s: cannot be opened: %s", path, strerror(-err));
		report(ctx, line);
		return err;
	}
	err = gsb_config_read(f, path, report, ctx, out);
	fclose(f);
	return err;
}
