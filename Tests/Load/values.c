/* values.c - values that expire: gone not early, not late by more than patience, each told and freed once. */
#include "load.h"

#include <stdlib.h>

enum { VALUES = 500 };

typedef struct value {
  chime_expiring_t expiring;
  int64_t begun_ns; /* its time began no earlier, */
  int64_t lifetime_ns;
  int64_t ends_ns; /* and ends no later, but for the queue's lateness */
  int32_t expired;
  int32_t finalized;
} value;

static value values[MOST_WORKERS][VALUES];

static void on_expiry(const chime_tick *tick, void *context) {
  value *v = context;
  if (tick->target != v) wrong("an expiry has lost its value");
  if (now_ns() < v->begun_ns + v->lifetime_ns) wrong("a value has expired early");
  if (__atomic_add_fetch(&v->expired, 1, __ATOMIC_ACQ_REL) != 1) wrong("a value has expired twice");
}

static void on_finalize(void *object) {
  value *v = object;
  if (__atomic_add_fetch(&v->finalized, 1, __ATOMIC_ACQ_REL) != 1) wrong("a value finalized twice");
}

static void make(value *v, worker *w, place *p) {
  v->expired = v->finalized = 0;
  v->lifetime_ns = (int64_t)(roll(&w->dice) % (uint64_t)longest_ns) / 4;
  v->begun_ns = now_ns();
  ONLY(chime_expiring_create(p->queue, v, on_finalize, v->lifetime_ns, &v->expiring), BIT(CHIME_OK));
  v->ends_ns = now_ns() + v->lifetime_ns;
  ONLY(chime_expiring_on_expiry(v->expiring, on_expiry, v, NULL), BIT(CHIME_OK) | BIT(CHIME_IGNORED));
}

static void look(value *v) {
  void *object = NULL;
  int64_t before = now_ns();
  chime_status status = ONLY(chime_expiring_acquire(v->expiring, &object), BIT(CHIME_OK) | BIT(CHIME_IGNORED));
  if (status == CHIME_OK) {
    if (object != v) wrong("another value than the one that was put in");
    if (before >= v->ends_ns) wrong("a value was acquired after its time");
    ONLY(chime_expiring_yield(v->expiring), BIT(CHIME_OK));
  } else if (now_ns() < v->begun_ns + v->lifetime_ns) {
    wrong("a value has vanished early");
  }
}

static int is_finalized(const value *v) { return __atomic_load_n(&v->finalized, __ATOMIC_ACQUIRE) == 1; }

void values_work(worker *w, place *p) {
  value *v = &values[w->number][roll(&w->dice) % VALUES];
  if (v->expiring == 0) {
    make(v, w, p);
    return;
  }
  look(v);
  if (!is_finalized(v)) {
    if (now_ns() > v->ends_ns + PATIENCE) wrong("a value has not been finalized");
    return;
  }
  w->values++;
  ONLY(chime_expiring_release(v->expiring), BIT(CHIME_OK) | BIT(CHIME_RUNNING));
  make(v, w, p);
}

void values_close(worker *w) {
  int64_t end = now_ns() + PATIENCE;
  int i;
  for (i = 0; i < VALUES; i++) {
    value *v = &values[w->number][i];
    if (v->expiring == 0) continue;
    ONLY(chime_expiring_release(v->expiring), BIT(CHIME_OK) | BIT(CHIME_RUNNING));
    while (!is_finalized(v) && now_ns() < end) pause_ns(CHIME_MILLISECOND);
    if (!is_finalized(v)) wrong("a released value has not been finalized");
  }
}
