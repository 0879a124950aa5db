/* wall.h - a queue on the wall clock beside a model of it, for random inputs. On Linux; elsewhere it tries none. */
#ifndef CHIME_MODEL_WALL_H
#define CHIME_MODEL_WALL_H

#include <stddef.h>
#include <stdint.h>

/** As chime_model_run. */
int chime_wall_run(uint64_t seed, int64_t input, int64_t calls, char *message, size_t capacity);

#endif /* CHIME_MODEL_WALL_H */
