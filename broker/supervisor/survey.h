/*
 * survey.h - answers to gsbctl.
 */
#ifndef GSB_BROKER_SUPERVISOR_SURVEY_H
#define GSB_BROKER_SUPERVISOR_SURVEY_H

#include "broker/supervisor/engines.h"
#include "shm/channel.h"

struct gsb_asker;

struct gsb_survey {
	struct gsb_supervisor *s;
	struct gsb_engines *engines;
	struct gsb_asker *askers; /* in order of arrival */
	unsigned n_askers;

	/* Set by gsbrokerd.c, who alone can do these. */
	/* 0, or -errno with the reports in text. */
	int (*reload)(struct gsb_survey *v, char *text, size_t size);
	void (*stop)(struct gsb_survey *v, enum gsb_shutdown_how how);
};

void gsb_survey_init(struct gsb_survey *v, struct gsb_supervisor *s, struct gsb_engines *engines);
/* Drop all who ask. */
void gsb_survey_finish(struct gsb_survey *v);

/* Answer q, which came on fd (consumed) from peer, with a file (consumed) or -1. */
void gsb_survey_query(struct gsb_survey *v, int fd, const struct gsb_peer *peer,
		      const struct gsb_query *q, int file);

/* Drop one of those who have not read their answer yet, for room. False: there is none. */
bool gsb_survey_shed(struct gsb_survey *v);

#endif
