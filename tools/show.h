/*
 * show.h - gsbctl's answers, printed.
 */
#ifndef GSB_TOOLS_SHOW_H
#define GSB_TOOLS_SHOW_H

#include "tools/ask.h"

void gsb_show_status(const struct gsb_answers *a);
void gsb_show_status_json(const struct gsb_answers *a);
void gsb_show_ps(const struct gsb_answers *a);
void gsb_show_ps_json(const struct gsb_answers *a);
void gsb_show_totals(const struct gsb_answers *a);
void gsb_show_totals_json(const struct gsb_answers *a);

#endif
