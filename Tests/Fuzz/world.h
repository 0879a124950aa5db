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
  unsigned char before[BUFFER];
  int threads_made;
  int changes; /* the call that failed has an effect all the same */
} world;

extern world w;

/* Failures as a set; the two that most functions have. */
statuses statuses_of(const chime_status *list);
#define FAILS(...) (statuses_of((const chime_status[]){__VA_ARGS__, 0}))
#define ARGUMENT CHIME_ERROR_INVALID_ARGUMENT
#define HANDLE CHIME_ERROR_INVALID_HANDLE

/* arguments_timers.c: one call each, with arguments from the input. */
void make_timer(bytes *input, int function);
void call_timer(bytes *input);
void ask_timer(bytes *input);
void name_handler(bytes *input);
void call_target(bytes *input);
void call_value(bytes *input);

/** What can be seen of the timers and of the queues that run in calls. */
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
void note_acquired(chime_expiring_t id);
void note_records(const char *ticks, uint32_t size, uint32_t count);
owned *new_owned(void);
void accept(owned *o, int is_accepted);

/** Some id: of any kind, alive, stale or never given. */
uint64_t id_from(bytes *input);
/** At most a millisecond, or, where nothing can be waited for in vain, for ever. */
int64_t short_duration(bytes *input, int or_endless);
/** NULL, or a string, which need not be text. */
const char *text_from(bytes *input);
/** BUFFER bytes that begin with a size, right or wrong. */
void *structure_from(bytes *input, size_t size);
chime_queue_options *queue_options_from(bytes *input);
chime_timer_options *timer_options_from(bytes *input, owned *context);
chime_schedule *schedule_from(bytes *input);
void *buffer_of(size_t size, int fill);
void free_buffers(void);

int is_utf8(const char *text);
int virtual_options_are_valid(const chime_queue_options *options);
int timer_options_are_valid(const chime_timer_options *options);
int schedule_bytes_are_valid(const chime_schedule *schedule);

/** A structure that the library fills in: kept here before the call, */
void remember_bytes(const void *structure);
/** and compared after it. */
void expect_filled(chime_status status, const void *structure, size_t size, size_t oldest, int no_out);
/** Asks for a text, with room for it or too little, and looks at where it was written. */
chime_status ask_text(bytes *input, uint64_t id, chime_status (*ask)(uint64_t, char *, uint64_t, uint64_t *),
                      uint64_t *length);

/* Callbacks. */
void finalize(void *context);
void count_call(void *context);
void ignore_context(void *context);
void ignore_tick(const chime_tick *tick, void *context);
void trace_call(const chime_tick *tick, void *context);

#endif /* CHIME_FUZZ_WORLD_H */
