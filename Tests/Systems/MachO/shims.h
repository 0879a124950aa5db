/* shims.h - what stands in for libSystem where glibc has something else, or nothing. */
#ifndef CHIME_SHIMS_H
#define CHIME_SHIMS_H

#include <stddef.h>
#include <stdint.h>

/* The shim for an import, by its name in the file; NULL: there is none, glibc's is as good. */
const void *find_shim(const char *name);

/* Where the dylib lies, and its path. */
extern char *image_base;
extern size_t image_bytes;
extern char image_path[500];

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* kqueue.c */
int shim_kqueue(void);
struct kevent64;
int shim_kevent64(int queue, const struct kevent64 *changes, int change_count, struct kevent64 *events, int event_count,
                  unsigned flags, const void *timeout);
int shim_close(int file);

/* The timebase of Apple silicon: a tick is 125/3 ns. */
uint64_t ticks_of(uint64_t nanoseconds);
uint64_t nanoseconds_of(uint64_t ticks);

#endif
