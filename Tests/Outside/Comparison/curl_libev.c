/*
 * examples-c/curl_multi.c with libev's loop and timers in place of epoll and Chime: the same downloads, the same output.
 */
#include <curl/curl.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

static struct download {
  CURL *easy;
  ev_timer deadline, retry;
  int attempts;
} downloads[20];
static struct ev_loop *loop;
static CURLM *multi;
static int done, shown;

static void end(struct download *d, int is_done) {
  done += is_done;
  curl_multi_remove_handle(multi, d->easy);
  ev_timer_stop(loop, &d->deadline);
  if (is_done) {
    curl_easy_cleanup(d->easy);
  } else {
    ev_timer_set(&d->retry, d->attempts * 0.02, 0);
    ev_timer_start(loop, &d->retry);
  }
  if (done == 20) ev_break(loop, EVBREAK_ALL);
}

static void act(int fd) {
  int n;
  struct download *d;
  curl_multi_socket_action(multi, fd, 0, &n);
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &n)) != NULL; end(d, message->data.result == CURLE_OK))
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &d);
}

static void on_retry(struct ev_loop *l, ev_timer *timer, int events) {
  struct download *d = timer->data;
  d->attempts++;
  curl_multi_add_handle(multi, d->easy);
  ev_timer_set(&d->deadline, 1, 0);
  ev_timer_start(loop, &d->deadline);
}

static void on_deadline(struct ev_loop *l, ev_timer *timer, int events) { end(timer->data, 0); }
static void on_curl_time(struct ev_loop *l, ev_timer *timer, int events) { act(CURL_SOCKET_TIMEOUT); }
static void on_progress(struct ev_loop *l, ev_timer *timer, int events) {
  shown++ ? 0 : puts("some are still on their way");
}

static int set_time(CURLM *m, long ms, void *timer) {
  ev_timer_stop(loop, timer);
  if (ms < 0) return 0;
  ev_timer_set((ev_timer *)timer, ms / 1000.0, 0);
  ev_timer_start(loop, timer);
  return 0;
}

static void on_socket(struct ev_loop *l, ev_io *io, int events) { act(io->fd); }

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket) {
  ev_io *io = of_socket;
  if (io == NULL) {
    curl_multi_assign(multi, fd, io = malloc(sizeof *io));
    ev_io_init(io, on_socket, fd, 0);
  }
  ev_io_stop(loop, io);
  if (what == CURL_POLL_REMOVE) {
    free(io);
    return 0;
  }
  ev_io_set(io, fd, (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0));
  ev_io_start(loop, io);
  return 0;
}

int main(int count, char **arguments) {
  ev_timer curl_timer, progress;
  loop = ev_loop_new(EVFLAG_AUTO);
  multi = curl_multi_init();
  ev_timer_init(&curl_timer, on_curl_time, 0, 0);
  ev_timer_init(&progress, on_progress, 0.1, 0.1);
  ev_timer_start(loop, &progress);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_time);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &curl_timer);
  for (struct download *d = downloads; d < downloads + 20; d++) {
    curl_easy_setopt(d->easy = curl_easy_init(), CURLOPT_PRIVATE, d);
    curl_easy_setopt(d->easy, CURLOPT_URL, d == &downloads[7] ? "http://127.0.0.1/hangs" : "http://127.0.0.1/");
    curl_easy_setopt(d->easy, CURLOPT_PORT, atol(arguments[count - 1]));
    ev_timer_init(&d->retry, on_retry, 0, 0);
    ev_timer_init(&d->deadline, on_deadline, 0, 0);
    d->retry.data = d->deadline.data = d; /* timers */
    ev_timer_start(loop, &d->retry);
  }
  ev_run(loop, 0);
  printf("20 downloads are done; the one that hung was tried again: %s\n", downloads[7].attempts > 1 ? "yes" : "no");
  curl_multi_cleanup(multi);
  ev_timer_stop(loop, &curl_timer);
  ev_timer_stop(loop, &progress);
  ev_loop_destroy(loop);
  return 0;
}
