/*
 * two_copies.c - Chime more than once in a process, and beside other Swift runtimes: two plugins that each brought their
 * own. Each copy has its own queues and its own libdispatch; timers work in all of them, in every order of loading.
 */
#include "loaded.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

enum { CHIME, COPY, BEAT, NAMESPACE, LIBRARIES };

static const char *const names[] = {"libchime", "a copy of it", "a Swift library",
                                    "libchime in a namespace of its own"};

typedef struct beat {
  void (*start)(int32_t *count);
  int32_t (*stop)(void);
} beat;

static const char *path_of(int library) {
  switch (library) {
    case COPY: return path_in(own_files(), "libcopy.so");
    case BEAT: return path_in(own_files(), "libbeat.so");
    default: return path_in(libraries(), "libchime.so.1");
  }
}

static beat load_beat(int flags) {
  beat b;
  void *handle = dlopen(path_of(BEAT), flags), *symbol;
  memset(&b, 0, sizeof b);
  if (!EXPECT(handle != NULL)) return b;
  symbol = dlsym(handle, "beat_start");
  memcpy(&b.start, &symbol, sizeof symbol);
  symbol = dlsym(handle, "beat_stop");
  memcpy(&b.stop, &symbol, sizeof symbol);
  return b;
}

/* Loads both, then uses both at the same time. */
static void both(int first, int second, int flags) {
  static int ticks[2];
  static int32_t beats;
  int which[2], i, has_beat = 0;
  loaded libraries_of[2];
  chime_queue_t queues[2] = {0, 0};
  beat other;
  memset(&other, 0, sizeof other);
  which[0] = first;
  which[1] = second;
  for (i = 0; i < 2; i++) {
    if (access(path_of(which[i]), R_OK) != 0) fault_skip("a library is missing");
    if (which[i] == BEAT) {
      other = load_beat(flags);
      REQUIRE(other.start != NULL && other.stop != NULL);
      has_beat = 1;
    } else {
      libraries_of[i] = load_library(path_of(which[i]), flags, which[i] == NAMESPACE);
      REQUIRE(libraries_of[i].handle != NULL);
    }
  }
  if (!has_beat) EXPECT(libraries_of[0].queue_create != libraries_of[1].queue_create);
  if (has_beat) other.start(&beats);
  for (i = 0; i < 2; i++) {
    if (which[i] == BEAT) continue;
    REQUIRE_OK(loaded_make(&libraries_of[i], SERIAL, &queues[i]));
    EXPECT_OK(libraries_of[i].timer_every(queues[i], CHIME_MILLISECOND, count_loaded_tick, &ticks[i], NULL, NULL));
  }
  for (i = 0; i < 2; i++) {
    if (which[i] != BEAT) {
      EXPECT(await(&ticks[i], 3));
      loaded_expect_works(&libraries_of[i]);
    }
  }
  if (has_beat) {
    EXPECT(await(&beats, 3));
    EXPECT_EQ(other.stop(), 3);
  }
  for (i = 0; i < 2; i++) {
    if (which[i] != BEAT) EXPECT_OK(libraries_of[i].queue_shutdown(queues[i], PATIENCE));
  }
  fault_seen("%s, then %s", names[first], names[second]);
}

#define PAIR(name, a, b) \
  static void name(int order) { \
    both(order % 2 == 0 ? (a) : (b), order % 2 == 0 ? (b) : (a), RTLD_NOW | (order < 2 ? RTLD_LOCAL : RTLD_GLOBAL)); \
  }
PAIR(copies, CHIME, COPY)
PAIR(with_swift, CHIME, BEAT)

/*
 * Alone in a namespace of its own. (Two that both use thread-specific data, one in each namespace, cannot work: glibc's
 * copies hand out the same keys, and a thread has one table of values for them.)
 */
static void in_a_namespace(int argument) {
  loaded l = load_library(path_of(NAMESPACE), RTLD_NOW | RTLD_LOCAL, 1);
  (void)argument;
  REQUIRE(l.handle != NULL);
  loaded_expect_works(&l);
  fault_seen("%s", names[NAMESPACE]);
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"a-copy", copies, 0, 3, 0, 0},
      {"with-a-swift-library", with_swift, 0, 3, 0, 0},
      {"in-a-namespace", in_a_namespace, 0, 0, 0, 0},
      {NULL, NULL, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
