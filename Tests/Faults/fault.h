/*
 * fault.h - what the programs of this directory share: cases that each run in a process of their own, and expectations.
 *
 * A program defines its cases. Its main, in fault.c, runs each in a new process (a fresh image, not a fork of one that
 * has used Chime), under a timeout, and prints a line for it; in that process the case says what it saw by fault_seen.
 * Nothing here calls Chime, so that a case decides what is loaded.
 */
#ifndef FAULTS_FAULT_H
#define FAULTS_FAULT_H

#define _DARWIN_C_SOURCE
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlmopen, gettid, RTLD_NEXT, unshare: what faults are made of is not in POSIX */
#endif

#include <stddef.h>
#include <sys/types.h>

#include "basics.h"

/* How the process of a case ends: its exit status, or as a shell says it: */
enum { FAULT_SKIPPED = 77, FAULT_HANGS = 124, FAULT_BY_SIGNAL = 128 /* and the signal's number */ };

typedef struct fault_case {
  const char *name;
  void (*run)(int argument);
  int first;  /* the case is run once for each argument from first */
  int last;   /* to last; what it saw is joined into one line. Less: only other cases run it */
  int status; /* that its process must end with; 0 also wants every expectation to hold */
  struct fault_case *next;
} fault_case;

/** Adds a case to the program's, which are in this order. Before main begins. */
void fault_add(fault_case *one);

/* CASES(a_name, argument, first, last) { ... } defines a case that is run once for each argument. */
#define CASES(name, argument, first, last) CASES_THAT_END(name, argument, first, last, 0)
#define CASE(name) CASES(name, only, 0, 0)
#define CASES_THAT_END(name, argument, first, last, status) \
  static void name(int argument); \
  __attribute__((constructor)) static void add_##name(void) { \
    static fault_case one; \
    one = (fault_case){#name, name, first, last, status, NULL}; \
    fault_add(&one); \
  } \
  static void name(__attribute__((unused)) int argument)

/** Says what was seen, where that is a figure: a part of the case's line. */
void fault_seen(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Leaves the case: it says nothing on this machine, and why. Not a failure. */
void fault_skip(const char *why);

typedef struct fault_end {
  int status;
  char output[4096]; /* what it wrote to its standard output */
} fault_end;

/** Runs one case of this program in a process of its own, or ends it after timeout_ms. */
fault_end fault_run_case(const char *name, int argument, int timeout_ms);

/** What main returns where nothing failed, for a case that must end with another status than 0. */
void fault_return(int status);

/** Runs `child` in a process forked from this one, which is ended after PATIENCE, and expects it to end well. */
void fault_in_a_child(void (*child)(void));
/** The same, of a process that `way` makes as fork does. */
void fault_in_a_child_by(pid_t (*way)(void), void (*child)(void));

/* ---- Expectations: they print file and line and go on; the case has failed then ------------------------------- */

int fault_expect(int holds, const char *file, int line, const char *text);
int fault_expect_between(int64_t actual, int64_t low, int64_t high, const char *file, int line, const char *text);
int fault_failures(void);

#define EXPECT(condition) fault_expect((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define EXPECT_EQ(actual, expected) EXPECT_BETWEEN(actual, expected, expected)
#define EXPECT_BETWEEN(actual, low, high) \
  fault_expect_between((int64_t)(actual), (int64_t)(low), (int64_t)(high), __FILE__, __LINE__, #actual)
#define EXPECT_OK(actual) EXPECT_EQ(actual, 0)
/* The same, and end the case's process: what follows would make no sense. */
#define REQUIRE(condition) (EXPECT(condition) ? (void)0 : fault_leave())
#define REQUIRE_OK(actual) (EXPECT_OK(actual) ? (void)0 : fault_leave())
/** Ends the case's process here, as its main would, but for functions of atexit. */
void fault_leave(void);

/** Starts a thread that must be joined. */
pthread_t spawn(void *(*body)(void *), void *argument);
/** Joins it, and returns its result; the case ends where it does not end. */
void *join(pthread_t thread);
/** Has a thread run the body, to its end. */
void run_on_a_thread(void *(*body)(void *), void *argument);

/** The function that this program's of the same name stands before. */
void *fault_next(const char *name);

/* ---- What is the system's own: fault_linux.c, fault_darwin.c --------------------------------------------------- */

/** The path of this program. */
const char *fault_self(void);
/** The files of the shared library, and of a copy of it, beside this program. */
extern const char fault_library[], fault_copy[];
/** How many timers of the kernel's this process holds as descriptors; -1: the system has none of that kind. */
int fault_timer_descriptors(void);

#endif
