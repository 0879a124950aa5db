/* What world.h declares. */
#define _POSIX_C_SOURCE 200809L
#include "world.h"

#include <time.h>

world w;

/* ---- Callbacks and contexts -------------------------------------------------------------------------------------- */

/* Some queues call on threads of their own. */
void finalize(void *context) { __atomic_add_fetch(&((owned *)context)->finalized, 1, __ATOMIC_SEQ_CST); }
void ignore_context(void *context) {}
void ignore_tick(const chime_tick *tick, void *context) {
  if (tick->context != context || tick->actual_ns < tick->scheduled_ns) fail("a tick's context or time");
}

void trace_call(const chime_tick *tick, void *context) {
  int is_tick = tick->kind >= CHIME_TICK_DUE && tick->kind <= CHIME_TICK_FUNCTION;
  if (context != &w) fail("the trace's context");
  if (!is_tick && (tick->kind < CHIME_TRACE_CREATED || tick->kind > CHIME_TRACE_RETURNED)) {
    fail("a trace of kind %d", (int)tick->kind);
  }
}

owned *new_owned(void) {
  static owned spare;
  return w.owned_count < MOST_OWNED ? &w.owned[w.owned_count++] : &spare;
}

void remember_id(uint64_t id) {
  if (id == UNTOUCHED || id == 0 || id >> 53 != 0) fail("%" PRIx64 " is no id", id);
  w.ids[w.id_count < MOST_IDS ? w.id_count++ : MOST_IDS - 1] = id;
}

void remember_queue(chime_queue_t id, int kind) {
  remember_id(id);
  if (w.queue_count == MOST_QUEUES) {
    /* One with a thread does not end at once. */
    expect_number("shutdown of a queue too many", chime_queue_shutdown(id, 10 * CHIME_SECOND), CHIME_OK);
    return;
  }
  w.queues[w.queue_count++] = (made_queue){id, kind};
}

void note_records(const char *ticks, uint32_t size, uint32_t count, uint32_t capacity) {
  if (count > capacity) fail("%u records in room for %u", count, capacity);
  for (uint32_t i = 0; i < count; i += 1) {
    chime_tick tick;
    memcpy(&tick, ticks + (size_t)i * size, sizeof tick);
    if (tick.kind < CHIME_TICK_DUE || tick.kind > CHIME_TICK_FUNCTION || tick.reserved != 0) fail("record %u", i);
    if (tick.actual_ns < tick.scheduled_ns) fail("record %u is early", i);
  }
  for (size_t i = (size_t)count * size; i < 16 * 256; i += 1) {
    if (ticks[i] != 0x5a) fail("take_ticks writes at %zu", i);
  }
}

/* ---- The world --------------------------------------------------------------------------------------------------- */

void begin_world(void) {
  static const struct {
    chime_queue_kind kind;
    uint32_t flags;
  } first[] = {{CHIME_QUEUE_VIRTUAL, 0}, {CHIME_QUEUE_HOST, 0}, {CHIME_QUEUE_HOST, CHIME_QUEUE_RECORDS}};
  memset(&w, 0, sizeof w);
  w.ids[w.id_count++] = 0;
  for (size_t i = 0; i < sizeof first / sizeof first[0]; i += 1) {
    chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
    chime_queue_t id;
    options.flags = first[i].flags;
    expect_number("queue_create", chime_queue_create(first[i].kind, &options, &id), CHIME_OK);
    remember_queue(id, first[i].kind);
  }
}

static void stop_main(void *context) { chime_main_stop(); }

/* What the ended queues on the main one have left is called in here. */
static void drain_main(void) {
  chime_queue_t queue;
  if (chime_queue_main(NULL, &queue) != CHIME_OK) return;
  expect_number("async", chime_queue_async(queue, stop_main, NULL, NULL), CHIME_OK);
  expect_number("main_run", chime_main_run(), CHIME_STOPPED);
  expect_number("shutdown", chime_queue_shutdown(queue, 0), CHIME_OK);
}

static void end_queues(void) {
  int had_main = 0;
  for (int i = 0; i < w.queue_count; i += 1) {
    int is_main = w.queues[i].kind == MAIN;
    chime_status status = chime_queue_shutdown(w.queues[i].id, is_main ? 0 : CHIME_FOREVER);
    if (status != CHIME_OK && status != CHIME_IGNORED && status != CHIME_ERROR_INVALID_HANDLE) {
      fail("shutdown of queue %d: %d", i, (int)status);
    }
    had_main |= is_main;
  }
  if (had_main) drain_main();
}

static void expect_all_finalized(void) {
  enum { MOST_WAITS = 300000 }; /* 30 s in all */
  const struct timespec moment = {0, 100000};
  int waits = 0;
  for (int i = 0; i < w.owned_count; i += 1) {
    owned *o = &w.owned[i];
    /* A queue with threads of its own, released rather than shut down, may be at it still. */
    for (; w.threads_made > 0 && waits < MOST_WAITS; waits += 1) {
      if (__atomic_load_n(&o->finalized, __ATOMIC_SEQ_CST) >= o->accepted) break;
      nanosleep(&moment, NULL);
    }
    if (__atomic_load_n(&o->finalized, __ATOMIC_SEQ_CST) != o->accepted) {
      fail("context %d: accepted %d times, finalized %d times", i, o->accepted, o->finalized);
    }
  }
}

void end_world(void) {
  for (int i = 0; i < w.acquired_count; i += 1) {
    while (chime_expiring_yield(w.acquired[i]) == CHIME_OK) continue;
  }
  for (int i = 1; i < w.id_count; i += 1) {
    while (chime_target_release(w.ids[i]) == CHIME_OK) continue;
    (void)chime_expiring_release(w.ids[i]);
  }
  end_queues();
  chime_set_trace(NULL, NULL);
  expect_all_finalized();
  free_buffers();
}

void take_picture(picture *p) {
  size_t used = 0;
  memset(p, 0, sizeof *p);
  for (int i = 0; i < w.queue_count; i += 1) {
    if (w.queues[i].kind != CHIME_QUEUE_VIRTUAL) continue; /* the time of others goes on while nothing changes */
    if (chime_queue_dump(w.queues[i].id, p->text + used, PICTURE - used, NULL) == CHIME_OK) {
      used += strlen(p->text + used);
    }
  }
  for (int i = 0; i < w.id_count; i += 1) {
    if (chime_timer_generation(w.ids[i], &p->numbers[i]) != CHIME_OK) p->numbers[i] = UNTOUCHED;
  }
}

void expect_same_picture(const picture *a, const picture *b) {
  /* On queues with threads timers that release themselves do so at any time. */
  int same_numbers = w.threads_made > 0 || memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
  if (strcmp(a->text, b->text) == 0 && same_numbers) return;
  fail("a refused call has changed something.\nbefore:\n%safter:\n%s", a->text, b->text);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

uint64_t id_from(bytes *input) {
  uint8_t code = take_byte(input);
  uint64_t id;
  if (code < 208) return w.ids[code % w.id_count];
  if (code < 240) {
    id = w.ids[(w.id_count - 1) * (code & 15) / 16];
    return id ^ UINT64_C(1) << take_byte(input) % 64;
  }
  id = take_word(input);
  return code < 248 ? id >> 11 : id;
}

int64_t short_duration(bytes *input, int or_endless) {
  int64_t duration = take_duration(input);
  if (duration == CHIME_FOREVER && or_endless && w.threads_made == 0) return duration;
  return duration > CHIME_MILLISECOND ? CHIME_MILLISECOND : duration;
}

void *buffer_of(size_t size, int fill) {
  void *buffer = malloc(size);
  if (buffer == NULL || w.buffer_count == MOST_BUFFERS) fail("the fuzz target is out of buffers");
  memset(buffer, fill, size);
  w.buffers[w.buffer_count++] = buffer;
  return buffer;
}

void free_buffers(void) {
  while (w.buffer_count > 0) free(w.buffers[--w.buffer_count]);
}

const char *text_from(bytes *input) {
  /* clang-format off */
  static const char *const samples[] = {
    "", "a", "\xc3\xa9", "\xff", "a\x80", "\xc3", "\xe2\x82 ", "\xc0\xaf", "\xed\xa0\x80",
    "\xf4\x90\x80\x80", "\xf0\x9f\x95\x90", "e\xcc\x81"};
  /* clang-format on */
  uint8_t code = take_byte(input);
  char *text;
  if (code < 64) return NULL;
  if (code < 160) return samples[code % (sizeof samples / sizeof samples[0])];
  if (code < 170) {
    /* A long one: the end is far away. */
    text = buffer_of(4096, code < 165 ? 'x' : 0x80 + code);
    text[4095] = 0;
    return text;
  }
  text = buffer_of((size_t)(code - 169) + 1, 0);
  for (int i = 0; i < code - 169 && i < 24; i += 1) text[i] = (char)take_byte(input);
  return text;
}

/** The size that a structure says it has. */
static uint32_t size_from(bytes *input, size_t size) {
  uint8_t code = take_byte(input);
  if (code < 200) return (uint32_t)size;
  if (code < 216) return (uint32_t)size + (uint32_t)(code - 208);
  if (code < 232) return (uint32_t)size + (uint32_t)(code - 216) * 64;
  if (code < 248) return (uint32_t)4090 + code - 232;
  return code < 252 ? code - 248 : UINT32_MAX - (code - 252);
}

/** BUFFER bytes that begin with a size, right or wrong. */
static void *structure_from(bytes *input, size_t size) {
  unsigned char *buffer = buffer_of(BUFFER, 0);
  uint32_t said = size_from(input, size);
  memcpy(buffer, &said, sizeof said);
  /* Something behind what is known. */
  if (said > size && (take_byte(input) & 3) == 0) buffer[size + take_byte(input) % 8] = 1;
  return buffer;
}

/** Whether the tail of a structure says nothing, and its size is one that the library knows; `earlier`: one that it had
 * before. */
static int size_is_valid(const void *structure, size_t size, size_t earlier) {
  const unsigned char *buffer = structure;
  uint32_t said;
  memcpy(&said, buffer, sizeof said);
  if (said == earlier) return 1;
  if (said < size || said > 4096) return 0;
  for (size_t i = size; i < said; i += 1) {
    if (buffer[i] != 0) return 0;
  }
  return 1;
}

chime_queue_options *queue_options_from(bytes *input) {
  uint8_t form = take_byte(input);
  chime_queue_options *o;
  if ((form & 3) == 3) return NULL;
  o = structure_from(input, sizeof *o);
  if ((form & 4) != 0) o->flags = take_byte(input) % 16;
  if ((form & 8) != 0) o->label = text_from(input);
  if ((form & 16) != 0) o->clock = (int32_t)take_byte(input) % 8 - 2;
  if ((form & 32) != 0) {
    o->timer_limit = take_byte(input);
    o->start_ns = take_duration(input);
  }
  if ((form & 64) != 0) {
    uint8_t which = take_byte(input);
    if ((which & 1) != 0) o->enter = ignore_context;
    if ((which & 2) != 0) o->leave = ignore_context;
    if ((which & 4) != 0) o->affinity = (uint64_t)take_duration(input);
    if ((which & 8) != 0) o->realtime_priority = (int32_t)take_byte(input) - 100;
    if ((which & 16) != 0) o->reserved = 1;
    if ((which & 64) != 0) o->seed = take_byte(input);
    if ((which & 32) != 0) o->qos = (int32_t)take_byte(input) % 16 - 4;
  }
  return o;
}

int virtual_options_are_valid(const chime_queue_options *o) {
  if (o == NULL) return 1;
  if (!size_is_valid(o, sizeof *o, offsetof(chime_queue_options, seed))) return 0;
  if ((o->flags & ~(uint32_t)CHIME_QUEUE_HONOUR_LEEWAY) != 0) return 0;
  if (o->label != NULL && !is_utf8(o->label)) return 0;
  if (o->qos < CHIME_QOS_DEFAULT || o->qos > CHIME_QOS_USER_INTERACTIVE || o->start_ns < 0) return 0;
  if (o->clock != CHIME_CLOCK_MONOTONIC && o->clock != CHIME_CLOCK_VIRTUAL) return 0;
  return o->enter == NULL && o->leave == NULL && o->affinity == 0 && o->realtime_priority == 0 && o->reserved == 0;
}

chime_timer_options *timer_options_from(bytes *input, owned *context) {
  uint8_t form = take_byte(input);
  chime_timer_options *o;
  if (form == 255) return NULL;
  o = structure_from(input, sizeof *o);
  o->context = context;
  if ((form & 3) != 3) o->handler = ignore_tick;
  if ((form & 4) != 0) o->registration_handler = ignore_tick;
  if ((form & 8) != 0) o->cancel_handler = ignore_tick;
  if ((form & 16) == 0 && o->handler != NULL) o->finalizer = finalize;
  if ((form & 32) != 0) o->flags = take_byte(input) % 32;
  if ((form & 64) != 0) o->label = text_from(input);
  if ((form & 128) != 0) o->target = id_from(input);
  return o;
}

int timer_options_are_valid(const chime_timer_options *o) {
  if (o == NULL || !size_is_valid(o, sizeof *o, sizeof *o)) return 0;
  if (o->label != NULL && !is_utf8(o->label)) return 0;
  if (o->handler != NULL) return (o->flags & ~(uint32_t)(CHIME_TIMER_SELF_RELEASE | CHIME_TIMER_BACKGROUND)) == 0;
  return o->registration_handler == NULL && o->cancel_handler == NULL && o->finalizer == NULL && o->flags < 32;
}

chime_schedule *schedule_from(bytes *input) {
  uint8_t form = take_byte(input);
  chime_schedule *s;
  if ((form & 7) == 7) return NULL;
  s = structure_from(input, sizeof *s);
  s->first_ns = take_duration(input);
  if ((form & 1) != 0) s->interval_ns = take_duration(input);
  if ((form & 8) != 0) s->leeway_ns = take_duration(input);
  if ((form & 16) != 0) s->flags = take_byte(input) % 4;
  if ((form & 32) != 0) s->tick_limit = take_byte(input);
  if ((form & 64) != 0) s->missed_policy = (int32_t)take_byte(input) % 8 - 2;
  if ((form & 128) != 0) s->resume_policy = (int32_t)take_byte(input) % 8 - 2;
  if ((form & 64) != 0) s->jitter_ns = (int64_t)take_byte(input) - 16;
  return s;
}

int schedule_bytes_are_valid(const chime_schedule *s) {
  chime_schedule known = *s;
  if (s->size != offsetof(chime_schedule, jitter_ns)) known.size = sizeof known;
  return size_is_valid(s, sizeof *s, offsetof(chime_schedule, jitter_ns)) && schedule_is_valid(&known);
}

/** RFC 3629. */
int is_utf8(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  while (*c != 0) {
    int more = *c < 0x80 ? 0 : *c < 0xc2 ? -1 : *c < 0xe0 ? 1 : *c < 0xf0 ? 2 : *c < 0xf5 ? 3 : -1;
    unsigned first = *c;
    if (more < 0) return 0;
    c += 1;
    for (int i = 0; i < more; i += 1, c += 1) {
      unsigned low = i == 0 && first == 0xe0 ? 0xa0 : i == 0 && first == 0xf0 ? 0x90 : 0x80;
      unsigned high = i == 0 && first == 0xed ? 0x9f : i == 0 && first == 0xf4 ? 0x8f : 0xbf;
      if (*c < low || *c > high) return 0;
    }
  }
  return 1;
}

/** The size of a structure decides what of it is filled in; `oldest` and `later`: sizes that it had before. */
static chime_status fill(given *g, size_t size, size_t oldest, size_t later, chime_status (*ask)(uint64_t, void *)) {
  unsigned char before[BUFFER], *structure = structure_from(g->input, size);
  chime_status status;
  uint32_t said;
  size_t kept = 0;
  memcpy(before, structure, BUFFER);
  status = ask(g->id, g->out == NULL ? NULL : structure);
  if (status == CHIME_OK && g->out == NULL) fail("an answer without a place for it");
  memcpy(&said, structure, sizeof said);
  if (memcmp(before, structure, sizeof said) != 0) fail("the size of a structure was changed");
  if (status == CHIME_OK) {
    kept = said < size ? said : size;
    if (said != oldest && !size_is_valid(structure, size, later)) fail("a structure of a wrong size was filled in");
  }
  if (memcmp(before + kept, structure + kept, BUFFER - kept) != 0) fail("more was filled in than is known");
  return status;
}

static chime_status get_stats(uint64_t id, void *stats) { return chime_queue_get_stats(id, stats); }
static chime_status get_info(uint64_t id, void *info) { return chime_timer_get_info(id, info); }

chime_status ask_stats(given *g) {
  return fill(g, sizeof(chime_queue_stats), offsetof(chime_queue_stats, stale), sizeof(chime_queue_stats), get_stats);
}

chime_status ask_info(given *g) {
  return fill(g, sizeof(chime_timer_info), offsetof(chime_timer_info, missed), offsetof(chime_timer_info, jitter_ns),
              get_info);
}

chime_status ask_text(given *g, chime_status (*ask)(uint64_t, char *, uint64_t, uint64_t *)) {
  uint64_t capacity = (uint64_t)g->amount;
  char *text = g->handler == NULL ? NULL : buffer_of(4096, 0x5a);
  chime_status status;
  size_t kept;
  if (text != NULL && capacity > 4096) capacity = 4096;
  status = ask(g->id, text, capacity, g->out == NULL ? NULL : &g->out->id);
  kept = status == CHIME_OK ? (size_t)capacity : 0;
  if (text == NULL && capacity > 0 && status == CHIME_OK) fail("a text without a place for it");
  if (text == NULL) return status;
  if (kept > 0 && memchr(text, 0, kept) == NULL) fail("a text has no end");
  for (size_t i = kept; i < 4096; i += 1) {
    if (text[i] != 0x5a) fail("a text writes at %zu of %zu", i, kept);
  }
  if (kept > 0 && g->out != NULL && g->out->id < kept) {
    expect_number("length of a text", (int64_t)strlen(text), (int64_t)g->out->id);
  }
  return status;
}
