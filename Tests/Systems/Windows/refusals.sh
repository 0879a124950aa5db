# Whether install/windows_check.py refuses what Windows passes otherwise than the system that the Swift code is compiled for: made-up
# lines behind the real ones. refusals.sh SOURCES CLANG DIR, DIR for what is made.
sources=$(cd "$1" && pwd) clang=$2 made=$(cd "$3" && pwd) failed=0
cd "$sources" || exit 1

# answers CODE DECLARATION: what the check says first.
answers() {
  cat build/windows/chime.ll >"$made/code.ll"
  [ -z "$1" ] || echo "$1" >>"$made/code.ll"
  {
    sed -n 's/^  header "\(.*\)"/#include "\1"/p' CPlatform/include/module.modulemap
    printf '#include "chime.h"\n#include "chime_run_loop.h"\n#line 1 "made_up.h"\n%s\n' "$2"
  } | "$clang" -target x86_64-unknown-none-elf -nostdlibinc -isystem install/windows -D_WIN32 -DCHIME_WITHOUT_DISPATCH -DCHIME_OWN_MEMORY \
    -fblocks -I CPlatform/include -I ../include -fsyntax-only -Xclang -ast-dump=json -x c - >"$made/declarations.json"
  python3 install/windows_check.py "$made/code.ll" "$made/declarations.json" >"$made/answer"
  status=$?
}

# refused WHAT ANSWER CODE DECLARATION
refused() {
  answers "$3" "$4"
  if [ "$status" -ne 1 ] || ! grep -qF "$2" "$made/answer"; then
    echo "FAILED: $1 is not refused"
    failed=1
  fi
}

refused "128 bits in the code" "passed otherwise" 'declare i128 @chime_made_up(i64)' ''
refused "libc's variable arguments" "passed otherwise" 'declare i32 @printf(ptr, ...)' ''
refused "a function that no header has" "declared in no header" 'declare i32 @open(ptr, i32)' ''
refused "a thread-local variable" "thread_local" '@made_up = external thread_local global i32' ''
refused "a small structure" "by value" '' 'typedef struct made { int a, b; } made; void chime_made_up(made value);'
refused "a structure as a result" "by value" '' 'struct made { int64_t a, b; }; struct made chime_made_up(void);'
refused "a structure for a callback" "by value" '' 'struct made { int a; }; void chime_made_up(void (*function)(struct made));'
refused "a long" "a long" '' 'void chime_made_up(unsigned long bytes);'
refused "a long in a structure" "a long" '' 'struct made { long a; };'
refused "a type that is a long" "a long" '' 'typedef long made;'
refused "128 bits" "by value" '' '__int128 chime_made_up(void);'
refused "variable arguments" "a variable number" '' 'int chime_made_up(const char *format, ...);'
answers '' 'int64_t chime_made_up(uint32_t a, const void *b, size_t c, long long d, void (*function)(void *));'
[ "$status" -eq 0 ] || { cat "$made/answer" && failed=1; }
[ $failed -eq 0 ] && echo "12 things that Windows passes otherwise are refused, an ordinary function is not"
