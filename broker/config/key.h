/*
 * config_key.h - the table of keys made from config_keys.def, and what the files of config share.
 * Nobody else includes it but their tests.
 */
#ifndef GSB_BROKER_CONFIG_KEY_H
#define GSB_BROKER_CONFIG_KEY_H

#include "broker/config/config.h"

enum gsb_config_section {
	GSB_SECTION_BROKER,
	GSB_SECTION_METRICS,
	GSB_SECTION_ADMISSION,
	GSB_SECTION_RESIZE,
	GSB_SECTION_ENGINE, /* also [device "SPEC"] */
	GSB_SECTION_DEFAULT /* also [tenant "NAME"] */
};

enum gsb_config_type {
	GSB_TYPE_STRING,
	GSB_TYPE_PATH,
	GSB_TYPE_SPEC,
	GSB_TYPE_ADDRESS,
	GSB_TYPE_UINT,
	GSB_TYPE_SIZE,
	GSB_TYPE_MODE,
	GSB_TYPE_IDS_USER,
	GSB_TYPE_IDS_GROUP,
	GSB_TYPE_LEVEL,
	GSB_TYPE_POLICY,
	GSB_TYPE_ISOLATION,
	GSB_TYPE_CLOCK,
	GSB_TYPE_RESIZE,
	GSB_TYPE_SHAPE,
	GSB_TYPE_NAMES
};

enum gsb_config_when { GSB_WHEN_NOW, GSB_WHEN_ENGINE, GSB_WHEN_RESTART };

struct gsb_config_key {
	enum gsb_config_section section;
	const char *name;
	enum gsb_config_type type;
	size_t offset, size; /* of the field in its section's struct */
	uint64_t min, max;
	const char *deflt;
	enum gsb_config_when when;
	const char *help;
};

/* The keys in the order of config_keys.def. */
extern const struct gsb_config_key gsb_config_keys[];
extern const unsigned gsb_n_config_keys;

/* Parse text into the field. -EINVAL with "must be ..." in why. Lists grow, other values are
 * replaced. */
int gsb_config_parse_value(const struct gsb_config_key *k, const char *text, void *field,
			   char why[GSB_CONFIG_WHY_MAX]);
/* Whether text is a device spec that some device of this build could be asked for. */
bool gsb_config_spec_ok(const char *text, char why[GSB_CONFIG_WHY_MAX]);
/* Print "key = value\n", for a list one line an entry. */
void gsb_config_print_value(const struct gsb_config_key *k, const void *field, FILE *f);

/* Defaults into one section's struct. */
void gsb_config_defaults(enum gsb_config_section section, void *base);

/* The candidate nearest to word, NULL when none is near. */
const char *gsb_config_nearest(const char *word, const char *const *candidates, unsigned n);

#endif
