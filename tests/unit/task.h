/*
 * task.h - what the kernel says of a thread of this process.
 */
#ifndef GSB_TESTS_UNIT_TASK_H
#define GSB_TESTS_UNIT_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether it sleeps in a system call: the third field of its stat. */
static inline bool task_is_asleep(uint32_t tid)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return strstr(text, ") S ");
}

#endif
