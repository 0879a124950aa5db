/*
 * nginx's interface to its timers, with Chime behind it: takes the place of src/event/ngx_event_timer.h. A timer of Chime is
 * made when nginx sets one and released when nginx deletes it, because nginx clears an event with memset in between; while
 * it is set it is set again by one call.
 */
#ifndef _NGX_EVENT_TIMER_H_INCLUDED_
#define _NGX_EVENT_TIMER_H_INCLUDED_

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#define NGX_TIMER_INFINITE (ngx_msec_t) - 1
#define NGX_TIMER_LAZY_DELAY 300

ngx_int_t ngx_event_timer_init(ngx_log_t *log);
ngx_msec_t ngx_event_find_timer(void);
void ngx_event_expire_timers(void);
ngx_int_t ngx_event_no_timers_left(void);
void ngx_event_add_timer(ngx_event_t *ev, ngx_msec_t timer);
void ngx_event_del_timer(ngx_event_t *ev);

#endif
