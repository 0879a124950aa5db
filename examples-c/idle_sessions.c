/*
 * Idle sessions out of a web server's access log. A client's first request opens a session with an idle timer; each
 * further one postpones the timer; when it ticks, the session is over. The log's own time runs on a virtual queue, so
 * hours of log take milliseconds, and the same program on a serial queue would do it for live requests.
 *
 * Build:  make (or cc idle_sessions.c -o build/idle_sessions -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/idle_sessions [-t seconds] [file]      30 minutes and standard input unless told otherwise
 *
 * Input:  Common Log Format, `host ident user [dd/Mon/yyyy:HH:MM:SS +zzzz] "request" status bytes`, and what may follow
 *         after a space (the combined format). Times are converted to UTC; years 1970 to 2199. Any other line is
 *         reported on standard error with its number and skipped.
 * Output: client, first request, last request, requests, expiry; in order of expiry, then of opening. A session ends at
 *         its last request + timeout; a request at that very instant opens a new one. Sessions that are open at the end
 *         of the log are run out.
 * Order:  servers write a line when the request ends, so lines may be slightly out of order. A line earlier than the
 *         queue's time counts as a request at its own time stamp, in the session that its client has open now; time
 *         does not go back. Without an open session it opens one, which may be over already and then ends at once.
 *
 * Example: build/idle_sessions access.log prints, among others (all of it is checked by idle_sessions_check.py):
 *   192.0.2.10               2026-03-02T08:00:03Z  2026-03-02T08:05:59Z      5  2026-03-02T08:35:59Z
 */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <ctype.h>
#include <search.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct session {
  const char *client; /* in the same allocation, behind the structure */
  chime_timer_t timer;
  int64_t first_ns, last_ns;
  uint64_t requests;
};

static void *open_sessions; /* a tree of struct session, by client */
static int64_t timeout_ns = 30 * CHIME_MINUTE;

static int by_client(const void *left, const void *right) {
  return strcmp(((const struct session *)left)->client, ((const struct session *)right)->client);
}

static const char *utc(int64_t time_ns, char text[32]) {
  time_t seconds = (time_t)(time_ns / CHIME_SECOND);
  struct tm parts;
  if (gmtime_r(&seconds, &parts) == NULL || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) abort();
  return text;
}

/* The idle timer ticked: prints the session and takes it out of the tree. Its finalizer frees it. */
static void on_idle(const chime_tick *tick, void *context) {
  struct session *session = context;
  char first[32], last[32], expiry[32];
  printf("%-24s %s  %s  %5" PRIu64 "  %s\n", session->client, utc(session->first_ns, first),
         utc(session->last_ns, last), session->requests, utc(tick->scheduled_ns, expiry));
  if (tdelete(session, &open_sessions, by_client) == NULL) abort();
}

static void open_session(chime_queue_t queue, const char *client, int64_t time_ns) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  chime_schedule schedule = CHIME_SCHEDULE_INIT;
  size_t length = strlen(client) + 1;
  struct session *session = malloc(sizeof *session + length);
  if (session == NULL) abort();
  session->client = memcpy(session + 1, client, length);
  session->first_ns = session->last_ns = time_ns;
  session->requests = 1;
  if (tsearch(session, &open_sessions, by_client) == NULL) abort();

  options.flags = CHIME_TIMER_SELF_RELEASE;
  options.handler = on_idle;
  options.context = session;
  options.finalizer = free;
  schedule.flags = CHIME_SCHEDULE_DEADLINE;
  schedule.first_ns = time_ns + timeout_ns;
  CHECK(chime_timer_start(queue, &options, &schedule, &session->timer));
}

static void request(chime_queue_t queue, const char *client, int64_t time_ns) {
  struct session key = {client, 0, 0, 0, 0}, *session;
  void *node;
  int64_t now_ns;
  CHECK(chime_queue_now(queue, &now_ns));
  /* Ends what was idle until then; for a late line only what is due. */
  CHECK(chime_queue_advance(queue, time_ns > now_ns ? time_ns - now_ns : 0));
  node = tfind(&key, &open_sessions, by_client);
  if (node == NULL) {
    open_session(queue, client, time_ns);
    return;
  }
  session = *(struct session **)node;
  session->requests++;
  if (time_ns < session->first_ns) session->first_ns = time_ns;
  if (time_ns > session->last_ns) session->last_ns = time_ns;
  CHECK(chime_timer_postpone_until(session->timer, time_ns + timeout_ns)); /* only ever later */
}

/* Whether the text begins with this shape: 0 any digit, a any letter, + either sign, anything else itself. */
static int has_shape(const char *text, const char *shape) {
  for (; *shape != '\0'; text++, shape++) {
    unsigned char byte = (unsigned char)*text;
    int fits = *shape == '0'   ? isdigit(byte) != 0
               : *shape == 'a' ? isalpha(byte) != 0
               : *shape == '+' ? byte == '+' || byte == '-'
                               : *text == *shape;
    if (!fits) return 0;
  }
  return 1;
}

static int number(const char *digits, int count) {
  int value = 0;
  while (count-- > 0) value = value * 10 + (*digits++ - '0');
  return value;
}

/* Days since 1 January 1970, after Howard Hinnant's days_from_civil; -1 if there is no such day. */
static int64_t days_since_1970(int year, const char *month_name, int day) {
  static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int month = 0, leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0, y, day_of_year;
  while (month < 12 && strncmp(names + 3 * month, month_name, 3) != 0) month++;
  if (month == 12 || year < 1970 || year > 2199) return -1;
  if (day < 1 || day > lengths[month] + (month == 1 && leap)) return -1;
  y = month < 2 ? year - 1 : year; /* the year begins in March, so that the leap day is its last */
  day_of_year = (153 * ((month + 10) % 12) + 2) / 5 + day - 1;
  return (int64_t)y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

/* Reads one line of the log and ends it behind the client. Returns 0 if it is malformed. */
static int parse(char *line, int64_t *time_ns) {
  char *text = line;
  int field, hour, minute, second, zone_hours, zone_minutes;
  int64_t days, seconds;

  for (field = 0; field < 3; field++) {
    size_t length = strcspn(text, " ");
    if (length == 0 || text[length] == '\0') return 0;
    text += length + 1;
  }
  if (!has_shape(text, "[00/aaa/0000:00:00:00 +0000] \"")) return 0;
  days = days_since_1970(number(text + 8, 4), text + 4, number(text + 1, 2));
  hour = number(text + 13, 2), minute = number(text + 16, 2), second = number(text + 19, 2);
  zone_hours = number(text + 23, 2), zone_minutes = number(text + 25, 2);
  if (days < 0 || hour > 23 || minute > 59 || second > 60 || zone_hours > 23 || zone_minutes > 59) return 0;
  seconds = zone_hours * 3600 + zone_minutes * 60;
  seconds = days * 86400 + hour * 3600 + minute * 60 + second - (text[22] == '-' ? -seconds : seconds);

  for (text += 30; *text != '"'; text++) { /* the request, in which a backslash escapes the next byte */
    if (*text == '\\' && text[1] != '\0') text++;
    if (*text == '\0') return 0;
  }
  if (seconds < 0 || !has_shape(text, "\" 000 ")) return 0;
  text += 6;
  if (*text == '-') text++;
  else if (isdigit((unsigned char)*text)) text += strspn(text, "0123456789");
  else return 0;
  if (*text != '\0' && *text != ' ') return 0;

  line[strcspn(line, " ")] = '\0';
  *time_ns = seconds * CHIME_SECOND;
  return 1;
}

static void read_log(FILE *log) {
  chime_queue_t queue = 0;
  chime_queue_options options = CHIME_QUEUE_OPTIONS_INIT;
  char *line = NULL;
  size_t capacity = 0;
  ssize_t length;
  uint64_t line_number = 0;
  int64_t time_ns;

  while ((length = getline(&line, &capacity, log)) > 0) {
    line_number++;
    if (line[length - 1] == '\n') line[--length] = '\0';
    if (length > 0 && line[length - 1] == '\r') line[--length] = '\0';
    if (strlen(line) != (size_t)length || !parse(line, &time_ns)) { /* a zero byte in a line is malformed too */
      fprintf(stderr, "line %" PRIu64 ": malformed, skipped\n", line_number);
      continue;
    }
    if (queue == 0) { /* the queue's time begins at the first request */
      options.start_ns = time_ns;
      CHECK(chime_queue_create(CHIME_QUEUE_VIRTUAL, &options, &queue));
    }
    request(queue, line, time_ns);
  }
  if (ferror(log) || !feof(log)) {
    perror("cannot read the log");
    exit(EXIT_FAILURE);
  }
  free(line);
  if (queue == 0) return;
  CHECK(chime_queue_advance(queue, timeout_ns)); /* no session can be open for longer */
  CHECK(chime_queue_shutdown(queue, CHIME_FOREVER));
}

int main(int count, char **arguments) {
  FILE *log = stdin;
  int option, usage = 0;
  while ((option = getopt(count, arguments, "t:")) != -1) {
    char *end = NULL;
    int64_t seconds = option == 't' ? strtoll(optarg, &end, 10) : 0;
    if (seconds < 1 || seconds > 1000000000 || *end != '\0') usage = 1;
    else timeout_ns = seconds * CHIME_SECOND;
  }
  if (usage || count - optind > 1) {
    fprintf(stderr, "usage: idle_sessions [-t seconds, 1 to 1000000000] [file]\n");
    return 2;
  }
  if (optind < count && (log = fopen(arguments[optind], "r")) == NULL) {
    perror(arguments[optind]);
    return EXIT_FAILURE;
  }
  read_log(log);
  if (log != stdin) fclose(log);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    perror("cannot write");
    return EXIT_FAILURE;
  }
  return 0;
}
