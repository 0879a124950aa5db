/*
 * sentences.c - what chime_last_error_detail says of calls that would wait for themselves: it names the timer, the
 * queue. (Of threads: Misuse; of arguments: arguments.c, refusals.c; of ids: ids.c. That each failure replaces
 * the sentence on the one before: EXPECT_STATUS, anywhere.)
 */
#include "refusals.h"

#include <stdarg.h>

/* Expects a sentence that holds numbers. */
static void expect_sentence(csuite *t, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void expect_sentence(csuite *t, int line, const char *format, ...) {
  char expected[256];
  va_list values;
  va_start(values, format);
  vsnprintf(expected, sizeof expected, format, values);
  va_end(values);
  csuite_expect_text(t, chime_last_error_detail(), expected, __FILE__, line, "the sentence");
}
#define SAYS(call, status, ...) \
  do { \
    EXPECT_STATUS(call, status); \
    expect_sentence(t, __LINE__, __VA_ARGS__); \
  } while (0)

THREAD_OF_TEST(look_first) {
  int64_t now = 77;
  EXPECT_TEXT(chime_last_error_detail(), "");
  EXPECT_STATUS(chime_now(CHIME_CLOCK_WALL + 1, &now), CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(now, 77);
}

TEST(each_thread_has_a_detail_of_its_own) {
  int64_t now;
  INVALID(chime_now(CHIME_CLOCK_MONOTONIC, NULL), "now_ns is NULL");
  run_on_a_thread(t, look_first, t);
  EXPECT_TEXT(chime_last_error_detail(), "now_ns is NULL");
  EXPECT(chime_now(CHIME_CLOCK_MONOTONIC, &now) == CHIME_OK); /* what succeeds changes nothing */
  EXPECT_TEXT(chime_last_error_detail(), "now_ns is NULL");
  EXPECT(chime_timer_cancel(5) == CHIME_ERROR_INVALID_HANDLE);
  EXPECT_TEXT(chime_last_error_detail(), "timer (5) names nothing");
}

static void in_the_handler(const chime_tick *tick, void *context) {
  csuite *t = context;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  EXPECT_OK(chime_timer_get_info(tick->timer, &info));
  SAYS(chime_queue_advance(info.queue, 1), CHIME_ERROR_WOULD_DEADLOCK,
       "this thread is inside a callback of queue (%" PRIu64 "): of timer (%" PRIu64 ")", info.queue, tick->timer);
  SAYS(chime_timer_cancel_and_wait(tick->timer, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK,
       "this thread is inside the handler of timer (%" PRIu64 ")", tick->timer);
  SAYS(chime_queue_shutdown(info.queue, CHIME_FOREVER), CHIME_ERROR_WOULD_DEADLOCK,
       "this thread is inside a callback of queue (%" PRIu64 "): of timer (%" PRIu64 ")", info.queue, tick->timer);
}

VIRTUAL_TEST(a_wait_that_would_never_end_names_the_timer_whose_handler_it_is_in) {
  REQUIRE_OK(chime_timer_after(queue, 1, in_the_handler, t, NULL, NULL));
  SAYS(chime_queue_advance(queue, 1), CHIME_ERROR_SHUT_DOWN,
       "the queue was released or shut down by another thread, or in a callback");
}
