/*
 * script.h - what the scripts of timeline.h and weak.h share: statements with separators between them, what callbacks
 * do, the statuses that calls must answer, words and numbers. Whatever takes something of *s moves it on.
 */
#ifndef CSUITE_SCRIPT_H
#define CSUITE_SCRIPT_H

#include "harness.h"

#include <ctype.h>

enum { LONGEST = 400 /* statement */, MOST_REACTIONS = 16 };

/* What a callback does: that of the ticks of `a` is called `a`, the others as in the log: `a^`, `x.`, `O.`. */
typedef struct reaction {
  char callback[3];
  char statements[LONGEST];
  int most; /* 0: each time */
  int done;
} reaction;

typedef struct script script;
struct script {
  csuite *t;
  const char *file;
  int line;
  chime_status (*call)(script *s, const char *statement);
  void (*perform)(script *s, const char *statement); /* what is neither a call nor a reaction */
  reaction reactions[MOST_REACTIONS];
};

/** Performs statements, up to the first failure. What stands behind a `|` is the log since the last look. */
void script_run(script *s, const char *statements, const char *separator);

/** Performs what the callback of that name does: `name` and `behind` in one. */
void script_react(script *s, const char *name, const char *behind);

void script_expect(script *s, const char *statement, int64_t actual, int64_t expected);
void script_fail(script *s, const char *statement, const char *what);

void skip(const char **s);
/** Whether that word comes next; then it is taken, with the spaces behind it. */
int take(const char **s, const char *word);
int64_t take_number(const char **s);
int is_number(const char *s);

#endif /* CSUITE_SCRIPT_H */
