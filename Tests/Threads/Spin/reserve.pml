/*
 * P21: the reserve of memory, out of which calls are promised what they can need.
 *
 * Three calls have a block promised, cut it from a slab, and give the promise back; what must not fail cuts one that
 * nobody was promised. A slab that is asked for may be refused. What is given back does not go to the slabs, but to a list.
 * With LIST, that list: two threads take one or two free blocks and give them back; who has a block writes over its link.
 *
 * Who was promised a block gets it, and so does what must not fail. No block is given twice; neither a block nor a slab
 * is lost.
 *
 * Mutations (-D): CHECK_FIRST, LEAVES_FIRST, ROOM_TWICE, STORES_NEWEST, COUNTS_FIRST; LIST: NO_COUNT, LINK_LAST.
 */

byte ended;

#ifdef LIST

#define BLOCKS 3
#define NONE BLOCKS

byte head;           /* of the list of free blocks, */
byte count;          /* and how often it has changed */
byte link[BLOCKS];
bool owned[BLOCKS];  /* ghost */

/* Takes a block, or leaves NONE. */
inline take(block) {
  do
  :: atomic { block = head; counted = count };
     if
     :: block == NONE -> break
     :: else
     fi;
     next = link[block];
     atomic {
#ifdef NO_COUNT
       swapped = head == block;
#else
       swapped = head == block && count == counted;
#endif
       if
       :: swapped -> head = next; count++
       :: else
       fi
     };
     if
     :: swapped -> break
     :: else
     fi
  od;
  atomic {
    if
    :: block != NONE -> assert(!owned[block]); owned[block] = true
    :: else
    fi;
    next = 0; counted = 0; swapped = false
  };
  if
  :: block != NONE -> link[block] = NONE /* whatever its owner writes */
  :: else
  fi
}

inline give(block) {
  owned[block] = false;
  do
  :: atomic { next = head; counted = count };
#ifndef LINK_LAST
     link[block] = next;
#endif
     atomic {
       swapped = head == next && count == counted;
       if
       :: swapped -> head = block; count++
       :: else
       fi
     };
     if
     :: swapped ->
#ifdef LINK_LAST
        link[block] = next;
#endif
        break
     :: else
     fi
  od;
  atomic { next = 0; counted = 0; swapped = false }
}

proctype Thread(byte rounds) {
  byte first, second, next, counted;
  bool swapped;
  do
  :: rounds == 0 -> break
  :: else ->
     rounds--;
     take(first);
     if
     :: first != NONE ->
        if
        :: take(second);
           give(first);
           if
           :: second != NONE -> give(second)
           :: else
           fi
        :: give(first)
        fi
     :: else
     fi;
     first = 0; second = 0
  od;
  ended++
}

init {
  byte i, found;
  atomic {
    for (i : 0 .. BLOCKS - 1) { link[i] = i + 1 }
    run Thread(2); run Thread(2)
  }
  timeout;
  atomic {
    assert(ended == 2);
    i = head;
    do
    :: i == NONE || found > BLOCKS -> break
    :: else -> found++; i = link[i]
    od;
    assert(found == BLOCKS)
  }
}

#else

#define UNITS 2      /* blocks of a slab */
#define SLABS 3
#define UNPROMISED 1
#define CALLS 3

byte used[SLABS];     /* of a slab: blocks that were cut */
byte previous[SLABS]; /* index + 1; 0: none */
byte newest = 1;
byte made = 1;
byte promised = UNPROMISED;
short uncut = UNITS;  /* of all slabs that are in the list; a cut is counted late */

inline cut() {
  from = newest;
  do
  :: from == 0 -> assert(false)
  :: else ->
     atomic {
       if
       :: used[from - 1] < UNITS -> used[from - 1]++; break
       :: else -> from = previous[from - 1]
       fi
     }
  od;
  atomic { uncut--; from = 0 }
}

inline make_slab() {
#ifdef COUNTS_FIRST
  uncut = uncut + UNITS;
#endif
#ifdef STORES_NEWEST
  previous[slab] = newest;
  newest = slab + 1;
#else
  do
  :: previous[slab] = newest;
     atomic {
       if
       :: newest == previous[slab] -> newest = slab + 1; break
       :: else
       fi
     }
  od;
#endif
#ifndef COUNTS_FIRST
  uncut = uncut + UNITS;
#endif
  slab = 0
}

inline promise() {
#ifdef CHECK_FIRST
  all = promised + 1;
#else
  atomic { promised++; all = promised };
#endif
  do
  :: room = uncut;
     if
     :: room >= all -> break
     :: else
     fi;
#ifdef ROOM_TWICE
     room = uncut;
#endif
     /* What is missing is above 0: below, it would be as large as can be. */
     assert(room < all);
     if
     :: atomic { made < SLABS -> slab = made; made++ }; make_slab()
     :: is_refused = true; break
     fi
  od;
  atomic {
#ifdef CHECK_FIRST
    if
    :: !is_refused -> promised++
    :: else
    fi;
#else
    if
    :: is_refused -> promised--
    :: else
    fi;
#endif
    room = 0; all = 0
  }
}

proctype Call() {
  byte from, slab, all;
  short room;
  bool is_refused;
  promise();
  if
  :: is_refused
  :: else ->
#ifdef LEAVES_FIRST
     promised--;
     cut()
#else
     cut();
     promised--
#endif
  fi;
  ended++
}

proctype MustNotFail() {
  byte from;
  cut();
  ended++
}

init {
  byte i, found;
  atomic {
    for (i : 1 .. CALLS) { run Call() }
    run MustNotFail()
  }
  timeout;
  atomic {
    assert(ended == CALLS + 1 && promised == UNPROMISED);
    i = newest;
    do
    :: i == 0 -> break
    :: else -> found++; i = previous[i - 1]
    od;
    assert(found == made)
  }
}

#endif
