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

static void take_arguments(bytes *input, operation *o, operation_kind kind) {
  int takes = table[kind].takes;
  if (takes & TAKES_FLAGS) o->flags = take_byte(input);
  if (takes & TAKES_OTHER) o->other = take_byte(input);
  if ((takes & TAKES_SCHEDULE) || ((takes & MAY_TAKE_SCHEDULE) && (o->subject & 64) != 0)) {
    o->schedule = take_any_schedule(input, &o->first_is_relative);
    o->has_schedule = 1;
  }
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
