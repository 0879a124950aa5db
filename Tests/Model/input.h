/*
 * input.h - reading the input, and telling of a difference.
 *
 * An input is a string of bytes; where it ends, zeros follow. With CHIME_MODEL_TRACE=1 in the environment each call and each
 * callback is printed as it happens.
 */
#ifndef CHIME_MODEL_INPUT_H
#define CHIME_MODEL_INPUT_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../C/status_set.h"
#include "chime.h"

typedef struct bytes {
  const uint8_t *next;
  size_t left;
} bytes;

uint8_t take_byte(bytes *input);
/** Mostly small; powers of two, the edges of what fits somewhere, and extremes now and then. */
int64_t take_duration(bytes *input);
/** A point in time; is_relative: it counts from the queue's now. */
int64_t take_deadline(bytes *input, int *is_relative);
/** One in four is spoiled. With CHIME_SCHEDULE_DEADLINE its first_ns may count from the queue's now. */
chime_schedule take_any_schedule(bytes *input, int *first_is_relative);

/** Prints, when tracing is asked for. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Is told of a difference, and does not return. See seeded.c. */
extern void (*on_difference)(const char *difference);
/** Says what is wrong, by that. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A set of statuses, as bits; a call may have more than one reason to be refused. */
typedef uint32_t statuses;
#define STATUS(status) STATUS_SET(status)
void expect_status(const char *call, chime_status status, statuses permitted);
void expect_number(const char *what, int64_t actual, int64_t expected);

int64_t saturating_sum(int64_t a, int64_t b);
int64_t saturating_difference(int64_t a, int64_t b);

int schedule_is_valid(const chime_schedule *schedule);

#endif /* CHIME_MODEL_INPUT_H */
