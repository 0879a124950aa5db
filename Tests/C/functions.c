/*
 * functions.c - a hundred thousand functions wait on a host-driven queue, and the host takes them in small numbers:
 * exactly so many run, in the order of the calls that brought them, and the queue says that there are more. Promise 12.
 */
#include "harness.h"

typedef struct function {
  csuite *t;
  int number;
  int *next; /* the number of the function that comes next */
} function;

static void take(void *context) {
  function *f = context;
  csuite *t = f->t;
  EXPECT_EQ((*f->next)++, f->number);
}

HOST_TEST(one_function_at_a_time_of_a_hundred_thousand, 0) { /* [12] */
  int count = csuite_scaled(100000), next = 0, i;
  function *functions = csuite_memory(t, (size_t)count * sizeof *functions);
  for (i = 0; i < count; i++) {
    functions[i].t = t;
    functions[i].number = i;
    functions[i].next = &next;
    EXPECT_OK(chime_queue_async(queue, take, &functions[i], NULL));
  }
  while (next < count && !csuite_failed(t)) {
    int before = next;
    uint32_t most = before % 10 == 9 && before + 5 < count ? 5 : 1;
    EXPECT(next_deadline(t, queue) <= now_of(t, queue)); /* those that wait are something to process */
    EXPECT_EQ(process(t, queue, most), most);
    EXPECT_EQ(next - before, most);
  }
  EXPECT_EQ(process(t, queue, 1), 0);
}
