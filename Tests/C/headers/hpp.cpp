// chime.hpp: lambdas are destroyed exactly once, durations saturate, failures come as asked for, calls reach their
// functions of C. `make -C .. hpp`
#include <chime.hpp>
#include <poll.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(bool holds, const char *text, int line) {
  if (holds) return;
  failures++;
  std::printf("hpp.cpp:%d: expected %s\n", line, text);
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

// How many of them there are, and how many were made.
struct counted {
  static int alive, made;
  counted() { alive++, made++; }
  counted(const counted &) { alive++, made++; }
  counted(counted &&) noexcept { alive++, made++; }
  counted &operator=(const counted &) = default;
  ~counted() { alive--; }
};
int counted::alive = 0, counted::made = 0;

// May be moved only.
struct token {
  explicit token(int number) : number(new int(number)) {}
  std::unique_ptr<int> number;
};

void lambdas() {
  int ticks = 0;
  {
    chime::queue queue;
    EXPECT(chime::queue::make(queue, CHIME_QUEUE_VIRTUAL) == CHIME_OK);
    chime::timer timer;
    EXPECT(queue.every(
               10ns,
               [&ticks, c = counted()](const chime_tick &tick) {
                 static_cast<void>(c);
                 ticks += static_cast<int>(tick.sequence);
               },
               timer) == CHIME_OK);
    EXPECT(counted::alive == 1);
    EXPECT(queue.advance(25ns) == CHIME_OK);
    EXPECT(ticks == 3);
    chime::timer moved = std::move(timer);
    EXPECT(timer.id() == 0 && timer.suspend() == CHIME_ERROR_INVALID_HANDLE);
    EXPECT(moved.suspend() == CHIME_OK && moved.state() == CHIME_STATE_SUSPENDED);
    EXPECT(counted::alive == 1);
    EXPECT(moved.release() == CHIME_OK);
    EXPECT(counted::alive == 0);

    // Not accepted: destroyed here.
    EXPECT(queue.after(
               -1ns, [c = counted()] { static_cast<void>(c); }, moved) == CHIME_ERROR_INVALID_ARGUMENT);
    EXPECT(counted::alive == 0 && moved.id() == 0);
    EXPECT(queue.once(-1ns, [c = counted()] { static_cast<void>(c); }).failed());
    EXPECT(counted::alive == 0);

    // Forgotten, and a function: destroyed after their call; one that is never called, with the queue.
    EXPECT(queue.once(5ns, [&ticks, c = counted(), t = token(7)] { ticks += *t.number; }) == CHIME_OK);
    EXPECT(queue.async([&ticks, c = counted()] { ticks += 20; }) == CHIME_OK);
    EXPECT(counted::alive == 2);
    EXPECT(queue.advance(5ns) == CHIME_OK);
    EXPECT(ticks == 30 && counted::alive == 0);
    EXPECT(queue.once(1h, [c = counted()] { static_cast<void>(c); }) == CHIME_OK);
    EXPECT(queue.create([c = counted()] { static_cast<void>(c); }, moved) == CHIME_OK);
    EXPECT(moved.state() == CHIME_STATE_IDLE && counted::alive == 2);
  }
  EXPECT(counted::alive == 0);
}

void durations_saturate() {
  using chime::nanoseconds;
  constexpr std::int64_t most = CHIME_FOREVER, least = -CHIME_FOREVER - 1;
  EXPECT(nanoseconds(1500us) == 1500000);
  EXPECT(nanoseconds(std::chrono::hours::max()) == most);
  EXPECT(nanoseconds(std::chrono::hours::min()) == least);
  EXPECT(nanoseconds(std::chrono::nanoseconds::max()) == most);
  EXPECT(nanoseconds(std::chrono::nanoseconds::min()) == least);
  EXPECT(nanoseconds(std::chrono::milliseconds(most / 1000000)) == most / 1000000 * 1000000);
  EXPECT(nanoseconds(std::chrono::milliseconds(most / 1000000 + 1)) == most);
  EXPECT(nanoseconds(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})) == most);
  using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
  EXPECT(nanoseconds(picoseconds(1)) == 1 && nanoseconds(picoseconds(2000)) == 2 && nanoseconds(picoseconds(-1)) == 0);
  using frames = std::chrono::duration<int, std::ratio<1, 60>>;
  EXPECT(nanoseconds(frames(1)) == 16666667 && nanoseconds(frames(60)) == 1000000000);
  using seconds = std::chrono::duration<double>;
  EXPECT(nanoseconds(seconds(0.25)) == 250000000);
  EXPECT(nanoseconds(seconds(1e300)) == most && nanoseconds(seconds(-1e300)) == least);
  EXPECT(nanoseconds(seconds(HUGE_VAL)) == most && nanoseconds(seconds(std::nan(""))) == least);
}

void schedules() {
  chime::queue queue;
  EXPECT(!chime::queue::make(queue, CHIME_QUEUE_VIRTUAL).failed());
  static int calls;
  int ticks = 0;
  chime::timer timer, other;
  const chime::schedule twice = chime::schedule::every(10ns).after(3ns).limit(2);
  // Lambdas that are small lie in the context itself.
  EXPECT(queue.start(
             twice, [&ticks] { ticks++; }, timer) == CHIME_OK);
  EXPECT(queue.start(
             twice, [] { calls++; }, other) == CHIME_OK);
  EXPECT(timer.next_deadline() == 3ns);
  EXPECT(queue.advance(100ns) == CHIME_OK);
  EXPECT(ticks == 2 && calls == 2 && timer.state() == CHIME_STATE_FINISHED);
  EXPECT(timer.restart(chime::schedule().at(200ns)) == CHIME_OK && timer.postpone(150ns) == CHIME_OK);
  EXPECT(timer.next_deadline() == 250ns && timer.next_deadline() - queue.now() == 150ns);
  EXPECT(!timer.explain().empty() && !queue.dump().empty());
  const std::chrono::steady_clock::time_point then(300ns);
  EXPECT(timer.restart(chime::schedule().at(then)) == CHIME_OK && timer.next_deadline() == 300ns);
  EXPECT(timer.restart_after(1us) == CHIME_OK && timer.next_deadline() - queue.now() == 1us);
  EXPECT(timer.restart_until(170ns) == CHIME_OK && timer.next_deadline() == 170ns);
  EXPECT(timer.restart_until(then) == CHIME_OK && timer.next_deadline() == 300ns);
  EXPECT(timer.postpone_until(then + 1us) == CHIME_OK && timer.next_deadline() == 1300ns);
  const chime_schedule plain = CHIME_SCHEDULE_INIT;
  EXPECT(plain.size == sizeof(chime_schedule) && CHIME_VERSION_MATCHES());
  EXPECT(timer.activate() == CHIME_IGNORED && timer.cancel() == CHIME_OK &&
         timer.next_deadline() == 9223372036854775807ns);
}

void calls() {
  chime::queue queue, host;
  EXPECT(!chime::queue::make(queue, CHIME_QUEUE_VIRTUAL).failed());
  int ticks = 0;
  chime_timer_options weak = CHIME_TIMER_OPTIONS_INIT;
  EXPECT(chime_target_create(
             &ticks, [](void *target) { *static_cast<int *>(target) += 100; }, &weak.target) == CHIME_OK);
  chime::timer timer;
  EXPECT(queue.start(
             chime::schedule::every(10ns).resume(CHIME_RESUME_REMAINING),
             [&ticks](const chime_tick &tick) { ticks += tick.target == &ticks; }, timer, weak) == CHIME_OK);
  EXPECT(queue.advance(14ns) == CHIME_OK && ticks == 1);
  EXPECT(timer.suspend() == CHIME_OK && timer.suspend() == CHIME_IGNORED && queue.jump(100ns) == CHIME_OK);
  EXPECT(timer.resume() == CHIME_OK && timer.resume() == CHIME_IGNORED && timer.next_deadline() == 120ns);
  EXPECT(chime_target_release(weak.target) == CHIME_OK && ticks == 101 && timer.state() == CHIME_STATE_CANCELLED);
  EXPECT(timer.activate() == CHIME_ERROR_TARGET_GONE);
  EXPECT(std::strcmp(timer.activate().name(), "CHIME_ERROR_TARGET_GONE") == 0);
  EXPECT(queue.shutdown() == CHIME_OK && queue.id() == 0 && queue.advance(1ns) == CHIME_ERROR_INVALID_HANDLE);

  EXPECT(!chime::queue::make(host, CHIME_QUEUE_HOST).failed());
  EXPECT(host.once(1ms, [&ticks] { ticks++; }) == CHIME_OK);
  while (ticks == 101 && failures == 0) {
    pollfd entry = {host.fd(), POLLIN, 0};
    EXPECT(poll(&entry, 1, 30000) == 1 && host.process() == CHIME_OK);
  }
}

#if defined(__cpp_exceptions)
// What it says, which begins with the name of its code.
template <class Body> std::string error_of(Body body) {
  try {
    body();
  } catch (const chime::error &error) {
    EXPECT(std::string(error.what()).rfind(chime_status_name(error.code), 0) == 0);
    return error.what();
  }
  return "none";
}

void exceptions() {
  EXPECT(error_of([] { chime::queue(static_cast<chime_queue_kind>(77)); }) ==
         "CHIME_ERROR_INVALID_ARGUMENT: kind (77) is none of the constants that it may be");
  chime::queue queue(CHIME_QUEUE_HOST);
  int ticks = 0;
  chime::timer timer = queue.after(1ms, [&ticks] { ticks++; });
  EXPECT(queue.run() == CHIME_OK && ticks == 1);
  EXPECT(timer.restart(chime::schedule::once(0ms)).or_throw() == CHIME_OK);
  chime_timer_options named = CHIME_TIMER_OPTIONS_INIT;
  named.label = "with a name";
  const chime::timer one = queue.start(
                         chime::schedule::once(1h), [] {}, named),
                     two = queue.create([] {}, named);
  const std::string text = queue.dump();
  const std::size_t first = text.find(named.label);
  EXPECT(first != std::string::npos && text.find(named.label, first + 1) != std::string::npos);
  timer = queue.after_every(0ns, 1h, [c = counted()] { static_cast<void>(c); });
  EXPECT(counted::alive == 1);
  EXPECT(error_of([&] { timer = queue.every(0ns, [c = counted()] { static_cast<void>(c); }); }) ==
         "CHIME_ERROR_INVALID_ARGUMENT: interval_ns (0 ns) is not above 0");
  timer.release();
  EXPECT(counted::alive == 0);
  EXPECT(error_of([&] { timer.restart().or_throw(); }).rfind("CHIME_ERROR_INVALID_HANDLE", 0) == 0);
}

// On another thread; the timer is not waited for, the queue is.
void a_queue_that_is_destroyed_has_ended() {
  int ticks = 0;
  {
    chime::queue queue(CHIME_QUEUE_PRECISE);
    chime::timer timer = queue.every(1ms, [&ticks, c = counted()] { ticks++; });
    while (queue.sync([&] { EXPECT(ticks >= 0); }) == CHIME_OK && ticks < 3) {}
  }
  EXPECT(ticks >= 3 && counted::alive == 0);
}
#endif

} // namespace

int main() {
  lambdas();
  durations_saturate();
  schedules();
  calls();
#if defined(__cpp_exceptions)
  exceptions();
  a_queue_that_is_destroyed_has_ended();
#endif
  if (failures == 0) std::printf("ok chime.hpp: %d lambdas made, each destroyed once\n", counted::made);
  return failures == 0 ? 0 : 1;
}
