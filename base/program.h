/*
 * program.h - what the main functions of all programs begin with. The library in the tenant has none of it.
 */
#ifndef GSB_BASE_PROGRAM_H
#define GSB_BASE_PROGRAM_H

/* Exit status of a wrong command line, in all programs. */
#define GSB_WRONG_USAGE 2

/*
 * gsb_program_init() - first thing in main()
 * @argv: its first word becomes @name, which is what messages of argp begin with, however the program was
 *        started
 *
 * Sets what --version prints and the exit status of wrong usage. At exit, standard output that could not be
 * written (a full disk) is reported, and the status is 1. A standard descriptor that is closed is taken, so that nothing
 * else becomes it.
 */
void gsb_program_init(const char *name, char **argv);

/* That name, for messages of what several programs share. */
const char *gsb_program_name(void);

#endif
