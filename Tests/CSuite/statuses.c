/*
 * statuses.c - the names of statuses, the version, the clocks of the system, and a forked child. Promise 15.
 * (Which function answers which status is tested with the function.)
 */
#include "harness.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void every_status_has_its_name(csuite *t) {
  size_t i;
  for (i = 0; i < STATUSES; i++) {
    EXPECT_TEXT(chime_status_name(statuses[i].status), statuses[i].name);
    EXPECT(chime_status_name(statuses[i].status) == chime_status_name(statuses[i].status));
  }
  for (i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    EXPECT_TEXT(chime_status_name(unknown[i]), "CHIME_UNKNOWN");
  }
}

static void every_status_has_a_message_of_its_own(csuite *t) {
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

static void only_negative_statuses_are_failures(csuite *t) {
  size_t i;
  for (i = 0; i < STATUSES; i++) {
    EXPECT_EQ(CHIME_FAILED(statuses[i].status), strncmp(statuses[i].name, "CHIME_ERROR", 11) == 0);
  }
}

static void the_version_is_the_headers(csuite *t) {
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

static void each_clock_has_the_zero_of_clock_gettime(csuite *t) {
  check_clock(t, CHIME_CLOCK_MONOTONIC, CLOCK_MONOTONIC, 0);
  check_clock(t, CHIME_CLOCK_WALL, CLOCK_REALTIME, CHIME_HOUR); /* it may be stepped meanwhile */
#ifdef CLOCK_BOOTTIME
  check_clock(t, CHIME_CLOCK_BOOTTIME, CLOCK_BOOTTIME, 0);
#endif
}

/* ---- Fork ------------------------------------------------------------------------------------------------------- */

static void ignore_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}
static void ignore_function(void *context) { (void)context; }

enum { ANSWERS = 20 };

/* What a child of a fork is answered. Calls only Chime, as another thread may have held a lock of libc. */
static int ask_as_a_child(chime_queue_t queue, chime_timer_t timer, chime_status *answers) {
  chime_queue_stats stats = CHIME_QUEUE_STATS_INIT;
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  chime_queue_t new_queue = 0;
  chime_timer_t new_timer = 0;
  chime_state state = 0;
  uint64_t number = 0;
  int64_t time = 0;
  int n = 0;
  answers[n++] = chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &new_queue);
  answers[n++] = chime_queue_create(CHIME_QUEUE_VIRTUAL, NULL, &new_queue);
  answers[n++] = chime_timer_after(queue, 0, ignore_tick, NULL, NULL, &new_timer);
  answers[n++] = chime_timer_every(queue, 1, ignore_tick, NULL, NULL, &new_timer);
  answers[n++] = chime_timer_activate(timer, NULL);
  answers[n++] = chime_timer_restart(timer, NULL);
  answers[n++] = chime_timer_suspend(timer);
  answers[n++] = chime_timer_postpone(timer, 1);
  answers[n++] = chime_timer_fire(timer);
  answers[n++] = chime_timer_cancel(timer);
  answers[n++] = chime_timer_cancel_and_wait(timer, 0);
  answers[n++] = chime_timer_state(timer, &state);
  answers[n++] = chime_timer_generation(timer, &number);
  answers[n++] = chime_timer_next_deadline(timer, &time);
  answers[n++] = chime_timer_get_info(timer, &info);
  answers[n++] = chime_timer_release(timer);
  answers[n++] = chime_queue_sync(queue, ignore_function, NULL, 0);
  answers[n++] = chime_queue_get_stats(queue, &stats);
  answers[n++] = chime_queue_shutdown(queue, 0);
  answers[n++] = chime_queue_release(queue);
  return n;
}

/* [15] */
static void a_forked_child_is_told_and_the_parent_is_not_disturbed(csuite *t) {
  chime_status answers[ANSWERS];
  size_t received = 0;
  int ends[2], i, ticks;
  pid_t child;
  QUEUE_OR_RETURN(queue, SERIAL);
  probe *p = probe_every(t, queue, "a", CHIME_MILLISECOND);
  p->quiet = 1;
  REQUIRE(await(&p->ticks, 3));
  REQUIRE(pipe(ends) == 0);
  child = fork();
  if (child == 0) {
    int count;
    ssize_t written;
    signal(SIGALRM, SIG_DFL);
    alarm(30); /* ends a child that would wait for ever */
    count = ask_as_a_child(queue, p->timer, answers);
    /* The answers come back through a pipe: a checker may change the exit code. */
    written = write(ends[1], answers, (size_t)count * sizeof answers[0]);
    _exit(written < 0);
  }
  close(ends[1]);
  memset(answers, 0, sizeof answers);
  while (child > 0 && received < sizeof answers) {
    ssize_t some = read(ends[0], (char *)answers + received, sizeof answers - received);
    if (some <= 0) break;
    received += (size_t)some;
  }
  close(ends[0]);
  REQUIRE(child > 0);
  waitpid(child, NULL, 0);
  EXPECT_EQ(received, sizeof answers);
  for (i = 0; i < ANSWERS; i++) {
    csuite_expect_status(t, answers[i], CHIME_ERROR_FORKED, __FILE__, i, "the answer of that number to the child");
  }
  ticks = load(&p->ticks);
  EXPECT(await(&p->ticks, ticks + 3));
  EXPECT_EQ(state_of(t, p->timer), CHIME_STATE_RUNNING);
}

const csuite_test statuses_tests[] = {
    TEST(every_status_has_its_name),
    TEST(every_status_has_a_message_of_its_own),
    TEST(only_negative_statuses_are_failures),
    TEST(the_version_is_the_headers),
    TEST(each_clock_has_the_zero_of_clock_gettime),
    TEST(a_forked_child_is_told_and_the_parent_is_not_disturbed),
    {NULL, NULL},
};
