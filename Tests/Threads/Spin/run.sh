#!/bin/bash
# Explores every model completely and looks for an error with each mutation. One line each, a closing line at the end.
#
#     run.sh [MODEL...]

set -u
cd "$(dirname "$0")" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check MODEL WANTED FLAGS...: WANTED is "clean", "error", or "deep": an error that takes a long search, worth the
# optimizer's time. The flags are -D macros. Mutations are searched from the last choice to the first, which is shorter.
check() {
  local model=$1 wanted=$2 options="-O0 -DT_REVERSE" errors states seconds begun outcome=ok
  shift 2
  case $wanted in
    clean) options=-O2 ;;
    deep) options="-O1 -DT_REVERSE" wanted=error ;;
  esac
  begun=$(date +%s%N)
  (cd "$work" && rm -f pan* && spin -a "$@" "$OLDPWD/$model.pml" >/dev/null &&
    gcc $options -w -DSAFETY -DMEMLIM=4000 -o pan pan.c && ./pan -m200000 -w23) >"$work/out" 2>&1
  seconds=$(awk -v ns=$(($(date +%s%N) - begun)) 'BEGIN { printf "%.1f", ns / 1e9 }')
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$work/out")
  states=$(sed -n 's/ *\([0-9e+.]*\) states, stored.*/\1/p' "$work/out")
  if [ "$wanted" = clean ]; then
    # Complete only if the search did not meet its bounds.
    [ "$errors" = 0 ] && ! grep -qE 'max search depth|out of memory|reached -DMEMLIM' "$work/out" || outcome=FAILED
  else
    [ "${errors:-0}" -gt 0 ] || outcome=FAILED
  fi
  [ $outcome = ok ] && passed=$((passed + 1)) || failed=$((failed + 1))
  printf '%-7s%-10s%-6s%-34s%12s states%8s s\n' $outcome "$model" "$wanted" "${*//-D/}" "${states:-none}" "$seconds"
}

# Each model's checks: variants that must be clean, then mutations. A plus sign stands between macros of one check.
checks='
inbox clean - CONCURRENT RELEASES
inbox error POSITION_AFTER_CAS SKIP_WRITER START_ORDER_DROPS NO_SECOND_LOOK WAKE_BEFORE_PUSH ADMIT_SKIPS END_SKIPS
inbox deep NO_PUT_BACK OUTDATED_SKIPS WORD_BEFORE_LINK
inbox error CONCURRENT+NO_REREAD
inbox deep CONCURRENT+ABANDON_SILENT CONCURRENT+BUSY_FIRST CONCURRENT+REREAD_SKIPS+ABANDON_SENT
inbox error RELEASES+REREAD_ALIVE RELEASES+DISPOSE_WAKES_FIRST
wake clean - ALONE
wake error END_LOOKS_NOT EXCHANGES SINCE_FIRST COUNTS_LATE ASKED_IS_ENOUGH MARK_IS_ENOUGH RUNG_FIRST NO_STEP STAYS_RUNG ALONE+WAITS_SILENTLY
query clean - SNAPSHOT
query error NO_ALLOWANCE NO_KEEPING KEPT_LATE FORGOTTEN_FIRST KEPT_FOR_ALL WORD_ONCE
query error SNAPSHOT+FIELDS_ONCE SNAPSHOT+WORD_BETWEEN SNAPSHOT+WORD_LAST SNAPSHOT+WRITER_PASSES
files clean -
files error NO_MARK FORGET_FIRST A_FLAG
reserve clean - LIST
reserve error CHECK_FIRST LEAVES_FIRST ROOM_TWICE STORES_NEWEST COUNTS_FIRST LIST+NO_COUNT LIST+LINK_LAST
'

while read -r model wanted macros; do
  [[ -n $model && (-z $* || " $* " == *" $model "*) ]] || continue
  for each in $macros; do
    # -D before each macro.
    [ "$each" = - ] && check "$model" "$wanted" || check "$model" "$wanted" $(printf ' -D%s' ${each//+/ })
  done
done <<<"$checks"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
