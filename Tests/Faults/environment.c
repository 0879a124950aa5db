/*
 * environment.c - which variables of the environment the library reads, and which files it makes. environment.py runs it with
 * variables, and with more rights than its user has.
 */
#include "places.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* In place of libc's, for the library too. */
enum { MOST = 16 };
static const char *asked[MOST];
static int askings, by_getenv, files_made;

static void note(const char *name) {
  int i = add(&askings, 1) - 1;
  if (i < MOST) asked[i] = strdup(name);
}

char *secure_getenv(const char *name) {
  char *(*next)(const char *);
  *(void **)&next = fault_next("secure_getenv");
  note(name);
  return next(name);
}

char *getenv(const char *name) {
  char *(*next)(const char *);
  *(void **)&next = fault_next("getenv");
  note(name);
  add(&by_getenv, 1);
  return next(name);
}

int open(const char *path, int flags, ...) {
  int (*next)(const char *, int, ...);
  va_list arguments;
  mode_t mode;
  *(void **)&next = fault_next("open");
  va_start(arguments, flags);
  mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & O_CREAT) != 0) add(&files_made, 1);
  return next(path, flags, mode);
}

/* Prints the variables that were asked for. */
CASE(every_kind_of_queue_ticks) {
  for (int where = 0; where < PLACES; where++) {
    if (place_is_there(where)) place_expect_works(where);
  }
  EXPECT_EQ(chime_timer_cancel(1), CHIME_ERROR_INVALID_HANDLE);
  EXPECT(chime_last_error_detail()[0] != 0);
  EXPECT_EQ(load(&by_getenv), 0);
  if (getauxval(AT_SECURE) != 0) EXPECT_EQ(load(&files_made), 0);
  fault_seen("rights %s, asked for", getauxval(AT_SECURE) != 0 ? "of another user" : "of its user");
  for (int i = 0; i < load(&askings) && i < MOST; i++) fault_seen(" %s", asked[i]);
}
