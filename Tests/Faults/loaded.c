/* loaded.c - see loaded.h. */
#include "loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *loaded_place_name(int where) {
  static const char *const names[] = {"serial",  "concurrent", "global",  "host-driven",
                                      "precise", "virtual",    "run loop"};
  return names[where];
}

const char *path_in(const char *directory, const char *file) {
  static char paths[8][1024];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%.500s/%.500s", directory, file);
  return path;
}

const char *libraries(void) {
  const char *directory = getenv("FAULTS_LIBRARIES");
  return directory != NULL ? directory : "../../examples-c/build/lib";
}

const char *own_files(void) {
  static char path[1024];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return ".";
  path[length] = 0;
  *strrchr(path, '/') = 0;
  return path;
}

static void find(void *handle, const char *name, void *function) {
  void *symbol = dlsym(handle, name);
  memcpy(function, &symbol, sizeof symbol);
}

loaded load_library(const char *path, int flags, int in_own_namespace) {
  loaded l;
  memset(&l, 0, sizeof l);
  l.handle = in_own_namespace ? dlmopen(LM_ID_NEWLM, path, flags) : dlopen(path, flags);
  if (!EXPECT(l.handle != NULL)) {
    fprintf(stderr, "%s\n", dlerror());
    return l;
  }
  find(l.handle, "chime_queue_create", &l.queue_create);
  find(l.handle, "chime_queue_global", &l.queue_global);
  find(l.handle, "chime_queue_shutdown", &l.queue_shutdown);
  find(l.handle, "chime_queue_run", &l.queue_run);
  find(l.handle, "chime_timer_every", &l.timer_every);
  find(l.handle, "chime_timer_state", &l.timer_state);
  find(l.handle, "chime_timer_cancel", &l.timer_cancel);
  find(l.handle, "chime_queue_advance", &l.queue_advance);
  find(l.handle, "chime_run_loop_create", &l.run_loop_create);
  find(l.handle, "chime_run_loop_queue_create", &l.run_loop_queue_create);
  return l;
}

typedef struct host {
  loaded library;
  chime_queue_t queue;
} host;

static void *run_host(void *context) {
  host *h = context;
  h->library.queue_run(h->queue, CHIME_RUN_UNTIL_STOPPED);
  free(h);
  return NULL;
}

chime_status loaded_make(const loaded *l, int where, chime_queue_t *queue) {
  chime_status status;
  if (where == GLOBAL) return l->queue_global(CHIME_QOS_DEFAULT, NULL, queue);
  if (where == RUN_LOOP) {
    chime_run_loop_t loop = 0;
    status = l->run_loop_create(NULL, &loop);
    return status == CHIME_OK ? l->run_loop_queue_create(loop, NULL, NULL, queue) : status;
  }
  status = l->queue_create(where == SERIAL       ? CHIME_QUEUE_SERIAL
                           : where == CONCURRENT ? CHIME_QUEUE_CONCURRENT
                           : where == HOST       ? CHIME_QUEUE_HOST
                           : where == PRECISE    ? CHIME_QUEUE_PRECISE
                                                 : CHIME_QUEUE_VIRTUAL,
                           NULL, queue);
  if (status == CHIME_OK && where == HOST) {
    pthread_t thread;
    host *h = malloc(sizeof *h);
    if (h == NULL) return CHIME_ERROR_NO_MEMORY;
    h->library = *l;
    h->queue = *queue;
    if (pthread_create(&thread, NULL, run_host, h) != 0) return CHIME_ERROR_RESOURCE;
    pthread_detach(thread);
  }
  return status;
}

void count_loaded_tick(const chime_tick *tick, void *context) {
  EXPECT(tick->actual_ns >= tick->scheduled_ns);
  add(context, 1);
}

void loaded_expect_works(const loaded *l) {
  static int ticks[LOADED_PLACES];
  chime_queue_t queues[LOADED_PLACES];
  int i;
  for (i = 0; i < LOADED_PLACES; i++) {
    store(&ticks[i], 0);
    REQUIRE_OK(loaded_make(l, i, &queues[i]));
    EXPECT_OK(l->timer_every(queues[i], CHIME_MILLISECOND, count_loaded_tick, &ticks[i], NULL, NULL));
  }
  EXPECT_OK(l->queue_advance(queues[VIRTUAL], 10 * CHIME_MILLISECOND));
  for (i = 0; i < LOADED_PLACES; i++) EXPECT(await(&ticks[i], 3));
  for (i = 0; i < LOADED_PLACES; i++) EXPECT_OK(l->queue_shutdown(queues[i], PATIENCE));
}
