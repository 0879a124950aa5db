/*
 * functions.c - a hundred thousand functions wait on a host-driven queue, and the host takes them in small numbers:
 * exactly so many run, in the order of the calls that brought them, and the queue says that there are more. Promises 2 and 12.
 */
#include "harness.h"

enum { WAITING = 100000, PRODUCERS = 2 };

typedef struct line {
  csuite *t;
  chime_queue_t queue;
  int next[PRODUCERS + 1]; /* the number that each producer's next function has; the last one's is the test's own */
  int ran;
  int count; /* of functions of each producer */
} line;

typedef struct item {
  line *l;
  int producer;
  int number;
} item;

static void take(void *context) {
  item *i = context;
  csuite *t = i->l->t;
  EXPECT_EQ(i->l->next[i->producer]++, i->number);
  i->l->ran++;
}

static void put(line *l, item *items, int producer, int number) {
  csuite *t = l->t;
  item *i = &items[number];
  i->l = l;
  i->producer = producer;
  i->number = number;
  EXPECT_OK(chime_queue_async(l->queue, take, i, NULL));
}

/* [12] */
TEST(one_function_at_a_time_of_a_hundred_thousand) {
  int i, count = csuite_scaled(WAITING);
  line *l = csuite_memory(t, sizeof *l);
  item *items = csuite_memory(t, (size_t)count * sizeof *items);
  chime_queue_t queue = host_queue(t, 0);
  REQUIRE(queue != 0);
  l->t = t;
  l->queue = queue;
  for (i = 0; i < count; i++) put(l, items, PRODUCERS, i);
  for (i = 0; i < count && !(i % 1000 == 0 && csuite_failed(t)); i++) {
    uint32_t most = i % 10 == 9 && i + 5 < count ? 5 : 1;
    int before = l->ran;
    EXPECT_EQ(process(t, queue, most), most);
    EXPECT_EQ(l->ran - before, most);
    i += (int)most - 1;
    /* Those that wait are something to process. */
    if (i + 1 < count) EXPECT(next_deadline(t, queue) <= now_of(t, queue));
  }
  EXPECT_EQ(process(t, queue, 1), 0);
  EXPECT_EQ(l->ran, count);
}

typedef struct producer {
  line *l;
  item *items;
  int number;
} producer;

static void *produce(void *argument) {
  producer *p = argument;
  int i;
  for (i = 0; i < p->l->count; i++) put(p->l, p->items, p->number, i);
  return NULL;
}

/* [2] [12]: also while others go on to bring functions. */
TEST(one_function_at_a_time_while_others_bring_more) {
  line *l = csuite_memory(t, sizeof *l);
  producer producers[PRODUCERS];
  pthread_t threads[PRODUCERS];
  int i, started = 0;
  int64_t end = monotonic_ns() + PATIENCE;
  chime_queue_t queue = host_queue(t, 0);
  REQUIRE(queue != 0);
  l->t = t;
  l->queue = queue;
  l->count = csuite_scaled(WAITING / PRODUCERS);
  for (i = 0; i < PRODUCERS; i++) {
    producers[i].l = l;
    producers[i].number = i;
    producers[i].items = csuite_memory(t, (size_t)l->count * sizeof *producers[i].items);
    started += spawn(t, &threads[i], produce, &producers[i]);
  }
  while (l->ran < started * l->count && monotonic_ns() < end) {
    int before = l->ran;
    uint32_t ran = process(t, queue, 1);
    if (!EXPECT_EQ(l->ran - before, ran) || !EXPECT(ran <= 1)) break;
  }
  for (i = 0; i < started; i++) pthread_join(threads[i], NULL);
  EXPECT_EQ(l->ran, started * l->count);
  EXPECT_EQ(process(t, queue, 0), 0);
}
