/* Reads operations from the input, and makes their calls. */
#include "lockstep.h"

enum {
  TAKES_FLAGS = 1,
  TAKES_OTHER = 2,
  TAKES_SCHEDULE = 4,
  MAY_TAKE_SCHEDULE = 8, /* where its subject says so */
  TAKES_AMOUNT = 16,
  TAKES_DEADLINE = 32
};

#define ROW(kind, weight, function, takes) [kind] = {weight, function, takes},
static const struct {
  int weight;
  void (*make)(const operation *o, timer *t);
  int takes;
} table[KINDS] = {OPERATIONS(ROW)};

#define PLUS(kind, weight, function, takes) +weight
enum { WEIGHTS = 0 OPERATIONS(PLUS) };

static operation_kind take_kind(bytes *input) {
  int code = take_byte(input) % WEIGHTS, kind = 0;
  while (code >= table[kind].weight) code -= table[kind++].weight;
  return (operation_kind)kind;
}

int is_on_a_timer(operation_kind kind) { return kind >= ACTIVATE && kind <= REMOVE_HANDLER; }

void make_call(const operation *o, timer *t) { table[o->kind].make(o, t); }

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
    case 4:
      if ((how & 8) == 0) s->leeway_ns = s->interval_ns;
      else s->jitter_ns = s->interval_ns < INT64_MAX ? s->interval_ns + 1 : -1;
      break;
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
  if ((form & 192) == 64 && s->interval_ns > 0) {
    s->jitter_ns = (int64_t)((uint64_t)take_duration(input) % ((uint64_t)s->interval_ns + 1));
  }
  if ((form & 192) == 192) spoil(s, take_byte(input));
}

static void take_arguments(bytes *input, operation *o, operation_kind kind) {
  int takes = table[kind].takes;
  if (takes & TAKES_FLAGS) o->flags = take_byte(input);
  if (takes & TAKES_OTHER) o->other = take_byte(input);
  if ((takes & TAKES_SCHEDULE) || ((takes & MAY_TAKE_SCHEDULE) && (o->subject & 64) != 0)) take_schedule(input, o);
  if (takes & TAKES_AMOUNT) o->amount_ns = take_duration(input);
  if (takes & TAKES_DEADLINE) o->amount_ns = take_deadline(input, &o->is_relative);
}

operation take_operation(bytes *input) {
  operation o;
  uint8_t what, outer;
  memset(&o, 0, sizeof o);
  o.kind = take_kind(input);
  o.subject = outer = take_byte(input);
  if (o.kind != SCRIPT) {
    take_arguments(input, &o, o.kind);
    return o;
  }
  what = take_byte(input);
  o.when = what % 16;
  o.inner = take_kind(input);
  if (o.inner == SCRIPT) o.inner = JUMP;
  /* Half of them are on the handler's own timer. */
  if ((what & 16) != 0) o.subject = take_byte(input);
  o.inner_subject = o.subject;
  take_arguments(input, &o, o.inner);
  o.subject = outer;
  return o;
}
