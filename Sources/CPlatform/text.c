#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "thread_state.h"

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
  strerror_r(error, memory, sizeof memory);
#endif
  snprintf(text, capacity, "%s (errno %d)", found, error);
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
      if (*format == 'n') snprintf(value, sizeof value, "%" PRId64, first);
      if (*format == 'e') write_error(value, sizeof value, (int)first);
      first = second;
    }
    while (*part != 0 && length + 1 < capacity) text[length++] = *part++;
  }
  text[length] = 0;
}

#define THREAD_LOCAL static _Thread_local __attribute__((CHIME_THREAD_LOCAL_MODEL))

THREAD_LOCAL struct {
  const char *format, *name;
  int64_t first, second;
} noted;
THREAD_LOCAL char sentence[160];

void chime_note_sentence(const char *format, const char *name, int64_t first, int64_t second) {
  noted.format = format;
  noted.name = name;
  noted.first = first;
  noted.second = second;
}

const char *chime_noted_sentence(void) {
  if (noted.format == NULL) return "";
  chime_write_sentence(sentence, sizeof sentence, noted.format, noted.name, noted.first, noted.second);
  return sentence;
}
