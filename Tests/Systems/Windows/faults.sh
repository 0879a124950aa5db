# Runs the cases of faults.exe, each in a process of its own, loads.exe, wall_idle.exe and hpp.exe. Called by make, in the directory of the programs.
passed=0 failed=0
verdict() {
  if [ "$2" -eq 0 ]; then passed=$((passed + 1)) && echo "ok $1"; else
    failed=$((failed + 1))
    echo "FAILED $1"
    cat errors
  fi
}
cases=$(eval "$START ./faults.exe --list" | tr -d '\r')
[ "$(echo "$cases" | wc -l)" -ge 10 ] || { echo "FAILED: no list of cases" && exit 1; }
while read -r name status text; do
  rm -f faults.trace
  eval "timeout --kill-after=5 90 $START ./faults.exe $name" >/dev/null 2>errors </dev/null
  got=$?
  is_wrong=0
  [ "$got" -eq "$status" ] || { echo "exit status $got, expected $status" >>errors && is_wrong=1; }
  [ -z "$text" ] || grep -qF "$text" errors || is_wrong=1
  if [ "$name" = the_last_events_are_in_the_trace ]; then
    $PYTHON - <<-'END' >>errors 2>&1 || is_wrong=1
	import json
	trace = json.load(open("faults.trace"))
	ticks = sum("sequence" in event.get("args", {}) for event in trace["traceEvents"])
	print(f"{ticks} ticks of 100")
	assert ticks == 100 and trace["otherData"]["dropped"] == 0
	END
  fi
  verdict "$name" $is_wrong
done <<<"$cases"
eval "timeout --kill-after=5 90 $START ./loads.exe" 2>errors </dev/null | grep -q '^ok loads'
verdict "the library stays when it is let go of, and its timers go on" $?
eval "timeout --kill-after=5 90 $START ./wall_idle.exe" >errors 2>&1 </dev/null
verdict "a wall clock's queue that waits for nothing causes no wake-up" $?
eval "timeout --kill-after=5 90 $START ./hpp.exe" >errors 2>&1 </dev/null
verdict "a program with chime.hpp waits for a queue's handle" $?
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
