/* fault.c - see fault.h. */
#include "fault.h"

#include <dlfcn.h>
#include <errno.h>
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

enum { CASE_TIMEOUT_MS = 150000, SKIPPED = 77 };

static fault_case *cases;
static int failures, number, status_of_main;

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
void fault_give_up(void) { _exit(1); }
void fault_return(int status) { status_of_main = status; }

void fault_seen(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  fflush(stdout);
}

void fault_skip(const char *why) {
  fault_seen("%s", why);
  _exit(SKIPPED);
}

/* ---- Processes -------------------------------------------------------------------------------------------------- */

/* The argument that stands before "NAME:NUMBER" when a program runs a case of its own in a new process. */
static const char one_case[] = "--case";

/* Waits for its end, or ends it; 0 then. */
static int end_of(pid_t child, int64_t end_ns, int *status) {
  while (waitpid(child, status, WNOHANG) == 0) {
    if (monotonic_ns() > end_ns) {
      kill(child, SIGKILL);
      waitpid(child, status, 0);
      return 0;
    }
    sleep_ms(1);
  }
  return 1;
}

fault_end fault_run_case(const char *name, int argument, int timeout_ms) {
  static const char self[] = "/proc/self/exe";
  fault_end end = {-1, 0, 0, ""};
  char text[128];
  int ends[2], status = 0;
  pid_t child;
  snprintf(text, sizeof text, "%s:%d", name, argument);
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return end;
  fflush(NULL);
  child = fork();
  if (child == 0) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(ends[1], STDOUT_FILENO);
    execl(self, self, one_case, text, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  if (child > 0) {
    end.hung = !end_of(child, monotonic_ns() + (int64_t)timeout_ms * 1000000, &status);
    if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status) && !end.hung) end.signal = WTERMSIG(status);
    if (read(ends[0], end.output, sizeof end.output - 1) < 0) end.output[0] = 0; /* a pipe holds it all */
  }
  close(ends[0]);
  return end;
}

int fault_number(void) { return number; }

void fault_in_a_child(void (*child)(void)) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(fault_failures() == 0 ? 0 : 1);
  }
  REQUIRE(pid > 0);
  EXPECT(end_of(pid, monotonic_ns() + PATIENCE, &status));
  EXPECT_EQ(status, 0);
}

static int run_case(const char *text) {
  const fault_case *one;
  size_t length = strcspn(text, ":");
  for (one = cases; one != NULL; one = one->next, number++) {
    if (strlen(one->name) != length || strncmp(one->name, text, length) != 0) continue;
    one->run(atoi(text + length + 1));
    return fault_failures() == 0 ? status_of_main : 1;
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

static void complain(const char *program, const fault_case *one, int argument, const fault_end *end) {
  fprintf(stderr, "%s %s %d: ", program, one->name, argument);
  if (end->hung) fprintf(stderr, "hangs");
  else if (end->signal != 0) fprintf(stderr, "ended by signal %d (%s)", end->signal, strsignal(end->signal));
  else fprintf(stderr, "ended with status %d", end->exit_status);
  if (one->signal != 0) fprintf(stderr, ", expected signal %d\n", one->signal);
  else fprintf(stderr, ", expected status %d\n", one->exit_status);
}

static int is_as_expected(const fault_case *one, const fault_end *end) {
  if (end->hung) return 0;
  return one->signal != 0 ? end->signal == one->signal : end->signal == 0 && end->exit_status == one->exit_status;
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
      if (end.exit_status == SKIPPED) {
        if (line[0] == 0 && ran == 0) snprintf(line, sizeof line, "%s", end.output);
        continue;
      }
      if (ran++ == 0) line[0] = 0;
      if (line[0] != 0 && end.output[0] != 0) strncat(line, "; ", sizeof line - strlen(line) - 1);
      strncat(line, end.output, sizeof line - strlen(line) - 1);
      if (is_as_expected(one, &end)) continue;
      wrong = 1;
      complain(program, one, argument, &end);
    }
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

void run_on_a_thread(void *(*body)(void *), void *argument) { pthread_join(spawn(body, argument), NULL); }

/* ---- Waiting and counting --------------------------------------------------------------------------------------- */

void *fault_next(const char *name) { return dlsym(RTLD_NEXT, name); }

int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sleep_ms(int milliseconds) {
  struct timespec left;
  left.tv_sec = milliseconds / 1000;
  left.tv_nsec = (long)(milliseconds % 1000) * 1000000;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

int load(const int *value) { return __atomic_load_n(value, __ATOMIC_SEQ_CST); }
void store(int *value, int new_value) { __atomic_store_n(value, new_value, __ATOMIC_SEQ_CST); }
int add(int *value, int amount) { return __atomic_add_fetch(value, amount, __ATOMIC_SEQ_CST); }

int await(const int *value, int least) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (load(value) < least) {
    if (monotonic_ns() > end) return 0;
    sleep_ms(1);
  }
  return 1;
}

static int64_t status_kib(const char *label) {
  char line[256];
  long long kib = -1;
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) return -1;
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, label, strlen(label)) == 0) kib = atoll(line + strlen(label));
  }
  fclose(file);
  return kib;
}

int64_t resident_kib(void) { return status_kib("VmRSS:"); }
int64_t mapped_kib(void) { return status_kib("VmSize:"); }
