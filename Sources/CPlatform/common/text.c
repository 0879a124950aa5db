#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../../include/chime.h"
#include "thread_locals.h"

/* ---- Texts that are not Chime's own ------------------------------------------------------------------------------- */

/* As Unicode has it: no surrogates, nothing longer than need be. */
int32_t chime_next_character(const char **text) {
  const unsigned char *next = (const unsigned char *)(*text)++;
  uint32_t code = next[0];
  int rest = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : 1;
  if (code < 0x80) return (int32_t)code;
  if (code < 0xc2 || code > 0xf4) return -1;
  code &= 0x3fu >> rest;
  for (int i = 1; i <= rest; i++) {
    if ((next[i] & 0xc0) != 0x80) return -1;
    code = code << 6 | (next[i] & 0x3fu);
  }
  if (code < (rest == 1 ? 0x80u : rest == 2 ? 0x800u : 0x10000u) || code > 0x10ffff || code >> 11 == 0x1b) return -1;
  *text += rest;
  return (int32_t)code;
}

static int is_hidden(uint32_t code) {
  /* Control characters; what has no width or no image, except the joiners and selectors that scripts and emoji need;
     directions; separators; tags. */
  static const uint32_t ranges[][2] = {
      {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},     {0x61c, 0x61c},
      {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200b},   {0x200e, 0x200f},
      {0x2028, 0x202e}, {0x2060, 0x206f}, {0x2800, 0x2800}, {0x3164, 0x3164},   {0xfeff, 0xfeff},
      {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xfffd, 0xffff}, {0x1d173, 0x1d17a}, {0xe0000, 0xe007f},
  };
  if (code > 0xffff && (code & 0xfffe) == 0xfffe) return 1; /* no characters, in every plane */
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    if (code >= ranges[i][0] && code <= ranges[i][1]) return 1;
  }
  return 0;
}

size_t chime_write_foreign(char piece[CHIME_PIECE], const char **text) {
  const char *from = *text;
  int32_t code = chime_next_character(text);
  size_t length = (size_t)(*text - from);
  if (code < 0) code = 0xfffd;
  if (code == '"' || code == '\\') return (size_t)snprintf(piece, CHIME_PIECE, "\\%c", (char)code);
  if (is_hidden((uint32_t)code)) {
    unsigned first = (unsigned)code, rest = first - 0x10000;
    if (first <= 0xffff) return (size_t)snprintf(piece, CHIME_PIECE, "\\u%04x", first & 0xffff);
    /* JSON writes these as two halves. */
    return (size_t)snprintf(piece, CHIME_PIECE, "\\u%04x\\u%04x", 0xd800 | (rest >> 10 & 0x3ff),
                            0xdc00 | (rest & 0x3ff));
  }
  memcpy(piece, from, length);
  return length;
}

/* ---- Durations and sentences -------------------------------------------------------------------------------------- */

typedef struct unit {
  const char *name;
  uint64_t length;
} unit;

static const unit units[] = {
    {"days", UINT64_C(86400000000000)},
    {"h", UINT64_C(3600000000000)},
    {"min", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},
    {"ns", UINT64_C(1)},
};
enum { SECONDS = 3, NANOSECONDS = 6 };

static uint64_t magnitude_of(int64_t number) { return number < 0 ? -(uint64_t)number : (uint64_t)number; }

/* Digits of a fraction, of as many as `digits` says, without the zeroes at its end. */
static void write_number(char *text, int64_t sign, uint64_t whole, uint64_t fraction, int digits, const char *name) {
  char decimals[24] = "";
  if (fraction > 0) {
    size_t length = (size_t)snprintf(decimals, sizeof decimals, ".%0*" PRIu64, digits, fraction);
    while (decimals[length - 1] == '0') decimals[--length] = 0;
  }
  snprintf(text, CHIME_DURATION_TEXT, "%s%" PRIu64 "%s %s", sign < 0 ? "-" : "", whole, decimals, name);
}

void chime_write_duration(char text[CHIME_DURATION_TEXT], int64_t nanoseconds) {
  uint64_t magnitude = magnitude_of(nanoseconds), whole, rest;
  int i = 0;
  /* From two of a unit on, so that a minute is 60 s. */
  while (i < NANOSECONDS && magnitude < units[i].length * (i < SECONDS ? 2 : 1)) i++;
  whole = magnitude / units[i].length;
  rest = magnitude % units[i].length;
  if (i == NANOSECONDS || whole >= 100) {
    write_number(text, nanoseconds, whole, 0, 0, units[i].name);
  } else if (whole >= 10) {
    write_number(text, nanoseconds, whole, rest / (units[i].length / 10), 1, units[i].name);
  } else {
    write_number(text, nanoseconds, whole, rest / (units[i].length / 100), 2, units[i].name);
  }
}

void chime_write_exact_duration(char text[CHIME_DURATION_TEXT], int64_t nanoseconds) {
  uint64_t magnitude = magnitude_of(nanoseconds);
  int i = SECONDS, digits = 9;
  if (nanoseconds == INT64_MAX) {
    strcpy(text, "CHIME_FOREVER");
    return;
  }
  for (; i < NANOSECONDS && magnitude < units[i].length; i++) digits -= 3;
  write_number(text, nanoseconds, magnitude / units[i].length, magnitude % units[i].length, digits, units[i].name);
}

static void write_error(char *text, size_t capacity, int error) {
  char memory[80];
#if defined(__GLIBC__)
  const char *found = strerror_r(error, memory, sizeof memory);
#else
  const char *found = memory;
#if defined(_WIN32)
  strerror_s(memory, sizeof memory, error);
#else
  strerror_r(error, memory, sizeof memory);
#endif
#endif
  snprintf(text, capacity, "%s (errno %d)", found, error);
}

/* By the kind in an id's highest three bits: see Handle. */
static const char *what_is_named(int64_t id) {
  static const char names[][18] = {"nothing",    "a timer",      "a queue",          "a target",
                                   "a run loop", "a weak timer", "an expiring value"};
  uint64_t kind = (uint64_t)id >> 50;
  return names[kind < sizeof names / sizeof names[0] ? kind : 0];
}

void chime_write_sentence(char *text, size_t capacity, const char *format, const char *name, int64_t first,
                          int64_t second) {
  size_t length = 0;
  for (; *format != 0 && length + 1 < capacity; format++) {
    char value[120];
    const char *part = value;
    if (*format != '%') {
      text[length++] = *format;
      continue;
    }
    format++;
    if (*format == 's') {
      part = name;
    } else {
      if (*format == 't') chime_write_exact_duration(value, first);
      if (*format == 'd') chime_write_duration(value, first);
      if (*format == 'k') part = what_is_named(first);
      if (*format == 'n') snprintf(value, sizeof value, "%" PRId64, first);
      if (*format == 'u') snprintf(value, sizeof value, "%" PRIu64, (uint64_t)first);
      if (*format == 'e') write_error(value, sizeof value, (int)first);
      first = second;
    }
    while (*part != 0 && length + 1 < capacity) text[length++] = *part++;
  }
  text[length] = 0;
}

int32_t chime_note_sentence(int32_t status, const char *format, const char *name, int64_t first, int64_t second) {
  thread_of_chime.name = name;
  thread_of_chime.first = first;
  thread_of_chime.second = second;
  thread_of_chime.format = format;
  return thread_of_chime.status = (int16_t)status;
}

int32_t chime_note_constant(int32_t status, const char *constant) {
  thread_of_chime.format = constant;
  return thread_of_chime.status = (int16_t)status;
}

const char *chime_noted_sentence(void) {
  const char *format = thread_of_chime.format;
  char *room;
  if (format == NULL) return "";
  room = chime_sentence_room();
  if (room == NULL) return chime_text_of_status(thread_of_chime.status, 1);
  chime_write_sentence(room, CHIME_SENTENCE, format, thread_of_chime.name, thread_of_chime.first,
                       thread_of_chime.second);
  return room;
}

int32_t chime_noted_status(void) { return thread_of_chime.status; }

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* One text after the other: an array of pointers to them would be relocated when the library is loaded. */
static const char *text_at(const char *texts, unsigned index) {
  while (index-- > 0) texts += strlen(texts) + 1;
  return texts;
}

/* The texts of the statuses that are no failures, sets of bits, come first; then those of the failures, STEP apart. */
static const int8_t successes[] = {CHIME_OK,      CHIME_IGNORED,  CHIME_RUNNING, CHIME_IGNORED | CHIME_RUNNING,
                                   CHIME_STOPPED, CHIME_TIMED_OUT};
enum { STEP = -CHIME_ERROR_INVALID_ARGUMENT, SUCCESSES = sizeof successes, FAILURES = -CHIME_ERROR_TIMED_OUT / STEP };

static unsigned index_of_status(int32_t status) {
  if (status < 0 && status >= CHIME_ERROR_TIMED_OUT && status % STEP == 0)
    return SUCCESSES - 1 + (unsigned)(status / -STEP);
  for (unsigned i = 0; i < SUCCESSES; i++) {
    if (successes[i] == status) return i;
  }
  return SUCCESSES + FAILURES;
}

const char *chime_text_of_status(int32_t status, int which) {
  /* Name, meaning; at the end of what is none. */
  static const char texts[] =
      "CHIME_OK\0"
      "The call took effect.\0"
      "CHIME_IGNORED\0"
      "The call means nothing in this state; nothing changed.\0"
      "CHIME_RUNNING\0"
      "The call took effect; a handler that had started before has not returned yet.\0"
      "CHIME_IGNORED | CHIME_RUNNING\0"
      "Nothing changed; a handler that had started before has not returned yet.\0"
      "CHIME_STOPPED\0"
      "The call ended because a stop was asked for.\0"
      "CHIME_TIMED_OUT\0"
      "The time of the run is over.\0"
      "CHIME_ERROR_INVALID_ARGUMENT\0"
      "An argument is NULL, out of range, contradicts another, or is a structure whose size is not set.\0"
      "CHIME_ERROR_INVALID_HANDLE\0"
      "The id is none, is of another kind, or was released.\0"
      "CHIME_ERROR_LIMIT\0"
      "A configured or built-in limit is reached.\0"
      "CHIME_ERROR_NO_MEMORY\0"
      "Memory could not be had.\0"
      "CHIME_ERROR_WOULD_DEADLOCK\0"
      "Waiting would never end: the caller is what it would wait for.\0"
      "CHIME_ERROR_BUSY\0"
      "Another thread is inside this queue.\0"
      "CHIME_ERROR_WRONG_THREAD\0"
      "Only a certain thread may do this.\0"
      "CHIME_ERROR_TARGET_GONE\0"
      "The timer's target no longer exists.\0"
      "CHIME_ERROR_SHUT_DOWN\0"
      "The queue was shut down while the call was under way.\0"
      "CHIME_ERROR_UNSUPPORTED\0"
      "This kind of queue, clock or platform cannot do that.\0"
      "CHIME_ERROR_PERMISSION\0"
      "The operating system does not permit it.\0"
      "CHIME_ERROR_RESOURCE\0"
      "Threads, file descriptors or the like could not be had.\0"
      "CHIME_ERROR_FORKED\0"
      "This is the child of a fork.\0"
      "CHIME_ERROR_TIMED_OUT\0"
      "What was waited for had not happened when the timeout ended.\0"
      "CHIME_UNKNOWN\0"
      "Not a status of this version of Chime.\0";
  return text_at(texts, 2 * index_of_status(status) + (unsigned)which);
}

const char *chime_name_of_kind(uint32_t kind) {
  static const char texts[] = "CHIME_TICK_DUE\0"
                              "CHIME_TICK_FIRED\0"
                              "CHIME_TICK_ARMED\0"
                              "CHIME_TICK_CANCELLED\0"
                              "CHIME_TICK_FINALIZE\0"
                              "CHIME_TICK_FUNCTION\0"
                              "CHIME_TRACE_CREATED\0"
                              "CHIME_TRACE_ACTIVATED\0"
                              "CHIME_TRACE_RESTARTED\0"
                              "CHIME_TRACE_SUSPENDED\0"
                              "CHIME_TRACE_RESUMED\0"
                              "CHIME_TRACE_RESCHEDULED\0"
                              "CHIME_TRACE_POSTPONED\0"
                              "CHIME_TRACE_FIRED\0"
                              "CHIME_TRACE_FINISHED\0"
                              "CHIME_TRACE_CANCELLED\0"
                              "CHIME_TRACE_RELEASED\0"
                              "CHIME_TRACE_RETURNED\0"
                              "CHIME_UNKNOWN";
  enum { CALLBACKS = CHIME_TICK_FUNCTION + 1, ALL = CALLBACKS + CHIME_TRACE_RETURNED - CHIME_TRACE_CREATED + 1 };
  int index = kind >= CHIME_TRACE_CREATED ? kind - CHIME_TRACE_CREATED + CALLBACKS : kind < CALLBACKS ? kind : ALL;
  return text_at(texts, (unsigned)(index < 0 || index > ALL ? ALL : index));
}
