/*
 * forked.c - a library for LD_PRELOAD under which a program, which knows nothing of it, is a child of one in which each kind
 * of queue has ticked, and has begun anew.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chime.h"

static void need(int holds, const char *what) {
  if (holds) return;
  perror(what);
  _exit(3);
}

static void count_tick(const chime_tick *tick, void *context) {
  (void)tick;
  __atomic_add_fetch((int *)context, 1, __ATOMIC_SEQ_CST);
}

static void tick_on_each_kind(void) {
  const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE,
                                    CHIME_QUEUE_DISPATCH};
  size_t i;
  for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    chime_queue_t queue;
    int ticks = 0;
    chime_status status = chime_queue_create(kinds[i], NULL, &queue);
    if (status == CHIME_ERROR_UNSUPPORTED) continue; /* built without libdispatch */
    need(status == CHIME_OK, "chime_queue_create");
    need(chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL) == CHIME_OK, "chime_timer_every");
    while (__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < 3) usleep(1000);
    need(chime_queue_shutdown(queue, 30 * CHIME_SECOND) == CHIME_OK, "chime_queue_shutdown");
  }
}

/* The parent waits, and ends as the child does. */
__attribute__((constructor)) static void become_child(void) {
  pid_t child;
  int status;
  if (dlsym(RTLD_NEXT, "chime_version") == NULL) return; /* a program that starts the suite */
  tick_on_each_kind();
  child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    need(chime_reinitialize() == CHIME_OK, "chime_reinitialize");
    return;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}
