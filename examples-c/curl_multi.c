/*
 * libcurl with Chime as its only timers: curl's own timeout, a deadline and a retry for each of twenty downloads, and a tick
 * that shows progress.
 *
 * Build:  make build/curl_multi (libcurl4-openssl-dev)
 * Run:    python3 loopback.py http build/curl_multi
 *
 * Output:
 *   some are still on their way
 *   20 downloads are done; the one that hung was tried again: yes
 */
#include "loop.h"

#include <curl/curl.h>

static struct download {
  CURL *easy;
  chime_timer_t deadline, retry;
  int attempts;
} downloads[20];
static CURLM *multi;
static int done, shown;

static void end(struct download *d, int is_done) {
  done += is_done;
  curl_multi_remove_handle(multi, d->easy);
  CHECK(chime_timer_cancel(d->deadline));
  if (is_done) curl_easy_cleanup(d->easy);
  else CHECK(chime_timer_restart_after(d->retry, d->attempts * 20 * CHIME_MILLISECOND));
}

static void act(int fd, int events) {
  int n;
  struct download *d;
  curl_multi_socket_action(multi, fd, 0, &n); /* 0: curl asks the socket what has happened */
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &n)) != NULL; end(d, message->data.result == CURLE_OK))
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &d);
}

static void on_retry(const chime_tick *tick, void *context) {
  struct download *d = context;
  d->attempts++;
  curl_multi_add_handle(multi, d->easy);
  CHECK(chime_timer_restart_after(d->deadline, CHIME_SECOND));
}

static void on_deadline(const chime_tick *tick, void *context) { end(context, 0); }
static void on_curl_time(const chime_tick *tick, void *context) { act(CURL_SOCKET_TIMEOUT, 0); }
static void on_progress(const chime_tick *tick, void *context) { shown++ ? 0 : puts("some are still on their way"); }
static int set_time(CURLM *m, long ms, void *timer) {
  int64_t delay = ms < 0 ? CHIME_FOREVER : ms * CHIME_MILLISECOND;
  return CHIME_FAILED(chime_timer_restart_after(*(chime_timer_t *)timer, delay)) ? -1 : 0;
}
static int set_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket) {
  loop_watch(fd, (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0));
  return 0;
}

int main(int count, char **arguments) {
  chime_timer_t curl_timer;
  loop_open();
  multi = curl_multi_init();
  CHECK(chime_timer_after(loop.queue, CHIME_FOREVER, on_curl_time, NULL, NULL, &curl_timer));
  CHECK(chime_timer_every(loop.queue, 100 * CHIME_MILLISECOND, on_progress, NULL, NULL, NULL));
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_time);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &curl_timer);
  for (struct download *d = downloads; d < downloads + 20; d++) {
    curl_easy_setopt(d->easy = curl_easy_init(), CURLOPT_PRIVATE, d);
    curl_easy_setopt(d->easy, CURLOPT_URL, d == &downloads[7] ? "http://127.0.0.1/hangs" : "http://127.0.0.1/");
    curl_easy_setopt(d->easy, CURLOPT_PORT, atol(arguments[count - 1]));
    CHECK(chime_timer_after(loop.queue, 0, on_retry, d, NULL, &d->retry));
    CHECK(chime_timer_after(loop.queue, CHIME_FOREVER, on_deadline, d, NULL, &d->deadline));
  }
  while (done < 20) loop_turn(act);
  printf("20 downloads are done; the one that hung was tried again: %s\n", downloads[7].attempts > 1 ? "yes" : "no");
  curl_multi_cleanup(multi);
  loop_close();
  return 0;
}
