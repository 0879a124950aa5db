/*
 * world.h - what the target of arguments.c has to call with: ids of every kind, live, stale and forged; structures and
 * strings that are right, nearly right and broken; contexts that count their finalizers.
 */
#ifndef CHIME_FUZZ_WORLD_H
#define CHIME_FUZZ_WORLD_H

#include "fuzz.h"

#define UNTOUCHED UINT64_C(0xABCDABCDABCD)

enum { MOST_IDS = 128, MOST_QUEUES = 8, MOST_OWNED = 512, MOST_BUFFERS = 8, BUFFER = 8192, PICTURE = 4096 };
enum { MAIN = 100 }; /* as a kind of queue, beside CHIME_QUEUE_* */

/** A context, or another thing that Chime finalizes. */
typedef struct owned {
  int accepted;
  int finalized;
} owned;

typedef struct made_queue {
  chime_queue_t id;
  int kind;
} made_queue;

typedef struct world {
  uint64_t ids[MOST_IDS];
  int id_count;
  made_queue queues[MOST_QUEUES];
  int queue_count;
  uint64_t acquired[MOST_IDS];
  int acquired_count;
  owned owned[MOST_OWNED];
  int owned_count;
  void *buffers[MOST_BUFFERS];
  int buffer_count;
  int threads_made;
  int changes; /* the call that failed has an effect all the same */
} world;

extern world w;

/** Where a call puts its answer. */
typedef struct outs {
  uint64_t id;
  int64_t time;
  int32_t number;
  uint32_t count;
  void *object;
} outs;

/** What a call is given. */
typedef struct given {
  uint64_t id;
  uint8_t form; /* bits for what has no other source */
  int32_t number;
  int64_t amount, timeout;
  chime_schedule *schedule;
  chime_timer_options *timer_options;
  chime_queue_options *queue_options;
  const char *text;
  chime_handler handler; /* NULL stands for no function or object, too */
  owned *context;
  chime_finalizer finalizer;
  bytes *input; /* for what else it takes */
  outs *out;    /* NULL where the answer has no place */
  int kind;     /* of the queue that it makes */
  int is_skipped;
} given;

/** What can be seen of the timers and of virtual queues. */
typedef struct picture {
  char text[PICTURE];
  uint64_t numbers[MOST_IDS];
} picture;

void begin_world(void);
void end_world(void);
void take_picture(picture *p);
void expect_same_picture(const picture *a, const picture *b);

void remember_id(uint64_t id);
void remember_queue(chime_queue_t id, int kind);
/** Looks at the records, and that nothing was written behind them. */
void note_records(const char *ticks, uint32_t size, uint32_t count, uint32_t capacity);
owned *new_owned(void);

/** Some id: of any kind, alive, stale or never given. */
uint64_t id_from(bytes *input);
/** At most a millisecond, or, where nothing can be waited for in vain, for ever. */
int64_t short_duration(bytes *input, int or_endless);
/** NULL, or a string, which need not be text. */
const char *text_from(bytes *input);
chime_queue_options *queue_options_from(bytes *input);
chime_timer_options *timer_options_from(bytes *input, owned *context);
chime_schedule *schedule_from(bytes *input);
void *buffer_of(size_t size, int fill);
void free_buffers(void);

int is_utf8(const char *text);
int virtual_options_are_valid(const chime_queue_options *options);
int timer_options_are_valid(const chime_timer_options *options);
int schedule_bytes_are_valid(const chime_schedule *schedule);

/** Calls that fill a structure or a text in, with room for it or too little: nothing else is written. */
chime_status ask_stats(given *g);
chime_status ask_info(given *g);
chime_status ask_text(given *g, chime_status (*ask)(uint64_t, char *, uint64_t, uint64_t *));

/* Callbacks. */
void finalize(void *context);
void ignore_context(void *context);
void ignore_tick(const chime_tick *tick, void *context);
void trace_call(const chime_tick *tick, void *context);

#endif /* CHIME_FUZZ_WORLD_H */
