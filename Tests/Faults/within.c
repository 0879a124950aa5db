/*
 * within.c - a library for LD_PRELOAD that makes a program, which knows nothing of it, a host of another kind. $HOST:
 *
 *   signals                  SIGUSR2 comes to every thread a thousand times a second, and has a handler that does something
 *   cancellations            Chime's own threads are cancelled again and again; functions of the program are no
 *                            cancellation points
 *   second_copy              another copy of libchime ($HOST_COPY) is loaded, and its queues tick all the time
 *   nobody                   the process makes queues as root, then becomes uid nobody
 *   forked                   each kind of queue has ticked, and the process is a child, which has begun anew
 *   forking                  children come all the time, and begin anew, tick and end
 *   refuse NUMBER ERROR early   the kernel refuses that call, with that error, before Chime has been called
 *   refuse NUMBER ERROR late    the same once each kind of queue has ticked
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chime.h"

static void need(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(3);
}

static void rest(long nanoseconds) {
  const struct timespec duration = {0, nanoseconds};
  syscall(SYS_nanosleep, &duration, NULL);
}

/* A thread of this library, which no signal reaches. */
static void begin_thread(void *(*body)(void *), void *argument) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  need(pthread_create(&thread, NULL, body, argument) == 0, "pthread_create");
  pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void need_ok(chime_status status, const char *what) {
  if (status == CHIME_OK) return;
  fprintf(stderr, "%s: %s\n", what, chime_status_name(status));
  _exit(3);
}

/* ---- Signals ------------------------------------------------------------------------------------------------------------ */

static unsigned long handled;

/* What handlers may do: some stack, a system call, another errno, which it restores. */
static void on_signal(int number) {
  volatile char some[2048];
  int error = errno;
  size_t i;
  (void)number;
  for (i = 0; i < sizeof some; i += 64) some[i] = (char)i;
  if (write(-1, "", 1) < 0) errno = 0;
  __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
  errno = error;
}

/* The directory stays open: a test counts the descriptors of the process. */
static void signal_all(DIR *threads_here) {
  const pid_t process = getpid(), own = (pid_t)syscall(SYS_gettid);
  const struct dirent *entry;
  rewinddir(threads_here);
  while ((entry = readdir(threads_here)) != NULL) {
    pid_t thread = atoi(entry->d_name);
    if (thread > 0 && thread != own) syscall(SYS_tgkill, process, thread, SIGUSR2);
  }
}

static void *signal_all_for_ever(void *threads_here) {
  for (;;) {
    signal_all(threads_here);
    rest(1000000);
  }
  return NULL;
}

static void tell_signals(void) { fprintf(stderr, "%lu signals handled\n", handled); }

/* Without SA_RESTART: system calls end with EINTR. */
static void begin_signals(void) {
  const struct sigaction action = {.sa_handler = on_signal};
  DIR *threads_here;
  need(sigaction(SIGUSR2, &action, NULL) == 0, "sigaction");
  need((threads_here = opendir("/proc/self/task")) != NULL, "/proc/self/task");
  begin_thread(signal_all_for_ever, threads_here);
  atexit(tell_signals);
}

/* ---- Cancellations ------------------------------------------------------------------------------------------------------- */

enum { MOST = 1024 };

static int cancels;
static unsigned long cancelled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards threads: none in it has ended */
static pthread_t threads[MOST];
static int count;
static pthread_key_t key;

static void forget_thread(void *unused) {
  int i;
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (i = 0; i < count; i++) {
    if (pthread_equal(threads[i], pthread_self())) threads[i--] = threads[--count];
  }
  pthread_mutex_unlock(&mutex);
}

/* Chime's own threads name themselves. */
int pthread_setname_np(pthread_t thread, const char *name) {
  static int (*next)(pthread_t, const char *);
  if (next == NULL) *(void **)(void *)&next = dlsym(RTLD_NEXT, "pthread_setname_np");
  if (cancels && strncmp(name, "chime.", 6) == 0 && pthread_equal(thread, pthread_self())) {
    pthread_mutex_lock(&mutex);
    if (count < MOST) threads[count++] = thread;
    pthread_mutex_unlock(&mutex);
    pthread_setspecific(key, &count);
  }
  return next(thread, name);
}

static void *cancel_for_ever(void *unused) {
  for (;;) {
    int i;
    pthread_mutex_lock(&mutex);
    for (i = 0; i < count; i++) cancelled += pthread_cancel(threads[i]) == 0;
    pthread_mutex_unlock(&mutex);
    rest(1000000);
  }
  return unused;
}

/*
 * What is pending takes effect in the next function of the host's that has a cancellation point: the program's have none,
 * since a test whose handler is cut off says nothing. Calls of these that libchime makes stay what they are.
 */

static void *chime_base;

static int is_chimes(void *caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fbase == chime_base;
}

#define UNCANCELLED(type, name, parameters, arguments) \
  type name parameters { \
    static type(*next) parameters; \
    type result; \
    int state = 0, is_host = cancels && !is_chimes(__builtin_return_address(0)); \
    if (next == NULL) *(void **)(void *)&next = dlsym(RTLD_NEXT, #name); \
    if (is_host) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); \
    result = next arguments; \
    if (is_host) pthread_setcancelstate(state, NULL); \
    return result; \
  }
UNCANCELLED(int, nanosleep, (const struct timespec *duration, struct timespec *left), (duration, left))
UNCANCELLED(int, poll, (struct pollfd * files, nfds_t number, int timeout), (files, number, timeout))
UNCANCELLED(int, pthread_join, (pthread_t thread, void **result_of), (thread, result_of))
UNCANCELLED(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock), (condition, lock))
UNCANCELLED(ssize_t, read, (int file, void *buffer, size_t bytes), (file, buffer, bytes))
UNCANCELLED(ssize_t, write, (int file, const void *buffer, size_t bytes), (file, buffer, bytes))
UNCANCELLED(int, close, (int file), (file))

static void tell_cancellations(void) { fprintf(stderr, "%lu cancellations\n", cancelled); }

static void begin_cancellations(void) {
  need(pthread_key_create(&key, forget_thread) == 0, "pthread_key_create");
  cancels = 1;
  begin_thread(cancel_for_ever, NULL);
  atexit(tell_cancellations);
}

/* ---- Queues of Chime's before the program's ------------------------------------------------------------------------------- */

typedef chime_status create_function(chime_queue_kind, const chime_queue_options *, chime_queue_t *);
typedef chime_status every_function(chime_queue_t, int64_t, chime_handler, void *, chime_finalizer, chime_timer_t *);

static const chime_queue_kind kinds[] = {CHIME_QUEUE_SERIAL, CHIME_QUEUE_CONCURRENT, CHIME_QUEUE_PRECISE,
                                         CHIME_QUEUE_DISPATCH};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
static unsigned long ticks[KINDS];
static int early;

static void count_tick(const chime_tick *tick, void *context) {
  if (tick->actual_ns < tick->scheduled_ns) early = 1;
  __atomic_add_fetch((unsigned long *)context, 1, __ATOMIC_RELAXED);
}

/* A queue of each kind, with a timer that ticks. */
static void begin_queues(void *library, int64_t interval, chime_queue_t *queues) {
  create_function *create;
  every_function *every;
  int i;
  *(void **)(void *)&create = dlsym(library, "chime_queue_create");
  *(void **)(void *)&every = dlsym(library, "chime_timer_every");
  for (i = 0; i < KINDS; i++) {
    chime_status status = create(kinds[i], NULL, &queues[i]);
    if (status == CHIME_ERROR_UNSUPPORTED) continue; /* built without libdispatch */
    need_ok(status, "a queue before the program's");
    need_ok(every(queues[i], interval, count_tick, &ticks[i], NULL, NULL), "its timer");
  }
  for (i = 0; i < KINDS; i++) {
    while (queues[i] != 0 && __atomic_load_n(&ticks[i], __ATOMIC_RELAXED) < 3) rest(1000000);
  }
}

static void tick_once_on_each(void) {
  chime_queue_t queues[KINDS] = {0};
  chime_status (*shut_down)(chime_queue_t, int64_t);
  int i;
  *(void **)(void *)&shut_down = dlsym(RTLD_DEFAULT, "chime_queue_shutdown");
  begin_queues(RTLD_DEFAULT, CHIME_MILLISECOND, queues);
  for (i = 0; i < KINDS; i++) {
    if (queues[i] != 0) need_ok(shut_down(queues[i], 30 * CHIME_SECOND), "its shutdown");
  }
}

/* The other copy's ticks, which come until the end. */
static void judge_copy(void) {
  unsigned long before[KINDS];
  int i, tries;
  memcpy(before, ticks, sizeof ticks);
  for (i = 0; i < KINDS; i++) {
    for (tries = 0; tries < 30000 && __atomic_load_n(&ticks[i], __ATOMIC_RELAXED) == before[i] && before[i] != 0;
         tries++)
      rest(1000000);
    need(!early && tries < 30000, "a queue of the other copy ticks early, or does not tick any more");
  }
  fprintf(stderr, "%lu, %lu, %lu, %lu ticks of the other copy\n", ticks[0], ticks[1], ticks[2], ticks[3]);
}

static void load_copy(void) {
  static chime_queue_t queues[KINDS];
  const char *path = getenv("HOST_COPY");
  void *copy = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  need(copy != NULL && dlsym(copy, "chime_version") != dlsym(RTLD_DEFAULT, "chime_version"), "a second copy");
  begin_queues(copy, 10 * CHIME_MILLISECOND, queues);
  atexit(judge_copy);
}

/* ---- Who the process is, and what it may do -------------------------------------------------------------------------------- */

enum { NOBODY = 65534 };

static void become_nobody(void) {
  tick_once_on_each();
  need(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "setuid");
}

static void refuse(unsigned number, unsigned error) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0, "seccomp");
}

static void begin_refusal(const char *text) {
  unsigned number = 0, error = 0;
  char when[16] = "";
  if (sscanf(text, "refuse %u %u %15s", &number, &error, when) != 3) abort();
  if (strcmp(when, "late") == 0) tick_once_on_each();
  refuse(number, error);
}

/* The parent waits, and ends as the child does. */
static void become_child(void) {
  pid_t child;
  int status;
  tick_once_on_each();
  child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    need_ok(chime_reinitialize(), "chime_reinitialize");
    return;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

static unsigned long children, children_failed;

static void be_a_child(void) {
  chime_queue_t queue;
  int ticks = 0, i;
  if (chime_reinitialize() != CHIME_OK) return; /* before the suite's first call there is nothing to begin anew */
  if (chime_queue_create(CHIME_QUEUE_SERIAL, NULL, &queue) != CHIME_OK) _exit(1);
  if (chime_timer_every(queue, CHIME_MILLISECOND, count_tick, &ticks, NULL, NULL) != CHIME_OK) _exit(1);
  for (i = 0; i < 30000 && __atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < 2; i++) rest(1000000);
  if (i == 30000 || chime_queue_shutdown(queue, 30 * CHIME_SECOND) != CHIME_OK) _exit(1);
}

static void *fork_for_ever(void *unused) {
  (void)unused;
  for (;;) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      be_a_child();
      _exit(0);
    }
    if (child > 0 && waitpid(child, &status, 0) == child) {
      children++;
      if (status != 0) children_failed++;
    }
    rest(20000000);
  }
  return NULL;
}

static void judge_children(void) {
  fprintf(stderr, "%lu children\n", children);
  need(children_failed == 0, "a child failed");
}

static void begin_forking(void) {
  atexit(judge_children);
  begin_thread(fork_for_ever, NULL);
}

__attribute__((constructor)) static void begin(void) {
  const char *host = getenv("HOST");
  void *version = dlsym(RTLD_NEXT, "chime_version");
  Dl_info info;
  if (host == NULL || version == NULL) return; /* a program that starts the suite */
  if (dladdr(version, &info) != 0) chime_base = info.dli_fbase;
  if (strcmp(host, "signals") == 0) begin_signals();
  else if (strcmp(host, "cancellations") == 0) begin_cancellations();
  else if (strcmp(host, "second_copy") == 0) load_copy();
  else if (strcmp(host, "nobody") == 0) become_nobody();
  else if (strcmp(host, "forked") == 0) become_child();
  else if (strcmp(host, "forking") == 0) begin_forking();
  else if (strncmp(host, "refuse ", 7) == 0) begin_refusal(host);
  else need(0, host);
}
