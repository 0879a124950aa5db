/* fault.c - see fault.h. */
#include "fault.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CASE_TIMEOUT_MS = 150000, NOT_RUN = 127 };

static fault_case *cases;
static int failures, status_of_main;

void fault_add(fault_case *one) {
  fault_case **place = &cases;
  while (*place != NULL) place = &(*place)->next;
  *place = one;
}

/* ---- Expectations ----------------------------------------------------------------------------------------------- */

int fault_expect(int holds, const char *file, int line, const char *text) {
  if (holds) return 1;
  add(&failures, 1);
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, text);
  return 0;
}

int fault_expect_between(int64_t actual, int64_t low, int64_t high, const char *file, int line, const char *text) {
  if (actual >= low && actual <= high) return 1;
  add(&failures, 1);
  fprintf(stderr, "%s:%d: %s is %lld, expected %lld", file, line, text, (long long)actual, (long long)low);
  if (high != low) fprintf(stderr, " to %lld", (long long)high);
  fprintf(stderr, "\n");
  return 0;
}

int fault_failures(void) { return load(&failures); }
void fault_return(int status) { status_of_main = status; }
static int status_of_case(void) { return fault_failures() == 0 ? status_of_main : 1; }
void fault_leave(void) { _exit(status_of_case()); }

void fault_seen(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

void fault_skip(const char *why) {
  fault_seen("%s", why);
  _exit(FAULT_SKIPPED);
}

/* ---- Processes -------------------------------------------------------------------------------------------------- */

/* The argument that stands before "NAME:NUMBER" when a program runs a case of its own in a new process. */
static const char one_case[] = "--case";

/* Waits for the end of a process, or ends it after timeout_ms; its status. */
static int end_of(pid_t child, int timeout_ms) {
  int64_t end_ns = monotonic_ns() + timeout_ms * CHIME_MILLISECOND;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (monotonic_ns() > end_ns) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return FAULT_HANGS;
    }
    sleep_ns(CHIME_MILLISECOND);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : FAULT_BY_SIGNAL + WTERMSIG(status);
}

fault_end fault_run_case(const char *name, int argument, int timeout_ms) {
  fault_end end = {NOT_RUN, ""};
  char text[128];
  int ends[2];
  pid_t child;
  snprintf(text, sizeof text, "%s:%d", name, argument);
  if (pipe(ends) != 0) return end;
  for (int i = 0; i < 2; i++) {
    fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[i], F_SETFL, O_NONBLOCK);
  }
  fflush(NULL);
  child = fork();
  if (child == 0) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(ends[1], STDOUT_FILENO);
    execl(fault_self(), fault_self(), one_case, text, (char *)NULL);
    _exit(NOT_RUN);
  }
  close(ends[1]);
  if (child > 0) {
    end.status = end_of(child, timeout_ms);
    if (read(ends[0], end.output, sizeof end.output - 1) < 0) end.output[0] = 0; /* a pipe holds it all */
  }
  close(ends[0]);
  return end;
}

void fault_in_a_child(void (*child)(void)) { fault_in_a_child_by(fork, child); }

void fault_in_a_child_by(pid_t (*way)(void), void (*child)(void)) {
  pid_t pid = way();
  if (pid == 0) {
    child();
    fault_leave();
  }
  REQUIRE(pid > 0);
  EXPECT_EQ(end_of(pid, PATIENCE / CHIME_MILLISECOND), 0);
}

static int run_case(const char *text) {
  const fault_case *one;
  size_t length = strcspn(text, ":");
  for (one = cases; one != NULL; one = one->next) {
    if (strlen(one->name) != length || strncmp(one->name, text, length) != 0) continue;
    one->run(atoi(text + length + 1));
    return status_of_case();
  }
  fprintf(stderr, "there is no case %s\n", text);
  return 2;
}

static int is_wanted(int argc, char **argv, const char *name) {
  int i;
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return argc < 2;
}

static void complain(const char *program, const fault_case *one, int argument, int status) {
  const char *what = status == FAULT_HANGS      ? "hangs"
                     : status > FAULT_BY_SIGNAL ? strsignal(status - FAULT_BY_SIGNAL)
                                                : "";
  fprintf(stderr, "%s %s %d: ended with %d %s, expected %d\n", program, one->name, argument, status, what, one->status);
}

int main(int argc, char **argv) {
  const char *program = strrchr(argv[0], '/') == NULL ? argv[0] : strrchr(argv[0], '/') + 1;
  const fault_case *one;
  int failed = 0, count = 0;
  if (argc == 3 && strcmp(argv[1], one_case) == 0) return run_case(argv[2]);
  for (one = cases; one != NULL; one = one->next) {
    char line[8192] = "";
    int argument, ran = 0, wrong = 0;
    if (one->last < one->first || !is_wanted(argc, argv, one->name)) continue;
    count++;
    for (argument = one->first; argument <= one->last; argument++) {
      fault_end end = fault_run_case(one->name, argument, CASE_TIMEOUT_MS);
      if (end.status == FAULT_SKIPPED) {
        if (line[0] == 0 && ran == 0) snprintf(line, sizeof line, "%s", end.output);
        continue;
      }
      if (ran++ == 0) line[0] = 0;
      if (line[0] != 0 && end.output[0] != 0) strncat(line, "; ", sizeof line - strlen(line) - 1);
      strncat(line, end.output, sizeof line - strlen(line) - 1);
      if (end.status == one->status) continue;
      wrong = 1;
      complain(program, one, argument, end.status);
    }
    if (line[0] == 0) snprintf(line, sizeof line, ran == 1 ? "once" : "%d times", ran);
    printf("%s %s %s: %s\n", wrong ? "FAILED" : ran > 0 ? "ok" : "skipped", program, one->name, line);
    fflush(stdout);
    failed |= wrong;
  }
  if (count == 0) fprintf(stderr, "%s: no such case\n", program);
  return count == 0 ? 2 : failed;
}

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

pthread_t spawn(void *(*body)(void *), void *argument) {
  pthread_t thread;
  REQUIRE_OK(pthread_create(&thread, NULL, body, argument));
  return thread;
}

void *join(pthread_t thread) {
  void *result = NULL;
#ifdef __GLIBC__
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += 2 * PATIENCE / CHIME_SECOND; /* longer than what it may wait for */
  REQUIRE_OK(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &end));
#else /* the timeout of the case is enough */
  REQUIRE_OK(pthread_join(thread, &result));
#endif
  return result;
}

void run_on_a_thread(void *(*body)(void *), void *argument) { pthread_join(spawn(body, argument), NULL); }

void *fault_next(const char *name) { return dlsym(RTLD_NEXT, name); }
