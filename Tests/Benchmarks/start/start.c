/*
 * Load and first tick: from the moment before a program is started to its first tick, which the program itself writes to
 * its standard output as nanoseconds of CLOCK_MONOTONIC (first_tick.c).
 *
 *     start PROGRAM [operations=N]     starts it N times; prints one line: {"ms": [...]}
 */
#define _GNU_SOURCE
#include "../harness.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static double once_ms(char *program) {
  char *arguments[] = {program, NULL};
  posix_spawn_file_actions_t actions;
  int64_t begun_ns, ticked_ns;
  int output[2], status;
  pid_t child;
  REQUIRE(pipe2(output, O_CLOEXEC) == 0);
  REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
  REQUIRE(posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO) == 0);
  begun_ns = bench_now_ns();
  REQUIRE(posix_spawn(&child, program, &actions, NULL, arguments, environ) == 0);
  close(output[1]); /* a program that does not start ends the read */
  REQUIRE(read(output[0], &ticked_ns, sizeof ticked_ns) == sizeof ticked_ns);
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(output[0]);
  return (double)(ticked_ns - begun_ns) / 1e6;
}

int main(int argc, char **argv) {
  size_t count = 10;
  REQUIRE(argc >= 2);
  if (argc > 2 && strncmp(argv[2], "operations=", 11) == 0) count = strtoul(argv[2] + 11, NULL, 10);
  once_ms(argv[1]); /* its pages are in memory */
  printf("{\"ms\": [");
  for (size_t i = 0; i < count; i++) printf("%s%.4f", i ? ", " : "", once_ms(argv[1]));
  printf("]}\n");
  return EXIT_SUCCESS;
}
