// The scenario of ../README.md in C++17, with chime.hpp: lambdas, std::chrono, objects that own their ids. What the C++
// header leaves to chime.h (targets, records, further handlers) is called by its C names, with the objects' ids.
//
// A lambda must not throw: the program ends rather than that something unwinds through the library.
#include <chime.hpp>
#include <poll.h>

#include <cinttypes>
#include <cstdio>
#include <stdexcept>
#include <utility>

using namespace std::chrono_literals;

namespace {

const char *const kinds[] = {"DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"};

void ok(chime::status status) { status.or_throw(); }

template <typename Type, typename Function, typename... Arguments>
Type made(Function function, Arguments... arguments) {
  Type value{};
  ok(function(arguments..., &value));
  return value;
}

const char *name(chime_status status) { return chime_status_name(status); }
void *context(std::uintptr_t number) { return reinterpret_cast<void *>(number); }
std::uintptr_t number(const void *context) { return reinterpret_cast<std::uintptr_t>(context); }

void on_tick(const chime_tick *tick, void *context) noexcept {
  std::printf("tick %" PRIuPTR ": %s sequence %" PRIu64 " missed %" PRIu64 " due %" PRId64 " at %" PRId64,
              number(context), kinds[tick->kind], tick->sequence, tick->missed, tick->scheduled_ns, tick->actual_ns);
  if (tick->target != nullptr) std::printf(" target %" PRIuPTR, number(tick->target));
  std::printf("\n");
}
void on_finalize(void *context) noexcept { std::printf("finalizer %" PRIuPTR "\n", number(context)); }
void on_destroy(void *target) noexcept { std::printf("destructor %" PRIuPTR "\n", number(target)); }

// What a timer calls. It says when it is destroyed, which happens once, wherever it was moved before.
class Ticker {
 public:
  explicit Ticker(std::uintptr_t number) : number_(number) {}
  Ticker(Ticker &&other) noexcept : number_(std::exchange(other.number_, 0)) {}
  ~Ticker() {
    if (number_ != 0) on_finalize(context(number_));
  }
  void operator()(const chime_tick &tick) const { on_tick(&tick, context(number_)); }

 private:
  std::uintptr_t number_;
};

void virtual_time() {
  chime::queue queue(CHIME_QUEUE_VIRTUAL);
  auto advance = [&](std::chrono::nanoseconds duration) { ok(queue.advance(duration)); };

  std::puts("- one-shot");
  chime::timer timer = queue.after(100ns, Ticker(1));
  const chime_timer_t stale = timer.id();
  advance(99ns);
  advance(1ns);
  std::printf("state %d\n", timer.state());
  ok(timer.release());
  std::printf("release %s of 0 %s\n", name(chime_timer_release(stale)), name(chime_timer_release(0)));

  std::puts("- repeat");
  timer = queue.every(10ns, Ticker(2));
  advance(25ns);
  ok(queue.jump(30ns));
  std::printf("now %" PRId64 "\n", static_cast<std::int64_t>(queue.now().count()));
  advance(0ns);

  std::puts("- suspend and resume, the grid stands");
  chime::status once = timer.suspend();
  std::printf("suspend %s again %s\n", once.name(), timer.suspend().name());
  advance(20ns);
  once = timer.resume();
  std::printf("resume %s again %s\n", once.name(), timer.resume().name());
  advance(0ns);
  ok(timer.release());

  std::puts("- suspend and resume, what was left is kept");
  chime_timer_options all{};
  all.size = sizeof all;
  all.handler = all.registration_handler = all.cancel_handler = on_tick;
  all.context = context(3);
  all.finalizer = on_finalize;
  chime::schedule plan = chime::schedule::every(50ns).resume(CHIME_RESUME_REMAINING);
  timer = chime::timer(made<chime_timer_t>(chime_timer_start, queue.id(), &all, &plan));
  advance(20ns);
  ok(timer.suspend());
  advance(1005ns);
  chime_timer_info info{};
  info.size = sizeof info;
  ok(chime_timer_get_info(timer.id(), &info));
  std::printf("state %d remaining %" PRId64 "\n", info.state, info.remaining_ns);
  ok(timer.resume());
  advance(30ns);
  once = timer.cancel();
  std::printf("cancel %s again %s\n", once.name(), timer.cancel().name());
  advance(0ns);
  ok(timer.release());

  std::puts("- postpone");
  timer = queue.after(100ns, Ticker(4));
  advance(60ns);
  std::printf("postpone %s\n", timer.postpone(100ns).name());
  advance(99ns);
  advance(1ns);
  std::printf("postpone %s\n", timer.postpone(100ns).name());
  ok(timer.release());

  std::puts("- target");
  chime_timer_options weak{};
  weak.target = made<chime_target_t>(chime_target_create, context(77), on_destroy);
  ok(queue.start(chime::schedule::every(10ns), Ticker(5), timer, weak));
  advance(10ns);
  std::printf("retain %" PRIuPTR "\n", number(made<void *>(chime_target_retain, weak.target)));
  ok(chime_target_release(weak.target));
  advance(10ns);
  ok(chime_target_release(weak.target));
  std::printf("state %d activate %s retain %s\n", timer.state(), timer.activate().name(),
              name(chime_target_retain(weak.target, nullptr)));
  ok(timer.release());

  std::puts("- nobody holds it");
  ok(queue.once(10ns, Ticker(6)));
  advance(10ns);
  ok(queue.once(10ns, Ticker(7)));
  const chime_queue_t gone = queue.id();
  std::printf("shutdown %s\n", queue.shutdown().name());
  std::printf("advance %s\n", name(chime_queue_advance(gone, 10)));
}

void wait_readable(const chime::queue &queue) {
  pollfd entry = {queue.fd(), POLLIN, 0};
  if (poll(&entry, 1, 10000) != 1) throw std::runtime_error("the descriptor was not readable within 10 s");
}

void host_driven() {
  std::puts("- host-driven, callbacks");
  std::uint64_t once = 0, often = 0, early = 0, functions = 0;
  auto counter = [&early](std::uint64_t &dues, std::uintptr_t number) {
    return [&dues, &early, ticker = Ticker(number)](const chime_tick &tick) {
      dues += 1 + tick.missed;
      early += tick.actual_ns < tick.scheduled_ns;
    };
  };

  chime::queue queue(CHIME_QUEUE_HOST);
  chime::timer one_shot = queue.after(1ms, counter(once, 8));
  chime::timer repeating = queue.start(chime::schedule::every(1ms).limit(5), counter(often, 9));
  ok(queue.async([&functions, ticker = Ticker(10)] { functions += 1; }));
  while (once < 1 || often < 5 || functions < 1) {
    wait_readable(queue);
    ok(queue.process());
  }
  std::printf("due times %" PRIu64 " %" PRIu64 " early %" PRIu64 " functions %" PRIu64 "\n", once, often, early,
              functions);
  std::printf("states %d %d\n", one_shot.state(), repeating.state());
  chime_tick record;
  std::uint32_t count;
  std::printf("take_ticks %s\n", name(chime_queue_take_ticks(queue.id(), &record, sizeof record, 1, &count)));
  ok(one_shot.release());
  ok(repeating.release());
  ok(queue.shutdown());
}

void records() {
  std::puts("- host-driven, records");
  chime_queue_options options{};
  options.size = sizeof options;
  options.flags = CHIME_QUEUE_RECORDS;
  chime::queue queue(CHIME_QUEUE_HOST, &options);
  auto start = [&](std::uintptr_t number, std::int64_t first, std::int64_t interval, std::uint64_t limit) {
    chime_timer_options options{};
    options.size = sizeof options;
    options.flags = CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE;
    options.context = context(number);
    const chime::schedule plan =
        chime::schedule::every(std::chrono::nanoseconds(interval)).at(std::chrono::nanoseconds(first)).limit(limit);
    return chime::timer(made<chime_timer_t>(chime_timer_start, queue.id(), &options, &plan));
  };
  chime::timer first = start(11, 1, 1, 4), second = start(12, 2, INT64_C(1000000000000000000), 0);
  auto take = [&](std::uint32_t expected) {
    for (std::uint32_t seen = 0, count; seen < expected; seen += count) {
      wait_readable(queue);
      chime_tick ticks[16];
      ok(chime_queue_take_ticks(queue.id(), ticks, sizeof(chime_tick), 16, &count));
      for (std::uint32_t index = 0; index < count; index++) {
        const chime_tick &tick = ticks[index];
        if (tick.kind != CHIME_TICK_DUE) {
          std::printf("record %" PRIuPTR ": %s\n", number(tick.context), kinds[tick.kind]);
          continue;
        }
        std::printf("record %" PRIuPTR ": DUE sequence %" PRIu64 " missed %" PRIu64 " due %" PRId64 " generation %s\n",
                    number(tick.context), tick.sequence, tick.missed, tick.scheduled_ns,
                    name(chime_timer_check_generation(tick.timer, tick.generation)));
        if (tick.context == context(11)) std::printf("cancel %s\n", second.cancel().name());
      }
    }
  };
  take(4);
  take(1);
  ok(chime_queue_async(queue.id(), nullptr, context(13), nullptr));
  take(1);
  ok(first.release());
  take(1);
  ok(second.release());
  take(1);
  std::printf("process %s\n", queue.process().name());
}

} // namespace

int main() try {
  const std::uint32_t version = chime_version();
  std::printf("version %d.%d.%d\n", int(version >> 16), int(version >> 8 & 255), int(version & 255));
  virtual_time();
  host_driven();
  records();
  return std::fflush(stdout);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
