/*
 * model_commands.h - the subcommands of gsb-model: what each asks of model/, and how it says it.
 */
#ifndef GSB_TOOLS_MODEL_COMMANDS_H
#define GSB_TOOLS_MODEL_COMMANDS_H

#include "tools/model_input.h"

/* Each returns the exit status: 0; 1: the models refuse (told on stderr). */
int model_command_arch(const struct model_input *in, char **names, int n_names);
int model_command_occupancy(const struct model_input *in);
int model_command_best_block(const struct model_input *in);
int model_command_pair(const struct model_input *in);
int model_command_plan(const struct model_input *in);
int model_command_batch(const struct model_input *in);
int model_command_fraction(const struct model_input *in);
int model_command_replay(const struct model_input *in, char **words, int n_words);
int model_command_match(const struct model_input *in, char **words, int n_words);

/* The policy that a replay runs under. 0; -1: told. */
int model_replay_policy(struct model_input *in, const char *name);

/* Draw occupancy and rounds against block size of the first kernel into in->plot. 0; -1: told. */
int model_plot(const struct model_input *in);

#endif
