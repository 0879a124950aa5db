/*
 * trace.c - programs whose trace trace.py reads: what they print is what must be in the file.
 *     trace env | kill | beside PATH | forks DIRECTORY | openers DIRECTORY | reopen PATH | fill PATH | hang PATH | hang-at-exit PATH
 */
#define _GNU_SOURCE
#include "program.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* In place of libc's for the library, too: counts what was refused; and a disk that hangs. */
static int refusals, calls, hangs, stuck;
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
  if (load(&hangs)) add(&stuck, 1);
  while (load(&hangs)) sleep_ns(CHIME_MILLISECOND);
  ssize_t written = (ssize_t)syscall(SYS_pwrite64, file, bytes, length, offset);
  if (written < 0 && (errno == EFBIG || errno == ENOSPC)) add(&refusals, 1);
  add(&calls, 1);
  return written;
}

static const char *in(const char *directory, const char *name, int number) {
  static _Thread_local char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d.json", directory, name, number);
  return path;
}

static int open_files(void) {
  int count = 0;
  DIR *directory = opendir("/proc/self/fd");
  while (readdir(directory) != NULL) count++;
  closedir(directory);
  return count;
}

/* Two events each time. */
static void flood(chime_timer_t timer, int times) {
  for (int i = 0; i < times; i++) {
    CHECK(CHIME_OK, chime_timer_suspend(timer));
    CHECK(CHIME_OK, chime_timer_resume(timer));
  }
}

/* ---- What is in the file --------------------------------------------------------------------------------------------- */

static void await_finished(chime_timer_t timer) {
  chime_state state = CHIME_STATE_RUNNING;
  for (int i = 0; i < 3000 && state != CHIME_STATE_FINISHED; i++) {
    sleep_ns(10 * CHIME_MILLISECOND);
    CHECK(CHIME_OK, chime_timer_state(timer, &state));
  }
  if (CHIME_FAILED(chime_timer_cancel_and_wait(timer, 30 * CHIME_SECOND))) exit(2);
}

static void three_queues(const char *path) {
  (void)path;
  static int ticks[3];
  static const char *const labels[] = {"say \"hello\"\\\x7f\xc2\x9b\xe2\x80\xae",
                                       "\xe2\x8f\xb0 with a label of more than forty bytes \xe2\x8f\xb0", "c"};
  chime_queue_t serial = queue_of(CHIME_QUEUE_SERIAL, "first"), beside = queue_of(CHIME_QUEUE_CONCURRENT, "se\tcond");
  chime_queue_t virtual = queue_of(CHIME_QUEUE_VIRTUAL, NULL);
  chime_timer_t a = timer_of(serial, labels[0], &ticks[0], CHIME_MILLISECOND, CHIME_MILLISECOND, 5);
  chime_timer_t b = timer_of(beside, labels[1], &ticks[1], 2 * CHIME_MILLISECOND, 2 * CHIME_MILLISECOND, 7);
  chime_timer_t c = timer_of(virtual, labels[2], &ticks[2], 10, 10, 0);
  await_finished(a);
  await_finished(b);
  CHECK(CHIME_OK, chime_queue_jump(virtual, 45));
  CHECK(CHIME_OK, chime_queue_advance(virtual, 10));
  CHECK(CHIME_OK, chime_timer_suspend(c));
  printf("tick %" PRIu64 " %d\ntick %" PRIu64 " %d\ntick %" PRIu64 " %d\n", a, ticks[0], b, ticks[1], c, ticks[2]);
  CHECK(CHIME_OK, chime_timer_release(c));
  CHECK(CHIME_OK, chime_queue_shutdown(serial, CHIME_FOREVER));
}

static void killed(const char *path) {
  three_queues(path);
  fflush(stdout);
  sleep_ns(300 * CHIME_MILLISECOND);
  raise(SIGKILL);
}

/* ---- A parent that is busy, and children with a file of their own ----------------------------------------------- */

static int floods_end;

static void *flood_until_the_end(void *context) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "parent");
  chime_timer_t timer = timer_of(queue, context, NULL, 10, 10, 0);
  while (!load(&floods_end)) flood(timer, 1);
  return NULL;
}

static void forks(const char *directory) {
  enum { CHILDREN = 40 };
  pthread_t floods[2];
  char path[4096];
  CHECK(CHIME_OK, chime_trace_to_file(in(directory, "parent", 0)));
  for (int i = 0; i < 2; i++) pthread_create(&floods[i], NULL, flood_until_the_end, "parent's");
  snprintf(path, sizeof path, "%s/child-%%p.json", directory);
  for (int i = 0; i < CHILDREN; i++) {
    int status = 0, before = open_files();
    pid_t child;
    sleep_ns((i % 7) * CHIME_MILLISECOND);
    child = fork();
    if (child == 0) {
      alarm(30); /* a child that waits for ever for a lock of its parent's */
      CHECK(CHIME_ERROR_FORKED, chime_trace_to_file(path));
      CHECK(CHIME_OK, chime_reinitialize());
      CHECK(CHIME_IGNORED, chime_trace_to_file(NULL));
      CHECK(before - 1, open_files()); /* without the parent's */
      CHECK(CHIME_OK, chime_trace_to_file(path));
      chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "child");
      timer_of(queue, "child's", NULL, 10, 10, 0);
      CHECK(CHIME_OK, chime_queue_advance(queue, 30));
      if (i % 2) CHECK(CHIME_OK, chime_trace_to_file(NULL));
      exit(0);
    }
    CHECK(child, waitpid(child, &status, 0));
    CHECK(0, status);
  }
  store(&floods_end, 1);
  for (int i = 0; i < 2; i++) pthread_join(floods[i], NULL);
}

/* ---- Another process with the same CHIME_TRACE -------------------------------------------------------------------- */

static void say_and_wait(const char *text) {
  char line[16];
  puts(text);
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) _exit(4);
}

static void beside(const char *path) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "queue");
  timer_of(queue, "timer", NULL, 10, 10, 0);
  CHECK(CHIME_OK, chime_queue_advance(queue, 20));
  say_and_wait("begun");
  CHECK(CHIME_OK, chime_queue_advance(queue, 10));
  /* The process's own file may be named again, while it is written and when it has ended; so it may by others then. */
  CHECK(CHIME_OK, chime_trace_to_file(path));
  CHECK(CHIME_OK, chime_trace_to_file(NULL));
  CHECK(CHIME_OK, chime_trace_to_file(path));
  CHECK(CHIME_OK, chime_queue_advance(queue, 30));
  say_and_wait("again");
  CHECK(CHIME_OK, chime_trace_to_file(NULL));
  say_and_wait("ended");
}

/* ---- Two threads make the first call at once -------------------------------------------------------------------- */

static pthread_barrier_t barrier;

static void *open_one(void *path) {
  pthread_barrier_wait(&barrier);
  CHECK(CHIME_OK, chime_trace_to_file(path));
  return NULL;
}

/* In processes of their own, none of which has called Chime before. */
static void openers(const char *directory) {
  for (int i = 0; i < 200; i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      pthread_t threads[2];
      int files = open_files();
      pthread_barrier_init(&barrier, NULL, 2);
      for (int j = 0; j < 2; j++) pthread_create(&threads[j], NULL, open_one, strdup(in(directory, "one", 2 * i + j)));
      for (int j = 0; j < 2; j++) pthread_join(threads[j], NULL);
      CHECK(files + 1, open_files());
      CHECK(CHIME_OK, chime_trace_to_file(NULL));
      CHECK(CHIME_IGNORED, chime_trace_to_file(NULL));
      CHECK(files, open_files());
      CHECK(0, (int64_t)chime_memory_used() > 100000); /* nor the ring */
      _exit(0);
    }
    CHECK(child, waitpid(child, &status, 0));
    CHECK(0, status);
  }
}

/* ---- The same path again ---------------------------------------------------------------------------------------- */

static void reopen(const char *path) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "queue");
  chime_timer_t timer = timer_of(queue, "timer", NULL, 10, 10, 0);
  struct stat before, after;
  uint64_t used;
  CHECK(CHIME_IGNORED, chime_trace_to_file(NULL));
  CHECK(CHIME_OK, chime_queue_advance(queue, 10)); /* not in the file */
  CHECK(CHIME_OK, chime_trace_to_file(path));
  flood(timer, 4000);
  CHECK(CHIME_OK, chime_trace_to_file(path));
  CHECK(CHIME_OK, chime_queue_advance(queue, 30));
  /* A call that is refused leaves the file that is being written as it is, and nothing behind. */
  used = chime_memory_used();
  CHECK(CHIME_ERROR_RESOURCE, chime_trace_to_file("/no/such/directory/trace.json"));
  CHECK((int64_t)used, (int64_t)chime_memory_used());
  CHECK(CHIME_OK, chime_queue_advance(queue, 20));
  CHECK(CHIME_OK, chime_trace_to_file(NULL));
  stat(path, &before);
  CHECK(CHIME_OK, chime_queue_advance(queue, 20));
  stat(path, &after);
  CHECK(before.st_size, after.st_size);
}

/* ---- A disk that fills, and empties again ----------------------------------------------------------------------- */

static void limit_files(rlim_t bytes) {
  const struct rlimit limit = {bytes, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

static int ignores_signal;

/* Nothing may be written at first, then 8 KiB; then whatever there is. Where nobody ends the file the program's end does. */
static void fill(const char *path) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "queue");
  chime_timer_t timer = timer_of(queue, "timer", NULL, 10, 10, 0);
  limit_files(0);
  CHECK(CHIME_OK, chime_trace_to_file(path));
  flood(timer, 100);
  CHECK(1, await(&refusals, 4)); /* the beginning, and the events; each twice */
  limit_files(8192);
  for (int64_t size = 0, end = monotonic_ns() + PATIENCE; size == 0;) { /* it comes by itself */
    struct stat now;
    CHECK(1, monotonic_ns() < end);
    sleep_ns(CHIME_MILLISECOND);
    size = stat(path, &now) == 0 ? (int64_t)now.st_size : 0;
  }
  say_and_wait("begun");
  flood(timer, 10);
  sleep_ns(100 * CHIME_MILLISECOND); /* perhaps these are written by themselves */
  store(&refusals, 0);
  flood(timer, 200);
  CHECK(1, await(&refusals, 1));
  say_and_wait("full");
  limit_files(RLIM_INFINITY);
  CHECK(CHIME_OK, chime_queue_advance(queue, 30));
  if (ignores_signal) CHECK(CHIME_OK, chime_trace_to_file(NULL));
}

/* ---- A disk that hangs: threads that trace go on ---------------------------------------------------------------- */

static void *end_the_file(void *context) {
  (void)context;
  CHECK(CHIME_OK, chime_trace_to_file(NULL));
  return NULL;
}

static chime_timer_t hung;

static void hang_at_exit(const char *path) {
  chime_queue_t queue = queue_of(CHIME_QUEUE_VIRTUAL, "queue");
  hung = timer_of(queue, "timer", NULL, 10, 10, 0);
  CHECK(CHIME_OK, chime_trace_to_file(path));
  CHECK(1, await(&calls, 1));
  store(&hangs, 1);
  flood(hung, 1);
  CHECK(1, await(&stuck, 1));
  alarm(30); /* a thread that waits for the disk */
  flood(hung, 10000);
}

static void hang(const char *path) {
  pthread_t ender;
  hang_at_exit(path);
  pthread_create(&ender, NULL, end_the_file, NULL);
  flood(hung, 10000);
  store(&hangs, 0);
  pthread_join(ender, NULL);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(const char *path);
  } ways[] = {{"env", three_queues}, {"kill", killed},   {"forks", forks},
              {"openers", openers},  {"reopen", reopen}, {"fill", fill},
              {"beside", beside},    {"hang", hang},     {"hang-at-exit", hang_at_exit}};
  ignores_signal = argc > 3;
  if (ignores_signal) signal(SIGXFSZ, SIG_IGN);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (argc < 2 || strcmp(argv[1], ways[i].name) != 0) continue;
    ways[i].run(argc > 2 ? argv[2] : "");
    return 0;
  }
  return 1;
}
