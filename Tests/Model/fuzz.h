/*
 * fuzz.h - what the two fuzz targets share: reading the input, and failing.
 *
 * An input is a string of bytes; where it ends, zeros follow. With CHIME_FUZZ_TRACE=1 in the environment a target
 * prints each call and each callback as it happens.
 */
#ifndef CHIME_FUZZ_H
#define CHIME_FUZZ_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chime.h"

typedef struct bytes {
  const uint8_t *next;
  size_t left;
} bytes;

uint8_t take_byte(bytes *input);
uint64_t take_word(bytes *input);
/** Mostly small; powers of two, the edges of what fits somewhere, and extremes now and then. */
int64_t take_duration(bytes *input);

/** Prints, when tracing is asked for. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Is told of a difference instead, and does not return; NULL for none. See seeded.c. */
extern void (*on_difference)(const char *difference);
/** Says what is wrong and ends the process, so that the fuzzer keeps the input. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A set of statuses, as bits; a call may have more than one reason to be refused. */
typedef uint32_t statuses;
#define STATUS(status) ((statuses)1 << ((status) + 16))
void expect_status(const char *call, chime_status status, statuses permitted);
/** The last that was expected. */
extern chime_status last_status;
void expect_number(const char *what, int64_t actual, int64_t expected);

int64_t saturating_sum(int64_t a, int64_t b);
int64_t saturating_difference(int64_t a, int64_t b);

int schedule_is_valid(const chime_schedule *schedule);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* CHIME_FUZZ_H */
