/*
 * answers.h - programs that say what a driver answers: cases by name, each in a process of its own, so that none is in
 * another's context. The same program runs natively on a GPU, whose answers are kept, and under the library.
 *
 *   PROGRAM            all cases
 *   PROGRAM CASE       this one, here
 *   PROGRAM --list     their names
 *
 * What is printed depends on no address and on no time.
 */
#ifndef GSB_TESTS_ANSWERS_H
#define GSB_TESTS_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct answers_case {
	const char *name;
	void (*run)(void);
};

struct answers {
	void (*set_up)(void);		   /* in the process of a case, before it */
	const struct answers_case *cases;  /* of a driver */
	const struct answers_case *others; /* by name alone: what only the library has to say */
	size_t n_cases, n_others;
};

extern const char *running; /* name of the case */

/* What no case is about must work. */
#define must(call)                                                                  \
	do {                                                                        \
		CUresult must_result = (call);                                      \
		if (must_result) {                                                  \
			printf("%s line %d: %d\n", running, __LINE__, must_result); \
			fflush(stdout);                                             \
			_exit(1);                                                   \
		}                                                                   \
	} while (0)

/* Exit status: 0, all has run to its end; 2, there is no such case. */
int answers_main(const struct answers *a, int argc, char **argv);

#endif
