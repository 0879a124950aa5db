/*
 * main.c - runs the storms.
 *
 *     storms              all
 *     storms NAME...      those
 *     storms --list       their names
 *
 * STORM_SECONDS is how long each goes on (60), STORM_SEED the seed of all (the time, else). Prints `ok`, `FAILED` or
 * `skipped` with the seed and what was seen for each, and last `N passed, N failed`.
 */
#include "storms.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csuite.h"

static const csuite_test *running;
static uint64_t seed;
static int64_t end_ns;

/* ---- What a storm uses ------------------------------------------------------------------------------------------ */

int storm_goes_on(csuite *t) { return monotonic_ns() < end_ns && !csuite_failed(t); }

dice storm_dice(void) {
  dice d = {seed * UINT64_C(0x9E3779B97F4A7C15) | 1};
  roll(&d); /* neighbouring seeds begin alike */
  return d;
}

static char seen[1024]; /* by the storm's own thread */

void storm_saw(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(seen, sizeof seen, format, arguments);
  va_end(arguments);
}

static void print_verdict(const char *verdict, const char *message) {
  printf("%s %s (seed %" PRIu64 ")%s%s%s%s\n", verdict, running->name, seed, seen[0] != 0 ? ": " : "", seen,
         message[0] != 0 ? ": " : "", message);
  fflush(stdout);
}

/* ---- The watchdog ----------------------------------------------------------------------------------------------- */

static int64_t waits_since; /* 0: nothing is waited for; by __atomic builtins, as is all of this */
static const char *awaited;
static int64_t waits;

void storm_waits_for(const char *what) {
  __atomic_store_n(&awaited, what, __ATOMIC_RELAXED);
  __atomic_add_fetch(&waits, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&waits_since, monotonic_ns(), __ATOMIC_RELEASE);
}

void storm_rests(void) { __atomic_store_n(&waits_since, 0, __ATOMIC_RELEASE); }

static void *watch(void *argument) {
  (void)argument;
  for (;;) {
    char message[256];
    int64_t since;
    sleep_ns(100 * CHIME_MILLISECOND);
    since = __atomic_load_n(&waits_since, __ATOMIC_ACQUIRE);
    if (since == 0 || monotonic_ns() - since < PATIENCE) continue;
    snprintf(message, sizeof message, "%s does not end (wait number %" PRId64 ")", awaited, waits);
    print_verdict("FAILED", message);
    _exit(CSUITE_FAILED);
  }
  return NULL;
}

/* ---- One storm, in a process of its own -------------------------------------------------------------------------- */

static int over;
static int result;
static chime_function request; /* with its context, by __atomic builtins; NULL: none */
static void *request_context;

void storm_on_the_main_thread(chime_function function, void *context) {
  request_context = context;
  __atomic_store_n(&request, function, __ATOMIC_RELEASE);
  chime_main_stop();
}

static void *run_storm(void *argument) {
  char message[2048];
  (void)argument;
  result = csuite_run_test(running, message, sizeof message);
  print_verdict(result == CSUITE_PASSED ? "ok" : result == CSUITE_SKIPPED ? "skipped" : "FAILED", message);
  store(&over, 1);
  chime_main_stop();
  return NULL;
}

static int run_here(const char *name, int64_t seconds) {
  pthread_t watchdog, storm;
  running = csuite_first_test();
  while (running != NULL && strcmp(running->name, name) != 0) running = running->next;
  if (running == NULL) {
    printf("FAILED %s: there is no such storm\n", name);
    return CSUITE_FAILED;
  }
  end_ns = monotonic_ns() + seconds * CHIME_SECOND;
  if (pthread_create(&watchdog, NULL, watch, NULL) != 0 || pthread_create(&storm, NULL, run_storm, NULL) != 0) {
    print_verdict("FAILED", "no thread");
    return CSUITE_FAILED;
  }
  while (load(&over) == 0) {
    chime_status status = chime_main_run();
    chime_function function = __atomic_exchange_n(&request, NULL, __ATOMIC_ACQ_REL);
    if (function != NULL) function(request_context);
    if (status == CHIME_STOPPED) continue;
    print_verdict("FAILED", chime_status_name(status));
    return CSUITE_FAILED;
  }
  pthread_join(storm, NULL);
  return result;
}

/* ---- All storms ------------------------------------------------------------------------------------------------- */

static int64_t number_of(const char *variable, int64_t otherwise) {
  const char *text = getenv(variable);
  return text == NULL || text[0] == 0 ? otherwise : (int64_t)strtoull(text, NULL, 0);
}

/* What the process says that runs one storm. A storm that crashed has said nothing. */
static int run_in_a_process(const char *program, const char *name) {
  int status = -1;
  pid_t child;
  fflush(stdout);
  child = fork();
  if (child == 0) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    setenv("STORM_SEED", text, 1);
    execl("/proc/self/exe", program, "--one", name, (char *)NULL);
    _exit(127);
  }
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= CSUITE_SKIPPED) return WEXITSTATUS(status);
  printf("FAILED %s (seed %" PRIu64 "): ended with status %d\n", name, seed, status);
  return CSUITE_FAILED;
}

int main(int argc, char **argv) {
  int is_list = argc == 2 && strcmp(argv[1], "--list") == 0, counts[3] = {0}, i;
  const csuite_test *test;
  seed = (uint64_t)number_of("STORM_SEED", monotonic_ns() % 1000000007);
  if (argc == 3 && strcmp(argv[1], "--one") == 0) return run_here(argv[2], number_of("STORM_SECONDS", 60));
  for (test = csuite_first_test(); test != NULL && (argc == 1 || is_list); test = test->next) {
    if (is_list) puts(test->name);
    else counts[run_in_a_process(argv[0], test->name)]++;
  }
  if (is_list) return 0;
  for (i = 1; i < argc; i++) counts[run_in_a_process(argv[0], argv[i])]++;
  printf("%d passed, %d failed\n", counts[CSUITE_PASSED], counts[CSUITE_FAILED]);
  return counts[CSUITE_FAILED] == 0 ? 0 : 1;
}
