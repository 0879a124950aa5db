/*
 * epoll_host.c - a program with an epoll loop of its own, and Chime as one more descriptor in it. Handlers run inside
 * chime_queue_process, on this thread; the timer that the other thread starts wakes the loop in time.
 *
 * Build:  make (or cc epoll_host.c -o build/epoll_host -I../include -Lbuild/lib -lchime -pthread -Wl,-rpath,build/lib)
 * Run:    build/epoll_host
 *
 * Output:
 *   message 1
 *   message 2
 *   message 3
 *   a timer from the other thread: tick 1
 *   no message for a second: done
 *   never woken for nothing: yes
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static chime_queue_t queue;
static int done, wakeups;
static sem_t all_read;

static void on_idle(const chime_tick *tick, void *context) {
  (void)tick, (void)context;
  puts("no message for a second: done");
  done = 1;
}

static void on_tick(const chime_tick *tick, void *context) {
  (void)context;
  printf("a timer from the other thread: tick %d\n", (int)tick->sequence);
}

static void *client(void *argument) {
  const struct timespec pause = {0, 20000000};
  int i, pipe_end = *(int *)argument;
  for (i = 0; i < 3; i++) {
    if (write(pipe_end, "x", 1) != 1) return NULL;
    nanosleep(&pause, NULL);
  }
  /* A slow loop may still have messages to read, which would come behind this timer's tick. */
  while (sem_wait(&all_read) != 0) continue;
  CHECK(chime_timer_after(queue, 10 * CHIME_MILLISECOND, on_tick, NULL, NULL, NULL));
  return NULL;
}

static void watch(int loop, int fd) {
  struct epoll_event event = {EPOLLIN, {0}};
  event.data.fd = fd;
  if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) != 0) exit(1);
}

int main(void) {
  int ends[2], loop = epoll_create1(EPOLL_CLOEXEC), messages = 0;
  int32_t timers;
  chime_timer_t idle;
  pthread_t thread;
  CHECK(chime_queue_create(CHIME_QUEUE_HOST, NULL, &queue));
  CHECK(chime_queue_fd(queue, &timers));
  if (loop < 0 || pipe(ends) != 0 || sem_init(&all_read, 0, 0) != 0) return 1;
  watch(loop, timers);
  watch(loop, ends[0]);
  CHECK(chime_timer_after(queue, CHIME_SECOND, on_idle, NULL, NULL, &idle));
  if (pthread_create(&thread, NULL, client, &ends[1]) != 0) return 1;
  while (!done) {
    struct epoll_event event;
    char byte;
    if (epoll_wait(loop, &event, 1, -1) != 1) continue;
    wakeups++;
    if (event.data.fd == timers) {
      CHECK(chime_queue_process(queue, 0, NULL));
    } else if (read(ends[0], &byte, 1) == 1) {
      printf("message %d\n", ++messages);
      CHECK(chime_timer_postpone(idle, CHIME_SECOND));
      if (messages == 3) CHECK_ZERO(sem_post(&all_read));
    }
  }
  pthread_join(thread, NULL);
  /* 3 messages, 2 timers started, 2 ticks, and a wake-up for a deadline that was postponed. */
  printf("never woken for nothing: %s\n", wakeups <= 8 ? "yes" : "no");
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
  return 0;
}
