/*
 * genuine.h - what stands behind a function of ours: NVIDIA's, in the library that the program has loaded.
 */
#ifndef GSB_TOOLKIT_GENUINE_H
#define GSB_TOOLKIT_GENUINE_H

/*
 * The function of that name, or NULL. library: how the name of its file begins, up to ".so".
 *
 * Nothing is loaded for it: whoever calls one of a library's functions has the library.
 */
void *gsb_toolkit_genuine(const char *library, const char *name);

#endif
