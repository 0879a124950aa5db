/*
 * A program that a handler starts: it inherits the signal mask of Chime's thread, which blocks SIGTERM, unless it is given
 * a mask of its own.
 *
 * Build:  make (or cc spawn.c -o build/spawn -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/spawn
 *
 * Output:
 *   with the mask of the thread: SIGTERM does not end it
 *   with a mask of its own: SIGTERM ends it
 */
#define _POSIX_C_SOURCE 200809L
#include <chime.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

#include "check.h"

extern char **environ;

/* Sends itself SIGTERM. 1: that has ended it; 0: it has ended by itself; -1: it did not begin. */
static int is_ended_by_sigterm(const posix_spawnattr_t *attributes) {
  char *arguments[] = {"sh", "-c", "kill -TERM $$; exit 0", NULL};
  pid_t program;
  int status;
  if (posix_spawn(&program, "/bin/sh", NULL, attributes, arguments, environ) != 0) return -1;
  if (waitpid(program, &status, 0) != program) return -1;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

static void say(const char *mask, int is_ended) {
  printf("with %s: SIGTERM %s\n", mask, is_ended == 1 ? "ends it" : is_ended == 0 ? "does not end it" : "was not sent");
}

static void start_programs(void *context) {
  posix_spawnattr_t attributes;
  sigset_t none;
  (void)context;
  say("the mask of the thread", is_ended_by_sigterm(NULL));
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  say("a mask of its own", is_ended_by_sigterm(&attributes));
  posix_spawnattr_destroy(&attributes);
}

static void do_nothing(void *context) { (void)context; }

int main(void) {
  chime_queue_t queue;
  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_queue_async(queue, start_programs, NULL, NULL));         /* on Chime's thread, as handlers are */
  CHECK(chime_queue_sync(queue, do_nothing, NULL, 10 * CHIME_SECOND)); /* behind it */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
