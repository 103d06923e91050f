/*
 * lttng_session.h - the LTTng session of gsbctl trace start: one for each broker, named after its socket, with the events
 * gsb:* of all engines whose provider is loaded. A build without liblttng-ctl has none.
 */
#ifndef GSB_TOOLS_LTTNG_SESSION_H
#define GSB_TOOLS_LTTNG_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_LTTNG_WHY_MAX  512
#define GSB_LTTNG_NAME_MAX 255 /* LTTng's own bound */

/*
 * gsb_lttng_start() - make the session and begin it
 * @socket: the broker's
 * @dir:    absolute; where it writes, or its snapshots
 * @flight: it writes nothing before gsb_lttng_snapshot(), and keeps only the newest events
 * @why:    GSB_LTTNG_WHY_MAX bytes: a sentence, when it fails
 *
 * Return: 0, -ENOTSUP (this build), -ENOENT (no session daemon), -EIO.
 */
int gsb_lttng_start(const char *socket, const char *dir, bool flight, char *why);
int gsb_lttng_snapshot(const char *socket, char *why);

bool gsb_lttng_is_on(const char *socket);
/* End it. @n_lost: events that its buffers had no room for. */
int gsb_lttng_stop(const char *socket, uint64_t *n_lost, char *why);

#endif
