/* script.c - see script.h. */
#include "script.h"

/* ---- Words ------------------------------------------------------------------------------------------------------- */

void skip(const char **s) {
  while (**s == ' ') ++*s;
}

int take(const char **s, const char *word) {
  size_t length = strlen(word);
  skip(s);
  if (strncmp(*s, word, length) != 0 || isalpha((unsigned char)(*s)[length]) || (*s)[length] == '_') return 0;
  *s += length;
  skip(s);
  return 1;
}

int64_t take_number(const char **s) {
  char *end;
  if (take(s, "max") || take(s, "never")) return INT64_MAX;
  if (take(s, "min")) return INT64_MIN;
  int64_t number = strtoll(*s, &end, 10);
  *s = end;
  skip(s);
  return number;
}

int is_number(const char *s) {
  return isdigit((unsigned char)*s) || *s == '-' || strncmp(s, "max", 3) == 0 || strncmp(s, "min", 3) == 0;
}

/* Without the spaces around it. */
static void copy(char *text, const char *from, const char *to) {
  while (from < to && (*from == ' ' || *from == '\n')) from++;
  while (to > from && (to[-1] == ' ' || to[-1] == '\n')) to--;
  if (to - from >= LONGEST) to = from + LONGEST - 1;
  memcpy(text, from, (size_t)(to - from));
  text[to - from] = 0;
}

/* Cuts the expected status off: `!`, `?` or `-> NAME`. */
static chime_status cut_status(char *statement) {
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

/* ---- Statements -------------------------------------------------------------------------------------------------- */

void script_expect(script *s, const char *statement, int64_t actual, int64_t expected) {
  csuite_expect_equal(s->t, actual, expected, s->file, s->line, statement);
}

void script_fail(script *s, const char *statement, const char *what) {
  char text[LONGEST + 120];
  snprintf(text, sizeof text, "`%s`: %s", statement, what);
  csuite_expect(s->t, 0, s->file, s->line, text);
}

void script_react(script *s, const char *name, const char *behind) {
  char callback[4];
  snprintf(callback, sizeof callback, "%s%s", name, behind);
  for (int i = 0; i < MOST_REACTIONS; i++) {
    reaction *r = &s->reactions[i];
    if (strcmp(r->callback, callback) != 0 || (r->most > 0 && r->done >= r->most)) continue;
    r->done++;
    script_run(s, r->statements, ",");
  }
}

/* A later one for the same callback takes its place. */
static void note_reaction(script *s, const char *statement, const char *colon) {
  char callback[LONGEST];
  reaction *r = s->reactions;
  copy(callback, statement, colon);
  while (r->callback[0] != 0 && strcmp(r->callback, callback) != 0) r++;
  memset(r, 0, sizeof *r);
  snprintf(r->callback, sizeof r->callback, "%.2s", callback);
  colon++;
  skip(&colon);
  if (*colon == 'x' && isdigit((unsigned char)colon[1])) {
    colon++;
    r->most = (int)take_number(&colon);
  }
  snprintf(r->statements, sizeof r->statements, "%s", colon);
}

static int is_call(const char *statement) {
  return strchr("+=>", statement[0]) != NULL || statement[1] == '.' || strncmp(statement, "queue.", 6) == 0;
}

static void perform(script *s, const char *statement) {
  const char *colon = strchr(statement, ':');
  if (*statement == 0) return;
  if (colon != NULL && colon - statement <= 2) {
    note_reaction(s, statement, colon);
  } else if (is_call(statement)) {
    char text[LONGEST];
    copy(text, statement, statement + strlen(statement));
    chime_status expected = cut_status(text);
    csuite_outdate_detail();
    csuite_expect_status(s->t, s->call(s, text), expected, s->file, s->line, statement);
  } else {
    s->perform(s, statement);
  }
}

void script_run(script *s, const char *statements, const char *separator) {
  while (*statements != 0 && !csuite_failed(s->t)) {
    const char *end = statements + strcspn(statements, separator);
    const char *bar = memchr(statements, '|', (size_t)(end - statements));
    char text[LONGEST];
    copy(text, statements, bar == NULL ? end : bar);
    perform(s, text);
    if (bar != NULL) {
      copy(text, bar + 1, end);
      csuite_expect_log(s->t, text, s->file, s->line);
    }
    statements = *end == 0 ? end : end + 1;
  }
}
