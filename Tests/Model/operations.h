/* operations.h - calls as data: one call that the input asks for, from outside or from inside a handler. */
#ifndef CHIME_MODEL_OPERATIONS_H
#define CHIME_MODEL_OPERATIONS_H

#include "input.h"

/* What the input may ask for: a word for the kind, how often it is meant beside the others, the function that makes the call
 * (lockstep.h), and what else it takes from the input. */
#define OPERATIONS(O) \
  O(CREATE, 2, create, TAKES_FLAGS | TAKES_OTHER) \
  O(START, 5, create, TAKES_FLAGS | TAKES_OTHER | TAKES_SCHEDULE) \
  O(AFTER, 2, create, TAKES_FLAGS | TAKES_AMOUNT) \
  O(EVERY, 2, create, TAKES_FLAGS | TAKES_AMOUNT) \
  O(ACTIVATE, 4, call_with_schedule, MAY_TAKE_SCHEDULE) \
  O(RESTART, 4, call_with_schedule, MAY_TAKE_SCHEDULE) \
  O(RESTART_AFTER, 2, restart_first, TAKES_AMOUNT) \
  O(RESTART_UNTIL, 2, restart_first, TAKES_DEADLINE) \
  O(RESCHEDULE, 3, call_with_schedule, MAY_TAKE_SCHEDULE) \
  O(SET_INTERVAL, 2, set_interval, TAKES_AMOUNT) \
  O(SUSPEND, 3, call_timer, 0) \
  O(RESUME, 3, call_timer, 0) \
  O(POSTPONE, 2, postpone, TAKES_AMOUNT) \
  O(POSTPONE_UNTIL, 2, postpone, TAKES_DEADLINE) \
  O(FIRE, 3, call_timer, 0) \
  O(CANCEL, 2, call_timer, 0) \
  O(CANCEL_AND_WAIT, 1, cancel_and_wait, TAKES_AMOUNT) \
  O(RELEASE, 3, call_timer, 0) \
  O(ADD_HANDLER, 2, add_handler, TAKES_OTHER) \
  O(REMOVE_HANDLER, 1, remove_handler, TAKES_OTHER) \
  O(ADVANCE, 5, call_advance, TAKES_AMOUNT) \
  O(ADVANCE_TO, 1, call_advance, TAKES_DEADLINE) \
  O(JUMP, 2, call_jump, TAKES_AMOUNT) \
  O(SCRIPT, 5, add_script, 0) \
  O(TARGET_CREATE, 1, call_target, 0) \
  O(TARGET_RETAIN, 1, call_target, 0) \
  O(TARGET_RELEASE, 2, call_target, 0) \
  O(ASYNC, 1, call_async, 0) \
  O(SUSPEND_QUEUE, 1, suspend_or_resume, 0) \
  O(RESUME_QUEUE, 2, suspend_or_resume, 0) \
  O(END_QUEUE, 1, end_queue, 0)

#define KIND(kind, weight, function, takes) kind,
typedef enum operation_kind { OPERATIONS(KIND) KINDS } operation_kind;

enum { FROM_FINALIZER = 14, AT_EVERY_CALLBACK = 15 };

typedef struct operation {
  operation_kind kind;
  uint8_t subject; /* which timer or target */
  uint8_t flags;   /* of a new timer */
  uint8_t other;   /* its target; a key */
  int64_t amount_ns;
  int is_relative; /* amount_ns counts from the queue's time */
  int has_schedule;
  int first_is_relative;
  chime_schedule schedule;
  uint8_t when;         /* SCRIPT: at which callback from now; FROM_FINALIZER; AT_EVERY_CALLBACK */
  operation_kind inner; /* SCRIPT: what the handler then does, with what else is in here */
  uint8_t inner_subject;
} operation;

operation take_operation(bytes *input);
int is_on_a_timer(operation_kind kind);

#endif /* CHIME_MODEL_OPERATIONS_H */
