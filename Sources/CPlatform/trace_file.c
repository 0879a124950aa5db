#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "memory.h"
#include "platform.h"
#include "threads.h"

enum { CELLS = 8192, BUFFER = 1 << 16, MOST_OF_AN_EVENT = 2048, PAUSE_NS = 20000000, PATIENCE_S = 2 };

/* A cell is empty in turn 2n for the n-th lap round the ring, and full in turn 2n + 1: zeroed memory is an empty ring
   (P16b, Sources/README.md). */
typedef struct cell {
  uint64_t turn;
  chime_trace_event event;
} cell;

static cell *cells;      /* set once, and kept */
static uint64_t tail;    /* the next to be put */
static uint64_t head;    /* the next to be written; the rest is the holder's of `writing` */
static uint64_t dropped; /* since the file was begun */

static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;
static size_t buffered;
static int file = -1;
static off_t offset;   /* where the next event comes, over the end that stands there */
static int generation; /* of files; a writer whose file has ended ends, too */
static pid_t owner;    /* a forked child leaves the file to its parent */

const char *chime_trace_wanted(void) {
  static int was_asked;
  if (__atomic_load_n(&was_asked, __ATOMIC_RELAXED) || __atomic_exchange_n(&was_asked, 1, __ATOMIC_RELAXED))
    return NULL;
  return chime_getenv("CHIME_TRACE");
}

void chime_trace_set_label(chime_trace_event *event, const char *label) {
  size_t length = strnlen(label, CHIME_TRACE_LABEL);
  if (length == CHIME_TRACE_LABEL) {
    length--;
    while (length > 0 && (label[length] & 0xc0) == 0x80) length--;
  }
  memcpy(event->label, label, length);
  event->label[length] = 0;
}

void chime_trace_put(const chime_trace_event *event) {
  uint64_t position = __atomic_load_n(&tail, __ATOMIC_RELAXED);
  for (;;) {
    cell *c = &cells[position % CELLS];
    uint64_t empty = position / CELLS * 2, turn = __atomic_load_n(&c->turn, __ATOMIC_ACQUIRE);
    if (turn < empty) { /* not written yet */
      __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
      return;
    }
    if (turn == empty &&
        __atomic_compare_exchange_n(&tail, &position, position + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      c->event = *event;
      __atomic_store_n(&c->turn, empty + 1, __ATOMIC_RELEASE);
      return;
    }
    if (turn != empty) position = __atomic_load_n(&tail, __ATOMIC_RELAXED);
  }
}

/* ---- Writing, by the holder of the lock --------------------------------------------------------------------------- */

static void flush(void) {
  size_t done = 0;
  while (done < buffered) {
    ssize_t got = pwrite(file, buffer + done, buffered - done, offset + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) { /* what a full disk does not take is lost, and its place is written over */
      __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
      buffered = 0;
      return;
    }
    done += (size_t)got;
  }
  offset += (off_t)done;
  buffered = 0;
}

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  buffered += (size_t)vsnprintf(buffer + buffered, BUFFER - buffered, format, arguments);
  va_end(arguments);
}

/* A name as JSON; that of a timer or queue without a label is what it is. */
static void add_name(const char *label, const char *kind, uint64_t id) {
  if (*label == 0) {
    add("\"%s %" PRIu64 "\"", kind, id);
    return;
  }
  add("\"");
  for (; *label != 0; label++) {
    unsigned char byte = (unsigned char)*label;
    add(byte < 0x20 ? "\\u%04x" : byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
  }
  add("\"");
}

/* Numbers of tracks have 31 bits; 0 is the queue's own. */
static unsigned process(const chime_trace_event *e) {
  return (unsigned)(((e->queue & 0xffff) | e->queue >> 26 << 16) & 0x7fffffff);
}
static unsigned thread(const chime_trace_event *e) { return (unsigned)((e->timer & 0x7fffffff) + 1); }

static void begin_event(const chime_trace_event *e, const char *phase, unsigned track) {
  add("%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRId64 ".%03d,", offset + (off_t)buffered > 20 ? "," : "",
      phase, process(e), track, e->now_ns / 1000, (int)(e->now_ns % 1000));
}

static void name_track(const chime_trace_event *e, const char *what, unsigned track, const char *kind, uint64_t id) {
  begin_event(e, "M", track);
  add("\"name\":\"%s\",\"args\":{\"name\":", what);
  add_name(e->label, kind, id);
  add("}}");
}

static void write_event(const chime_trace_event *e) {
  static const char *const calls[] = {"tick", "extra tick", "registration handler", "cancel handler"};
  static const char *const events[] = {"created",   "activated", "restarted", "suspended", "resumed", "rescheduled",
                                       "postponed", "fired",     "finished",  "cancelled", "released"};
  int kind = e->kind, is_tick = kind == 0 || kind == 1;
  if (kind == CHIME_TRACE_QUEUE) {
    name_track(e, "process_name", 0, "queue", e->queue);
    begin_event(e, "M", 0);
    add("\"name\":\"thread_name\",\"args\":{\"name\":\"callbacks\"}}");
    return;
  }
  if (kind == CHIME_TRACE_TIMER || kind == 16) name_track(e, "thread_name", thread(e), "timer", e->timer);
  if (kind >= 16 && kind < 27) {
    begin_event(e, "i", thread(e));
    add("\"s\":\"t\",\"name\":\"%s\",\"args\":{\"timer\":%" PRIu64, events[kind - 16], e->timer);
    if (e->scheduled_ns != INT64_MAX) add(",\"due\":%" PRId64, e->scheduled_ns);
    add("}}");
  } else if (kind == 27) {
    begin_event(e, "E", thread(e));
    add("\"args\":{}}");
    if (e->overlaps) return;
    begin_event(e, "E", 0);
    add("\"args\":{}}");
  } else if (kind >= 0 && kind < 4) {
    if (is_tick) {
      begin_event(e, "C", 0);
      add("\"name\":\"lateness\",\"args\":{\"us\":%" PRId64 ".%03d}}", (e->actual_ns - e->scheduled_ns) / 1000,
          (int)((e->actual_ns - e->scheduled_ns) % 1000));
      begin_event(e, "C", 0);
      add("\"name\":\"wake-ups\",\"args\":{\"all\":%" PRIu64 ",\"merged\":%" PRIu64 "}}", e->passes, e->merged);
    }
    begin_event(e, "B", thread(e));
    add("\"name\":\"%s\",\"args\":{\"timer\":%" PRIu64, calls[kind], e->timer);
    if (is_tick) {
      add(",\"sequence\":%" PRIu64 ",\"missed\":%" PRIu64 ",\"due\":%" PRId64 ",\"at\":%" PRId64, e->sequence,
          e->missed, e->scheduled_ns, e->actual_ns);
    }
    add("}}");
    if (e->overlaps) return;
    begin_event(e, "B", 0);
    add("\"name\":");
    add_name(e->label, "timer", e->timer);
    add(",\"args\":{\"callback\":\"%s\"}}", calls[kind]);
  }
}

/* Writes what is in the ring; then the end, over which the next event comes. */
static void drain(void) {
  off_t before;
  for (;;) {
    cell *c = &cells[head % CELLS];
    uint64_t full = head / CELLS * 2 + 1;
    if (__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) != full) break;
    if (file >= 0) write_event(&c->event);
    __atomic_store_n(&c->turn, full + 1, __ATOMIC_RELEASE);
    head++;
    if (buffered > BUFFER - MOST_OF_AN_EVENT) flush();
  }
  if (file < 0) return;
  flush();
  before = offset;
  add("\n],\n\"otherData\":{\"dropped\":%" PRIu64 "}}\n", __atomic_load_n(&dropped, __ATOMIC_RELAXED));
  flush();
  offset = before;
}

static void *write_the_file(void *argument) {
  int mine = (int)(intptr_t)argument, goes_on = 1;
  chime_set_thread_name("chime.trace");
  while (goes_on) {
    struct timespec pause = {0, PAUSE_NS};
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&writing);
    goes_on = generation == mine;
    if (goes_on) drain();
    pthread_mutex_unlock(&writing);
  }
  return NULL;
}

static void close_file(void) {
  drain();
  if (file >= 0) close(file);
  file = -1;
  generation++;
}

static int open_file(const char *path) {
  char name[4096];
  const char *number = strstr(path, "%p");
  int length = number == NULL
                   ? snprintf(name, sizeof name, "%s", path)
                   : snprintf(name, sizeof name, "%.*s%d%s", (int)(number - path), path, (int)getpid(), number + 2);
  if (length < 0 || (size_t)length >= sizeof name) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static int start_writer(void) {
  pthread_t started;
  pthread_attr_t attributes;
  sigset_t all, before;
  int error;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all); /* signals are for the host's threads */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_create(&started, &attributes, write_the_file, (void *)(intptr_t)generation);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

int chime_trace_begin(const char *path) {
  int error, opened = open_file(path);
  if (opened < 0) return errno;
  if (owner != getpid()) { /* the first, or in a child */
    owner = getpid();
    pthread_mutex_init(&writing, NULL);
    file = -1;
  }
  pthread_mutex_lock(&writing);
  if (cells == NULL) cells = chime_memory_map(CELLS * sizeof(cell));
  if (buffer == NULL) buffer = chime_memory_map(BUFFER);
  if (cells == NULL || buffer == NULL) {
    error = ENOMEM;
  } else {
    close_file();
    error = start_writer();
  }
  if (error == 0) {
    file = opened;
    offset = 0;
    __atomic_store_n(&dropped, 0, __ATOMIC_RELAXED);
    add("{\"traceEvents\":[");
    drain();
  } else {
    close(opened);
  }
  pthread_mutex_unlock(&writing);
  return error;
}

int chime_trace_end(void) {
  int was_open;
  if (owner != getpid()) return 0;
  pthread_mutex_lock(&writing);
  was_open = file >= 0;
  if (was_open) close_file();
  pthread_mutex_unlock(&writing);
  return was_open;
}

/* At the end of the program, once: what the writer has not come to. It may hang on a disk; the program does not. */
__attribute__((destructor)) static void write_the_rest(void) {
  if (owner == 0 || owner != getpid()) return;
  if (chime_mutex_lock_within(&writing, PATIENCE_S * INT64_C(1000000000)) != 0) return;
  if (file >= 0) drain();
  pthread_mutex_unlock(&writing);
}
