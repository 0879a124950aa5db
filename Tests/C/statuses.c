/*
 * statuses.c - the names of statuses, the version and the clocks of the system.
 * (Which function answers which status is tested with the function.)
 */
#include "harness.h"

/* clang-format off */
#define NAMED(constant) { constant, #constant }
static const struct {
  int32_t value;
  const char *name;
} statuses[] = {
  NAMED(CHIME_OK), NAMED(CHIME_IGNORED), NAMED(CHIME_RUNNING), NAMED(CHIME_IGNORED | CHIME_RUNNING), NAMED(CHIME_STOPPED), NAMED(CHIME_TIMED_OUT),
  NAMED(CHIME_ERROR_INVALID_ARGUMENT), NAMED(CHIME_ERROR_INVALID_HANDLE), NAMED(CHIME_ERROR_LIMIT),
  NAMED(CHIME_ERROR_NO_MEMORY), NAMED(CHIME_ERROR_WOULD_DEADLOCK), NAMED(CHIME_ERROR_BUSY),
  NAMED(CHIME_ERROR_WRONG_THREAD), NAMED(CHIME_ERROR_TARGET_GONE), NAMED(CHIME_ERROR_SHUT_DOWN),
  NAMED(CHIME_ERROR_UNSUPPORTED), NAMED(CHIME_ERROR_PERMISSION), NAMED(CHIME_ERROR_RESOURCE), NAMED(CHIME_ERROR_FORKED),
  NAMED(CHIME_ERROR_TIMED_OUT),
}, kinds[] = {
  NAMED(CHIME_TICK_DUE), NAMED(CHIME_TICK_FIRED), NAMED(CHIME_TICK_ARMED), NAMED(CHIME_TICK_CANCELLED),
  NAMED(CHIME_TICK_FINALIZE), NAMED(CHIME_TICK_FUNCTION), NAMED(CHIME_TRACE_CREATED), NAMED(CHIME_TRACE_ACTIVATED),
  NAMED(CHIME_TRACE_RESTARTED), NAMED(CHIME_TRACE_SUSPENDED), NAMED(CHIME_TRACE_RESUMED),
  NAMED(CHIME_TRACE_RESCHEDULED), NAMED(CHIME_TRACE_POSTPONED), NAMED(CHIME_TRACE_FIRED), NAMED(CHIME_TRACE_FINISHED),
  NAMED(CHIME_TRACE_CANCELLED), NAMED(CHIME_TRACE_RELEASED), NAMED(CHIME_TRACE_RETURNED),
};
/* clang-format on */
enum { STATUSES = sizeof statuses / sizeof statuses[0], KINDS = sizeof kinds / sizeof kinds[0] };

static const chime_status unknown[] = {5, 6, 7, 9, 16, -1, -17, -240, -256, 1000, -1000, INT32_MAX, INT32_MIN};
enum { UNKNOWN = sizeof unknown / sizeof unknown[0] };

TEST(every_status_and_every_kind_of_tick_has_its_name) {
  static const chime_tick_kind none[] = {-1, 6, 15, 28, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < STATUSES; i++) {
    EXPECT_TEXT(chime_status_name(statuses[i].value), statuses[i].name);
    EXPECT_EQ(CHIME_FAILED(statuses[i].value), strncmp(statuses[i].name, "CHIME_ERROR", 11) == 0);
  }
  for (size_t i = 0; i < UNKNOWN; i++) EXPECT_TEXT(chime_status_name(unknown[i]), "CHIME_UNKNOWN");
  for (size_t i = 0; i < KINDS; i++) EXPECT_TEXT(chime_tick_kind_name(kinds[i].value), kinds[i].name);
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) EXPECT_TEXT(chime_tick_kind_name(none[i]), "CHIME_UNKNOWN");
}

TEST(every_status_has_a_message_of_its_own) {
  for (size_t i = 0; i < STATUSES; i++) {
    const char *message = chime_status_message(statuses[i].value);
    REQUIRE(message != NULL);
    EXPECT(strlen(message) > 5);
    EXPECT(strchr(message, ' ') != NULL); /* a sentence */
    EXPECT(strchr(message, '\n') == NULL);
    EXPECT(message == chime_status_message(statuses[i].value)); /* static */
    for (size_t j = 0; j < i; j++) EXPECT(strcmp(message, chime_status_message(statuses[j].value)) != 0);
  }
  for (size_t i = 0; i < UNKNOWN; i++) EXPECT(strlen(chime_status_message(unknown[i])) > 0);
}

TEST(the_version_is_the_headers) {
  EXPECT_EQ(chime_version(), CHIME_VERSION);
  EXPECT_EQ(chime_version() >> 16, CHIME_VERSION_MAJOR);
  EXPECT_EQ((chime_version() >> 8) & 255, CHIME_VERSION_MINOR);
  EXPECT_EQ(chime_version() & 255, CHIME_VERSION_PATCH);
}

static void check_clock(csuite *t, chime_clock clock, int64_t (*system_clock)(void), int64_t slack_ns) {
  int64_t before = system_clock(), now = 0, after;
  if (before < 0) return;
  EXPECT_OK(chime_now(clock, &now));
  after = system_clock();
  EXPECT_BETWEEN(now, before - slack_ns, after + slack_ns);
}

TEST(each_clock_has_the_zero_of_the_systems) {
  check_clock(t, CHIME_CLOCK_MONOTONIC, system_monotonic_ns, 0);
  check_clock(t, CHIME_CLOCK_WALL, system_wall_ns, CHIME_HOUR); /* it may be stepped meanwhile */
  check_clock(t, CHIME_CLOCK_BOOTTIME, system_boottime_ns, 0);
}
