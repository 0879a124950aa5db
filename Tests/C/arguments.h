/*
 * arguments.h - what the tests of senseless arguments share: one living thing of each kind, a call of every function with
 * arguments that are right, and what there is to see, which a refused call must leave alone.
 */
#ifndef CSUITE_ARGUMENTS_H
#define CSUITE_ARGUMENTS_H

#include "refusals.h"

#include "functions.h"

enum { MOST_PLACES = 600 };
enum { QUEUE, TIMER, TARGET, VALUE, LOOP, WEAK_TIMER, KINDS };

/* What can be seen of all that lives. */
typedef struct picture {
  char dump[2048];
  chime_timer_info info;
  chime_queue_stats stats[3];
  int64_t now, tolerance;
  uint64_t generation;
  size_t queues;
  int32_t valid;
} picture;

/* A parameter of a function, or a member of the structure that one points to. */
typedef struct place {
  const function_of_chime *function;
  const parameter *parameter, *member;
  char name[100]; /* function(parameter), function(parameter.member) */
} place;

typedef struct world {
  csuite *t;
  uint64_t alive[KINDS];
  chime_queue_t queues[3]; /* virtual, host-driven, host-driven with records */
  int destroyed;
  chime_timer_options options;
  chime_queue_options queue_options;
  chime_expiring_options expiring_options;
  chime_run_loop_options run_loop_options;
  chime_weak_timer_options weak_timer_options;
  chime_schedule schedule;
  /* Where calls put their answers. */
  struct {
    union {
      uint32_t size;
      char bytes[512];
    } answer;
    chime_tick tick;
    chime_queue_t queue;
    chime_timer_t timer;
    char text[8];
  } out;
  arguments given; /* all of it right */
  picture before;
  place places[MOST_PLACES];
  int place_count;
} world;

/** On the calling thread's run loop. */
world *world_new(csuite *t);
/** All of it lives, nothing has happened to it; ends it. */
void world_end(world *w);
/** From now on with this timer, and with what else there is to see. */
void world_sees(world *w, chime_timer_t timer);
/** Looks at it again; a difference is told of `where`. */
void expect_same_picture(world *w, const char *where);

/** What a place is of. */
const parameter *last_of(const place *p);

/** Visits each place, or those of the function, of such a kind; returns how many. */
int each_place(world *w, int kind, void (*visit)(world *w, const place *p, void *context), void *context);

/** What a place is given instead: of a place with less than 64 bits the low ones. */
typedef struct value {
  int64_t number;
  const void *pointer; /* of a place for a pointer */
  size_t not_zero;     /* of a structure's size: a byte behind what is known */
} value;

/** Calls the function with this value in that place, on the queue. */
chime_status call_with(world *w, const place *p, value v, chime_queue_t queue);
/** The answer is one that the function's comment names, and has a sentence that begins so and names the place. */
void expect_refusal(world *w, const place *p, chime_status answer, chime_status expected, const char *beginning);

#endif /* CSUITE_ARGUMENTS_H */
