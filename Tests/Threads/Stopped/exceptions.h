/* What may wait for a thread that stands still inside a call, and why. */
#define POOL (ON(SERIAL) | ON(CONCURRENT))
#define EVERYTHING ((1u << PROBES) - 1)

static const struct exception {
  const char *call; /* NULL: every one */
  unsigned kinds, probes;
  const char *why;
} exceptions_[] = {
    {NULL, ALL, BIT(SAME_TIMER), "calls that change one timer follow each other"},
    {"sync", POOL, EVERYTHING, "it takes and ends a turn behind the pool's lock"},
    {"queue_create", POOL, EVERYTHING, "the pool's lock"},
    {"queue_release", POOL, EVERYTHING, "its timers are visited behind the lock of the slots"},
    {"shutdown", POOL, EVERYTHING, "as queue_release, and it waits"},
};
