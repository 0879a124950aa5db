/*
 * layout.h - where debuggers find queues and timers, in a process that they cannot call functions in, or in its core file
 * (install/chime.gdb). They find the record in layout.c by its symbol, or by its first 16 bytes.
 */
#ifndef CHIME_LAYOUT_H
#define CHIME_LAYOUT_H

#pragma GCC visibility push(hidden)

/* The tables; NULL in a forked child. */
void chime_layout_note_queues(const void *table);
void chime_layout_note_chunks(const void *table);

#pragma GCC visibility pop

#endif
