/* script.h - words and numbers of the scripts of timeline.h. Each reads from *s, and moves it on. */
#ifndef CSUITE_SCRIPT_H
#define CSUITE_SCRIPT_H

#include "harness.h"

/* The longest statement. */
enum { LONGEST = 400 };

void skip(const char **s);

/** Whether that word comes next; then it is taken, with the spaces behind it. */
int take(const char **s, const char *word);

int is_number(const char *s);
int64_t take_number(const char **s);

/** Without the spaces around it. */
void copy(char *text, const char *from, const char *to);

/** Cuts the expected status off: `!`, `?` or `-> NAME`. */
chime_status cut_status(char *statement);

#endif /* CSUITE_SCRIPT_H */
