/*
 * text.h - durations and sentences for people. In C for the sake of libchime's size: what Embedded Swift makes of strings
 * put together from parts is several times as large. None needs a locale, and only chime_noted_sentence allocates: once for
 * each thread.
 */
#ifndef CHIME_TEXT_H
#define CHIME_TEXT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { CHIME_DURATION_TEXT = 64 };

/* A duration in three digits and a unit, "860 ms", "1.5 s": from two days, hours and minutes on in those. */
void chime_write_duration(char text[CHIME_DURATION_TEXT], int64_t nanoseconds);

/* A duration in all its digits, in seconds or less: "1.000001 ms". INT64_MAX is CHIME_FOREVER. */
void chime_write_exact_duration(char text[CHIME_DURATION_TEXT], int64_t nanoseconds);

/* The next character of a text that ends with a 0, and moves beyond it. -1: what stands there is no UTF-8, of which it passes
   over a byte. */
int32_t chime_next_character(const char **text);

enum { CHIME_PIECE = 16 };

/* Writes the next character of a text that is not Chime's own, a label or a path, as a text for people may have it: each such
   text comes through here. Quotes and backslashes have a backslash in front. Instead of what a terminal obeys or does not show
   where it stands (control characters, DEL and C1 among them; those of writing direction; separators of lines; what is no
   UTF-8) comes its number, as in JSON. Moves beyond it, and gives back how many bytes it has written, without a 0. */
size_t chime_write_foreign(char piece[CHIME_PIECE], const char **text);

/*
 * Writes a sentence, cut to what there is room for. In `format`, %s stands for `name`; and for the values, in their order,
 * %t: a duration in all its digits, %d: in three, %n: a number, %u: an id, %k: what an id names, by its kind ("a timer"),
 * %e: an error number, which the system's words for it follow.
 */
void chime_write_sentence(char *text, size_t capacity, const char *format, const char *name, int64_t first,
                          int64_t second);

/* Keeps a sentence's parts for the calling thread, and the status that it explains, which it gives back. `format` NULL: there
   is nothing to say. `name` may be NULL. Allocates nothing. */
int32_t chime_note_sentence(int32_t status, const char *format, const char *name, int64_t first, int64_t second);

/* chime_note_sentence for signal handlers, with a sentence that has no parts. It stores one word, so a note or a reading
   that the handler interrupts keeps or loses its sentence as a whole. */
int32_t chime_note_constant(int32_t status, const char *sentence);

/* The sentence that was noted last, empty if none was; valid until the thread asks again, or ends. Without memory for it, what
   the status means. */
const char *chime_noted_sentence(void);

/* The status that was noted last. */
int32_t chime_noted_status(void);

/* The names of chime.h's statuses (`which` 0) and what they mean (1), and the names of the kinds of ticks. */
const char *chime_text_of_status(int32_t status, int which);
const char *chime_name_of_kind(uint32_t kind);

#pragma GCC visibility pop

#endif
