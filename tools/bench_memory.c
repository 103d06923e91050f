/*
 * bench_memory.c - resident memory: what the library adds to a tenant, and broker and engine without tenants.
 *
 * Budgets (doc/design.md): 4 MiB for the library, staging memory apart; 30 MiB for broker and engine.
 */
#include <argp.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gsb/cuabi.h"
#include "shm/channel.h"
#include "tools/bench.h"
#include "tools/bench_run.h"

static unsigned long resident_kb_of(pid_t pid)
{
	char path[64], line[256];
	unsigned long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static pid_t parent_of(const char *pid)
{
	char path[300];
	int parent = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%*d (%*[^)]) %*c %d", &parent) != 1)
			parent = -1;
		fclose(f);
	}
	return parent;
}

static unsigned long children_kb_of(pid_t pid)
{
	DIR *dir = opendir("/proc");
	unsigned long sum = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(e->d_name) == pid)
			sum += resident_kb_of(atoi(e->d_name));
	if (dir)
		closedir(dir);
	return sum;
}

/* An engine starts with its first tenant: be one, briefly, in a child. */
static void start_engine(void)
{
	pid_t pid = fork();

	if (!pid) {
		void *lib = dlopen("libcuda.so.1", RTLD_NOW);
		CUresult (*init)(unsigned) = NULL;

		if (lib)
			*(void **)&init = dlsym(lib, "cuInit");
		_exit(!init || init(0));
	}
	waitpid(pid, NULL, 0);
}

/* Inside gsbrun: the broker is whoever listens on its socket. */
static int print_broker(void)
{
	struct gsb_peer peer = {0};
	char path[256];
	int fd;

	start_engine();
	if (gsb_channel_path(NULL, path, sizeof(path)) || gsb_channel_connect(path, &fd))
		return 1;
	if (gsb_channel_peer(fd, &peer))
		return 1;
	printf("broker_kb=%lu engine_kb=%lu\n", resident_kb_of(peer.pid), children_kb_of(peer.pid));
	close(fd);
	return 0;
}

static const struct argp_option options[] = {
	{"inside", 'i', NULL, OPTION_HIDDEN, "what this program runs under gsbrun", 0},
	{0},
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	bool *inside = state->input;

	switch (key) {
	case 'i': *inside = true; return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int gsb_bench_memory(int argc, char **argv)
{
	static const char *const tenant[] = {"tenant", "-n", "10000", NULL};
	static const char *const broker[] = {"memory", "--inside", NULL};
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "Resident memory of the library, the broker and an engine.",
	};
	unsigned long added, broker_kb, engine_kb;
	bool inside = false;
	char line[512], *at;

	argp_parse(&argp, argc, argv, 0, NULL, &inside);
	if (inside)
		return print_broker();
	if (!gsb_bench_self("emu:h200", tenant, line, sizeof(line)) ||
	    !(at = strstr(line, "added_kb=")) || sscanf(at, "added_kb=%lu", &added) != 1 ||
	    !gsb_bench_self("emu:h200", broker, line, sizeof(line)) ||
	    sscanf(line, "broker_kb=%lu engine_kb=%lu", &broker_kb, &engine_kb) != 2) {
		fprintf(stderr, "gsb-bench: the run under gsbrun failed\n");
		return 1;
	}
	printf("%-52s %8s %8s\n", "resident memory, KiB", "measured", "budget");
	printf("%-52s %8lu %8u\n", "added to a tenant by the library, staging apart", added, 4096u);
	printf("%-52s %8lu\n", "gsbrokerd without tenants", broker_kb);
	printf("%-52s %8lu\n", "gsb-engine (emu:h200) without tenants", engine_kb);
	printf("%-52s %8lu %8u\n", "both", broker_kb + engine_kb, 30720u);
	return added > 4096 || broker_kb + engine_kb > 30720;
}
