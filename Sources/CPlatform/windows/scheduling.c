#if defined(_WIN32)
#include "scheduling.h"

#include "handles.h"

/* Of the processor group that the process is in. */
int chime_processors(void) {
  DWORD_PTR process = 0, system = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system) || process == 0)
    return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return __builtin_popcountll(process);
}

/* There is none: see chime_poller_keeps_time. */
int64_t chime_timer_slack(void) { return 0; }

bool chime_is_realtime(void) { return GetThreadPriority(GetCurrentThread()) == THREAD_PRIORITY_TIME_CRITICAL; }

/* A new thread has the usual priority of its process, and may run on all of the process's processors, whoever makes it. */
void chime_schedule_as_usual(void) {}
#endif
