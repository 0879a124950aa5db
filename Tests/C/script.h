/* script.h - words and numbers of the scripts of timeline.h. Each reads from *s, and moves it on. */
#ifndef CSUITE_SCRIPT_H
#define CSUITE_SCRIPT_H

#include "harness.h"

#include <ctype.h>

/* The longest statement. */
enum { LONGEST = 400 };

static inline void skip(const char **s) {
  while (**s == ' ') ++*s;
}

/** Whether that word comes next; then it is taken, with the spaces behind it. */
static inline int take(const char **s, const char *word) {
  size_t length = strlen(word);
  skip(s);
  if (strncmp(*s, word, length) != 0 || isalpha((unsigned char)(*s)[length]) || (*s)[length] == '_') return 0;
  *s += length;
  skip(s);
  return 1;
}

static inline int64_t take_number(const char **s) {
  char *end;
  int64_t number;
  if (take(s, "max") || take(s, "never")) return INT64_MAX;
  if (take(s, "min")) return INT64_MIN;
  number = strtoll(*s, &end, 10);
  *s = end;
  skip(s);
  return number;
}

static inline int is_number(const char *s) {
  return isdigit((unsigned char)*s) || *s == '-' || strncmp(s, "max", 3) == 0 || strncmp(s, "min", 3) == 0;
}

/** Without the spaces around it. */
static inline void copy(char *text, const char *from, const char *to) {
  while (from < to && (*from == ' ' || *from == '\n')) from++;
  while (to > from && (to[-1] == ' ' || to[-1] == '\n')) to--;
  if (to - from >= LONGEST) to = from + LONGEST - 1;
  memcpy(text, from, (size_t)(to - from));
  text[to - from] = 0;
}

/** Cuts the expected status off: `!`, `?` or `-> NAME`. */
static inline chime_status cut_status(char *statement) {
  char *arrow = strstr(statement, "->"), *last = statement + strlen(statement) - 1;
  chime_status status;
  if (arrow != NULL) {
    char name[64];
    snprintf(name, sizeof name, "CHIME_ERROR_%s", arrow + 3);
    copy(statement, statement, arrow);
    for (status = -1; strcmp(chime_status_name(status), "CHIME_UNKNOWN") != 0; status--) {
      if (strcmp(chime_status_name(status), name) == 0) break;
    }
    return status;
  }
  status = *last == '!' ? CHIME_RUNNING : *last == '?' ? CHIME_IGNORED : CHIME_OK;
  if (status != CHIME_OK) *last = 0;
  return status;
}

#endif /* CSUITE_SCRIPT_H */
