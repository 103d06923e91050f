/*
 * heed.c - what a tenant is given and its device's policy does not look at: it would have no effect, and nobody would know.
 */
#include <inttypes.h>
#include <string.h>

#include "broker/config/key.h"
#include "broker/policy/policy.h"

#define LINE_MAX_BYTES 512
#define WORDS_MAX      128

/* Keys of a tenant, and what a policy that goes by them heeds. */
static const struct {
	const char *key;
	unsigned heed;
} keys[] = {
	{"weight", GSB_HEEDS_WEIGHT},
	{"critical", GSB_HEEDS_CRITICAL},
	{"max_wait_ms", GSB_HEEDS_WAIT},
	{"deadline_us", GSB_HEEDS_DEADLINE},
	{"slowdown_percent", GSB_HEEDS_SLOWDOWN},
};

static const struct gsb_config_key *find_key(const char *name)
{
	unsigned i = 0;

	while (gsb_config_keys[i].section != GSB_SECTION_DEFAULT ||
	       strcmp(gsb_config_keys[i].name, name))
		i++;
	return &gsb_config_keys[i];
}

static uint64_t value_of(const struct gsb_config_key *k, const struct gsb_tenant_config *t)
{
	uint64_t value;

	memcpy(&value, (const char *)t + k->offset, sizeof(value));
	return value;
}

static uint64_t usual(const struct gsb_config_key *k)
{
	char why[GSB_CONFIG_WHY_MAX];
	uint64_t value = 0;

	gsb_config_parse_value(k, k->deflt, &value, why); /* test_config.c holds that it parses */
	return value;
}

/* The policies that do, as words: there is one for each heed. */
static void list_policies(unsigned heed, char words[WORDS_MAX])
{
	const struct gsb_policy *p;
	size_t used = 0;

	*words = 0;
	for (uint64_t i = 0; (p = gsb_policy_at(i)) && used < WORDS_MAX; i++)
		if (p->heeds & heed)
			used += (size_t)snprintf(words + used, WORDS_MAX - used, "%s%s",
						 used ? " or " : "", p->name);
}

static void look(const struct gsb_config *c, const struct gsb_tenant_config *t,
		 gsb_config_report *report, void *ctx)
{
	const struct gsb_device_config *d = gsb_config_device(c, t);
	const struct gsb_policy *policy = d ? gsb_policy_at(d->policy) : NULL;
	char line[LINE_MAX_BYTES], words[WORDS_MAX];

	for (unsigned i = 0; policy && i < GSB_ARRAY_LEN(keys); i++) {
		const struct gsb_config_key *k = find_key(keys[i].key);
		uint64_t value = value_of(k, t);
		bool inherited = t != &c->tenant && value == value_of(k, &c->tenant) &&
				 d == gsb_config_device(c, &c->tenant);

		if ((policy->heeds & keys[i].heed) || value == usual(k) || inherited)
			continue;
		list_policies(keys[i].heed, words);
		snprintf(line, sizeof(line),
			 "%s%s%s %s = %" PRIu64 " has no effect: %s has policy %s; set policy = %s",
			 *t->name ? "[tenant \"" : "[default]", t->name, *t->name ? "\"]" : "",
			 k->name, value, d->spec, policy->name, words);
		report(ctx, line);
	}
}

void gsb_config_unheeded(const struct gsb_config *c, gsb_config_report *report, void *ctx)
{
	look(c, &c->tenant, report, ctx);
	for (uint32_t i = 0; i < c->n_tenants; i++)
		look(c, &c->tenants[i], report, ctx);
}
