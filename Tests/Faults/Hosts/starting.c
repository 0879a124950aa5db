/*
 * starting.c - a handler starts a program: it inherits the signal mask of Chime's thread, which blocks all but the signals of
 * faults, unless the handler starts it with a mask of its own.
 */
#include "guest.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int started, is_with_mask;
static pid_t pid;
static char blocked[64];

/* What header and Troubleshooting advise. */
static void start(char *const *arguments, const posix_spawn_file_actions_t *actions) {
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  EXPECT_OK(posix_spawnattr_init(&attributes));
  if (is_with_mask) {
    EXPECT_OK(posix_spawnattr_setsigmask(&attributes, &none));
    EXPECT_OK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK));
  }
  REQUIRE_OK(posix_spawn(&pid, arguments[0], actions, &attributes, arguments, environ));
  posix_spawnattr_destroy(&attributes);
}

static void start_sleep(const chime_tick *tick, void *context) {
  char *const arguments[] = {"/bin/sleep", "1000", NULL};
  start(arguments, NULL);
  count_tick(tick, context);
}

/* Without a shell, which would unblock what it waits for. */
static void start_grep(const chime_tick *tick, void *context) {
  char *const arguments[] = {"/bin/grep", "SigBlk", "/proc/self/status", NULL};
  posix_spawn_file_actions_t actions;
  int ends[2];
  REQUIRE_OK(pipe(ends));
  EXPECT_OK(posix_spawn_file_actions_init(&actions));
  EXPECT_OK(posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO));
  start(arguments, &actions);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  EXPECT(read(ends[0], blocked, sizeof blocked - 1) > 0);
  close(ends[0]);
  count_tick(tick, context);
}

/* It gets a mask of its own and ends by SIGTERM. */
CASES(a_program_with_a_mask_of_its_own, where, SERIAL, RUN_LOOP) {
  chime_queue_t queue = place_queue(where, NULL);
  int status = 0;
  is_with_mask = 1;
  EXPECT_OK(chime_timer_after(queue, 0, start_sleep, &started, NULL, NULL));
  REQUIRE(await(&started, 1));
  guest_ends_within(60);
  EXPECT_OK(kill(pid, SIGTERM));
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  place_end(where, queue);
}

/* It has the thread's: it dies of its faults, as elsewhere, and the rest is blocked, as the header says. */
CASES(a_program_without_one, where, SERIAL, RUN_LOOP) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  unsigned long long mask;
  chime_queue_t queue;
  size_t i;
  if (!guest_is_own(where)) fault_skip("its threads are libdispatch's");
  queue = place_queue(where, NULL);
  EXPECT_OK(chime_timer_after(queue, 0, start_grep, &started, NULL, NULL));
  REQUIRE(await(&started, 1));
  REQUIRE(strchr(blocked, ':') != NULL);
  mask = strtoull(strchr(blocked, ':') + 1, NULL, 16);
  EXPECT((mask >> (SIGTERM - 1) & 1) == 1);
  for (i = 0; i < sizeof faults / sizeof faults[0]; i++) EXPECT((mask >> (faults[i] - 1) & 1) == 0);
  place_end(where, queue);
}

/* Both are said where their reader looks. */
CASE(it_is_said) {
  static const char *const files[] = {"../../../include/chime.h",
                                      "../../../Sources/Chime/Chime.docc/Troubleshooting.md"};
  size_t i;
  for (i = 0; i < sizeof files / sizeof files[0]; i++) {
    static char text[1 << 20];
    FILE *file = fopen(files[i], "r");
    REQUIRE(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    EXPECT(strstr(text, "posix_spawnattr_setsigmask") != NULL);
  }
}
