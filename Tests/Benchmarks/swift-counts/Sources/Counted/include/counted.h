#ifndef COUNTED_H
#define COUNTED_H

/* Calls the function: callgrind counts from here to its end. */
void counted(void (*function)(void));

#endif
