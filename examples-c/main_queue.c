/*
 * The main queue: handlers run on the main thread, inside chime_main_run, until chime_main_stop. Beside it a queue on
 * threads of Chime's, whose handler puts a function on the main queue.
 *
 * Build:  make (or cc main_queue.c -o build/main_queue -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/main_queue
 *
 * Output:
 *   header and library fit: yes
 *   main thread: tick 1
 *   main thread: tick 2
 *   main thread: told by another thread
 *   chime_main_run: CHIME_STOPPED
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

static pthread_t main_thread;
static chime_queue_t main_queue, elsewhere;

static void say(const char *what) {
  printf("%s thread: %s\n", pthread_equal(pthread_self(), main_thread) ? "main" : "another", what);
}

static void told(void *context) {
  (void)context;
  say("told by another thread");
  CHECK(chime_main_stop());
}

static void on_other_thread(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  CHECK(chime_queue_async(main_queue, told, NULL, NULL));
}

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  say(tick->sequence == 1 ? "tick 1" : "tick 2");
  if (tick->sequence < 2) return;
  CHECK(chime_timer_cancel(tick->timer));
  CHECK(chime_timer_after(elsewhere, 0, on_other_thread, NULL, NULL, NULL));
}

int main(void) {
  main_thread = pthread_self();
  printf("header and library fit: %s\n", chime_version() >= CHIME_VERSION && CHIME_VERSION_MATCHES() ? "yes" : "no");
  CHECK(chime_queue_create_main(NULL, &main_queue));
  CHECK(chime_queue_create(CHIME_QUEUE_CONCURRENT, NULL, &elsewhere));
  CHECK(chime_timer_every(main_queue, CHIME_MILLISECOND, on_tick, NULL, NULL, NULL));
  printf("chime_main_run: %s\n", chime_status_name(chime_main_run()));
  CHECK(chime_queue_shutdown(elsewhere, CHIME_FOREVER));
  CHECK(chime_queue_shutdown(main_queue, CHIME_FOREVER));
  return 0;
}
