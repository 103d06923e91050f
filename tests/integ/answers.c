/*
 * answers.c - see answers.h.
 */
#include "tests/integ/answers.h"

#include <string.h>
#include <sys/wait.h>

#define LIMIT_S 60

const char *running;

static int run_here(const struct answers *a, const struct answers_case *c)
{
	running = c->name;
	a->set_up();
	c->run();
	fflush(stdout);
	return 0;
}

static int run_apart(const struct answers *a, const struct answers_case *c)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(LIMIT_S);
		_exit(run_here(a, c));
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("%s died with status 0x%x\n", c->name, (unsigned)status);
	return status != 0;
}

static const struct answers_case *find(const struct answers_case *cases, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	return NULL;
}

static int run_named(const struct answers *a, const char *name)
{
	const struct answers_case *c = find(a->cases, a->n_cases, name);

	if (!c)
		c = find(a->others, a->n_others, name);
	return c ? run_here(a, c) : 2;
}

int answers_main(const struct answers *a, int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "--list");
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0); /* so that nothing is lost with a case that dies */
	if (argc > 1 && !list)
		return run_named(a, argv[1]);
	for (size_t i = 0; i < a->n_cases; i++) {
		if (list)
			printf("%s\n", a->cases[i].name);
		else
			failed |= run_apart(a, &a->cases[i]);
	}
	return failed;
}
