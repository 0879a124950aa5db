#!/bin/sh
# hpp_refusals.sh INCLUDE COMPILER...: what chime.hpp does not compile gives one error, and that is a sentence.
set -eu
include=$1
shift

# one STANDARD SENTENCE BODY: that each compiler gives just this error for a function with that body.
one() {
  standard=$1 sentence=$2 body=$3
  for compiler in $compilers; do
    errors=$(printf '#include <chime.hpp>\n%s\n' "$body" |
      "$compiler" -std="$standard" $flags -I"$include" -fsyntax-only -x c++ - 2>&1 | grep 'error:') || {
      echo "$compiler -std=$standard compiles: $body"
      exit 1
    }
    case $errors in
    *error:*error:*) expected=no ;;
    *"$sentence"*) expected=yes ;;
    *) expected=no ;;
    esac
    [ $expected = yes ] || {
      printf '%s -std=%s, of %s, says:\n%s\nand not only: %s\n' "$compiler" "$standard" "$body" "$errors" "$sentence"
      exit 1
    }
    count=$((count + 1))
  done
}
in_a_function() {
  one c++17 "$1" "using namespace std::chrono_literals; void f(chime::queue &q, chime::timer &t) { (void)q; (void)t; $2; }"
}

compilers=$* count=0 flags=
one c++11 "chime.hpp is for C++17 and later" ""
one c++14 "chime.hpp is for C++17 and later" ""
number="give a std::chrono duration, such as 5ms, not a number or a point in time"
in_a_function "$number" "t = q.after(5, [] {})"
in_a_function "$number" "t = q.every(2.5, [] {})"
in_a_function "$number" "q.once(5, [] {})"
in_a_function "$number" "t = q.after(std::chrono::steady_clock::now(), [] {})"
in_a_function "$number" "t.restart_after(5)"
in_a_function "$number" "t.postpone(5)"
in_a_function "$number" "t.cancel_and_wait(5)"
in_a_function "$number" "chime::schedule::once(5)"
in_a_function "$number" "chime::schedule().leeway(5)"
in_a_function "$number" "q.advance(5)"
handler="a handler takes a const chime_tick & or nothing"
in_a_function "$handler" "t = q.after(5ms, [](int) {})"
in_a_function "$handler" "q.after(5ms, [](chime_tick &) {}, t)"
in_a_function "$handler" "t = q.every(5ms, 5)"
in_a_function "$handler" "q.once(5ms, [](const chime_tick &, void *) {})"
in_a_function "$handler" "t = q.start(chime::schedule(), [](int) {})"
in_a_function "$handler" "t = q.create([](std::string) {})"
in_a_function "a function on a queue takes nothing" "q.async([](const chime_tick &) {})"
in_a_function "a function on a queue takes nothing" "q.sync([](int) {})"
deadline="give a point on the queue's clock, such as queue.now() + 5s, or queue.from(...)"
in_a_function "$deadline" "(void)t.restart_until(5s)"
in_a_function "$deadline" "(void)t.postpone_until(5)"
in_a_function "$deadline" "(void)t.restart_until(std::chrono::steady_clock::now())"
in_a_function "$deadline" "chime::schedule().at(std::chrono::system_clock::now())"
in_a_function "$deadline" "chime::schedule().at(5s)"
in_a_function "deleted function" "if (t.cancel()) return"
in_a_function "deleted function" "bool ok = !q.once(5ms, [] {}); (void)ok"
in_a_function "deleted function" "bool ok = t.cancel(); (void)ok"
in_a_function "deleted function" "bool ok; ok = t.cancel(); (void)ok"
in_a_function "deleted function" "auto armed = [&q]() -> bool { return q.once(5ms, [] {}); }; (void)armed"
in_a_function "deleted function" "auto say = [](bool) {}; say(t.cancel())"
flags="-Werror=unused-result -Werror=unused-value"
in_a_function "nodiscard" "t.postpone(5ms)"
echo "ok chime.hpp refuses: $count errors, each one sentence"
