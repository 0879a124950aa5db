/*
 * loaded.h - for programs that load Chime themselves, by dlopen: the functions that places.c calls, of the library that was
 * chosen last.
 */
#ifndef FAULTS_LOADED_H
#define FAULTS_LOADED_H

#include "places.h"

/** The library that users get; the path of another one, which the build has made. */
const char *path_of_chime(void);
const char *path_of_own(const char *file);

/** Whose functions are called from now on: a handle of dlopen. */
void use_library(void *handle);

#endif
