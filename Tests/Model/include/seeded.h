/* seeded.h - the model and the real queue beside each other for random inputs, in a process that lives on. */
#ifndef CHIME_MODEL_SEEDED_H
#define CHIME_MODEL_SEEDED_H

#include <stddef.h>
#include <stdint.h>

/**
 * Makes inputs from the seed, from that number on, and tries them (calls.c), until so many calls have been made. Returns 0 when
 * the queue did what the model says; otherwise 1, with the input's number and the difference in `message`. One thread at a
 * time; waits.
 */
int chime_model_run(uint64_t seed, int64_t input, int64_t calls, char *message, size_t capacity);

#endif /* CHIME_MODEL_SEEDED_H */
