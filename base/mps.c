/*
 * mps.c - see mps.h.
 */
#include "base/mps.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A line that is a number, and nothing else. 0: it is none. */
static pid_t server_of(const char *line, size_t n)
{
	long pid = 0;

	for (size_t i = 0; i < n; i++) {
		if (line[i] < '0' || line[i] > '9' || pid > INT32_MAX / 10)
			return 0;
		pid = pid * 10 + (line[i] - '0');
	}
	return pid <= INT32_MAX ? (pid_t)pid : 0;
}

void gsb_mps_terminations(const char *said, pid_t client, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	while (*said) {
		size_t n = strcspn(said, "\n");
		pid_t server = server_of(said, n);
		int added = 0;

		if (server)
			added = snprintf(text + used, size - used, "terminate_client %d %d\n",
					 (int)server, (int)client);
		if ((size_t)added >= size - used) {
			text[used] = 0;
			return;
		}
		used += (size_t)added;
		said += n + (said[n] == '\n');
	}
}
