/*
 * genuine.h - NVIDIA's own driver library, found where distributions put it and never by its plain name first:
 * libcuda.so.1 may be ours.
 */
#ifndef GSB_BASE_GENUINE_H
#define GSB_BASE_GENUINE_H

#include <stddef.h>

/**
 * gsb_genuine_open() - open libcuda.so.1 of NVIDIA
 * @own_init: cuInit of the caller, if it is a library that answers for the driver; else NULL
 * @tried, @size: gets what was looked at, for a message; size may be 0
 *
 * GSB_REAL_LIBCUDA in the environment, a path, is then the only one.
 *
 * Return: a handle of dlopen(), for good; NULL: none of them is there, or all of them are gsbroker's.
 */
void *gsb_genuine_open(const void *own_init, char *tried, size_t size);

#endif
