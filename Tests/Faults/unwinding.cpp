/*
 * unwinding.cpp - a C++ exception and a longjmp that leave a handler. chime.h says that this is undefined; here is what
 * happens, so that it can be recognised. (For pthread_exit see callback_end.c.) Expected is what keeps a mistake visible: an
 * exception ends the process by std::terminate and its message.
 */
#include "places.h"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static int is_first = 1;
static int ticks;

static void throw_once(const chime_tick *, void *) {
  if (add(&is_first, -1) == 0) throw std::runtime_error("thrown in a handler");
  add(&ticks, 1);
}

[[noreturn]] static void say_and_abort() {
  fault_seen("std::terminate");
  std::_Exit(3);
}

/* On a thread that the host did not make. */
static void thrown(int where) {
  chime_queue_t queue = 0;
  std::set_terminate(say_and_abort);
  fault_seen("%s: ", place_name(static_cast<place>(where)));
  REQUIRE_OK(place_make(static_cast<place>(where), nullptr, &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, throw_once, nullptr, nullptr, nullptr));
  await(&ticks, 1);
  fault_seen("the exception vanishes");
}

/* In the host's own call: Chime's functions have no tables for unwinding, so that the host's frames are not found. */
static void thrown_through_a_call(int) {
  chime_queue_t queue = 0;
  std::set_terminate(say_and_abort);
  REQUIRE_OK(place_make(HOST, nullptr, &queue));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, throw_once, nullptr, nullptr, nullptr));
  sleep_ms(5);
  try {
    chime_queue_process(queue, 0, nullptr);
  } catch (const std::exception &) {
    fault_seen("the host catches it");
  }
}

static std::jmp_buf out;

static void jump(const chime_tick *, void *) { std::longjmp(out, 1); }

static void jumped(int) {
  chime_queue_t queue = 0, other = 0;
  static int other_ticks;
  REQUIRE_OK(chime_queue_create(CHIME_QUEUE_HOST, nullptr, &queue));
  REQUIRE_OK(place_make(SERIAL, nullptr, &other));
  EXPECT_OK(chime_timer_every(queue, CHIME_MILLISECOND, jump, nullptr, nullptr, nullptr));
  EXPECT_OK(chime_timer_every(other, CHIME_MILLISECOND, count_tick, &other_ticks, nullptr, nullptr));
  sleep_ms(5);
  if (setjmp(out) == 0) {
    chime_queue_process(queue, 0, nullptr);
  } else {
    fault_seen("longjmp out of chime_queue_process, then %s",
               chime_status_name(chime_queue_process(queue, 0, nullptr)));
  }
  EXPECT(await(&other_ticks, load(&other_ticks) + 3));
  std::_Exit(fault_failures() == 0 ? 0 : 1);
}

/* The header says so. */
static void documented(int) {
  char line[512];
  int found = 0;
  std::FILE *header = std::fopen(FAULTS_HEADER, "r");
  REQUIRE(header != nullptr);
  while (std::fgets(line, sizeof line, header) != nullptr) {
    std::string text(line);
    if (text.find("longjmp") != std::string::npos && text.find("C++ exception") != std::string::npos) found++;
  }
  std::fclose(header);
  EXPECT_EQ(found, 1);
  fault_seen("chime.h: leaving a callback by longjmp or a C++ exception is undefined");
}

int main(int argc, char **argv) {
  static const fault_case cases[] = {
      {"documented", documented, 0, 0, 0, 0},
      {"exception-on-dispatch-queues", thrown, SERIAL, GLOBAL, 3, 0},
      {"exception-on-a-precise-queue", thrown, PRECISE, PRECISE, 3, 0},
      {"exception-on-a-run-loop", thrown, RUN_LOOP, RUN_LOOP, 3, 0},
      {"exception-in-the-hosts-call", thrown_through_a_call, HOST, HOST, 3, 0},
      {"longjmp", jumped, 0, 0, 0, 0},
      {nullptr, nullptr, 0, 0, 0, 0},
  };
  return fault_main(argc, argv, cases);
}
