/*
 * prometheus.h - a strict reader of Prometheus' text format 0.0.4, for tests: what a server may not write, even where
 * others read it.
 */
#ifndef GSB_TESTS_PROMETHEUS_H
#define GSB_TESTS_PROMETHEUS_H

#include <stddef.h>

/*
 * prometheus_check() - the whole text
 *
 * Each name has one HELP, then one TYPE, then its samples, all in one place; a counter's name ends in _total, and no
 * other's does; names and labels are of the characters that they may have, labels are sorted by nobody but unique, their
 * values well escaped; a value is a number without a sign; no series comes twice; the last line ends.
 *
 * Return: NULL, or what is wrong and where, in a static buffer.
 */
const char *prometheus_check(const char *text);

#endif
