/*
 * chime.hpp - Chime for C++17: one header over chime.h, nothing to link but libchime.
 *
 *     chime::queue queue(CHIME_QUEUE_SERIAL);
 *     chime::timer timer = queue.every(100ms, [n = 0]() mutable { std::printf("tick %d\n", ++n); });
 *
 * Lambdas are moved in and destroyed exactly once: by Chime after their last call, or by the call that failed. They
 * take a `const chime_tick &` or nothing. A lambda that throws ends the program (std::terminate), because nothing may
 * unwind through Chime. They run where chime.h says: on the queue, one call of a timer at a time. If copying or moving
 * one in throws, the caller gets that exception, and nothing was created. A lambda that is not `mutable` must not change
 * what it captures by value, as a captured object with `mutable` members could: if it is no larger than a pointer, each
 * call has a copy of its own. Make such a lambda `mutable`, or capture a reference. A function object whose call is const,
 * and that cannot be assigned (a const member), counts as such a lambda.
 *
 * Durations are std::chrono's. They are rounded up to nanoseconds and saturate: anything beyond 292 years is
 * CHIME_FOREVER. NaN is refused, like what is negative after that, with the sentence on -292 years.
 *
 * Failures. Functions that create something throw chime::error. Given an object to put it in, they return a status
 * instead:
 *     chime::timer timer;
 *     if (chime::status made = queue.after(5s, on_timeout, timer); made.failed()) std::puts(made.message());
 * Other calls return a status, which or_throw() turns into an exception: timer.restart(schedule).or_throw(). A status is
 * [[nodiscard]], because a call may have been ignored; it is no bool, because CHIME_OK is 0. In a `switch`, g++ wants its number:
 * switch (chime_status status = timer.cancel()). The header also compiles without exceptions; the functions that throw are then
 * missing.
 *
 * Deadlines are points on the queue's own clock: queue.now() + 5s, or queue.from(std::chrono::steady_clock::now() + 5s).
 *
 * Objects own their ids; they are moved, not copied. Several threads may call the const functions of an object at once. What changes
 * the object itself (assignment, detach, release, shutdown, a call that puts a new timer into it) needs a mutex beside any other use
 * of it. To end what other threads still use, call cancel(), or chime_queue_shutdown(queue.id(), CHIME_FOREVER).
 *
 * Destroying a queue shuts it down, so its callbacks have ended afterwards. (Inside one of its callbacks, or if a callback
 * waits for the caller, the queue is only released.) Destroying a timer releases it without waiting; release_and_wait()
 * waits. The two may be destroyed in either order. But what handlers use must outlive the queue: in a class, declare the
 * queue after the members that its handlers use, or shut it down in the destructor.
 *
 * In C++20 a coroutine waits by co_await queue.after(5s), and goes on on the queue. A std::stop_token ends the wait: const bool
 * over = co_await queue.after(5s, token); it ends queue.run(token), too. (Not in the condition of an `if`: g++ 12 compiles that
 * wrongly, whatever is awaited.) A lambda that is a coroutine may use what it captures as long as its timer exists; one given to
 * once or async is gone after the first wait.
 *
 * Not here: values that expire, targets and statistics. queue::id() and timer::id() give the ids for chime.h's functions
 * (chime_expiring_create, chime_target_create, chime_queue_get_stats); a target goes into chime_timer_options.
 */
#ifndef CHIME_HPP
#define CHIME_HPP

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "chime.hpp is for C++17 and later (-std=c++17); chime.h is for any C++"
#else

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <ratio>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <version>
#if defined(__cpp_lib_coroutine) && defined(__cpp_lib_jthread) && defined(__cpp_exceptions)
#define CHIME_HPP_COROUTINES
#include <atomic>
#include <coroutine>
#include <optional>
#include <stop_token>
#endif
#endif

#include "chime.h"

namespace chime {

/** What a call returned. */
class [[nodiscard]] status {
 public:
  status(chime_status value = CHIME_OK) noexcept : value_(value) {}
  /** For `status & CHIME_RUNNING` and the like. */
  operator chime_status() const noexcept { return value_; }
  /** CHIME_OK is 0: ask failed(), or compare. (Not by way of the number either: `bool ok = timer.cancel()`.) */
  template <class T, typename std::enable_if<std::is_same<T, bool>::value, int>::type = 0> operator T() const = delete;
  bool failed() const noexcept { return CHIME_FAILED(value_); }
  const char *name() const noexcept { return chime_status_name(value_); }
  const char *message() const noexcept { return chime_status_message(value_); }
  /** chime_last_error_detail: asked on the thread, and before another call fails. */
  const char *detail() const noexcept { return chime_last_error_detail(); }
#if defined(__cpp_exceptions)
  /** chime::error, if it is a failure; its sentence is detail(). */
  chime_status or_throw() const;
#endif
  /** Its name, into a std::ostream. */
  template <class Stream>
  friend auto operator<<(Stream &stream, status status) -> decltype(stream << std::declval<const char *>()) {
    return stream << status.name();
  }

 private:
  chime_status value_;
};

namespace detail {
class category final : public std::error_category {
  const char *name() const noexcept override { return "chime"; }
  std::string message(int status) const override { return chime_status_message(status); }
  std::error_condition default_error_condition(int status) const noexcept override {
    switch (status) {
      case CHIME_ERROR_INVALID_ARGUMENT: return std::errc::invalid_argument;
      case CHIME_ERROR_NO_MEMORY: return std::errc::not_enough_memory;
      case CHIME_ERROR_WOULD_DEADLOCK: return std::errc::resource_deadlock_would_occur;
      case CHIME_ERROR_BUSY: return std::errc::device_or_resource_busy;
      case CHIME_ERROR_WRONG_THREAD: return std::errc::operation_not_permitted;
      case CHIME_ERROR_UNSUPPORTED: return std::errc::not_supported;
      case CHIME_ERROR_PERMISSION: return std::errc::permission_denied;
      case CHIME_ERROR_RESOURCE: return std::errc::resource_unavailable_try_again;
      case CHIME_ERROR_TIMED_OUT: return std::errc::timed_out;
      default: return std::error_condition(status, *this);
    }
  }
};
} // namespace detail

/**
 * Of the codes of chime::error: their values are statuses; they compare with std::errc where that has the same. A library that the
 * program loads has a category of its own, so of its errors compare status().
 */
inline const std::error_category &category() noexcept {
  /* Never destroyed: destructors of static objects, and handlers that run beside them, may still have an error. */
  alignas(detail::category) static unsigned char memory[sizeof(detail::category)];
  static const detail::category *const only = new (memory) detail::category;
  return *only;
}

/** A failure as an exception; what() is the status and, where there is one, the sentence on it. */
class error : public std::system_error {
 public:
  explicit error(chime_status status) : std::system_error(status, category()), text_(text(status)) {}
  /** With a sentence of its own. */
  error(chime_status status, const char *detail)
      : std::system_error(status, category()), text_(std::string(chime_status_name(status)) + ": " + detail) {}
  chime_status status() const noexcept { return code().value(); }
  const char *what() const noexcept override { return text_.what(); }

 private:
  static std::string text(chime_status status) {
    std::string text = chime_status_name(status);
    /* Where C++ itself had no memory, the sentence may be that of an earlier failure. */
    const char *const detail = status == CHIME_ERROR_NO_MEMORY ? "" : chime_last_error_detail();
    return text + ": " + (*detail != 0 ? detail : chime_status_message(status));
  }
  std::runtime_error text_; /* whose copies do not throw */
};

#if defined(__cpp_exceptions)
inline chime_status status::or_throw() const {
  if (failed()) throw error(value_);
  return *this;
}
#endif

namespace detail {

// In parentheses, because windows.h makes macros of min and max.
constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)(),
                       least = (std::numeric_limits<std::int64_t>::min)(), second = 1000000000;

/** a * b / divisor and the remainder. a is below divisor, and that below 2^63, so the result is no larger than b. */
struct quotient {
  std::uint64_t whole, rest;
};
constexpr quotient multiply_and_divide(std::uint64_t a, std::uint64_t b, std::uint64_t divisor) noexcept {
  /* Bit by bit, because the product may need 128. Twice what is below 2^63 fits. */
  quotient result{0, 0};
  for (int bit = 63; bit >= 0; bit--) {
    result.whole *= 2;
    result.rest *= 2;
    if (result.rest >= divisor) result.whole++, result.rest -= divisor;
    if ((b >> bit & 1) != 0) {
      result.rest += a;
      if (result.rest >= divisor) result.whole++, result.rest -= divisor;
    }
  }
  return result;
}

/** count * N / D seconds, of any type of whole numbers and any ratio. */
template <std::intmax_t N, std::intmax_t D, class Rep> constexpr std::int64_t whole_nanoseconds(Rep count) noexcept {
  if constexpr (D == second && N == 1 && sizeof(Rep) <= sizeof(std::int64_t) && Rep(-1) < Rep(0)) {
    return static_cast<std::int64_t>(count);
  } else {
    /* At least 64 bits; what has more, such as __int128, stays as it is. */
    using wide = typename std::conditional<
        (sizeof(Rep) > sizeof(std::int64_t)), Rep,
        typename std::conditional<(Rep(-1) < Rep(0)), std::int64_t, std::uint64_t>::type>::type;
    const wide whole = static_cast<wide>(count) / static_cast<wide>(D),
               rest = static_cast<wide>(count) % static_cast<wide>(D);
    const bool negative = count < Rep(0);
    if (!negative && whole > static_cast<wide>(most / N)) return most;
    if constexpr (Rep(-1) < Rep(0)) {
      if (whole < -static_cast<wide>(most / N)) return least;
    }
    const std::int64_t seconds = static_cast<std::int64_t>(whole) * N, left = static_cast<std::int64_t>(rest);
    const std::uint64_t size = static_cast<std::uint64_t>(negative ? -left : left);
    quotient more{0, 0}, parts{0, 0};
    if constexpr (N <= most / D) {
      more = {size * std::uint64_t{N} / std::uint64_t{D}, size * std::uint64_t{N} % std::uint64_t{D}};
    } else {
      more = multiply_and_divide(size, std::uint64_t{N}, std::uint64_t{D});
    }
    if constexpr (D <= most / second) {
      parts = {more.rest * std::uint64_t{second} / std::uint64_t{D},
               more.rest * std::uint64_t{second} % std::uint64_t{D}};
    } else {
      parts = multiply_and_divide(more.rest, std::uint64_t{second}, std::uint64_t{D});
    }
    /* Both below 2^63. */
    const std::uint64_t all = static_cast<std::uint64_t>(negative ? -seconds : seconds) + more.whole;
    if (all > std::uint64_t{most / second}) return negative ? least : most;
    const std::uint64_t result = all * std::uint64_t{second} + parts.whole + (!negative && parts.rest != 0 ? 1 : 0);
    if (result > std::uint64_t{most}) return negative ? least : most;
    return negative ? -static_cast<std::int64_t>(result) : static_cast<std::int64_t>(result);
  }
}

template <class T> struct is_duration : std::false_type {};
template <class Rep, class Period> struct is_duration<std::chrono::duration<Rep, Period>> : std::true_type {};

/** False for NaN. */
template <class D> bool is_number(D duration) noexcept {
  if constexpr (is_duration<D>::value) {
    if constexpr (std::is_floating_point<typename D::rep>::value) return !std::isnan(duration.count());
  }
  static_cast<void>(duration);
  return true;
}

} // namespace detail

/** A duration in nanoseconds, rounded up; saturates. */
template <class D> constexpr std::int64_t nanoseconds(D duration) noexcept {
  static_assert(detail::is_duration<D>::value,
                "chime: give a std::chrono duration, such as 5ms, not a number or a point in time");
  if constexpr (detail::is_duration<D>::value) {
    using period = typename D::period;
    if constexpr (std::chrono::treat_as_floating_point<typename D::rep>::value) {
      const long double exact = static_cast<long double>(duration.count()) * static_cast<long double>(period::num) *
                                static_cast<long double>(detail::second) / static_cast<long double>(period::den);
      if (!(exact > -9223372036854775808.0L)) return detail::least;
      if (exact >= 9223372036854775807.0L) return detail::most;
      const std::int64_t whole = static_cast<std::int64_t>(exact);
      return whole < detail::most && static_cast<long double>(whole) < exact ? whole + 1 : whole;
    } else {
      return detail::whole_nanoseconds<period::num, period::den>(duration.count());
    }
  } else {
    return 0;
  }
}

/** A queue's own clock, whichever that is. Its points are deadlines; the queue reads it. */
struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = false;
};
using time_point = clock::time_point;

namespace detail {

template <class T> struct is_deadline : std::false_type {};
template <class D> struct is_deadline<std::chrono::time_point<clock, D>> : std::true_type {};

/** Gives a deadline's nanoseconds to a function; otherwise says what a deadline is. NaN is `refused`. */
template <class T, class R, class F> R with_deadline(T deadline, R refused, F function) noexcept {
  static_assert(is_deadline<T>::value,
                "chime: give a point on the queue's clock, such as queue.now() + 5s, or queue.from(...)");
  if constexpr (is_deadline<T>::value) {
    if (is_number(deadline.time_since_epoch())) return function(nanoseconds(deadline.time_since_epoch()));
  } else {
    static_cast<void>(deadline), static_cast<void>(function);
  }
  return refused;
}

/** a + b - c, for c of 0 or more; saturates. */
constexpr std::int64_t moved(std::int64_t a, std::int64_t b, std::int64_t c) noexcept {
  const std::int64_t distance = a < least + c ? least : a - c;
  return distance > 0 && b > most - distance ? most : distance < 0 && b < least - distance ? least : b + distance;
}

} // namespace detail

/** A chime_schedule, put together: chime::schedule::every(10ms).after(0ms).leeway(1ms).limit(3). */
struct schedule : chime_schedule {
  schedule() noexcept : chime_schedule() { size = sizeof(chime_schedule); }
  template <class D> static schedule once(D delay) noexcept { return schedule().after(delay); }
  template <class D> static schedule every(D interval) noexcept {
    schedule made = schedule().after(interval);
    made.interval_ns = nanoseconds(interval);
    return made;
  }
  template <class D> schedule &after(D delay) noexcept { return first_ns = nanoseconds(delay), flags = 0, *this; }
  /** A deadline on the queue's clock: queue.now() + 5s, queue.from(...). */
  template <class T> schedule &at(T deadline) noexcept {
    first_ns = -1, flags = 0; /* which is refused */
    return detail::with_deadline<T, schedule &>(deadline, *this, [this](std::int64_t time_ns) -> schedule & {
      return first_ns = time_ns, flags = CHIME_SCHEDULE_DEADLINE, *this;
    });
  }
  template <class D> schedule &leeway(D most) noexcept { return leeway_ns = nanoseconds(most), *this; }
  template <class D> schedule &jitter(D most) noexcept { return jitter_ns = nanoseconds(most), *this; }
  schedule &limit(std::uint64_t ticks) noexcept { return tick_limit = ticks, *this; }
  schedule &missed(chime_missed_policy policy) noexcept { return missed_policy = policy, *this; }
  schedule &resume(chime_resume_policy policy) noexcept { return resume_policy = policy, *this; }
};

namespace detail {

/**
 * Whether no call can change a function's state: a pointer, an object without members, or a lambda that is not mutable.
 * (Of classes with members, a lambda is what has no assignment. Members that are `mutable` cannot be seen.)
 */
/* clang-format off */
template <class F>
constexpr bool is_constant =
    std::is_pointer<F>::value || std::is_empty<F>::value ||
    (!std::is_copy_assignable<F>::value &&
     (std::is_invocable<const F &>::value || std::is_invocable<const F &, const chime_tick &>::value));
/** Whether nothing uses the function's members once a call has returned, as a coroutine would, whose call gives something. */
template <class F> constexpr bool ends_with_its_call() noexcept {
  if constexpr (std::is_pointer<F>::value || std::is_empty<F>::value) {
    return true;
  } else if constexpr (std::is_invocable<F &, const chime_tick &>::value) {
    return std::is_void<std::invoke_result_t<F &, const chime_tick &>>::value;
  } else if constexpr (std::is_invocable<F &>::value) {
    return std::is_void<std::invoke_result_t<F &>>::value;
  } else {
    return true;
  }
}
/**
 * Such a function lies in the context itself if it fits; others behind it, because each call gets a copy of the context.
 * (Not is_trivially_copyable: of a lambda GCC 12 answers differently once it was asked for is_copy_assignable.)
 */
template <class F>
constexpr bool is_small = is_constant<F> && ends_with_its_call<F>() && sizeof(F) <= sizeof(void *) &&
                          alignof(F) <= alignof(void *) && std::is_trivially_copy_constructible<F>::value &&
                          std::is_trivially_destructible<F>::value;
/* clang-format on */

/** Whether a function can be called as a handler, or as a function on a queue; if not, says so in one sentence. */
template <class F> constexpr bool is_handler() noexcept {
  constexpr bool is = std::is_invocable<F &, const chime_tick &>::value || std::is_invocable<F &>::value;
  static_assert(is, "chime: a handler takes a const chime_tick & or nothing");
  return is;
}
template <class F> constexpr bool is_function() noexcept {
  static_assert(std::is_invocable<F &>::value, "chime: a function on a queue takes nothing");
  return std::is_invocable<F &>::value;
}

/** Whether a function is taken in without an exception. */
template <class F> constexpr bool is_quiet = std::is_nothrow_constructible<typename std::decay<F>::type, F>::value;

/** A function as C takes it; who has it until release() destroys it. */
template <class F> class callback {
 public:
  template <class G> explicit callback(G &&function) {
    if constexpr (is_small<F>) {
      const F copy(std::forward<G>(function));
      std::memcpy(static_cast<void *>(&context_), static_cast<const void *>(&copy), sizeof(F));
    } else {
      context_ = new (std::nothrow) F(std::forward<G>(function));
    }
  }
  callback(const callback &) = delete;
  callback &operator=(const callback &) = delete;
  ~callback() {
    if (!is_small<F>) destroy(context_);
  }

  bool exists() const noexcept { return is_small<F> || context_ != nullptr; }
  void *context() const noexcept { return context_; }
  void release() noexcept { context_ = nullptr; }
  static constexpr chime_finalizer finalizer() noexcept { return is_small<F> ? nullptr : &destroy; }
  static void tick(const chime_tick *tick, void *context) noexcept {
    with(context, [tick](F &function) {
      if constexpr (std::is_invocable<F &, const chime_tick &>::value) {
        function(*tick);
      } else {
        static_cast<void>(tick);
        function();
      }
    });
  }
  static void call(void *context) noexcept {
    with(context, [](F &function) { function(); });
  }

 private:
  template <class Body> static void with(void *context, Body body) noexcept {
    if constexpr (is_small<F>) {
      alignas(F) unsigned char memory[sizeof(F)];
      std::memcpy(memory, &context, sizeof(F));
      body(*std::launder(reinterpret_cast<F *>(memory)));
    } else {
      body(*static_cast<F *>(context));
    }
  }
  static void destroy(void *context) noexcept {
    if constexpr (!is_small<F>) delete static_cast<F *>(context);
  }
  void *context_ = nullptr;
};

/** Has a C function write its text into a string; empty if it fails. */
template <class Function> std::string text(Function function, std::uint64_t id) {
  std::size_t length = 0;
  if (function(id, nullptr, 0, &length) != CHIME_OK) return {};
  std::string text(length + 64, '\0'); /* it may grow between the two calls */
  if (function(id, &text[0], text.size(), &length) != CHIME_OK) return {};
  text.resize((std::min<std::size_t>)(length, text.size() - 1));
  return text;
}

} // namespace detail

/**
 * A timer of one's own; empty until one is moved in. Calls on an empty one return CHIME_ERROR_INVALID_HANDLE; but to
 * release it is CHIME_OK, and does nothing.
 */
class [[nodiscard]] timer { /* a result that is thrown away is released at once; queue::once is for that */
 public:
  timer() noexcept = default;
  explicit timer(chime_timer_t id) noexcept : id_(id) {}
  timer(timer &&other) noexcept : id_(other.detach()) {}
  timer &operator=(timer &&other) noexcept {
    if (this != &other) chime_timer_release(std::exchange(id_, other.detach()));
    return *this;
  }
  ~timer() { chime_timer_release(id_); }

  chime_timer_t id() const noexcept { return id_; }
  /** Gives the timer up: it goes on, and the id is the caller's. */
  chime_timer_t detach() noexcept { return std::exchange(id_, 0); }
  status activate() const noexcept { return chime_timer_activate(id_, nullptr); }
  status activate(const chime_schedule &schedule) const noexcept { return chime_timer_activate(id_, &schedule); }
  status restart() const noexcept { return chime_timer_restart(id_, nullptr); }
  status restart(const chime_schedule &schedule) const noexcept { return chime_timer_restart(id_, &schedule); }
  template <class D> status restart_after(D delay) const noexcept {
    return chime_timer_restart_after(id_, nanoseconds(delay));
  }
  template <class T> status restart_until(T deadline) const noexcept {
    return detail::with_deadline<T, status>(deadline, CHIME_ERROR_INVALID_ARGUMENT, [this](std::int64_t time_ns) {
      return status(chime_timer_restart_until(id_, time_ns));
    });
  }
  status reschedule(const chime_schedule &schedule) const noexcept { return chime_timer_reschedule(id_, &schedule); }
  /** Changes the interval and nothing else: the next deadline stays. */
  template <class D> status set_interval(D interval) const noexcept {
    return chime_timer_set_interval(id_, nanoseconds(interval));
  }
  /** Whether queue::run returns although the timer runs. */
  status set_background(bool background) const noexcept { return chime_timer_set_background(id_, background ? 1 : 0); }
  status suspend() const noexcept { return chime_timer_suspend(id_); }
  status resume() const noexcept { return chime_timer_resume(id_); }
  template <class D> status postpone(D delay) const noexcept { return chime_timer_postpone(id_, nanoseconds(delay)); }
  template <class T> status postpone_until(T deadline) const noexcept {
    return detail::with_deadline<T, status>(deadline, CHIME_ERROR_INVALID_ARGUMENT, [this](std::int64_t time_ns) {
      return status(chime_timer_postpone_until(id_, time_ns));
    });
  }
  status fire() const noexcept { return chime_timer_fire(id_); }
  status cancel() const noexcept { return chime_timer_cancel(id_); }
  status cancel_and_wait() const noexcept { return chime_timer_cancel_and_wait(id_, CHIME_FOREVER); }
  template <class D> status cancel_and_wait(D timeout) const noexcept {
    return chime_timer_cancel_and_wait(id_, nanoseconds(timeout));
  }
  status release() noexcept { return chime_timer_release(detach()); }
  status release_and_wait() noexcept { return chime_timer_release_and_wait(detach(), CHIME_FOREVER); }
  template <class D> status release_and_wait(D timeout) noexcept {
    const std::int64_t most = nanoseconds(timeout);
    /* Below 0 it is refused, and the timer stays. */
    return chime_timer_release_and_wait(most < 0 ? id_ : detach(), most);
  }
  /** An empty or stale timer is CHIME_STATE_CANCELLED. */
  chime_state state() const noexcept {
    chime_state state = CHIME_STATE_CANCELLED;
    chime_timer_state(id_, &state);
    return state;
  }
  /** time_point::max() for never. */
  time_point next_deadline() const noexcept {
    std::int64_t deadline = CHIME_FOREVER;
    chime_timer_next_deadline(id_, &deadline);
    return time_point(std::chrono::nanoseconds(deadline));
  }
  /** Until the next tick is due; 0 if it is due already, std::chrono::nanoseconds::max() for a timer that does not run. */
  std::chrono::nanoseconds remaining() const noexcept {
    std::int64_t left = CHIME_FOREVER;
    chime_timer_remaining(id_, &left);
    return std::chrono::nanoseconds(left);
  }
  /** Its present schedule, as restart takes it. CHIME_IGNORED: none yet. */
  status get_schedule(chime::schedule &present) const noexcept { return chime_timer_get_schedule(id_, &present); }
  std::string explain() const { return detail::text(chime_timer_explain, id_); }

 private:
  friend class queue;
  chime_timer_t id_ = 0;
};

#if defined(CHIME_HPP_COROUTINES)
namespace detail {
/** What a coroutine that waits shares with its timer. It goes with the timer, or behind await_suspend, if that is later. */
struct wait {
  struct fire {
    chime_timer_t timer;
    void operator()() const noexcept { chime_timer_fire(timer); }
  };
  std::coroutine_handle<> waiter;
  chime_status outcome = CHIME_ERROR_SHUT_DOWN;
  chime_timer_t timer = 0;
  std::atomic<int> owners{2};
  std::optional<std::stop_callback<fire>> on_stop{};

  void resume() {
    if (std::coroutine_handle<> handle = std::exchange(waiter, nullptr)) handle.resume();
  }
  void let_go() noexcept {
    if (owners.fetch_sub(1) == 1) delete this;
  }
  static void tick(const chime_tick *tick, void *context) noexcept {
    wait *const self = static_cast<wait *>(context);
    self->outcome = tick->kind == CHIME_TICK_FIRED ? CHIME_STOPPED : CHIME_OK;
    chime_timer_release(tick->timer);
    self->resume();
  }
  static void end(void *context) noexcept {
    wait *const self = static_cast<wait *>(context);
    self->resume(); /* unless the tick has done it: the queue has ended */
    self->let_go();
  }
};
} // namespace detail

/**
 * What queue::after gives to co_await. The coroutine goes on on the queue; true: the time is over, false: the token's stop was
 * first. It throws chime::error if the timer cannot be made, and when the queue ends first: that resumes the coroutine,
 * too, inside what ends the queue. Destroy a coroutine that waits only where the queue cannot resume it at that moment: in one of the
 * queue's handlers (not of a concurrent queue, whose handlers overlap), or when the queue has ended.
 */
class [[nodiscard]] waiting {
 public:
  waiting(chime_queue_t queue, std::int64_t delay_ns, std::stop_token token) noexcept
      : queue_(queue), delay_ns_(delay_ns), token_(std::move(token)) {}
  waiting(const waiting &) = delete;
  waiting &operator=(const waiting &) = delete;
  ~waiting() {
    if (wait_ == nullptr) return;
    wait_->waiter = nullptr;
    chime_timer_release(wait_->timer);
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) {
    detail::wait *const made = wait_ = new detail::wait{waiter};
    const std::stop_token token = token_; /* once the timer runs, this object may be gone */
    const chime_status status =
        chime_timer_after(queue_, delay_ns_, &detail::wait::tick, made, &detail::wait::end, &made->timer);
    if (CHIME_FAILED(status)) {
      wait_ = nullptr;
      delete made;
      throw error(status);
    }
    made->on_stop.emplace(token, detail::wait::fire{made->timer});
    made->let_go();
  }
  bool await_resume() {
    const chime_status outcome = std::exchange(wait_, nullptr)->outcome;
    if (CHIME_FAILED(outcome)) throw error(outcome, "the queue has ended");
    return outcome == CHIME_OK;
  }

 private:
  chime_queue_t queue_;
  std::int64_t delay_ns_;
  std::stop_token token_;
  detail::wait *wait_ = nullptr;
};
#endif

/** A queue of one's own; empty until one is moved in. */
class queue {
 public:
  queue() noexcept = default;
  queue(queue &&other) noexcept : id_(other.detach()) {}
  queue &operator=(queue &&other) noexcept {
    if (this != &other) end(std::exchange(id_, other.detach()));
    return *this;
  }
  ~queue() { end(id_); }
  /** Takes over an id, of chime_queue_create_main and the like. */
  static queue adopt(chime_queue_t id) noexcept {
    queue made;
    made.id_ = id;
    return made;
  }
  static status make(queue &made, chime_queue_kind kind, const chime_queue_options *options = nullptr) noexcept {
    chime_queue_t id = 0;
    const status status = chime_queue_create(kind, options, &id);
    if (!status.failed()) made = adopt(id);
    return status;
  }

  chime_queue_t id() const noexcept { return id_; }
  chime_queue_t detach() noexcept { return std::exchange(id_, 0); }
  status shutdown() noexcept { return chime_queue_shutdown(detach(), CHIME_FOREVER); }
  template <class D> status shutdown(D timeout) noexcept {
    const std::int64_t most = nanoseconds(timeout);
    /* Below 0 it is refused, and the queue stays. */
    return chime_queue_shutdown(most < 0 ? id_ : detach(), most);
  }

  /** No callback begins until as many calls of resume, or the queue's end. */
  status suspend() const noexcept { return chime_queue_suspend(id_); }
  status resume() const noexcept { return chime_queue_resume(id_); }

  /**
   * Makes a timer that runs. Options' handler, context and finalizer are the lambda's.
   *
   * `made` names the timer before its first tick, so the handler may use it; a timer that it named before is released
   * when this succeeds. A variable to which the result of the other form is assigned is not ready when the handler runs:
   * there the handler has `tick.timer`.
   *
   * The lambda lives as long as the timer. One that holds a shared_ptr to an object that holds the timer keeps both for
   * ever, ticking or not; a weak one does not:
   *     session->idle = queue.after(30s, [weak = std::weak_ptr(session)] { if (auto session = weak.lock()) session->end(); });
   */
  template <class F>
  status start(const chime_schedule &schedule, F &&function, timer &made, chime_timer_options options = {}) const
      noexcept(detail::is_quiet<F>) {
    return with(std::forward<F>(function), options, made,
                [&](chime_timer_t *id) { return chime_timer_start(id_, &options, &schedule, id); });
  }
  /** Makes a timer in state idle. */
  template <class F>
  status create(F &&function, timer &made, chime_timer_options options = {}) const noexcept(detail::is_quiet<F>) {
    return with(std::forward<F>(function), options, made,
                [&](chime_timer_t *id) { return chime_timer_create(id_, &options, id); });
  }
  template <class D, class F> status after(D delay, F &&function, timer &made) const noexcept(detail::is_quiet<F>) {
    chime_timer_options o{};
    return with(std::forward<F>(function), o, made, [&](chime_timer_t *id) {
      return chime_timer_after(id_, nanoseconds(delay), o.handler, o.context, o.finalizer, id);
    });
  }
  template <class D, class F> status every(D interval, F &&function, timer &made) const noexcept(detail::is_quiet<F>) {
    chime_timer_options o{};
    return with(std::forward<F>(function), o, made, [&](chime_timer_t *id) {
      return chime_timer_every(id_, nanoseconds(interval), o.handler, o.context, o.finalizer, id);
    });
  }
  /** Calls the lambda once, and forgets it. */
  template <class D, class F> status once(D delay, F &&function) const noexcept(detail::is_quiet<F>) {
    if constexpr (detail::is_handler<typename std::decay<F>::type>()) {
      using callback = detail::callback<typename std::decay<F>::type>;
      callback held(std::forward<F>(function));
      if (!held.exists()) return CHIME_ERROR_NO_MEMORY;
      const status status =
          chime_timer_after(id_, nanoseconds(delay), &callback::tick, held.context(), callback::finalizer(), nullptr);
      if (!status.failed()) held.release();
      return status;
    } else {
      return CHIME_ERROR_INVALID_ARGUMENT;
    }
  }
  /** Runs a function on the queue, soon. */
  template <class F> status async(F &&function) const noexcept(detail::is_quiet<F>) {
    if constexpr (detail::is_function<typename std::decay<F>::type>()) {
      using callback = detail::callback<typename std::decay<F>::type>;
      callback held(std::forward<F>(function));
      if (!held.exists()) return CHIME_ERROR_NO_MEMORY;
      const status status = chime_queue_async(id_, &callback::call, held.context(), callback::finalizer());
      if (!status.failed()) held.release();
      return status;
    } else {
      return CHIME_ERROR_INVALID_ARGUMENT;
    }
  }
  /**
   * Runs a function in mutual exclusion with the queue's handlers, and waits for it. CHIME_ERROR_UNSUPPORTED on a
   * concurrent queue, whose handlers overlap: lock a std::mutex, in the handlers, too. Also on one that you drive (virtual,
   * host-driven), outside its handlers: nothing of it runs unless you call advance or process, so call the function
   * there; from another thread, async.
   */
  template <class F> status sync(F &&function) const noexcept {
    if constexpr (detail::is_function<F>()) {
      typename std::remove_reference<F>::type *address = std::addressof(function);
      return chime_queue_sync(
          id_, [](void *context) noexcept { (**static_cast<decltype(address) *>(context))(); }, &address,
          CHIME_FOREVER);
    } else {
      return CHIME_ERROR_INVALID_ARGUMENT;
    }
  }

#if defined(__cpp_exceptions)
  explicit queue(chime_queue_kind kind, const chime_queue_options *options = nullptr) {
    make(*this, kind, options).or_throw();
  }
  template <class F>
  timer start(const chime_schedule &schedule, F &&function, const chime_timer_options &options = {}) const {
    return made([&](timer &made) { return start(schedule, std::forward<F>(function), made, options); });
  }
  template <class F> timer create(F &&function, const chime_timer_options &options = {}) const {
    return made([&](timer &made) { return create(std::forward<F>(function), made, options); });
  }
  template <class D, class F> timer after(D delay, F &&function) const {
    return made([&](timer &made) { return after(delay, std::forward<F>(function), made); });
  }
  template <class D, class F> timer every(D interval, F &&function) const {
    return made([&](timer &made) { return every(interval, std::forward<F>(function), made); });
  }
#endif

#if defined(CHIME_HPP_COROUTINES)
  /** co_await queue.after(5s), queue.after(5s, token). */
  template <class D> waiting after(D delay, std::stop_token token = {}) const noexcept {
    return waiting(id_, nanoseconds(delay), std::move(token));
  }
  /** Runs the queue until a stop is requested. */
  status run(std::stop_token token) const {
    const std::stop_callback on_stop(std::move(token), [id = id_] { chime_queue_stop(id); });
    return chime_queue_run(id_, CHIME_QUEUE_RUN_UNTIL_STOPPED);
  }
#endif

  time_point now() const noexcept {
    std::int64_t now = 0;
    chime_queue_now(id_, &now);
    return time_point(std::chrono::nanoseconds(now));
  }
  /**
   * A point on another clock, as one on the queue's by what both read now; never before it. For a t of system_clock on a
   * queue on the wall clock, which follows its steps, or on a virtual queue that begins at a date, whose time is not that
   * of now: time_point(t.time_since_epoch()).
   */
  template <class C, class D> time_point from(std::chrono::time_point<C, D> point) const noexcept {
    const std::int64_t there = nanoseconds(C::now().time_since_epoch()), here = now().time_since_epoch().count();
    const std::int64_t time_ns = nanoseconds(point.time_since_epoch());
    return time_point(
        std::chrono::nanoseconds(time_ns == detail::most ? time_ns : detail::moved(time_ns, here, there)));
  }
  /** One of CHIME_FOREVER or more is refused. CHIME_ERROR_BUSY: try again. See chime_queue_advance. */
  template <class D> status advance(D duration) const noexcept {
    return chime_queue_advance(id_, nanoseconds(duration));
  }
  template <class D> status jump(D duration) const noexcept { return chime_queue_jump(id_, nanoseconds(duration)); }
  chime_waitable fd() const noexcept {
    chime_waitable file = -1;
    chime_queue_fd(id_, &file);
    return file;
  }
  status process(std::uint32_t most = 0, std::uint32_t *count = nullptr) const noexcept {
    return chime_queue_process(id_, most, count);
  }
  status run(std::uint32_t flags = 0) const noexcept { return chime_queue_run(id_, flags); }
  status stop() const noexcept { return chime_queue_stop(id_); }
  /** The ids of its timers, those that nobody holds among them, for chime.h's functions; none of a queue that has ended. */
  std::vector<chime_timer_t> timers() const {
    std::vector<chime_timer_t> ids;
    for (std::size_t count = 0;; ids.resize(count + 8)) {
      if (status(chime_queue_list_timers(id_, ids.data(), ids.size(), &count)).failed()) return {};
      if (count > ids.size()) continue;
      ids.resize(count);
      return ids;
    }
  }
  std::string dump() const { return detail::text(chime_queue_dump, id_); }

 private:
  static void end(chime_queue_t id) noexcept {
    if (id != 0) chime_queue_shutdown(id, CHIME_FOREVER);
  }
  template <class F, class Call>
  status with(F &&function, chime_timer_options &options, timer &made, Call call) const noexcept(detail::is_quiet<F>) {
    if constexpr (detail::is_handler<typename std::decay<F>::type>()) {
      using callback = detail::callback<typename std::decay<F>::type>;
      callback held(std::forward<F>(function));
      if (!held.exists()) return CHIME_ERROR_NO_MEMORY;
      options.size = sizeof options;
      options.handler = &callback::tick;
      options.context = held.context();
      options.finalizer = callback::finalizer();
      /* Chime puts the id there before the first tick can run, and leaves it as it was if the call fails. From then on
         `made` belongs to the handler, too. */
      const chime_timer_t before = made.id_;
      const status status = call(&made.id_);
      if (status.failed()) return status;
      held.release();
      chime_timer_release(before);
      return status;
    } else {
      return CHIME_ERROR_INVALID_ARGUMENT;
    }
  }
  template <class Make> static timer made(Make make) {
    timer made;
    make(made).or_throw();
    return made;
  }
  chime_queue_t id_ = 0;
};

} // namespace chime

#endif /* C++17 */
#endif /* CHIME_HPP */
