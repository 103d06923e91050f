/*
 * temp.h - where tests make files: in $TMPDIR, so that whoever runs them can clear it behind one that died.
 */
#ifndef GSB_TESTS_UNIT_TEMP_H
#define GSB_TESTS_UNIT_TEMP_H

#include <stdio.h>
#include <stdlib.h>

#define TEMP_PATH_MAX 108 /* as long as a socket's address may be */

/* $TMPDIR/name, or /tmp/name; name may end in XXXXXX for mkstemp() and mkdtemp(). */
static inline void temp_path(char path[TEMP_PATH_MAX], const char *name)
{
	const char *dir = getenv("TMPDIR");

	snprintf(path, TEMP_PATH_MAX, "%s/%s", dir && *dir ? dir : "/tmp", name);
}

#endif
