/*
 * misuse.h - what each program in this directory ends with: the answers of the calls, then what Chime says of the timer.
 * Each makes one mistake, as a person would; check.py compares what it prints, its trace, and what gdb finds with the table
 * in Sources/Chime/Chime.docc/Troubleshooting.md.
 */
#ifndef MISUSE_H
#define MISUSE_H

#include <chime.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Prints the name of the function that is called, and its answer. */
#define told(call) tell(#call, call)
static inline void tell(const char *call, chime_status status) {
  const char *detail = CHIME_FAILED(status) ? chime_last_error_detail() : "";
  printf("answer: %.*s %s%s%s\n", (int)strcspn(call, "("), call, chime_status_name(status), *detail == 0 ? "" : ": ",
         detail);
}

static inline void sleep_ms(int milliseconds) {
  struct timespec time = {0, milliseconds * 1000000L};
  nanosleep(&time, NULL);
}

/* Waits until a flag is set that another thread sets. */
static inline void await(const int *flag) {
  for (int i = 0; i < 30000 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE); i++) sleep_ms(1);
}

/* Waits until a timer is due. */
static inline void await_deadline(chime_timer_t timer) {
  int64_t deadline = CHIME_FOREVER, now = 0;
  chime_timer_next_deadline(timer, &deadline);
  while (chime_now(CHIME_CLOCK_MONOTONIC, &now) == CHIME_OK && now <= deadline) sleep_ms(1);
}

/* Prints what the functions say, completes the trace, and stops for a debugger. */
static inline void look(chime_queue_t queue, chime_timer_t timer) {
  static char text[4096];
  chime_status status = chime_timer_explain(timer, text, sizeof text, NULL);
  printf("explain: %s\n", status == CHIME_OK ? text : chime_status_name(status));
  if (chime_queue_dump(queue, text, sizeof text, NULL) == CHIME_OK) {
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) printf("dump: %s\n", line);
  }
  fflush(stdout);
  chime_trace_to_file(NULL);
  if (getenv("MISUSE_DEBUGGER") != NULL) raise(SIGTRAP);
  _Exit(0);
}

#endif
