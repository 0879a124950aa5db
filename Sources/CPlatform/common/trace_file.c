#include "trace_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "../../../include/chime.h"
#include "clocks.h"
#include "memory.h"
#include "output.h"
#include "platform.h"
#include "text.h"
#include "threads.h"

enum { CELLS = 8192, BUFFER = 1 << 16, MOST_OF_AN_EVENT = 2048 };
/* How long events gather before they are written; when a file is tried again that the disk had no room for. */
#define PAUSE_NS INT64_C(20000000)
#define RETRY_NS INT64_C(1000000000)
/* How long the end of the program waits for a disk. */
#define PATIENCE_NS INT64_C(2000000000)

#define BEGINNING "{\"traceEvents\":["
/* Always of the same length, so that it can be written over the one before without more room on the disk. */
#define END "\n],\n\"otherData\":{\"dropped\":%-20" PRIu64 "}}\n"

/* A file and its ring. Between `head` and `tail` the events are its writer's, the other cells belong to the lock. */
typedef struct trace_file {
  /* Behind the lock. */
  uint64_t number; /* 1 for the process's first, and so on; 0: the writer does not begin yet */
  uint64_t head;   /* how many events have been written, or could not be */
  uint64_t tail;   /* how many were put */
  uint64_t dropped;
  uint64_t wakes_at; /* with so many events in the ring the writer is woken */
  int is_ending;     /* nothing is put any more */
  int is_resting;    /* the writer waits: all up to `head` is in the file */

  /* Constant once there is a writer. */
  chime_output output;

  /* The writer's. */
  int64_t end; /* of what is to stay: here comes the next event, over the end that stands there */
  size_t buffered;
  uint64_t events; /* in the buffer */
  uint64_t lost;   /* the disk had no room for them */
  int is_whole;
  char buffer[BUFFER];
  chime_trace_event ring[CELLS];
} trace_file;

/* The one lock, with priority inheritance. It is held for a few instructions, never during a system call on the file. */
static chime_lock lock;
static chime_condition changed;
static trace_file *current;       /* where events are put; NULL: nowhere */
static uint64_t begun, completed; /* files. They are completed in the order in which they were begun */
static int64_t owner;             /* the process that has begun them */

void chime_trace_initialize(void) {
  chime_lock_init(&lock);
  chime_condition_init(&changed);
}

static int64_t now(void) { return chime_clock_now(chime_monotonic_clock()); }

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
  int wakes = 0;
  trace_file *file;
  chime_lock_take(&lock);
  file = current;
  if (file != NULL && file->tail - file->head == CELLS) {
    file->dropped++;
  } else if (file != NULL) {
    file->ring[file->tail++ % CELLS] = *event;
    wakes = file->tail - file->head == file->wakes_at;
  }
  chime_lock_give(&lock);
  if (wakes) chime_condition_broadcast(&changed);
}

/* ---- What is in a file, by its writer --------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(trace_file *file, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  file->buffered += (size_t)vsnprintf(file->buffer + file->buffered, BUFFER - file->buffered, format, arguments);
  va_end(arguments);
}

/* A name as JSON; that of a timer or queue without a label is what it is. */
static void add_name(trace_file *file, const char *label, const char *kind, uint64_t id) {
  if (*label == 0) {
    add(file, "\"%s %" PRIu64 "\"", kind, id);
    return;
  }
  add(file, "\"");
  while (*label != 0) {
    char piece[CHIME_PIECE];
    int length = (int)chime_write_foreign(piece, &label);
    add(file, "%.*s", length, piece);
  }
  add(file, "\"");
}

/* Numbers of tracks have 31 bits; 0 is the queue's own. */
static unsigned process(const chime_trace_event *e) {
  return (unsigned)(((e->queue & 0xffff) | e->queue >> 26 << 16) & 0x7fffffff);
}
static unsigned thread(const chime_trace_event *e) { return (unsigned)((e->timer & 0x7fffffff) + 1); }

static void begin_event(trace_file *file, const chime_trace_event *e, const char *phase, unsigned track) {
  if (file->end == 0 && file->buffered == 0) add(file, BEGINNING);
  add(file, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRId64 ".%03d,",
      file->end + (off_t)file->buffered > (off_t)strlen(BEGINNING) ? "," : "", phase, process(e), track,
      e->now_ns / 1000, (int)(e->now_ns % 1000));
}

static void name_track(trace_file *file, const chime_trace_event *e, const char *what, unsigned track, const char *kind,
                       uint64_t id) {
  begin_event(file, e, "M", track);
  add(file, "\"name\":\"%s\",\"args\":{\"name\":", what);
  add_name(file, e->label, kind, id);
  add(file, "}}");
}

static void write_event(trace_file *file, const chime_trace_event *e) {
  static const char *const calls[] = {"tick", "extra tick", "registration handler", "cancel handler"};
  const uint32_t kind = e->kind;
  const int is_tick = kind == CHIME_TICK_DUE || kind == CHIME_TICK_FIRED;
  if (kind == CHIME_TRACE_QUEUE) {
    name_track(file, e, "process_name", 0, "queue", e->queue);
    begin_event(file, e, "M", 0);
    add(file, "\"name\":\"thread_name\",\"args\":{\"name\":\"callbacks\"}}");
    return;
  }
  if (kind == CHIME_TRACE_TIMER || kind == CHIME_TRACE_CREATED)
    name_track(file, e, "thread_name", thread(e), "timer", e->timer);
  if (kind >= CHIME_TRACE_CREATED && kind < CHIME_TRACE_RETURNED) {
    begin_event(file, e, "i", thread(e));
    add(file, "\"s\":\"t\",\"name\":\"");
    for (const char *name = chime_name_of_kind(kind) + strlen("CHIME_TRACE_"); *name != 0; name++)
      add(file, "%c", *name | 0x20); /* in small letters */
    add(file, "\",\"args\":{\"timer\":%" PRIu64, e->timer);
    if (e->scheduled_ns != INT64_MAX) add(file, ",\"due\":%" PRId64, e->scheduled_ns);
    add(file, "}}");
  } else if (kind == CHIME_TRACE_SHORT) {
    begin_event(file, e, "i", thread(e));
    add(file, "\"s\":\"t\",\"name\":\"an interval of %" PRId64 " ns: is a unit missing?\",\"args\":{}}",
        e->scheduled_ns);
  } else if (kind == CHIME_TRACE_RETURNED) {
    begin_event(file, e, "E", thread(e));
    add(file, "\"args\":{}}");
    if (e->overlaps) return;
    begin_event(file, e, "E", 0);
    add(file, "\"args\":{}}");
  } else if (kind <= CHIME_TICK_CANCELLED) {
    if (is_tick) {
      begin_event(file, e, "C", 0);
      add(file, "\"name\":\"lateness\",\"args\":{\"us\":%" PRId64 ".%03d}}", (e->actual_ns - e->scheduled_ns) / 1000,
          (int)((e->actual_ns - e->scheduled_ns) % 1000));
      begin_event(file, e, "C", 0);
      add(file, "\"name\":\"wake-ups\",\"args\":{\"all\":%" PRIu64 ",\"merged\":%" PRIu64 "}}", e->passes, e->merged);
    }
    begin_event(file, e, "B", thread(e));
    add(file, "\"name\":\"%s\",\"args\":{\"timer\":%" PRIu64, calls[kind], e->timer);
    if (is_tick) {
      add(file, ",\"sequence\":%" PRIu64 ",\"missed\":%" PRIu64 ",\"due\":%" PRId64 ",\"at\":%" PRId64, e->sequence,
          e->missed, e->scheduled_ns, e->actual_ns);
    }
    add(file, "}}");
    if (e->overlaps) return;
    begin_event(file, e, "B", 0);
    add(file, "\"name\":");
    add_name(file, e->label, "timer", e->timer);
    add(file, ",\"args\":{\"callback\":\"%s\"}}", calls[kind]);
  }
}

/* ---- Writing it: the file and all about it belong to this thread ------------------------------------------------ */

/* Writes what is buffered, if only the beginning, and an end behind it. 0: what stands there now is no whole file. */
static int write_out(trace_file *file, uint64_t dropped) {
  size_t stays;
  int is_written;
  if (file->end == 0 && file->buffered == 0) add(file, BEGINNING);
  stays = file->buffered;
  add(file, END, dropped + file->lost);
  is_written = chime_output_write(&file->output, file->buffer, file->buffered, file->end) == 0;
  if (is_written) file->end += (int64_t)stays;
  file->events = file->buffered = 0;
  return is_written;
}

/* What a full disk does not take is lost. The end that stood before it is written anew in its place, where the disk has
   room for it. */
static void flush(trace_file *file, uint64_t dropped) {
  uint64_t events = file->events;
  file->is_whole = write_out(file, dropped);
  if (file->is_whole) return;
  file->lost += events;
  file->is_whole = write_out(file, dropped);
  if (chime_output_cut(&file->output, file->is_whole ? file->end + snprintf(NULL, 0, END, dropped) : file->end) != 0)
    file->is_whole = 0;
}

/* Gives back the cells up to `head`. */
static uint64_t give_back(trace_file *file, uint64_t head) {
  uint64_t dropped;
  chime_lock_take(&lock);
  file->head = head;
  dropped = file->dropped;
  chime_lock_give(&lock);
  return dropped;
}

/* Waits for an event, and then for more, until the ring is half full. 0: these are the last. */
static int await_events(trace_file *file, uint64_t *tail) {
  int64_t retry = now() + RETRY_NS, pause;
  int goes_on;
  chime_lock_take(&lock);
  file->is_resting = 1;
  file->wakes_at = 1;
  while (!file->is_ending && file->head == file->tail && (file->is_whole || now() < retry)) {
    if (file->is_whole) chime_condition_wait(&changed, &lock);
    else chime_condition_wait_until(&changed, &lock, retry);
  }
  file->wakes_at = CELLS / 2;
  pause = now() + PAUSE_NS;
  while (!file->is_ending && file->tail - file->head < CELLS / 2 && now() < pause)
    chime_condition_wait_until(&changed, &lock, pause);
  file->wakes_at = 0;
  file->is_resting = 0;
  goes_on = !file->is_ending;
  *tail = file->tail;
  chime_lock_give(&lock);
  return goes_on;
}

static void *write_the_file(void *argument) {
  trace_file *file = argument;
  uint64_t head = 0, tail = 0, number;
  int goes_on = 1;
  chime_begin_own_thread();
  chime_set_thread_name("chime.trace");
  chime_lock_take(&lock);
  while (file->number == 0 || completed + 1 != file->number) chime_condition_wait(&changed, &lock);
  number = file->number;
  chime_lock_give(&lock);
  chime_output_cut(&file->output, 0); /* it may be no regular file, and has nothing to lose */
  flush(file, 0);
  while (goes_on) {
    goes_on = await_events(file, &tail);
    while (head != tail) {
      write_event(file, &file->ring[head++ % CELLS]);
      file->events++;
      if (file->buffered > BUFFER - MOST_OF_AN_EVENT) flush(file, give_back(file, head));
    }
    flush(file, give_back(file, head));
  }
  chime_output_close(&file->output);
  chime_memory_unmap(file, sizeof *file);
  chime_lock_take(&lock);
  completed = number;
  chime_condition_broadcast(&changed);
  chime_lock_give(&lock);
  return NULL;
}

/* ---- Beginning and ending --------------------------------------------------------------------------------------- */

static int open_file(trace_file *file, const char *given, char *name, size_t size) {
  char path[4096];
  const char *number;
  int length;
  /* Another thread may write it meanwhile. */
  strncpy(path, given, sizeof path);
  if (path[sizeof path - 1] != 0) return ENAMETOOLONG;
  number = strstr(path, "%p");
  length = number == NULL
               ? snprintf(name, size, "%s", path)
               : snprintf(name, size, "%.*s%d%s", (int)(number - path), path, (int)chime_process_number(), number + 2);
  if (length < 0 || (size_t)length >= size) return ENAMETOOLONG;
  return chime_output_open(&file->output, name);
}

/* SIGXFSZ is blocked there, and so an error number only. */
static int start_writer(trace_file *file) {
  uintptr_t started;
  return chime_thread_create(&started, 1, write_the_file, file);
}

/* Behind the lock: puts `next` in the current file's place, and has that one completed. */
static void replace(trace_file *next) {
  if (current != NULL) current->is_ending = 1;
  current = next;
  chime_condition_broadcast(&changed);
}

/* Where the file is taken: by this process, whose file it is that is being written, or was until now? 0: `file` has it now. */
static int take_over(trace_file *file) {
  int error = EBUSY;
  chime_lock_take(&lock);
  while (completed + (current != NULL) < begun) chime_condition_wait(&changed, &lock);
  if (current != NULL) error = chime_output_share(&file->output, &current->output);
  chime_lock_give(&lock);
  return error;
}

int chime_trace_begin(const char *path) {
  char name[4096];
  uint64_t before;
  int error;
  trace_file *file = chime_memory_map(sizeof *file);
  if (file == NULL) return ENOMEM;
  file->output.descriptor = -1;
  error = open_file(file, path, name, sizeof name);
  if (error == EBUSY && take_over(file) == 0) error = 0;
  else if (error == EBUSY) error = open_file(file, path, name, sizeof name);
  if (error == 0) error = start_writer(file);
  if (error != 0) {
    chime_output_undo(&file->output, name);
    chime_memory_unmap(file, sizeof *file);
    return error;
  }
  chime_lock_take(&lock);
  before = begun++;
  file->number = begun;
  owner = chime_process_number();
  replace(file);
  while (completed < before) chime_condition_wait(&changed, &lock);
  chime_lock_give(&lock);
  return 0;
}

int chime_trace_end(void) {
  int was_open;
  uint64_t last;
  chime_lock_take(&lock);
  was_open = current != NULL;
  last = begun;
  if (was_open) replace(NULL);
  while (was_open && completed < last) chime_condition_wait(&changed, &lock);
  chime_lock_give(&lock);
  return was_open;
}

int chime_trace_is_open(void) {
  int is_open;
  chime_lock_take(&lock);
  is_open = current != NULL;
  chime_lock_give(&lock);
  return is_open;
}

void chime_trace_reinitialize(void) {
  trace_file *file = current;
  chime_trace_initialize();
  current = NULL;
  begun = completed = 0;
  if (file == NULL) return;
  chime_output_close_inherited(&file->output);
  chime_memory_unmap(file, sizeof *file);
}

/* In the writer's place, which the system has ended. */
static void write_the_rest(trace_file *file) {
  uint64_t head = file->head;
  if (!file->is_resting) return;
  while (head != file->tail) {
    write_event(file, &file->ring[head++ % CELLS]);
    file->events++;
    if (file->buffered > BUFFER - MOST_OF_AN_EVENT) flush(file, file->dropped);
  }
  flush(file, file->dropped);
}

/* At the end of the program. The disk may hang; the program does not. */
__attribute__((destructor)) static void complete_the_file(void) {
  int64_t end;
  if (begun == 0 || owner != chime_process_number()) return;
  if (chime_is_last_thread()) {
    if (current != NULL && chime_lock_try(&lock)) write_the_rest(current);
    return;
  }
  if (chime_lock_take_within(&lock, PATIENCE_NS) != 0) return;
  replace(NULL);
  end = now() + PATIENCE_NS;
  while (completed < begun && now() < end) chime_condition_wait_until(&changed, &lock, end);
  chime_lock_give(&lock);
}
