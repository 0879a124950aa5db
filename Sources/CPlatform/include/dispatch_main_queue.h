/*
 * dispatch_main_queue.h - the door by which libdispatch has its main queue drained: one file a system, linux/dispatch.c and
 * darwin/dispatch.c.
 */
#ifndef CHIME_DISPATCH_MAIN_QUEUE_H
#define CHIME_DISPATCH_MAIN_QUEUE_H

#pragma GCC visibility push(hidden)

/* The descriptor that is readable while the main queue has work; -1: there is none. */
int chime_dispatch_main_queue_file(void);

/* Does that work, on the thread that libdispatch was loaded by; on another it traps. */
void chime_dispatch_drain_main_queue(int file);

#pragma GCC visibility pop

#endif
