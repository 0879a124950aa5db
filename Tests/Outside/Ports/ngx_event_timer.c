/*
 * nginx's timers on Chime: takes the place of src/event/ngx_event_timer.c, whose red-black tree nobody needs any more. The queue
 * is driven by the worker's own loop, which asks how long it may wait (find) before epoll_wait, and processes what is due
 * (expire) after the events of each turn.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include <chime.h>

static chime_queue_t queue;
/* Timers that keep a worker from ending when it is asked to end gracefully. */
static ngx_uint_t keeping;

/* In each worker, after the fork. */
ngx_int_t ngx_event_timer_init(ngx_log_t *log) {
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  chime_status status = chime_reinitialize();
  options.flags = CHIME_QUEUE_FLAG_BOUND;
  options.label = "nginx";
  if (!CHIME_FAILED(status)) status = chime_queue_create(CHIME_QUEUE_HOST, &options, &queue);
  if (!CHIME_FAILED(status)) return NGX_OK;
  ngx_log_error(NGX_LOG_EMERG, log, 0, "no timers: %s", chime_status_message(status));
  return NGX_ERROR;
}

ngx_msec_t ngx_event_find_timer(void) {
  int32_t milliseconds = 0;
  (void)chime_queue_poll_timeout(queue, &milliseconds);
  return milliseconds < 0 ? NGX_TIMER_INFINITE : (ngx_msec_t)milliseconds;
}

void ngx_event_expire_timers(void) {
  chime_status status = chime_queue_process(queue, 0, NULL);
  if (CHIME_FAILED(status)) ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0, "%s", chime_status_message(status));
}

ngx_int_t ngx_event_no_timers_left(void) { return keeping == 0 ? NGX_OK : NGX_AGAIN; }

void ngx_event_del_timer(ngx_event_t *ev) {
  (void)chime_timer_release(ev->timer.id);
  keeping -= ev->timer.keeps;
  ev->timer_set = 0;
}

static void on_time(const chime_tick *tick, void *event) {
  ngx_event_t *ev = event;
  ngx_event_del_timer(ev);
  ev->timedout = 1;
  ev->handler(ev);
}

void ngx_event_add_timer(ngx_event_t *ev, ngx_msec_t timer) {
  const ngx_msec_t key = ngx_current_msec + timer;
  const int64_t delay = (int64_t)timer * CHIME_MILLISECOND;
  const ngx_msec_int_t moved = ev->timer_set ? (ngx_msec_int_t)(key - ev->timer.key) : 0;
  chime_status status;
  if (ev->timer_set && ngx_abs(moved) < NGX_TIMER_LAZY_DELAY) return; /* as nginx has it */
  ev->timer.key = key;
  if (ev->timer_set) {
    status = chime_timer_restart_after(ev->timer.id, delay);
  } else {
    status = chime_timer_after(queue, delay, on_time, ev, NULL, &ev->timer.id);
    ev->timer_set = !CHIME_FAILED(status);
    ev->timer.keeps = ev->timer_set && !ev->cancelable;
    keeping += ev->timer.keeps;
  }
  if (CHIME_FAILED(status)) ngx_log_error(NGX_LOG_ALERT, ev->log, 0, "no timer: %s", chime_status_message(status));
}
