/*
 * config.h - the configuration of gsbrokerd: what it holds, reading, printing and comparing it.
 *
 * keys.def is the one list of keys; the structs below are what a key's value becomes. An ini
 * file is read whole: every error is reported with its line, then the whole is refused, so that a
 * reload either happens completely or not at all. A section's missing keys have defaults, and a
 * [device] or [tenant] takes what it does not say from [engine] or [default], wherever those stand
 * in the file.
 *
 *   config.c  the table, defaults, printing, comparing, looking up
 *   value.c   text <-> value for each type
 *   file.c    lines, sections and keys of a file, and all that can be wrong with them
 *   heed.c    what is set and has no effect
 */
#ifndef GSB_BROKER_CONFIG_CONFIG_H
#define GSB_BROKER_CONFIG_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "broker/control.h"

#define GSB_CONFIG_IDS_MAX     64 /* entries of one list of users or groups */
#define GSB_CONFIG_DEVICES_MAX 16
#define GSB_CONFIG_TENANTS_MAX 256
#define GSB_CONFIG_SPEC_MAX    128
#define GSB_CONFIG_PATH_MAX    256
#define GSB_CONFIG_WORD_MAX    32
#define GSB_CONFIG_WHY_MAX     256 /* room for what is wrong with a value */

#define GSB_MODE_BY_LISTS UINT64_MAX /* gsb_config_socket_mode() says what that is */

struct gsb_id_list {
	uint32_t n;
	struct {
		uint32_t lo, hi; /* inclusive */
	} at[GSB_CONFIG_IDS_MAX];
};

enum gsb_isolation {
	GSB_ISOLATION_SHARED,
	GSB_ISOLATION_PROCESS,
	GSB_ISOLATION_MPS,
	GSB_ISOLATION_LANES
};
enum gsb_clock_kind { GSB_CLOCK_VIRTUAL, GSB_CLOCK_REAL };

/* Fields are of one width for each type of key: text, uint64_t for numbers and words, lists. */
struct gsb_broker_config {
	char socket[108];     /* sun_path */
	uint64_t socket_mode; /* or GSB_MODE_BY_LISTS */
	char socket_group[GSB_CONFIG_WORD_MAX], user[GSB_CONFIG_WORD_MAX];
	char engine[GSB_CONFIG_PATH_MAX];
	uint64_t log; /* enum gsb_log_level */
	uint64_t hello_timeout_ms, start_timeout_ms, stop_timeout_ms, idle_timeout_ms;
	uint64_t pending_max;
};

#define GSB_CONFIG_ADDRESS_MAX 113 /* unix: and a sun_path */

struct gsb_metrics_config {
	char listen[GSB_CONFIG_ADDRESS_MAX]; /* "": nowhere */
};

struct gsb_admission_config {
	struct gsb_id_list allow_uid, allow_gid, deny_uid, deny_gid, control_gid, status_gid;
	uint64_t max_tenants, max_tenants_per_uid;
};

struct gsb_device_config {
	char spec[GSB_CONFIG_SPEC_MAX]; /* "emu:h200"; "" in [engine] */
	uint64_t policy;		/* index of gsb_config_policy_name */
	uint64_t isolation, clock;	/* enum gsb_isolation, enum gsb_clock_kind */
	uint64_t workers, memory, host_call_ns, gate_timeout_ms, kernel_limit_ms, orphan_limit_ms;
	uint64_t critical_wait_us, critical_sms_percent;
	uint64_t start_line, start_line_ms, trace;
	uint64_t spare_lanes, connections;
};

#define GSB_CONFIG_NAMES_MAX 2048

struct gsb_resize_config {
	uint64_t mode; /* enum gsb_resize_mode */
	char force[GSB_CONFIG_WORD_MAX];
	char allow[GSB_CONFIG_NAMES_MAX],
		deny[GSB_CONFIG_NAMES_MAX]; /* words, one blank between them */
	uint64_t max_loss;		    /* percent */
	char cache[GSB_CONFIG_PATH_MAX];
	uint64_t cache_size, shadow_every, shadow_memory, shadow_limit_ms;
};

struct gsb_tenant_config {
	char name[GSB_TENANT_NAME_MAX];	  /* "" in [default] */
	char device[GSB_CONFIG_SPEC_MAX]; /* "" = the first one */
	uint64_t device_memory, host_memory, staging, image_max, code_memory; /* bytes */
	uint64_t queued_records, queued_bytes;
	uint64_t weight, critical, max_wait_ms, deadline_us, slowdown_percent;
};

struct gsb_config {
	struct gsb_broker_config broker;
	struct gsb_metrics_config metrics;
	struct gsb_admission_config admission;
	struct gsb_resize_config resize;
	struct gsb_device_config engine; /* defaults of the devices */
	struct gsb_tenant_config tenant; /* defaults of the tenants */
	uint32_t n_devices, n_tenants;
	struct gsb_device_config devices[GSB_CONFIG_DEVICES_MAX]; /* never empty once read */
	struct gsb_tenant_config tenants[GSB_CONFIG_TENANTS_MAX];
};

/* Where errors and remarks go: one line each, without newline. */
typedef void gsb_config_report(void *ctx, const char *line);

/*
 * gsb_config_create() - the defaults of config_keys.def and one device, emu:h200
 * Free it with free(). NULL without memory.
 */
struct gsb_config *gsb_config_create(void);

/*
 * gsb_config_read() - read one ini file
 * @f:      from its beginning; stays the caller's
 * @name:   of the file, for the reports
 * @report: called for each error, as "name:line: what is wrong and what to do"
 * @out:    written only on success; free() it
 * Return:  0, -EINVAL (errors were reported), -ENOMEM.
 */
int gsb_config_read(FILE *f, const char *name, gsb_config_report *report, void *ctx,
		    struct gsb_config **out);

/* As above by path; a file that cannot be opened is reported too: -ENOENT, -EACCES, ... */
int gsb_config_load(const char *path, gsb_config_report *report, void *ctx,
		    struct gsb_config **out);

/* One device and no other; a key of [engine] for all devices. -EINVAL: why is "must be ...". */
int gsb_config_use_device(struct gsb_config *c, const char *spec, char why[GSB_CONFIG_WHY_MAX]);
int gsb_config_use(struct gsb_config *c, const char *key, const char *text,
		   char why[GSB_CONFIG_WHY_MAX]);

/* Every key with its value and its help as comment: valid input that reads back the same. */
void gsb_config_print(const struct gsb_config *c, FILE *f);

/*
 * gsb_config_reload() - make next the configuration after current
 * Keys that need a restart keep their current value in next, and are reported; so is what only
 * engines started from now on will follow.
 */
void gsb_config_reload(const struct gsb_config *current, struct gsb_config *next,
		       gsb_config_report *report, void *ctx);

/* Report what tenants are given that the policy of their device does not go by: it is no error, and has no effect. */
void gsb_config_unheeded(const struct gsb_config *c, gsb_config_report *report, void *ctx);

/* The tenant's section, or the defaults. Never NULL. */
const struct gsb_tenant_config *gsb_config_tenant(const struct gsb_config *c, const char *name);
/* The device of a tenant's section. NULL: it names one that has no [device] section. */
const struct gsb_device_config *gsb_config_device(const struct gsb_config *c,
						  const struct gsb_tenant_config *t);

/* The permissions of the socket. Without a configured one: where a list says who may come in, all may knock. */
unsigned gsb_config_socket_mode(const struct gsb_config *c);

/* Whether engines of the device, or their lanes, are clients of MPS. Only NVIDIA's can be: elsewhere isolation mps is process. */
bool gsb_config_uses_mps(const struct gsb_device_config *d);
/* Whether each process has an engine of its own. */
bool gsb_config_is_per_process(const struct gsb_device_config *d);

/* The words of policy, isolation, log and resize mode. */
const char *gsb_config_policy_name(uint64_t policy);
const char *gsb_config_isolation_name(uint64_t isolation);
const char *gsb_config_resize_name(uint64_t mode);
const char *gsb_config_level_name(uint64_t level);

/* Whether id lies in the list. */
bool gsb_id_list_has(const struct gsb_id_list *l, uint32_t id);

#endif
