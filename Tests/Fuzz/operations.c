/* Reads operations from the input. */
#include "operations.h"

/* How often each is meant: one code of 64 each. */
static const uint8_t codes[64] = {
    CREATE,         CREATE,          CHURN,          START,      START,         START,
    START,          START,           AFTER,          AFTER,      EVERY,         EVERY,
    ACTIVATE,       ACTIVATE,        ACTIVATE,       ACTIVATE,   RESTART,       RESTART,
    RESTART,        RESTART,         RESCHEDULE,     RESCHEDULE, RESCHEDULE,    SUSPEND,
    SUSPEND,        SUSPEND,         RESUME,         RESUME,     RESUME,        POSTPONE,
    POSTPONE,       POSTPONE_UNTIL,  FIRE,           FIRE,       FIRE,          CANCEL,
    CANCEL,         CANCEL_AND_WAIT, RELEASE,        RELEASE,    RELEASE,       CHECK_GENERATION,
    ADD_HANDLER,    ADD_HANDLER,     REMOVE_HANDLER, ADVANCE,    ADVANCE,       ADVANCE,
    ADVANCE,        ADVANCE,         ADVANCE_TO,     JUMP,       JUMP,          SCRIPT,
    SCRIPT,         SCRIPT,          SCRIPT,         SCRIPT,     TARGET_CREATE, TARGET_RETAIN,
    TARGET_RELEASE, ASYNC,           SYNC,           END_QUEUE};

static int64_t take_deadline(bytes *input, int *is_relative) {
  uint8_t code = input->left > 0 ? *input->next : 0;
  *is_relative = code < 192;
  if (!*is_relative) return take_duration(input);
  return (int64_t)take_byte(input) - 96;
}

/* One defect that must be refused; some of the numbers leave the schedule valid. */
static void spoil(chime_schedule *s, uint8_t how) {
  switch (how % 8) {
    case 0: s->size = (uint32_t)sizeof *s - 1 - how / 8; break;
    case 1: s->flags |= (uint32_t)2 << how / 16; break;
    case 2: s->missed_policy = (how / 8) - 4; break;
    case 3: s->resume_policy = (how / 8) - 4; break;
    case 4: s->leeway_ns = s->interval_ns; break;
    case 5: s->interval_ns = -s->interval_ns; break;
    case 6: s->leeway_ns = -1; break;
    default: s->first_ns = -s->first_ns; break;
  }
}

static void take_schedule(bytes *input, operation *o) {
  chime_schedule *s = &o->schedule;
  uint8_t form = take_byte(input);
  memset(s, 0, sizeof *s);
  s->size = sizeof *s;
  o->has_schedule = 1;
  if ((form & 1) != 0) {
    s->flags = CHIME_SCHEDULE_DEADLINE;
    s->first_ns = take_deadline(input, &o->first_is_relative);
  } else {
    s->first_ns = take_duration(input);
  }
  if ((form & 2) != 0) s->interval_ns = take_duration(input);
  if ((form & 4) != 0) s->missed_policy = CHIME_MISSED_DELAY;
  if ((form & 8) != 0) s->resume_policy = CHIME_RESUME_REMAINING;
  if ((form & 16) != 0) s->leeway_ns = take_duration(input);
  if ((form & 32) != 0) {
    uint8_t limit = take_byte(input);
    s->tick_limit = limit < 240 ? limit % 8 : UINT64_MAX - (limit - 240);
  }
  if ((form & 192) == 192) spoil(s, take_byte(input));
}

static void take_arguments(bytes *input, operation *o, operation_kind kind) {
  switch (kind) {
    case CREATE:
      o->flags = take_byte(input);
      o->other = take_byte(input);
      break;
    case START:
      o->flags = take_byte(input);
      o->other = take_byte(input);
      take_schedule(input, o);
      break;
    case AFTER:
    case EVERY:
      o->flags = take_byte(input);
      o->amount_ns = take_duration(input);
      break;
    case ACTIVATE:
    case RESTART:
    case RESCHEDULE:
      if ((o->subject & 64) != 0) take_schedule(input, o);
      break;
    case CHURN:
    case POSTPONE:
    case CANCEL_AND_WAIT:
    case ADVANCE:
    case JUMP: o->amount_ns = take_duration(input); break;
    case POSTPONE_UNTIL:
    case ADVANCE_TO: o->amount_ns = take_deadline(input, &o->is_relative); break;
    case ADD_HANDLER:
    case REMOVE_HANDLER:
    case CHECK_GENERATION: o->other = take_byte(input); break;
    case SUSPEND:
    case RESUME:
    case FIRE:
    case CANCEL:
    case RELEASE:
    case SCRIPT:
    case TARGET_CREATE:
    case TARGET_RETAIN:
    case TARGET_RELEASE:
    case ASYNC:
    case SYNC:
    case END_QUEUE: break;
  }
}

operation take_operation(bytes *input) {
  operation o;
  memset(&o, 0, sizeof o);
  o.kind = (operation_kind)codes[take_byte(input) % 64];
  o.subject = take_byte(input);
  if (o.kind == SCRIPT) {
    uint8_t what = take_byte(input);
    o.when = what % 16;
    o.inner = (operation_kind)codes[take_byte(input) % 64];
    o.inner_subject = o.subject;
    /* Half of them are on the handler's own timer. */
    if ((what & 16) != 0) o.inner_subject = take_byte(input);
    if (o.inner == SCRIPT) o.inner = JUMP;
    {
      uint8_t outer = o.subject;
      o.subject = o.inner_subject;
      take_arguments(input, &o, o.inner);
      o.subject = outer;
    }
  } else {
    take_arguments(input, &o, o.kind);
  }
  return o;
}
