/*
 * scaling.c - millions of operations a second by 1, 2, 4 ... threads at once, on one queue and on one queue a thread.
 *
 *     scaling_PEER SECONDS THREADS...    SECONDS for each figure
 *
 * Prints a line for each: `PEER OPERATION one|own THREADS MILLIONS`. It measures; nothing here is a verdict.
 */
#include <pthread.h>
#include <string.h>

#include "basics.h"
#include "scaling.h"

enum { PENDING = 1000, BATCH = 500 };

typedef enum operation { CREATE, POSTPONE, EXPIRE, OPERATIONS } operation;
static const char *const names[OPERATIONS] = {"create", "postpone", "expire"};

typedef struct worker {
  pthread_t thread;
  operation what;
  int queue;
  uint64_t random;
  int64_t done;
} worker;

/* How many are ready; whether they have begun; whether they end. */
static int ready, begun, ends;

static void *work(void *context) {
  worker *w = context;
  void *timers = w->what == POSTPONE ? peer_fill(w->queue, PENDING) : NULL;
  add(&ready, 1);
  while (!load(&begun)) sleep_ns(100000);
  while (!load(&ends)) {
    switch (w->what) {
      case CREATE: peer_create(w->queue, BATCH); break;
      case POSTPONE: peer_postpone(timers, &w->random, BATCH); break;
      default: peer_expire(w->queue, BATCH); break;
    }
    w->done += BATCH;
  }
  if (timers != NULL) peer_drop(timers);
  return NULL;
}

/* Time passes until the last one is done, so that what is counted has been done in it. */
static double millions_a_second(operation what, int threads, int has_own, double seconds) {
  worker *workers = calloc((size_t)threads, sizeof *workers);
  int64_t done = 0, begun_ns;
  double passed_ns;
  MUST(workers != NULL);
  ready = begun = ends = 0;
  peer_open(has_own ? threads : 1);
  for (int i = 0; i < threads; i++) {
    workers[i] = (worker){.what = what, .queue = has_own ? i : 0, .random = (uint64_t)i + 1};
    MUST(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  while (load(&ready) < threads) sleep_ns(100000);
  begun_ns = monotonic_ns();
  store(&begun, 1);
  sleep_ns((int64_t)(seconds * 1e9));
  store(&ends, 1);
  for (int i = 0; i < threads; i++) {
    MUST(pthread_join(workers[i].thread, NULL) == 0);
    done += workers[i].done;
  }
  passed_ns = (double)(monotonic_ns() - begun_ns);
  peer_close();
  free(workers);
  return (double)done * 1e3 / passed_ns;
}

int main(int argc, char **argv) {
  double seconds = argc > 2 ? strtod(argv[1], NULL) : 0;
  if (seconds <= 0) {
    fprintf(stderr, "usage: %s SECONDS THREADS...\n", argv[0]);
    return 2;
  }
  for (int what = 0; what < OPERATIONS; what++) {
    for (int has_own = 0; has_own <= 1; has_own++) {
      for (int i = 2; i < argc; i++) {
        int threads = atoi(argv[i]);
        MUST(threads > 0 && threads <= 4096);
        printf("%s %s %s %d %.4f\n", peer_name, names[what], has_own ? "own" : "one", threads,
               millions_a_second((operation)what, threads, has_own, seconds));
        fflush(stdout);
      }
    }
  }
  return 0;
}
