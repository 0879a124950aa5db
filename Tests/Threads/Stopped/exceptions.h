/* What may wait for a thread that stands still inside a call, and why. */
#define EVERYTHING ((1u << PROBES) - 1)
#define SAME_QUEUE (BIT(TICKS) | BIT(START) | BIT(LIMITED) | BIT(ASYNC))
#define OTHER_QUEUE (BIT(OTHER_TICKS) | BIT(OTHER_ASYNC) | BIT(MAKE))

static const struct exception {
  const char *call; /* NULL: every one */
  unsigned kinds, probes;
  const char *why;
} exceptions_[] = {
    {NULL, ALL, BIT(SAME_TIMER), "calls that change one timer follow each other"},
    {NULL, ON(DISPATCH), SAME_QUEUE, "libdispatch's own locks"},
    {NULL, ON(VIRTUAL), SAME_QUEUE, "nothing comes late in virtual time: an advance waits for a change of what is due"},
    {"sync", ON(SERIAL) | ON(PRECISE) | ON(DISPATCH), SAME_QUEUE, "it has the queue's turn"},
    {"queue_create", ON(RUN_LOOP), SAME_QUEUE | OTHER_QUEUE, "the lock of the loop, which the queues share"},
    {"queue_create", ALL, BIT(MAKE), "queues are made and end one after another"},
    {"queue_release", ALL, BIT(MAKE), "queues are made and end one after another"},
    {"shutdown", ALL, BIT(MAKE), "queues are made and end one after another"},
};
