/*
 * statuses.c - the names of statuses, the version and the clocks of the system.
 * (Which function answers which status is tested with the function.)
 */
#include "harness.h"

typedef struct named {
  chime_status status;
  const char *name;
} named;

static const named statuses[] = {
    {CHIME_OK, "CHIME_OK"},
    {CHIME_IGNORED, "CHIME_IGNORED"},
    {CHIME_RUNNING, "CHIME_RUNNING"},
    {CHIME_STOPPED, "CHIME_STOPPED"},
    {CHIME_TIMED_OUT, "CHIME_TIMED_OUT"},
    {CHIME_ERROR_INVALID_ARGUMENT, "CHIME_ERROR_INVALID_ARGUMENT"},
    {CHIME_ERROR_INVALID_HANDLE, "CHIME_ERROR_INVALID_HANDLE"},
    {CHIME_ERROR_LIMIT, "CHIME_ERROR_LIMIT"},
    {CHIME_ERROR_NO_MEMORY, "CHIME_ERROR_NO_MEMORY"},
    {CHIME_ERROR_WOULD_DEADLOCK, "CHIME_ERROR_WOULD_DEADLOCK"},
    {CHIME_ERROR_BUSY, "CHIME_ERROR_BUSY"},
    {CHIME_ERROR_WRONG_THREAD, "CHIME_ERROR_WRONG_THREAD"},
    {CHIME_ERROR_TARGET_GONE, "CHIME_ERROR_TARGET_GONE"},
    {CHIME_ERROR_SHUT_DOWN, "CHIME_ERROR_SHUT_DOWN"},
    {CHIME_ERROR_UNSUPPORTED, "CHIME_ERROR_UNSUPPORTED"},
    {CHIME_ERROR_PERMISSION, "CHIME_ERROR_PERMISSION"},
    {CHIME_ERROR_RESOURCE, "CHIME_ERROR_RESOURCE"},
    {CHIME_ERROR_FORKED, "CHIME_ERROR_FORKED"},
};
enum { STATUSES = sizeof statuses / sizeof statuses[0] };

static const chime_status unknown[] = {5, 6, -14, -15, 1000, -1000, INT32_MAX, INT32_MIN};

TEST(every_status_has_its_name) {
  size_t i;
  for (i = 0; i < STATUSES; i++) {
    EXPECT_TEXT(chime_status_name(statuses[i].status), statuses[i].name);
    EXPECT(chime_status_name(statuses[i].status) == chime_status_name(statuses[i].status));
  }
  for (i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    EXPECT_TEXT(chime_status_name(unknown[i]), "CHIME_UNKNOWN");
  }
}

TEST(every_status_has_a_message_of_its_own) {
  size_t i, j;
  for (i = 0; i < STATUSES; i++) {
    const char *message = chime_status_message(statuses[i].status);
    REQUIRE(message != NULL);
    EXPECT(strlen(message) > 5);
    EXPECT(strchr(message, ' ') != NULL); /* a sentence */
    EXPECT(strchr(message, '\n') == NULL);
    EXPECT(message == chime_status_message(statuses[i].status)); /* static */
    for (j = 0; j < i; j++) EXPECT(strcmp(message, chime_status_message(statuses[j].status)) != 0);
  }
  for (i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    const char *message = chime_status_message(unknown[i]);
    EXPECT(message != NULL && strlen(message) > 0);
  }
}

#define KIND(kind) \
  { kind, #kind }
static const struct {
  chime_tick_kind kind;
  const char *name;
} kinds[] = {
    KIND(CHIME_TICK_DUE),        KIND(CHIME_TICK_FIRED),      KIND(CHIME_TICK_ARMED),     KIND(CHIME_TICK_CANCELLED),
    KIND(CHIME_TICK_FINALIZE),   KIND(CHIME_TICK_FUNCTION),   KIND(CHIME_TRACE_CREATED),  KIND(CHIME_TRACE_ACTIVATED),
    KIND(CHIME_TRACE_RESTARTED), KIND(CHIME_TRACE_SUSPENDED), KIND(CHIME_TRACE_RESUMED),  KIND(CHIME_TRACE_RESCHEDULED),
    KIND(CHIME_TRACE_POSTPONED), KIND(CHIME_TRACE_FIRED),     KIND(CHIME_TRACE_FINISHED), KIND(CHIME_TRACE_CANCELLED),
    KIND(CHIME_TRACE_RELEASED),  KIND(CHIME_TRACE_RETURNED),
};

TEST(every_kind_of_tick_has_its_name) {
  static const chime_tick_kind none[] = {-1, 6, 15, 28, INT32_MAX, INT32_MIN};
  size_t i;
  for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    EXPECT_TEXT(chime_tick_kind_name(kinds[i].kind), kinds[i].name);
    EXPECT(chime_tick_kind_name(kinds[i].kind) == chime_tick_kind_name(kinds[i].kind)); /* static */
  }
  for (i = 0; i < sizeof none / sizeof none[0]; i++) EXPECT_TEXT(chime_tick_kind_name(none[i]), "CHIME_UNKNOWN");
}

TEST(only_negative_statuses_are_failures) {
  size_t i;
  for (i = 0; i < STATUSES; i++) {
    EXPECT_EQ(CHIME_FAILED(statuses[i].status), strncmp(statuses[i].name, "CHIME_ERROR", 11) == 0);
  }
}

TEST(the_version_is_the_headers) {
  EXPECT_EQ(chime_version(), CHIME_VERSION);
  EXPECT_EQ(chime_version() >> 16, CHIME_VERSION_MAJOR);
  EXPECT_EQ((chime_version() >> 8) & 255, CHIME_VERSION_MINOR);
  EXPECT_EQ(chime_version() & 255, CHIME_VERSION_PATCH);
}

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * CHIME_SECOND + now.tv_nsec;
}

static void check_clock(csuite *t, chime_clock clock, clockid_t system_clock, int64_t slack_ns) {
  int64_t before = read_clock(system_clock), now = 0, after;
  EXPECT_OK(chime_now(clock, &now));
  after = read_clock(system_clock);
  EXPECT_BETWEEN(now, before - slack_ns, after + slack_ns);
}

TEST(each_clock_has_the_zero_of_clock_gettime) {
  check_clock(t, CHIME_CLOCK_MONOTONIC, CLOCK_MONOTONIC, 0);
  check_clock(t, CHIME_CLOCK_WALL, CLOCK_REALTIME, CHIME_HOUR); /* it may be stepped meanwhile */
#ifdef CLOCK_BOOTTIME
  check_clock(t, CHIME_CLOCK_BOOTTIME, CLOCK_BOOTTIME, 0);
#endif
}

/* ---- Fork ------------------------------------------------------------------------------------------------------- */
