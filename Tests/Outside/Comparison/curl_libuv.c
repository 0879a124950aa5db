/*
 * examples-c/curl_multi.c with libuv's loop and timers in place of epoll and Chime: the same downloads, the same output.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

static struct download {
  CURL *easy;
  uv_timer_t deadline, retry;
  int attempts;
} downloads[20];
static uv_loop_t loop;
static CURLM *multi;
static int done, shown;

static void on_retry(uv_timer_t *timer);

static void end(struct download *d, int is_done) {
  done += is_done;
  curl_multi_remove_handle(multi, d->easy);
  uv_timer_stop(&d->deadline);
  if (is_done) curl_easy_cleanup(d->easy);
  else uv_timer_start(&d->retry, on_retry, d->attempts * 20, 0);
  if (done == 20) uv_stop(&loop);
}

static void act(int fd) {
  int n;
  struct download *d;
  curl_multi_socket_action(multi, fd, 0, &n);
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &n)) != NULL; end(d, message->data.result == CURLE_OK))
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &d);
}

static void on_deadline(uv_timer_t *timer) { end(timer->data, 0); }
static void on_retry(uv_timer_t *timer) {
  struct download *d = timer->data;
  d->attempts++;
  curl_multi_add_handle(multi, d->easy);
  uv_timer_start(&d->deadline, on_deadline, 1000, 0);
}

static void on_curl_time(uv_timer_t *timer) { act(CURL_SOCKET_TIMEOUT); }
static void on_progress(uv_timer_t *timer) { shown++ ? 0 : puts("some are still on their way"); }

static int set_time(CURLM *m, long ms, void *timer) {
  return ms < 0 ? uv_timer_stop(timer) : uv_timer_start(timer, on_curl_time, (uint64_t)ms, 0);
}

struct socket {
  uv_poll_t poll;
  curl_socket_t fd;
};

static void on_socket(uv_poll_t *poll, int error, int events) { act(((struct socket *)poll)->fd); }
static void on_closed(uv_handle_t *poll) { free(poll); }

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket) {
  struct socket *s = of_socket;
  if (what == CURL_POLL_REMOVE) {
    uv_close((uv_handle_t *)s, on_closed);
    return 0;
  }
  if (s == NULL) {
    curl_multi_assign(multi, fd, s = malloc(sizeof *s));
    uv_poll_init_socket(&loop, &s->poll, s->fd = fd);
  }
  return uv_poll_start(&s->poll, (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
                       on_socket);
}

static void close_any(uv_handle_t *handle, void *context) { /* timers */
  if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

int main(int count, char **arguments) {
  uv_timer_t curl_timer, progress;
  uv_loop_init(&loop);
  multi = curl_multi_init();
  uv_timer_init(&loop, &curl_timer);
  uv_timer_init(&loop, &progress);
  uv_timer_start(&progress, on_progress, 100, 100);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_time);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &curl_timer);
  for (struct download *d = downloads; d < downloads + 20; d++) {
    curl_easy_setopt(d->easy = curl_easy_init(), CURLOPT_PRIVATE, d);
    curl_easy_setopt(d->easy, CURLOPT_URL, d == &downloads[7] ? "http://127.0.0.1/hangs" : "http://127.0.0.1/");
    curl_easy_setopt(d->easy, CURLOPT_PORT, atol(arguments[count - 1]));
    uv_timer_init(&loop, &d->retry);
    uv_timer_init(&loop, &d->deadline);
    d->retry.data = d->deadline.data = d; /* timers */
    uv_timer_start(&d->retry, on_retry, 0, 0);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  printf("20 downloads are done; the one that hung was tried again: %s\n", downloads[7].attempts > 1 ? "yes" : "no");
  curl_multi_cleanup(multi);
  uv_walk(&loop, close_any, NULL); /* timers */
  uv_run(&loop, UV_RUN_DEFAULT);
  return uv_loop_close(&loop);
}
