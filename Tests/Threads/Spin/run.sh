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

inbox() {
  check inbox clean
  check inbox clean -DTHREE
  check inbox clean -DCONCURRENT
  check inbox clean -DRELEASES
  for mutation in POSITION_AFTER_CAS SKIP_WRITER START_ORDER_DROPS NO_SECOND_LOOK \
    WAKE_BEFORE_PUSH ADMIT_SKIPS END_SKIPS; do
    check inbox error -D$mutation
  done
  check inbox deep -DNO_PUT_BACK
  check inbox deep -DOUTDATED_SKIPS
  check inbox deep -DWORD_BEFORE_LINK
  check inbox error -DCONCURRENT -DNO_REREAD
  check inbox deep -DCONCURRENT -DABANDON_SILENT
  check inbox deep -DCONCURRENT -DBUSY_FIRST
  check inbox deep -DCONCURRENT -DREREAD_SKIPS -DABANDON_SENT
  check inbox error -DRELEASES -DREREAD_ALIVE
  check inbox error -DRELEASES -DDISPOSE_WAKES_FIRST
}

pool() {
  check pool clean
  check pool clean -DTIMES
  for mutation in NO_RING RUNG_STAYS WANT_LOST END_SILENT NO_PATIENCE NOBODY_WATCHES KEEPER_STAYS ARM_SILENT \
    TAKES_READY; do
    check pool error -D$mutation
  done
  check pool error -DTIMES -DTURN_SILENT
}

query() {
  check query clean
  check query clean -DSNAPSHOT
  for mutation in NO_ALLOWANCE NO_KEEPING KEPT_LATE FORGOTTEN_FIRST KEPT_FOR_ALL WORD_ONCE; do
    check query error -D$mutation
  done
  for mutation in FIELDS_ONCE WORD_BETWEEN WORD_LAST WRITER_PASSES; do
    check query error -DSNAPSHOT -D$mutation
  done
}

lifecycle() {
  check lifecycle clean
  check lifecycle clean -DSELF
  check lifecycle error -DSELF -DEND_IGNORES_WRITER
  for mutation in VERSION_FIRST NO_GENERATION CLAIM_WITHOUT_SWAP END_FREES_NOT RELEASE_IGNORES_BUSY NO_OWNER \
    WAIT_FOR_RELEASED; do
    check lifecycle error -D$mutation
  done
}

run() {
  check run clean
  for mutation in WATCH_AFTER_LOOK ENDER_LOOKS_FIRST PROCESS_SILENT PICKS_ONCE NOT_WATCHED; do
    check run error -D$mutation
  done
}

waits() {
  check waits clean
  check waits clean -DCOUNTER
  for mutation in LOOKS_FIRST ENDER_LOOKS_FIRST CHECK_UNLOCKED COUNTS_OVER SIGNALS_ONE SIGNAL_IS_OVER NO_RECHECK; do
    check waits error -D$mutation
  done
  check waits error -DCOUNTER -DENDER_LOOKS_FIRST
}

pin() {
  check pin clean
  for mutation in CHECK_BEFORE_PIN NO_PIN NO_CHECK CLOSING_FIRST NO_WAKE CREATOR_CHECKS_FIRST RELEASE_VISITS_FIRST NO_WITHDRAW; do
    check pin error -D$mutation
  done
}

files() {
  check files clean
  for mutation in NO_MARK FORGET_FIRST A_FLAG; do
    check files error -D$mutation
  done
}

reserve() {
  check reserve clean
  check reserve clean -DLIST
  for mutation in CHECK_FIRST LEAVES_FIRST ROOM_TWICE STORES_NEWEST; do
    check reserve error -D$mutation
  done
  check reserve error -DLIST -DNO_COUNT
  check reserve error -DLIST -DLINK_LAST
}

for model in "${@:-inbox query lifecycle run waits pin pool files reserve}"; do
  for each in $model; do "$each"; done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
