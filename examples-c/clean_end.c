/*
 * A clean end: a log's lines are flushed every 20 ms. At SIGTERM the timer is stopped, its handler has returned, what is
 * left is flushed, and the queue is shut down. The signal is blocked, and the main thread waits for it: no function of Chime
 * is called in a signal handler.
 *
 * Build:  make (or cc clean_end.c -o build/clean_end -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/clean_end
 *
 * Output:
 *   flushed 2 lines
 *   flushed 2 lines
 *   terminated: flushed 1 line, 5 in all
 */
#define _POSIX_C_SOURCE 200809L
#include <chime.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

/* The queue's handlers and functions use it, one at a time. */
typedef struct writer {
  int pending, written;
} writer;

static void flush(void *context) {
  writer *log = context;
  printf("flushed %d line%s", log->pending, log->pending == 1 ? "" : "s");
  log->written += log->pending;
  log->pending = 0;
}

static void on_tick(const chime_tick *tick, void *context) {
  writer *log = context;
  if (tick->sequence > 2) return;
  log->pending += 2;
  flush(log);
  printf("\n");
  if (tick->sequence == 2) {
    log->pending++; /* a last line, and the request to end comes before the next tick */
    kill(getpid(), SIGTERM);
  }
}

int main(void) {
  writer log = {0, 0};
  sigset_t signals;
  int signal;
  chime_queue_t queue;
  chime_timer_t flusher;

  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL); /* Chime's own threads block it anyway */

  CHECK(chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue));
  CHECK(chime_timer_every(queue, 20 * CHIME_MILLISECOND, on_tick, &log, NULL, &flusher));
  sigwait(&signals, &signal);

  CHECK(chime_timer_release_and_wait(flusher, CHIME_FOREVER)); /* no tick is running, and none comes */
  printf("terminated: ");
  CHECK(chime_queue_sync(queue, flush, &log, CHIME_FOREVER));
  printf(", %d in all\n", log.written);
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
