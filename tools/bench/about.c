/*
 * about.c - see about.h.
 */
#include "tools/bench/about.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define VERSION_FILE "/proc/driver/nvidia/version"

/* The module's name before it has more words where it is the open one: the first word that is made of numbers and points is it. */
void gsb_about_driver(const char *line, char *out, size_t size)
{
	*out = 0;
	while (*line) {
		size_t n = strcspn(line, " \t\n");

		if (n && strspn(line, "0123456789.") == n && memchr(line, '.', n)) {
			snprintf(out, size, "%.*s", (int)n, line);
			return;
		}
		line += n + strspn(line + n, " \t\n");
	}
}

static void find_driver(char *out, size_t size)
{
	FILE *f = fopen(VERSION_FILE, "r");
	char line[256] = "";

	if (f && fgets(line, sizeof(line), f))
		gsb_about_driver(line, out, size);
	if (f)
		fclose(f);
}

static void join(char *out, size_t size, int argc, char **argv)
{
	size_t at = 0;

	for (int i = 0; i < argc && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? " " : "", argv[i]);
}

void gsb_about_begin(struct gsb_about *a, int argc, char **argv)
{
	time_t now = time(NULL);
	struct tm utc;

	*a = (struct gsb_about){0};
	find_driver(a->driver, sizeof(a->driver));
	strftime(a->time, sizeof(a->time), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	join(a->command, sizeof(a->command), argc, argv);
}
