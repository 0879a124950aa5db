/* guest.c - see guest.h. */
#include "guest.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int entries(const char *path) {
  DIR *directory = opendir(path);
  int count = 0;
  if (directory == NULL) return -1;
  while (readdir(directory) != NULL) count++;
  closedir(directory);
  return count - 2;
}

int guest_threads(void) { return entries("/proc/self/task"); }
int guest_files(void) { return entries("/proc/self/fd"); }

int guest_await_threads(int most) {
  int64_t end = monotonic_ns() + PATIENCE;
  while (guest_threads() > most) {
    if (monotonic_ns() > end) return 0;
    sleep_ns(CHIME_MILLISECOND);
  }
  return 1;
}

void guest_needs_own_threads(int where) {
  if (where == DISPATCH) fault_skip("its threads are libdispatch's");
}

int guest_is_fault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP ||
         signal == SIGSYS;
}

void guest_bind_to_one_processor(void) {
  cpu_set_t allowed, one;
  int i;
  REQUIRE_OK(sched_getaffinity(0, sizeof allowed, &allowed));
  for (i = 0; !CPU_ISSET(i, &allowed); i++) continue;
  CPU_ZERO(&one);
  CPU_SET(i, &one);
  REQUIRE_OK(sched_setaffinity(0, sizeof one, &one));
}

void guest_become_realtime(int priority) {
  const struct sched_param parameters = {.sched_priority = priority};
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) != 0)
    fault_skip("SCHED_FIFO is not permitted here");
}

void guest_run_on_one_processor(const char *name, int argument) {
  fault_end end;
  guest_bind_to_one_processor();
  end = fault_run_case(name, argument, 120000);
  fault_seen("%s", end.output);
  if (end.status == FAULT_SKIPPED) fault_skip("");
  EXPECT_EQ(end.status, 0);
}

void guest_tick_again(const chime_tick *tick, void *count) {
  count_tick(tick, count);
  chime_timer_restart(tick->timer, NULL);
}

void guest_refuse(long call, int error) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
    fault_skip("the kernel does not let a process refuse calls");
}
