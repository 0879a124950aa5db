// chime.hpp: lambdas are destroyed exactly once, durations saturate, failures come as asked for, calls reach their
// functions of C. `make -C .. hpp`
#include <chime.hpp>
#include <poll.h>

#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

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
  static std::atomic<int> alive, made;
  counted() { alive++, made++; }
  counted(const counted &) { alive++, made++; }
  counted(counted &&) noexcept { alive++, made++; }
  counted &operator=(const counted &) = default;
  ~counted() { alive--; }
};
std::atomic<int> counted::alive{0}, counted::made{0};

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

// Whatever the size, the next call finds what the last one left.
struct two_ways {
  void operator()() { *last = ++n; }
  void operator()() const { *last = -1; }
  static int *last;
  int n = 0;
};
int *two_ways::last;
int calls_of_a_function;
void function() { calls_of_a_function++; }

void state_lasts() {
  static int small, large, of_two_ways, once, queued;
  chime::queue queue;
  EXPECT(!chime::queue::make(queue, CHIME_QUEUE_VIRTUAL).failed());
  chime::timer timers[4];
  EXPECT(queue.every(
             10ns, [n = 0]() mutable { small = ++n; }, timers[0]) == CHIME_OK);
  EXPECT(queue.every(
             10ns, [n = 0, more = std::uint64_t{7}]() mutable { large = ++n + static_cast<int>(more) - 7; },
             timers[1]) == CHIME_OK);
  two_ways::last = &of_two_ways;
  EXPECT(queue.every(10ns, two_ways(), timers[2]) == CHIME_OK);
  EXPECT(queue.every(10ns, function, timers[3]) == CHIME_OK);
  EXPECT(queue.once(10ns, [n = 4]() mutable { once = ++n; }) == CHIME_OK);
  EXPECT(queue.async([n = 4]() mutable { queued = ++n; }) == CHIME_OK);
  EXPECT(queue.advance(30ns) == CHIME_OK);
  EXPECT(small == 3 && large == 3 && of_two_ways == 3 && calls_of_a_function == 3 && once == 5 && queued == 5);
  // What can hold no state that changes costs no allocation: it lies in the context itself.
  int n = 0;
  auto pointer = [&n] { n++; };
  static_assert(chime::detail::is_small<decltype(pointer)>, "");
  static_assert(chime::detail::is_small<void (*)()>, "");
  static_assert(!chime::detail::is_small<two_ways>, "");
}

void durations_saturate() {
  using chime::nanoseconds;
  constexpr std::int64_t most = CHIME_FOREVER, least = -CHIME_FOREVER - 1;
  EXPECT(nanoseconds(1500us) == 1500000);
  EXPECT(nanoseconds(std::chrono::hours::max()) == most && nanoseconds(std::chrono::hours::min()) == least);
  EXPECT(nanoseconds(std::chrono::milliseconds(most / 1000000)) == most / 1000000 * 1000000);
  EXPECT(nanoseconds(std::chrono::milliseconds(most / 1000000 + 1)) == most);
  EXPECT(nanoseconds(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})) == most);
  using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
  EXPECT(nanoseconds(picoseconds(1)) == 1 && nanoseconds(picoseconds(2000)) == 2 && nanoseconds(picoseconds(-1)) == 0);
  using frames = std::chrono::duration<int, std::ratio<1, 60>>;
  EXPECT(nanoseconds(frames(1)) == 16666667 && nanoseconds(frames(60)) == 1000000000);
  // Ratios whose products need more than 64 bits, and more. Expected: exact, by Python.
  using drops = std::chrono::duration<std::int64_t, std::ratio<998244353, 1000000007>>;
  EXPECT(nanoseconds(drops(1)) == 998244346 + 1 && nanoseconds(drops(-1)) == -998244346);
  EXPECT(nanoseconds(drops(1000000007)) == 998244353000000000 && nanoseconds(drops(least)) == least);
  using ages = std::chrono::duration<std::int64_t, std::ratio<most>>;
  EXPECT(nanoseconds(ages(0)) == 0 && nanoseconds(ages(1)) == most && nanoseconds(ages(-1)) == least);
  using grains = std::chrono::duration<std::int64_t, std::ratio<1, most>>;
  EXPECT(nanoseconds(grains(most)) == 1000000000 && nanoseconds(grains(1)) == 1 && nanoseconds(grains(-1)) == 0);
  EXPECT(nanoseconds(std::chrono::duration<signed char, std::milli>(-128)) == -128000000);
#if defined(__SIZEOF_INT128__)
  __extension__ using wide = __int128;
  const wide large = static_cast<wide>(1) << 64;
  EXPECT(nanoseconds(std::chrono::duration<wide>(-large)) == least);
  EXPECT(nanoseconds(std::chrono::duration<wide, std::pico>(large)) == 18446744073709552);
#endif
  using seconds = std::chrono::duration<double>;
  EXPECT(nanoseconds(seconds(0.25)) == 250000000 && nanoseconds(seconds(1e300)) == most);
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
  const auto at = [](auto time) { return chime::time_point(time); };
  EXPECT(timer.next_deadline() == at(3ns));
  EXPECT(queue.advance(100ns) == CHIME_OK);
  EXPECT(ticks == 2 && calls == 2 && timer.state() == CHIME_STATE_FINISHED);
  EXPECT(timer.restart(chime::schedule().at(at(200ns))) == CHIME_OK && timer.postpone(150ns) == CHIME_OK);
  EXPECT(timer.next_deadline() == at(250ns) && timer.remaining() == 150ns);
  EXPECT(other.remaining() == std::chrono::nanoseconds::max());
  EXPECT(!timer.explain().empty() && !queue.dump().empty());
  const chime::time_point then(300ns);
  EXPECT(timer.restart(chime::schedule().at(then)) == CHIME_OK && timer.next_deadline() == then);
  const std::chrono::time_point<chime::clock, std::chrono::duration<double>> none(
      std::chrono::duration<double>(std::nan("")));
  EXPECT(timer.restart_until(none) == CHIME_ERROR_INVALID_ARGUMENT &&
         timer.postpone_until(none) == CHIME_ERROR_INVALID_ARGUMENT &&
         timer.restart(chime::schedule().at(none)) == CHIME_ERROR_INVALID_ARGUMENT && timer.next_deadline() == then);
  EXPECT(timer.release_and_wait(-1ns) == CHIME_ERROR_INVALID_ARGUMENT && timer.next_deadline() == then);
  EXPECT(queue.shutdown(-1ns) == CHIME_ERROR_INVALID_ARGUMENT && queue.id() != 0);
  EXPECT(timer.restart_after(1us) == CHIME_OK && timer.next_deadline() - queue.now() == 1us);
  EXPECT(timer.restart_until(at(170ns)) == CHIME_OK && timer.next_deadline() == at(170ns));
  EXPECT(timer.restart_until(then) == CHIME_OK && timer.next_deadline() == then);
  EXPECT(timer.postpone_until(then + 1us) == CHIME_OK && timer.next_deadline() == at(1300ns));
  const chime_schedule plain = CHIME_SCHEDULE_INIT;
  EXPECT(plain.size == sizeof(chime_schedule) && CHIME_VERSION_MATCHES());
  EXPECT(timer.activate() == CHIME_IGNORED && timer.cancel() == CHIME_OK &&
         timer.next_deadline() == chime::time_point::max());
  // Points on other clocks, which both read now: this queue's is far from either.
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  EXPECT(queue.from(steady_clock::time_point::max()) == chime::time_point::max());
  EXPECT(queue.from(steady_clock::time_point::min()) < queue.now() &&
         queue.from(system_clock::now() + 1h) > queue.now() + 1min);
  const auto soon = queue.from(steady_clock::now() + 1h) - queue.now();
  EXPECT(soon <= 1h && soon > 30min);
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
  EXPECT(timer.resume() == CHIME_OK && timer.resume() == CHIME_IGNORED &&
         timer.next_deadline() == chime::time_point(120ns));
  EXPECT(timer.set_interval(20ns) == CHIME_OK && timer.set_background(true) == CHIME_OK);
  chime::schedule present;
  EXPECT(timer.get_schedule(present) == CHIME_OK && present.interval_ns == 20);
  EXPECT(timer.next_deadline() == chime::time_point(120ns));
  EXPECT(queue.suspend() == CHIME_OK && queue.advance(1ns) == CHIME_OK && queue.resume() == CHIME_OK);
  EXPECT(queue.resume() == CHIME_IGNORED);
  EXPECT(chime_target_release(weak.target) == CHIME_OK && ticks == 101 && timer.state() == CHIME_STATE_CANCELLED);
  EXPECT(timer.activate() == CHIME_ERROR_TARGET_GONE);
  EXPECT(std::strcmp(timer.activate().name(), "CHIME_ERROR_TARGET_GONE") == 0);
  EXPECT(queue.advance(std::chrono::hours::max()) == CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(queue.shutdown() == CHIME_OK && queue.id() == 0 && queue.advance(1ns) == CHIME_ERROR_INVALID_HANDLE);
  EXPECT(queue.shutdown() == CHIME_OK && queue.shutdown(1s) == CHIME_OK); /* it is empty */

  EXPECT(!chime::queue::make(host, CHIME_QUEUE_HOST).failed());
  EXPECT(host.once(1ms, [&ticks] { ticks++; }) == CHIME_OK);
  while (ticks == 101 && failures == 0) {
    pollfd entry = {host.fd(), POLLIN, 0};
    EXPECT(poll(&entry, 1, 30000) == 1 && host.process() == CHIME_OK);
  }
}

void a_status_is_a_number_and_has_a_name() {
  chime::queue queue;
  EXPECT(chime::queue::make(queue, CHIME_QUEUE_VIRTUAL) == CHIME_OK);
  chime::timer timer;
  EXPECT(queue.after(
             5ns, [] {}, timer) == CHIME_OK);
  const chime::status cancelled = timer.cancel(), again = timer.cancel();
  chime_status number = again;
  const long wide = again;
  EXPECT(number == CHIME_IGNORED && wide == CHIME_IGNORED && (again & CHIME_IGNORED) != 0 && again != cancelled &&
         cancelled < again);
  switch (number = timer.cancel()) {
    case CHIME_IGNORED: break;
    default: EXPECT(number == CHIME_IGNORED);
  }
  std::ostringstream text;
  text << cancelled << ", " << again << ' ' << 1;
  EXPECT(text.str() == "CHIME_OK, CHIME_IGNORED 1");
}

#if defined(__cpp_exceptions)
// What it says, which begins with the name of its code.
template <class Body> std::string error_of(Body body) {
  try {
    body();
  } catch (const chime::error &error) {
    EXPECT(std::string(error.what()).rfind(chime_status_name(error.status()), 0) == 0);
    EXPECT(error.code().category() == chime::category() &&
           error.code().message() == chime_status_message(error.status()));
    EXPECT((error.code() == std::errc::invalid_argument) == (error.status() == CHIME_ERROR_INVALID_ARGUMENT));
    const chime::error copy = error;
    return static_cast<const std::system_error &>(copy).what();
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
  timer = queue.start(chime::schedule::every(1h).after(0ns), [c = counted()] { static_cast<void>(c); });
  EXPECT(counted::alive == 1);
  EXPECT(error_of([&] { timer = queue.every(0ns, [c = counted()] { static_cast<void>(c); }); }) ==
         "CHIME_ERROR_INVALID_ARGUMENT: interval_ns (0 ns) is not above 0");
  static_cast<void>(timer.release());
  EXPECT(counted::alive == 0);
  EXPECT(error_of([&] { timer.restart().or_throw(); }) ==
         "CHIME_ERROR_INVALID_HANDLE: timer is 0, which is no id: it was not made, or has ended");
}

// A lambda whose copy throws: the caller gets its exception, in either form, and there is no timer.
struct throws_in_its_copy {
  throws_in_its_copy() { alive++; }
  throws_in_its_copy(const throws_in_its_copy &) {
    if (throws) throw 5;
    alive++;
  }
  ~throws_in_its_copy() { alive--; }
  void operator()() const {}
  static int alive;
  static bool throws;
};
int throws_in_its_copy::alive = 0;
bool throws_in_its_copy::throws = true;

template <class Body> int thrown_by(Body body) {
  try {
    body();
  } catch (int thrown) {
    return thrown;
  }
  return 0;
}

void a_copy_that_throws() {
  chime::queue queue(CHIME_QUEUE_VIRTUAL);
  const throws_in_its_copy f;
  chime::timer timer;
  const chime::schedule schedule = chime::schedule::once(1h);
  EXPECT(thrown_by([&] { timer = queue.after(1h, f); }) == 5);
  EXPECT(thrown_by([&] { timer = queue.start(schedule, f); }) == 5);
  EXPECT(thrown_by([&] { static_cast<void>(queue.every(1h, f, timer)); }) == 5);
  EXPECT(thrown_by([&] { static_cast<void>(queue.create(f, timer)); }) == 5);
  EXPECT(thrown_by([&] { static_cast<void>(queue.once(1h, f)); }) == 5);
  EXPECT(thrown_by([&] { static_cast<void>(queue.async(f)); }) == 5);
  EXPECT(timer.id() == 0 && throws_in_its_copy::alive == 1);
  EXPECT(queue.dump().find(": 0 timers") != std::string::npos);
  throws_in_its_copy::throws = false;
  timer = queue.after(1h, f);
  EXPECT(throws_in_its_copy::alive == 2 && queue.dump().find(": 1 timers") != std::string::npos);
  static_cast<void>(timer.release());
  EXPECT(throws_in_its_copy::alive == 1);
  auto quiet = [] {};
  const std::chrono::nanoseconds hour = 1h;
  static_assert(noexcept(queue.after(hour, quiet, timer)), "");
  static_assert(noexcept(queue.once(hour, quiet)), "");
  static_assert(!noexcept(queue.after(hour, f, timer)), "");
  static_assert(!noexcept(queue.async(f)), "");
}

// Each kind of queue lists its timers: those that are held, that nobody holds, and that are at rest.
void a_queue_lists_its_timers() {
  for (chime_queue_kind kind :
       {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_HOST, CHIME_QUEUE_PRECISE, CHIME_QUEUE_VIRTUAL}) {
    chime::queue queue(kind);
    EXPECT(queue.timers().empty());
    chime::timer held = queue.after(1h, [] {}), rests = queue.create([] {});
    EXPECT(queue.once(1h, [] {}) == CHIME_OK);
    const std::vector<chime_timer_t> three = queue.timers();
    EXPECT(three.size() == 3 && std::count(three.begin(), three.end(), held.id()) == 1);
    EXPECT(std::count(three.begin(), three.end(), rests.id()) == 1);
    std::vector<chime::timer> many;
    for (int count = 0; count < 100; count++) many.push_back(queue.every(1h, [] {}));
    EXPECT(queue.timers().size() == 103);
    many.clear();
    EXPECT(held.release() == CHIME_OK && queue.timers().size() == 2);
    EXPECT(queue.shutdown() == CHIME_OK && queue.timers().empty());
  }
}

// The out-parameter names the timer in its first tick already, though that runs on another thread.
void the_out_parameter_is_there_before_the_first_tick() {
  chime::queue queue(CHIME_QUEUE_SERIAL);
  std::atomic<int> ticks{0}, empty{0};
  const auto see = [&](const chime::timer &timer, const chime_tick &tick) {
    if (timer.id() != tick.timer) empty++;
    ticks++;
  };
  int started = 0;
  for (int round = 0; round < 25000; round++) {
    chime::timer timers[2];
    EXPECT(queue.after(
               0ns, [&](const chime_tick &tick) { see(timers[0], tick); }, timers[0]) == CHIME_OK);
    EXPECT(queue.start(
               chime::schedule::every(1h).after(0ns), [&](const chime_tick &tick) { see(timers[1], tick); },
               timers[1]) == CHIME_OK);
    started += 2;
    while (ticks < started && failures == 0) std::this_thread::yield();
    for (chime::timer &timer : timers) static_cast<void>(timer.cancel_and_wait());
    started = ticks;
  }
  EXPECT(empty == 0);
  // What the variable held before is released, and left alone if the call fails.
  chime::timer timer = queue.after(1h, [c = counted()] { static_cast<void>(c); });
  const chime_timer_t before = timer.id();
  EXPECT(queue.after(
             -1ns, [] {}, timer) == CHIME_ERROR_INVALID_ARGUMENT);
  EXPECT(timer.id() == before && timer.state() == CHIME_STATE_RUNNING);
  EXPECT(queue.after(
             1h, [] {}, timer) == CHIME_OK);
  EXPECT(timer.id() != before && chime_timer_fire(before) == CHIME_ERROR_INVALID_HANDLE);
  // In the pass that follows the release, or the one behind it.
  for (int i = 0; i < 30000 && counted::alive != 0; i++) std::this_thread::sleep_for(1ms);
  EXPECT(counted::alive == 0);
}

// On another thread; the timer is not waited for, the queue is.
void a_queue_that_is_destroyed_has_ended() {
  int ticks = 0;
  {
    chime::queue queue(CHIME_QUEUE_PRECISE);
    chime::timer timer = queue.every(1ms, [&ticks, c = counted()] { ticks++; });
    for (int seen = 0; queue.sync([&] { seen = ticks; }) == CHIME_OK && seen < 3;) {}
  }
  EXPECT(ticks >= 3 && counted::alive == 0);
}
#endif

} // namespace

int main() {
  lambdas();
  state_lasts();
  durations_saturate();
  schedules();
  calls();
  a_status_is_a_number_and_has_a_name();
#if defined(__cpp_exceptions)
  exceptions();
  a_copy_that_throws();
  a_queue_lists_its_timers();
  the_out_parameter_is_there_before_the_first_tick();
  a_queue_that_is_destroyed_has_ended();
#endif
  if (failures == 0) std::printf("ok chime.hpp: %d lambdas made, each destroyed once\n", counted::made.load());
  return failures == 0 ? 0 : 1;
}
