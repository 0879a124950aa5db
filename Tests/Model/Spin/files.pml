/*
 * P9c: the descriptors of run loops, as a forked child finds them.
 *
 * Two threads make loops and end them, a third opens files of the host's under numbers that are free. At any moment the
 * process forks: one step copies all that there is. The child's only thread walks the list of entries, without the
 * lock, and closes what bears the mark of a timer.
 *
 * It closes every descriptor that was noted when the process forked, and nothing of the host's.
 *
 * Mutations (-D): NO_MARK, FORGET_FIRST, FREE_FIRST, ADDRESS_FIRST.
 */

#define NUMBERS 3
#define ENTRIES 2
#define NONE NUMBERS

mtype = { nothing, timer, hosts };

typedef Process {
  mtype is[NUMBERS];   /* what is open under a number */
  byte file[ENTRIES];  /* of an entry: a number, or NONE */
  byte next[ENTRIES];  /* of an entry: index + 1 of the one that was there before it; 0 for none */
  byte newest;         /* index + 1; 0 for none */
  bool noted[NUMBERS]; /* ghost: a loop lives that has noted this descriptor */
}

Process parent, child;
bool locked;          /* the list of entries that no loop has */
bool unused[ENTRIES];
byte made;
byte ended;

inline take_lock() { atomic { !locked -> locked = true } }

/* The lowest number that is free, as the system gives it. */
inline open_as(kind) {
  atomic {
    file = 0;
    do
    :: parent.is[file] == nothing -> parent.is[file] = kind; break
    :: else -> file++
    od
  }
}

inline forget() { parent.file[entry] = NONE }

inline give_back() {
  take_lock();
  atomic { unused[entry] = true; locked = false }
}

proctype Maker() {
  byte file, entry, rounds;
  do
  :: rounds == 2 -> break
  :: else ->
     rounds++;
     open_as(timer);

     take_lock();
     if
     :: atomic { unused[0] -> entry = 0; unused[0] = false }
     :: atomic { !unused[0] && unused[1] -> entry = 1; unused[1] = false }
     :: atomic { !unused[0] && !unused[1] -> entry = made; made++ }
        /* An entry is whole before its address is there. */
#ifdef ADDRESS_FIRST
        d_step { file = file + NUMBERS * parent.newest; parent.newest = entry + 1 }
        d_step { parent.next[entry] = file / NUMBERS; file = file % NUMBERS }
#else
        parent.next[entry] = parent.newest;
        parent.newest = entry + 1
#endif
     fi;
     parent.file[entry] = file;
     atomic { parent.noted[file] = true; locked = false }

     /* The loop's end. */
#ifdef FORGET_FIRST
     forget();
#endif
#ifdef FREE_FIRST
     give_back();
#endif
     atomic { parent.is[file] = nothing; parent.noted[file] = false }
#ifndef FORGET_FIRST
     forget();
#endif
#ifndef FREE_FIRST
     give_back()
#endif
  od;
  ended++
}

proctype Host() {
  byte file;
  open_as(hosts);
  parent.is[file] = nothing;
  open_as(hosts);
  ended++
}

proctype Fork() {
  byte i, file;
  atomic {
    /* At one instant; what comes after it happens in another process. */
    for (i : 0 .. NUMBERS - 1) { child.is[i] = parent.is[i]; child.noted[i] = parent.noted[i] }
    for (i : 0 .. ENTRIES - 1) { child.file[i] = parent.file[i]; child.next[i] = parent.next[i] }
    child.newest = parent.newest;

    i = child.newest;
    do
    :: i == 0 -> break
    :: else ->
       file = child.file[i - 1];
       if
#ifdef NO_MARK
       :: file != NONE && child.is[file] != nothing ->
#else
       :: file != NONE && child.is[file] == timer ->
#endif
          assert(child.is[file] == timer);
          child.is[file] = nothing
       :: else
       fi;
       i = child.next[i - 1]
    od;
    for (i : 0 .. NUMBERS - 1) { assert(!child.noted[i] || child.is[i] == nothing) }
    ended++
  }
}

init {
  atomic {
    byte i;
    for (i : 0 .. NUMBERS - 1) { parent.is[i] = nothing }
    for (i : 0 .. ENTRIES - 1) { parent.file[i] = NONE }
    run Maker(); run Maker(); run Host(); run Fork()
  }
  timeout;
  assert(ended == 4)
}
