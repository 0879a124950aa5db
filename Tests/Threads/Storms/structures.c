/*
 * structures.c - a thread writes the structures and texts that another one passes. What is accepted is valid all the same,
 * and what is refused has changed nothing: the library copies each of them once, and then looks only at the copy.
 */
#include "storms.h"

/* What the calls are given. The writer makes it valid and not, by turns; a call may see any mixture of the two. */
static chime_schedule schedule;
static chime_timer_options timer_options;
static chime_queue_options queue_options;
static char label[] = "\xc3\xbc";

static int handled, is_over;

static void count_handled(const chime_tick *tick, void *context) { (void)tick, add(context, 1); }

#define WRITE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))

/* One pair of members after the other, a thousand times each, so that most calls see all others as they should be. */
static void *write_on(void *unused) {
  for (int64_t round = 0; !load(&is_over); round++) {
    const int turn = round % 2 == 1;
    switch (round / 1000 % 7) {
      case 0:
        WRITE(schedule.interval_ns, turn ? 1 : CHIME_SECOND);
        WRITE(schedule.leeway_ns, turn ? 0 : CHIME_SECOND - 16);
        break;
      case 1:
        WRITE(schedule.jitter_ns, turn ? 1 : CHIME_SECOND);
        WRITE(schedule.interval_ns, turn ? 1 : CHIME_SECOND);
        break;
      case 2:
        WRITE(schedule.first_ns, turn ? 5 : -5);
        WRITE(schedule.flags, turn ? 0 : 6);
        break;
      case 3: WRITE(schedule.size, turn ? (uint32_t)sizeof schedule : 8); break;
      case 4:
        WRITE(timer_options.handler, turn ? count_handled : NULL);
        WRITE(timer_options.flags, turn ? 0 : CHIME_TIMER_RECORD_FINALIZE);
        break;
      case 5:
        WRITE(queue_options.start_ns, turn ? 5 : -5);
        WRITE(queue_options.flags, turn ? 0 : CHIME_QUEUE_FLAG_BOUND);
        break;
      case 6: WRITE(label[1], turn ? '\xbc' : '('); break; /* the first byte is one character with that, else none */
    }
  }
  return unused;
}

static void expect_valid(csuite *t, chime_timer_t timer) {
  chime_timer_info info = {.size = sizeof info};
  EXPECT_OK(chime_timer_get_info(timer, &info));
  EXPECT(info.interval_ns == 0 || info.leeway_ns < info.interval_ns);
  EXPECT(info.jitter_ns <= info.interval_ns);
  EXPECT(info.next_deadline_ns >= 10);
}

/* Of a call that takes the schedule. */
static int is_taken(csuite *t, chime_status status) {
  if (status != CHIME_ERROR_INVALID_ARGUMENT) EXPECT_OK(status);
  return status == CHIME_OK;
}

/* Whether a call was refused for its arguments, and its id is then as before. */
static int is_refused(csuite *t, chime_status status, uint64_t id) {
  if (status == CHIME_OK) return 0;
  EXPECT_STATUS(status, CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(id, 1);
  return 1;
}

static void start_a_timer(csuite *t, int64_t *accepted) {
  chime_queue_t queue = 1;
  chime_timer_t timer = 1;
  int before = load(&handled);
  if (is_refused(t, chime_queue_create(CHIME_QUEUE_VIRTUAL, &queue_options, &queue), queue)) return;
  int64_t now = -1;
  EXPECT_OK(chime_queue_now(queue, &now));
  EXPECT(now == 5);
  if (!is_refused(t, chime_timer_start(queue, &timer_options, &schedule, &timer), timer)) {
    char text[512];
    for (int i = 0; i < 100; i++) {
      expect_valid(t, timer);
      *accepted += is_taken(t, chime_timer_restart(timer, &schedule));
      expect_valid(t, timer);
      *accepted += is_taken(t, chime_timer_reschedule(timer, &schedule));
      expect_valid(t, timer);
      EXPECT_OK(chime_timer_cancel(timer));
      while (!is_taken(t, chime_timer_activate(timer, &schedule))) {}
    }
    /* Their labels are UTF-8: a dump tells what is not by U+FFFD. */
    EXPECT_OK(chime_queue_dump(queue, text, sizeof text, NULL));
    EXPECT(strstr(text, "fffd") == NULL);
    EXPECT_OK(chime_timer_fire(timer));
    EXPECT_OK(chime_queue_advance(queue, 0));
    EXPECT(load(&handled) > before);
    (*accepted)++;
  }
  EXPECT_OK(chime_queue_shutdown(queue, 0));
}

TEST(structures_that_another_thread_writes_meanwhile_are_copied_once) {
  int64_t begun = monotonic_ns(), calls = 0, accepted = 0;
  pthread_t writer;
  schedule = SCHEDULE(.first_ns = 5);
  timer_options = TIMER_OPTIONS(.handler = count_handled, .context = &handled, .label = label);
  queue_options = QUEUE_OPTIONS(.start_ns = 5, .label = label);
  store(&is_over, 0);
  if (!spawn(t, &writer, write_on, NULL)) return;
  for (; storm_goes_on(t, begun); calls++) start_a_timer(t, &accepted);
  store(&is_over, 1);
  pthread_join(writer, NULL);
  printf("%" PRId64 " calls, %" PRId64 " accepted\n", calls, accepted);
}
