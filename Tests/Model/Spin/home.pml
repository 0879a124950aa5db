/*
 * P22: the home thread of a bound queue changes words by plain stores, until another thread comes to change one.
 *
 * The home thread makes three changes, two other threads one each, of one word. The home thread's are in two stores, as
 * those of a writer are: between them nobody else changes the word. What the home thread stores goes into a buffer first, from which it reaches the memory later, in order, as on x86; a locked operation of its own empties the
 * buffer, and so does another thread's membarrier.
 *
 * No change is lost.
 *
 * Mutations (-D): NO_BARRIER, NO_WAIT, NO_LOOK, NO_MARK, MARK_IS_ENOUGH, ENDS_EARLY.
 */

#define NAMED 2  /* `home` names the thread */
#define MARKED 1 /* and another one has come */
#define NOBODY 0

#define OF_CHANGES 1
#define OF_WORD 2

#define WRITING 64

byte home = NAMED;
byte changes; /* `changesAtHome`, as it is in memory */
byte word;
byte made;  /* ghost: changes */
byte ended;

chan buffer = [8] of { byte, byte }; /* what, value */
#define is_empty (len(buffer) == 0)

inline reach_memory(what, value) {
  if
  :: what == OF_CHANGES -> changes = value
  :: what == OF_WORD -> word = value
  fi
}

/* In one atomic step. */
inline drain() {
  do
  :: buffer?what, value -> reach_memory(what, value)
  :: is_empty -> break
  od
}

active proctype the_buffer() {
  byte what, value;
  do
  :: atomic { buffer?what, value -> reach_memory(what, value); what = 0; value = 0 }
  :: atomic { ended == 3 && is_empty -> break }
  od;
  assert(word == made)
}

active proctype home_thread() {
  byte what, value, seen, round, last;
  do
  :: round == 3 -> break
  :: else ->
     buffer!OF_CHANGES, 1;
     seen = home; /* never its own store: it stores none */
#ifdef NO_LOOK
     seen = NAMED;
#endif
     if
     :: seen == NAMED ->
        /* Its last store of the word can still be in the buffer: then it reads that one. */
        atomic {
          if
          :: buffer??[OF_WORD, eval(last)] -> value = last
          :: else -> value = word
          fi
        };
        last = value + WRITING;
        buffer!OF_WORD, last;
#ifdef ENDS_EARLY
        buffer!OF_CHANGES, 0;
#endif
        last = value + 1;
        atomic { buffer!OF_WORD, last; made++ };
#ifndef ENDS_EARLY
        buffer!OF_CHANGES, 0
#endif
     :: else ->
        buffer!OF_CHANGES, 0;
        atomic { drain(); word++; made++ }
     fi;
     what = 0; value = 0; seen = 0;
     round++
  od;
  ended++
}

active [2] proctype another() {
  byte what, value, seen;
  seen = home;
#ifdef MARK_IS_ENOUGH
  if
  :: seen == MARKED -> seen = NOBODY
  :: else
  fi;
#endif
  if
  :: seen == NOBODY
  :: else ->
#ifndef NO_MARK
     atomic {
       if
       :: home == NAMED -> home = MARKED
       :: else
       fi
     };
#endif
#ifndef NO_BARRIER
     atomic { drain(); what = 0; value = 0 };
#endif
#ifndef NO_WAIT
     changes == 0;
#endif
     atomic {
       if
       :: home == MARKED -> home = NOBODY
       :: else
       fi
     }
  fi;
  atomic { word++; made++ };
  ended++
}
