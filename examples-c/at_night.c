/*
 * At night, when something hangs: `kill -USR1 PID` has the program write down what it waits for. A thread of its own
 * waits for the signal, since most functions may not be called in a signal handler. chime_queue_list and chime_queue_dump
 * wait for nobody, so the answer comes even when every queue is held up. A call that was refused says why
 * (chime_last_error_detail). And a file has all that happened, for ui.perfetto.dev (chime_trace_to_file;
 * CHIME_TRACE=trace.json in the environment does it without a line of code).
 *
 * Here a handler holds up its queue, a timer behind it is late, and one was suspended and forgotten.
 *
 * Build:  make (or cc at_night.c -o build/at_night -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/at_night
 *
 * Output:
 *   refused: schedule.leeway_ns (300 ms) is not below interval_ns (100 ms)
 *   queue "jobs": 1 timers, 0 running, 0 passes, 0 merged, 0 ticks, 0 missed, 0 entries, 0 stale
 *   timer "backup": suspended, every 24 h, 0 ticks, 0 missed
 *   queue "metrics": 2 timers, 2 running, 1 passes, 1 merged, 1 ticks, 0 missed, 2 entries, 2 stale
 *   timer "collect": running, due in 40 ms, every 100 ms, 1 ticks, 0 missed, its handler runs
 *   timer "report": running, due 60 ms ago, every 100 ms, 0 ticks, 0 missed
 *   the trace begins with: {"traceEvents":[
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static sigset_t asked;
static sem_t answered;
static chime_queue_t jobs, metrics;

static void write_dump(chime_queue_t queue) {
  char text[4096], *line;
  if (CHIME_FAILED(chime_queue_dump(queue, text, sizeof text, NULL))) return; /* it has ended meanwhile */
  for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    printf("%.*s %s\n", (int)strcspn(line, " "), line, strchr(line, '"')); /* a program would not leave the id out */
  }
}

static void *answer(void *unused) {
  chime_queue_t queues[64];
  size_t count, i;
  int signal_number;
  while (sigwait(&asked, &signal_number) == 0 && signal_number == SIGUSR1) {
    CHECK(chime_queue_list(queues, 64, &count));
    for (i = 0; i < count && i < 64; i++) write_dump(queues[i]);
    CHECK_ZERO(sem_post(&answered));
  }
  return unused;
}

static chime_queue_t make_queue(const char *label) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_queue_t queue;
  options.label = label;
  CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
  return queue;
}

static chime_timer_t start(chime_queue_t queue, const char *label, int64_t interval_ns, chime_handler handler) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  chime_timer_t timer;
  options.label = label;
  options.handler = handler;
  schedule.first_ns = schedule.interval_ns = interval_ns;
  CHECK(chime_timer_start(queue, &options, &schedule, &timer));
  return timer;
}

/* Hangs for 60 ms; meanwhile somebody asks. */
static void collect(const chime_tick *tick, void *context) {
  (void)context;
  if (tick->sequence > 1) return;
  CHECK(chime_queue_jump(metrics, 60 * CHIME_MILLISECOND));
  CHECK_ZERO(kill(getpid(), SIGUSR1));
  while (sem_wait(&answered) != 0) continue;
}

static void work(const chime_tick *tick, void *context) { (void)tick, (void)context; }

static void expect_refusal(void) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  options.handler = work;
  schedule.interval_ns = 100 * CHIME_MILLISECOND;
  schedule.leeway_ns = 300 * CHIME_MILLISECOND;
  EXPECT(CHIME_ERROR_INVALID_ARGUMENT, chime_timer_start(metrics, &options, &schedule, NULL));
  printf("refused: %s\n", chime_last_error_detail());
}

static void print_and_remove_trace(const char *path) {
  char line[64] = "";
  FILE *trace = fopen(path, "r");
  if (trace == NULL || fgets(line, sizeof line, trace) == NULL) exit(EXIT_FAILURE);
  printf("the trace begins with: %s", line);
  fclose(trace);
  unlink(path);
}

int main(void) {
  char path[] = "/tmp/at_night.XXXXXX";
  pthread_t thread;
  int file = mkstemp(path);
  if (file < 0) return 1;
  close(file);
  sigemptyset(&asked);
  sigaddset(&asked, SIGUSR1);
  sigaddset(&asked, SIGTERM);
  CHECK_ZERO(pthread_sigmask(SIG_BLOCK, &asked, NULL)); /* before the first thread, so that all threads inherit it */
  CHECK_ZERO(sem_init(&answered, 0, 0));
  CHECK_ZERO(pthread_create(&thread, NULL, answer, NULL));

  CHECK(chime_trace_to_file(path));
  jobs = make_queue("jobs"), metrics = make_queue("metrics");
  expect_refusal();
  CHECK(chime_timer_suspend(start(jobs, "backup", 24 * CHIME_HOUR, work)));
  start(metrics, "collect", 100 * CHIME_MILLISECOND, collect);
  start(metrics, "report", 100 * CHIME_MILLISECOND, work);
  CHECK(chime_queue_advance(metrics, 100 * CHIME_MILLISECOND));
  CHECK(chime_trace_to_file(NULL)); /* all of it is in the file now */
  print_and_remove_trace(path);
  CHECK(chime_queue_shutdown(jobs, CHIME_FOREVER));
  CHECK(chime_queue_shutdown(metrics, CHIME_FOREVER));
  CHECK_ZERO(kill(getpid(), SIGTERM));
  CHECK_ZERO(pthread_join(thread, NULL));
  return 0;
}
