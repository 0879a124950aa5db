/*
 * slots.c - a call is held up before its compare-and-swap until its timer is gone, and the timer's slot has another one
 * that looks as the first one did: the call does not reach it. (Many threads and slots: storm.c of the C suite.)
 * Promise 10. The thread is stopped by the processor's trap flag.
 */
#define _GNU_SOURCE /* the registers in a ucontext */

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <ucontext.h>

#include "storms.h"

/* ---- A thread that stands before its first compare-and-exchange, where the processor offers it: x86-64 ---------- */

/* It posts `stands` there, or when its call has ended, and waits for `goes`; so one of the two runs at a time. */
static sem_t stands, goes;
static int has_ended;

#ifdef __x86_64__

enum { CAN_STEP = 1, TRAP_FLAG = 0x100 };

/* Beside the red zone, in which the compiler may keep something. */
#define SET_FLAGS(change) \
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" change "\n\tpopfq\n\tlea 128(%%rsp), %%rsp" :: \
                       : "memory", "cc")
#define BEGIN_STEPPING SET_FLAGS("orq $0x100, (%%rsp)")
#define END_STEPPING SET_FLAGS("andq $~0x100, (%%rsp)")

/* LOCK CMPXCHG, with prefixes of size and registers in between. */
static int is_exchange(const unsigned char *code) {
  if (*code++ != 0xF0) return 0;
  while ((*code & 0xF0) == 0x40 || *code == 0x66) code++;
  return code[0] == 0x0F && (code[1] & 0xFE) == 0xB0;
}

static void stand_before_an_exchange(int number, siginfo_t *info, void *argument) {
  ucontext_t *context = argument;
  int before = errno;
  if (!is_exchange((const unsigned char *)context->uc_mcontext.gregs[REG_RIP])) return;
  sem_post(&stands);
  while (sem_wait(&goes) != 0) continue;
  context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG; /* it goes on to the end */
  errno = before;
}

#else

enum { CAN_STEP = 0 };
#define BEGIN_STEPPING
#define END_STEPPING
static void stand_before_an_exchange(int number, siginfo_t *info, void *argument) { (void)goes; }

#endif

/* Once; 0, and the storm is skipped, where the processor cannot. */
static int prepare_to_step(csuite *t) {
  const struct sigaction action = {.sa_sigaction = stand_before_an_exchange, .sa_flags = SA_RESTART | SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  sem_init(&stands, 0, 0);
  sem_init(&goes, 0, 0);
  if (!CAN_STEP) csuite_skip(t, "this processor cannot be stepped through a call");
  return CAN_STEP;
}

/* Waits until the thread stands; 0 when its call has ended. */
static int await_stand(void) {
  while (sem_wait(&stands) != 0) continue;
  return load(&has_ended) == 0;
}

/* ---- A slot that comes to look as it did ------------------------------------------------------------------------- */

/*
 * How often timers may come and go while the call is held up: as often as the bits of the generation that the core
 * compares can count, and a little more. A process does that in less than a second.
 */
enum { BITS = 22, LIVES = (1 << BITS) + (1 << 16) };

typedef struct held_call {
  chime_timer_t timer;
  chime_status (*stop)(chime_timer_t timer);
  chime_status status;
} held_call;

static void *stop_step_by_step(void *argument) {
  held_call *c = argument;
  store(&has_ended, 0);
  BEGIN_STEPPING;
  c->status = c->stop(c->timer);
  END_STEPPING;
  store(&has_ended, 1);
  sem_post(&stands);
  return NULL;
}

static void never(const chime_tick *tick, void *context) {}

static chime_status postpone(chime_timer_t timer) { return chime_timer_postpone(timer, CHIME_HOUR + CHIME_SECOND); }
static chime_status (*const stops[])(chime_timer_t) = {chime_timer_cancel, chime_timer_suspend, chime_timer_release,
                                                       postpone};
enum { STOPS = sizeof stops / sizeof stops[0] };

static int slot_of(chime_timer_t id) { return (int)(id & ((1 << 26) - 1)); }
static uint32_t low_bits(uint64_t generation) { return (uint32_t)(generation & ((1 << BITS) - 1)); }

static chime_timer_t make_idle(chime_queue_t queue) {
  chime_timer_t timer = 0;
  chime_timer_create(queue, &TIMER_OPTIONS(.handler = never), &timer);
  return timer;
}

/*
 * Makes and releases timers until one that is started in the slot of `stale` looks to the core as that one did:
 * the same slot, the same low bits of the generation. 0 when that has not come within LIVES timers. Up to `others_most`
 * other slots are kept from being used again.
 */
static chime_timer_t repeat(csuite *t, chime_queue_t queue, chime_timer_t stale, uint64_t generation, int others_most) {
  enum { OTHERS = 200 };
  chime_timer_t others[OTHERS], timer = make_idle(queue);
  uint32_t left = 0; /* transitions until the generation is that one */
  int life, count = 0;
  while (slot_of(timer) != slot_of(stale) && count < others_most) {
    others[count++] = timer;
    timer = make_idle(queue);
  }
  for (life = 0; life < LIVES && timer != 0; life++) {
    uint64_t now = 0;
    if (slot_of(timer) == slot_of(stale) && chime_timer_generation(timer, &now) == CHIME_OK) {
      left = low_bits(generation - now);
      if (left >= 1 && left <= 4) break;
    }
    chime_timer_release(timer);
    timer = make_idle(queue);
  }
  if (left >= 1 && left <= 4) {
    for (; left > 1; left--) EXPECT_OK(chime_timer_reschedule(timer, AFTER(CHIME_HOUR)));
    EXPECT_OK(chime_timer_activate(timer, AFTER(CHIME_HOUR)));
    EXPECT_OK(chime_queue_advance(queue, 0));
  } else {
    EXPECT_OK(chime_timer_release(timer));
    timer = 0;
  }
  while (count > 0) EXPECT_OK(chime_timer_release(others[--count]));
  return timer;
}

/*
 * [10] A thread is held up just before the first compare-and-exchange of its call. Meanwhile the timer is released, and
 * others come and go in its slot. Whatever the call has read before, it must not reach another. A second exchange would
 * come when the thread owns the timer's record, and a release has to wait for that.
 */
static void a_call_that_is_held_up_never_reaches_another_timer(csuite *t, int others_most) {
  held_call *c = csuite_memory(t, sizeof *c);
  int rounds = 0, repeated = 0, red = 0;
  int64_t begun = monotonic_ns();
  QUEUE_OR_RETURN(queue, VIRTUAL);
  if (!prepare_to_step(t)) return;
  for (; storm_goes_on(t, begun) && red == 0; rounds++) {
    pthread_t thread;
    chime_timer_t other = 0;
    int64_t deadline;
    c->timer = make_idle(queue);
    c->stop = stops[rounds % STOPS];
    EXPECT_OK(chime_timer_activate(c->timer, AFTER(CHIME_HOUR)));
    EXPECT_OK(chime_queue_advance(queue, 0));
    deadline = deadline_of(t, c->timer);
    if (!spawn(t, &thread, stop_step_by_step, c)) return;
    if (EXPECT(await_stand())) {
      uint64_t generation = generation_of(t, c->timer);
      EXPECT_OK(chime_timer_release(c->timer));
      EXPECT_OK(chime_queue_advance(queue, 0));
      other = repeat(t, queue, c->timer, generation, others_most);
      sem_post(&goes);
      EXPECT(!await_stand());
    }
    pthread_join(thread, NULL);
    EXPECT_STATUS(c->status, CHIME_ERROR_INVALID_HANDLE);
    if (other == 0) continue;
    repeated++;
    red += is_stale(other) || state_of(t, other) != CHIME_STATE_RUNNING || deadline_of(t, other) != deadline;
    chime_timer_release(other);
    EXPECT_OK(chime_queue_advance(queue, 0));
  }
  printf("%d rounds, in %d the slot came to the same generation, %d other timers were reached\n", rounds, repeated,
         red);
  EXPECT_EQ(red, 0);
}

TEST(a_call_that_is_held_up_never_reaches_the_next_timer) { a_call_that_is_held_up_never_reaches_another_timer(t, 0); }
/* The same where all other slots that the thread has at hand are in use. */
TEST(a_call_that_is_held_up_never_reaches_the_next_timer_among_many) {
  a_call_that_is_held_up_never_reaches_another_timer(t, 200);
}
