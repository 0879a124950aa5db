// The scenario of ../README.md in C++17, with RAII over the ids: what leaves its scope is released.
//
// A callback must not throw: the lambdas given to chime.h are noexcept, so that an exception ends the program instead
// of unwinding through the library.
#include <chime.h>
#include <poll.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace {

struct Error : std::runtime_error {
  explicit Error(chime_status status) : std::runtime_error(chime_status_name(status)) {}
};

void ok(chime_status status) {
  if (status != CHIME_OK) throw Error(status);
}

// An id that one object owns.
template <chime_status (*Release)(std::uint64_t)>
class Id {
 public:
  Id() = default;
  explicit Id(std::uint64_t number) : number(number) {}
  Id(Id &&other) noexcept : number(std::exchange(other.number, 0)) {}
  Id &operator=(Id &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Id() { Release(number); } // 0 does nothing; stale is an answer, not a crash

  std::uint64_t get() const { return number; }
  void reset() { ok(Release(std::exchange(number, 0))); }

 private:
  std::uint64_t number = 0;
};

chime_status shut_down(std::uint64_t queue) { return queue == 0 ? CHIME_OK : chime_queue_shutdown(queue, CHIME_FOREVER); }

using Queue = Id<shut_down>; // nothing of the queue runs when it is gone
using Timer = Id<chime_timer_release>;
using Target = Id<chime_target_release>;

template <typename Type, typename Function, typename... Arguments>
Type made(Function function, Arguments... arguments) {
  Type value{};
  ok(function(arguments..., &value));
  return value;
}

template <typename Owner, typename Function, typename... Arguments>
Owner own(Function function, Arguments... arguments) {
  return Owner(made<std::uint64_t>(function, arguments...));
}

const char *name(chime_status status) { return chime_status_name(status); }
void *context(std::uintptr_t number) { return reinterpret_cast<void *>(number); }
std::uintptr_t number(const void *context) { return reinterpret_cast<std::uintptr_t>(context); }
const char *const kinds[] = {"DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"};

void on_tick(const chime_tick *tick, void *context) noexcept {
  std::printf("tick %" PRIuPTR ": %s sequence %" PRIu64 " missed %" PRIu64 " due %" PRId64 " at %" PRId64,
              number(context), kinds[tick->kind], tick->sequence, tick->missed, tick->scheduled_ns, tick->actual_ns);
  if (tick->target != nullptr) std::printf(" target %" PRIuPTR, number(tick->target));
  std::printf("\n");
}
void on_finalize(void *context) noexcept { std::printf("finalizer %" PRIuPTR "\n", number(context)); }
void on_destroy(void *target) noexcept { std::printf("destructor %" PRIuPTR "\n", number(target)); }

chime_timer_options options(std::uintptr_t number) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = on_tick;
  options.context = context(number);
  options.finalizer = on_finalize;
  return options;
}

chime_schedule schedule(std::int64_t first, std::int64_t interval) {
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  schedule.first_ns = first;
  schedule.interval_ns = interval;
  return schedule;
}

void virtual_time() {
  Queue queue = own<Queue>(chime_queue_create, CHIME_QUEUE_VIRTUAL, nullptr);
  auto advance = [&](std::int64_t duration) { ok(chime_queue_advance(queue.get(), duration)); };
  auto state = [](const Timer &timer) { return made<chime_state>(chime_timer_state, timer.get()); };

  std::puts("- one-shot");
  Timer timer = own<Timer>(chime_timer_after, queue.get(), 100, on_tick, context(1), on_finalize);
  const std::uint64_t stale = timer.get();
  advance(99);
  advance(1);
  std::printf("state %d\n", state(timer));
  timer.reset();
  std::printf("release %s of 0 %s\n", name(chime_timer_release(stale)), name(chime_timer_release(0)));

  std::puts("- repeat");
  timer = own<Timer>(chime_timer_every, queue.get(), 10, on_tick, context(2), on_finalize);
  advance(25);
  ok(chime_queue_jump(queue.get(), 30));
  std::printf("now %" PRId64 "\n", made<std::int64_t>(chime_queue_now, queue.get()));
  advance(0);

  std::puts("- suspend and resume, the grid stands");
  chime_status once = chime_timer_suspend(timer.get());
  std::printf("suspend %s again %s\n", name(once), name(chime_timer_suspend(timer.get())));
  advance(20);
  once = chime_timer_resume(timer.get());
  std::printf("resume %s again %s\n", name(once), name(chime_timer_resume(timer.get())));
  advance(0);
  timer.reset();

  std::puts("- suspend and resume, what was left is kept");
  chime_timer_options all = options(3);
  all.registration_handler = all.cancel_handler = on_tick;
  chime_schedule plan = schedule(50, 50);
  plan.resume_policy = CHIME_RESUME_REMAINING;
  timer = own<Timer>(chime_timer_start, queue.get(), &all, &plan);
  advance(20);
  ok(chime_timer_suspend(timer.get()));
  advance(1005);
  chime_timer_info info = CHIME_TIMER_INFO_INIT;
  ok(chime_timer_get_info(timer.get(), &info));
  std::printf("state %d remaining %" PRId64 "\n", info.state, info.remaining_ns);
  ok(chime_timer_resume(timer.get()));
  advance(30);
  once = chime_timer_cancel(timer.get());
  std::printf("cancel %s again %s\n", name(once), name(chime_timer_cancel(timer.get())));
  advance(0);
  timer.reset();

  std::puts("- postpone");
  timer = own<Timer>(chime_timer_after, queue.get(), 100, on_tick, context(4), on_finalize);
  advance(60);
  std::printf("postpone %s\n", name(chime_timer_postpone(timer.get(), 100)));
  advance(99);
  advance(1);
  std::printf("postpone %s\n", name(chime_timer_postpone(timer.get(), 100)));
  timer.reset();

  std::puts("- target");
  Target target = own<Target>(chime_target_create, context(77), on_destroy);
  chime_timer_options weak = options(5);
  weak.target = target.get();
  plan = schedule(10, 10);
  timer = own<Timer>(chime_timer_start, queue.get(), &weak, &plan);
  advance(10);
  {
    void *object = made<void *>(chime_target_retain, target.get());
    Target reference(target.get());
    std::printf("retain %" PRIuPTR "\n", number(object));
  }
  advance(10);
  target.reset();
  std::printf("state %d activate %s retain %s\n", state(timer), name(chime_timer_activate(timer.get(), nullptr)),
              name(chime_target_retain(weak.target, nullptr)));
  timer.reset();

  std::puts("- nobody holds it");
  ok(chime_timer_after(queue.get(), 10, on_tick, context(6), on_finalize, nullptr));
  advance(10);
  ok(chime_timer_after(queue.get(), 10, on_tick, context(7), on_finalize, nullptr));
  std::printf("shutdown %s\n", name(chime_queue_shutdown(queue.get(), CHIME_FOREVER)));
  std::printf("advance %s\n", name(chime_queue_advance(queue.get(), 10)));
}

void wait_readable(const Queue &queue) {
  pollfd entry = {made<std::int32_t>(chime_queue_fd, queue.get()), POLLIN, 0};
  if (poll(&entry, 1, 10000) != 1) throw std::runtime_error("the descriptor was not readable within 10 s");
}

void host_driven() {
  std::puts("- host-driven, callbacks");
  static std::uint64_t dues[16], early, functions;
  chime_handler on_count = [](const chime_tick *tick, void *context) noexcept {
    dues[number(context)] += 1 + tick->missed;
    early += tick->actual_ns < tick->scheduled_ns;
  };
  chime_function on_function = [](void *) noexcept { functions += 1; };

  Queue queue = own<Queue>(chime_queue_create, CHIME_QUEUE_HOST, nullptr);
  chime_timer_options counted = options(9);
  counted.handler = on_count;
  chime_schedule plan = schedule(1000000, 1000000);
  plan.tick_limit = 5;
  Timer one_shot = own<Timer>(chime_timer_after, queue.get(), 1000000, on_count, context(8), on_finalize);
  Timer repeating = own<Timer>(chime_timer_start, queue.get(), &counted, &plan);
  ok(chime_queue_async(queue.get(), on_function, context(10), on_finalize));
  while (dues[8] < 1 || dues[9] < 5 || functions < 1) {
    wait_readable(queue);
    ok(chime_queue_process(queue.get(), 0, nullptr));
  }
  std::printf("due times %" PRIu64 " %" PRIu64 " early %" PRIu64 " functions %" PRIu64 "\n", dues[8], dues[9], early,
              functions);
  std::printf("states %d %d\n", made<chime_state>(chime_timer_state, one_shot.get()),
              made<chime_state>(chime_timer_state, repeating.get()));
  chime_tick record;
  std::uint32_t count;
  std::printf("take_ticks %s\n", name(chime_queue_take_ticks(queue.get(), &record, sizeof record, 1, &count)));
  one_shot.reset();
  repeating.reset();
  queue.reset();
}

void records() {
  std::puts("- host-driven, records");
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  options.flags = CHIME_QUEUE_RECORDS;
  Queue queue = own<Queue>(chime_queue_create, CHIME_QUEUE_HOST, &options);
  auto start = [&](std::uintptr_t number, std::int64_t first, std::int64_t interval, std::uint64_t limit) {
    chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
    options.flags = CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE;
    options.context = context(number);
    chime_schedule plan = schedule(first, interval);
    plan.flags = CHIME_SCHEDULE_DEADLINE;
    plan.tick_limit = limit;
    return own<Timer>(chime_timer_start, queue.get(), &options, &plan);
  };
  Timer first = start(11, 1, 1, 4), second = start(12, 2, INT64_C(1000000000000000000), 0);
  auto take = [&](std::uint32_t expected) {
    for (std::uint32_t seen = 0, count; seen < expected; seen += count) {
      wait_readable(queue);
      chime_tick ticks[16];
      ok(chime_queue_take_ticks(queue.get(), ticks, sizeof(chime_tick), 16, &count));
      for (std::uint32_t index = 0; index < count; index++) {
        const chime_tick &tick = ticks[index];
        if (tick.kind != CHIME_TICK_DUE) {
          std::printf("record %" PRIuPTR ": %s\n", number(tick.context), kinds[tick.kind]);
          continue;
        }
        std::printf("record %" PRIuPTR ": DUE sequence %" PRIu64 " missed %" PRIu64 " due %" PRId64 " generation %s\n",
                    number(tick.context), tick.sequence, tick.missed, tick.scheduled_ns,
                    name(chime_timer_check_generation(tick.timer, tick.generation)));
        if (tick.context == context(11)) std::printf("cancel %s\n", name(chime_timer_cancel(second.get())));
      }
    }
  };
  take(4);
  take(1);
  ok(chime_queue_async(queue.get(), nullptr, context(13), nullptr));
  take(1);
  first.reset();
  take(1);
  second.reset();
  take(1);
  std::printf("process %s\n", name(chime_queue_process(queue.get(), 0, nullptr)));
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
