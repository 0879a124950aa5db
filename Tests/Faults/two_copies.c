/*
 * two_copies.c - Chime more than once in a process, and beside other Swift runtimes: two plugins that each brought their
 * own. Each copy has its own queues and its own libdispatch; timers work in all of them, in every order of loading.
 */
#include "loaded.h"

#include <dlfcn.h>
#include <stdio.h>

static int ticks[3];

static void *open_library(const char *path, int flags) {
  void *handle = dlopen(path, RTLD_NOW | flags);
  if (!EXPECT(handle != NULL)) fprintf(stderr, "%s\n", dlerror());
  return handle;
}

/* A serial queue whose timer ticks while the other libraries are used. */
static chime_queue_t begin(void *library, int *count) {
  use_library(library);
  return place_tick(SERIAL, count, NULL);
}

/* Every kind of queue works in it, beside the others. */
static void expect_all_work(void *library) {
  int where;
  use_library(library);
  for (where = 0; where < PLACES; where++) {
    if (where != MAIN) place_expect_works(where);
  }
}

static void end(void *library, chime_queue_t queue, int *count) {
  EXPECT(await(count, load(count) + 3));
  use_library(library);
  place_end(SERIAL, queue);
}

/* argument: which is loaded first, and how. */
static void a_copy(int argument) {
  const char *const paths[2] = {path_of_chime(), path_of_own("libcopy.so")};
  int flags = argument < 2 ? RTLD_LOCAL : RTLD_GLOBAL, i;
  void *libraries[2];
  chime_queue_t queues[2];
  for (i = 0; i < 2; i++) REQUIRE((libraries[i] = open_library(paths[(argument + i) % 2], flags)) != NULL);
  EXPECT(dlsym(libraries[0], "chime_queue_create") != dlsym(libraries[1], "chime_queue_create"));
  for (i = 0; i < 2; i++) queues[i] = begin(libraries[i], &ticks[i]);
  for (i = 0; i < 2; i++) expect_all_work(libraries[i]);
  for (i = 0; i < 2; i++) end(libraries[i], queues[i], &ticks[i]);
  fault_seen("%s first, %s", argument % 2 ? "the copy" : "libchime", argument < 2 ? "local" : "global");
}

static void with_swift(int argument) {
  int flags = argument < 2 ? RTLD_LOCAL : RTLD_GLOBAL;
  void *early = argument % 2 ? NULL : open_library(path_of_chime(), flags);
  void *beat = open_library(path_of_own("libbeat.so"), flags);
  void *chime = early != NULL ? early : open_library(path_of_chime(), flags);
  void (*start)(int32_t *);
  int32_t (*stop)(void);
  chime_queue_t queue;
  REQUIRE(beat != NULL && chime != NULL);
  *(void **)(void *)&start = dlsym(beat, "beat_start");
  *(void **)(void *)&stop = dlsym(beat, "beat_stop");
  start(&ticks[2]);
  queue = begin(chime, &ticks[0]);
  expect_all_work(chime);
  end(chime, queue, &ticks[0]);
  EXPECT(await(&ticks[2], 3));
  EXPECT_EQ(stop(), 3);
  fault_seen("%s first, %s", argument % 2 ? "a Swift library" : "libchime", argument < 2 ? "local" : "global");
}

/*
 * Alone in a namespace of its own. (Two that both use thread-specific data, one in each namespace, cannot work: glibc's
 * copies hand out the same keys, and a thread has one table of values for them.)
 */
static void in_a_namespace(int argument) {
  void *library = dlmopen(LM_ID_NEWLM, path_of_chime(), RTLD_NOW | RTLD_LOCAL);
  (void)argument;
  REQUIRE(library != NULL);
  expect_all_work(library);
  fault_seen("works");
}

FAULT_CASES({"a-copy", a_copy, 0, 3, 0, 0}, {"with-a-swift-library", with_swift, 0, 3, 0, 0},
            {"in-a-namespace", in_a_namespace, 0, 0, 0, 0})
