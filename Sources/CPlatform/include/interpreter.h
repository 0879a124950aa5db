/*
 * interpreter.h - whether a CPython interpreter in this process is ending.
 *
 * CPython ends a foreign thread (pthread_exit) that wants its lock after its end has begun, and frees the functions that
 * such threads call soon after. So a callback asks first; see ThreadEnd.
 */
#ifndef CHIME_INTERPRETER_H
#define CHIME_INTERPRETER_H

#pragma GCC visibility push(hidden)

/* CPython's own answer: not 0 from the moment on in which its end has begun. May be called on any thread, without the
   interpreter's lock: it reads one atomic. */
typedef int (*chime_interpreter_question)(void);

/* The question, or NULL where there is no CPython yet. The interpreter stays mapped from then on. Takes the dynamic
   linker's lock, so the caller holds none. */
chime_interpreter_question chime_find_interpreter(void);

#pragma GCC visibility pop

#endif
