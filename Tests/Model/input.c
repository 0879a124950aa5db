/* What input.h declares. */
#include "input.h"

#include <stdarg.h>

uint8_t take_byte(bytes *input) {
  if (input->left == 0) return 0;
  input->left -= 1;
  return *input->next++;
}

int64_t take_duration(bytes *input) {
  static const int64_t edges[] = {
      INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, -1, -2, INT64_C(1) << 62, INT32_MAX,
      /* what a postponement beside the deadline holds */
      UINT32_MAX, (int64_t)UINT32_MAX + 1, (int64_t)UINT32_MAX - 1, (int64_t)INT32_MAX + 2, 65536, 65537,
      /* what a leeway is kept in */
      (1 << 26) - 1, 1 << 26, (1 << 26) + 1, CHIME_SECOND, CHIME_MINUTE, CHIME_HOUR, 365 * 24 * CHIME_HOUR,
      /* levels of a wheel of 64 */
      63, 64, 65, 4095, 4096, 4097, 262143, 262144, 16777215, 16777216, INT64_C(1000000000000000)};
  uint8_t code = take_byte(input);
  if (code < 96) return code % 32;
  if (code < 160) return code - 96;
  if (code < 224) return (int64_t)(UINT64_C(1) << (code - 160));
  return edges[code - 224];
}

int64_t take_deadline(bytes *input, int *is_relative) {
  uint8_t code = input->left > 0 ? *input->next : 0;
  *is_relative = code < 192;
  if (!*is_relative) return take_duration(input);
  return (int64_t)take_byte(input) - 96;
}

/* One defect that must be refused; some of the numbers leave the schedule valid. */
static void spoil(chime_schedule *s, uint8_t how) {
  switch (how % 8) {
    case 0: s->size = (uint32_t)sizeof *s - 1 - how / 8; break;
    case 1: s->flags |= (uint32_t)2 << how / 16; break;
    case 2: s->missed_policy = (how / 8) - 4; break;
    case 3: s->resume_policy = (how / 8) - 4; break;
    case 4:
      if ((how & 8) == 0) s->leeway_ns = s->interval_ns;
      else s->jitter_ns = s->interval_ns < INT64_MAX ? s->interval_ns + 1 : -1;
      break;
    case 5: s->interval_ns = -s->interval_ns; break;
    case 6: s->leeway_ns = -1; break;
    default: s->first_ns = -s->first_ns; break;
  }
}

chime_schedule take_any_schedule(bytes *input, int *first_is_relative) {
  chime_schedule s = CHIME_SCHEDULE_INIT;
  uint8_t form = take_byte(input);
  *first_is_relative = 0;
  if ((form & 1) != 0) {
    s.flags = CHIME_SCHEDULE_DEADLINE;
    s.first_ns = take_deadline(input, first_is_relative);
  } else {
    s.first_ns = take_duration(input);
  }
  if ((form & 2) != 0) s.interval_ns = take_duration(input);
  if ((form & 4) != 0) s.missed_policy = CHIME_MISSED_DELAY;
  if ((form & 8) != 0) s.resume_policy = CHIME_RESUME_REMAINING;
  if ((form & 16) != 0) s.leeway_ns = take_duration(input);
  if ((form & 32) != 0) {
    uint8_t limit = take_byte(input);
    s.tick_limit = limit < 240 ? limit % 8 : UINT64_MAX - (limit - 240);
  }
  if ((form & 192) == 64 && s.interval_ns > 0) {
    s.jitter_ns = (int64_t)((uint64_t)take_duration(input) % ((uint64_t)s.interval_ns + 1));
  }
  if ((form & 192) == 192) spoil(&s, take_byte(input));
  return s;
}

void trace(const char *format, ...) {
  static int is_asked_for = -1;
  va_list arguments;
  if (is_asked_for < 0) is_asked_for = getenv("CHIME_MODEL_TRACE") != NULL;
  if (!is_asked_for) return;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

void (*on_difference)(const char *difference);

void fail(const char *format, ...) {
  static char text[10000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  on_difference(text);
  abort();
}

void expect_status(const char *call, chime_status status, statuses permitted) {
  trace("    = %s", chime_status_name(status));
  if (status_set_has(permitted, status)) return;
  for (int i = CHIME_ERROR_TIMED_OUT; i < 16; i += 1) {
    if (status_set_has(permitted, i)) trace("permitted: %s", chime_status_name(i));
  }
  fail("%s answers %s (%d)", call, chime_status_name(status), (int)status);
}

void expect_number(const char *what, int64_t actual, int64_t expected) {
  if (actual != expected) fail("%s is %" PRId64 ", not %" PRId64, what, actual, expected);
}

int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t saturating_difference(int64_t a, int64_t b) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

int schedule_is_valid(const chime_schedule *s) {
  int is_deadline = (s->flags & CHIME_SCHEDULE_DEADLINE) != 0;
  int64_t jitter = s->jitter_ns;
  if (s->size != sizeof *s || (s->flags & ~(uint32_t)CHIME_SCHEDULE_DEADLINE) != 0) return 0;
  if (s->interval_ns < 0 || s->leeway_ns < 0 || (!is_deadline && s->first_ns < 0)) return 0;
  if (s->interval_ns > 0 && s->leeway_ns >= s->interval_ns) return 0;
  if (jitter < 0 || jitter > s->interval_ns) return 0;
  if (s->missed_policy != CHIME_MISSED_COALESCE && s->missed_policy != CHIME_MISSED_DELAY) return 0;
  if (s->resume_policy != CHIME_RESUME_COALESCE && s->resume_policy != CHIME_RESUME_REMAINING) return 0;
  return !(is_deadline && s->resume_policy == CHIME_RESUME_REMAINING);
}
