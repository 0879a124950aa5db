/* operations.h - calls as data: one call that the input asks for, from outside or from inside a handler. */
#ifndef CHIME_FUZZ_OPERATIONS_H
#define CHIME_FUZZ_OPERATIONS_H

#include "fuzz.h"

typedef enum operation_kind {
  CREATE,
  START,
  AFTER,
  EVERY,
  ACTIVATE,
  RESTART,
  RESCHEDULE,
  SUSPEND,
  RESUME,
  POSTPONE,
  POSTPONE_UNTIL,
  FIRE,
  CANCEL,
  CANCEL_AND_WAIT,
  RELEASE,
  CHECK_GENERATION,
  ADD_HANDLER,
  REMOVE_HANDLER,
  ADVANCE,
  ADVANCE_TO,
  JUMP,
  SCRIPT,
  TARGET_CREATE,
  TARGET_RETAIN,
  TARGET_RELEASE,
  ASYNC,
  SYNC,
  END_QUEUE,
  CHURN /* moves a timer earlier a thousand times */
} operation_kind;

enum { FROM_FINALIZER = 14, AT_EVERY_CALLBACK = 15 };

typedef struct operation {
  operation_kind kind;
  uint8_t subject; /* which timer or target */
  uint8_t flags;   /* of a new timer */
  uint8_t other;   /* its target; a key; a forgery */
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

#endif /* CHIME_FUZZ_OPERATIONS_H */
