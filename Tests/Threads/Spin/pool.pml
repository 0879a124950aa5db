/*
 * P23, P23b: the turns of the pool's items, and the bell.
 *
 * Two items, three threads of the pool at most, one processor. Somebody wants a turn of each, one arms an item for a time
 * from outside, one takes a free turn as chime_queue_sync does. The handler of item 0 stays until item 1 has had a turn. A
 * section behind the lock is one step; a wake-up, and the thread's way from there to the lock, are steps of their own.
 *
 * An item has one turn at a time. When nobody can do anything any more, nothing that was wanted is left, and time has come
 * for everything. TIMES: nobody wants a turn at once, both items are armed, for two times.
 *
 * Mutations (-D): NO_RING, RUNG_STAYS, WANT_LOST, END_SILENT, TURN_SILENT, NO_PATIENCE, NOBODY_WATCHES, KEEPER_STAYS,
 * ARM_SILENT, TAKES_READY.
 */

#define RESTING 0
#define READY 1
#define RUNNING 2
#define NEVER 9
#define SOON 1   /* times */
#define LATER 2
#define THREADS 3

byte state[2];
bool wants[2];
byte armed[2] = NEVER;   /* the time that an item wants */
byte inside[2];
byte turns[2];

bool rung;               /* as the pool knows it */
bool bell;               /* the event, not yet taken by a thread */
byte timer = NEVER;      /* as the pool knows it: a time, 0 for the end of patience */
bool timer_set[2];       /* the kernel's: for the end of patience, for a time, */
byte timer_at;           /* which is this one */
byte keeper = NEVER;
byte threads, idle, born, running;
bool recent;             /* a turn has ended within the last millisecond */
byte now;
byte callers;

#define first() (armed[0] < armed[1] -> armed[0] : armed[1])
#define wanted() (state[0] == READY || state[1] == READY)

inline ring() {
#ifndef NO_RING
  bell = true;
#endif
  rung = true
}

/* A thread that waits looks after what is wanted. */
inline look(outside) {
  if
  :: idle > 0 ->
     if
     :: wanted() && (running < 1 || (outside && idle > 1)) ->
        if
        :: !rung -> ring()
        :: else
        fi
     :: wanted() && !(running < 1 || (outside && idle > 1)) -> cover_patience()
     :: else -> cover()
     fi
  :: else
  fi
}

inline cover_patience() {
#ifndef NO_PATIENCE
  if
  :: timer != 0 -> timer = 0; timer_set[0] = true; timer_set[1] = false
  :: else
  fi
#else
  skip
#endif
}

inline cover() {
  if
  :: first() < timer && first() < keeper ->
     timer = first(); timer_at = first(); timer_set[1] = true; timer_set[0] = false
  :: else
  fi
}

inline want(i) {
  if
  :: state[i] == RESTING -> state[i] = READY; wants[i] = true
#ifdef WANT_LOST
  :: state[i] != RESTING
#else
  :: state[i] != RESTING -> wants[i] = true
#endif
  fi
}

inline end_turn(i) {
  recent = true;
  state[i] = RESTING;
  if
  :: wants[i] -> state[i] = READY
  :: else
  fi
}

inline due(i) {
  if
  :: armed[i] <= now -> armed[i] = NEVER; want(i)
  :: else
  fi
}

proctype Thread() {
  byte item, limit;
  bool keeps, has;
  atomic { born-- };
next:
  atomic {
    if
    :: has -> running--; end_turn(item); has = false
    :: else
    fi;
    if
    :: timer == 0 && !timer_set[0] -> timer = NEVER
    :: timer != 0 && timer <= now -> timer = NEVER
    :: else
    fi;
#ifndef RUNG_STAYS
    rung = false;
#endif
    due(0); due(1);
    if
#ifdef TAKES_READY
    :: (wanted() || wants[0] || wants[1]) && (running < 1 || idle + born > 0 || !recent) ->
#else
    :: wanted() && (running < 1 || idle + born > 0 || threads == THREADS || !recent) ->
#endif
       if
       :: state[0] == READY -> item = 0
       :: state[1] == READY -> item = 1
#ifdef TAKES_READY
       :: wants[0] -> item = 0
       :: wants[1] -> item = 1
#endif
       fi;
       state[item] = RUNNING; wants[item] = false;
       running++; has = true;
#ifndef NOBODY_WATCHES
       if
       :: idle + born == 0 && threads < THREADS -> threads++; born++; run Thread()
       :: else
       fi;
#endif
#ifndef TURN_SILENT
       look(false)
#endif
    :: else ->
       idle++;
       if
       :: wanted() -> cover_patience()
       :: !wanted() && first() < timer && first() < keeper && keeper == NEVER ->
          keeper = first(); limit = first(); keeps = true
       :: !wanted() && first() < timer && first() < keeper && keeper != NEVER -> cover()
       :: else
       fi
    fi
  };
  if
  :: has ->
     atomic { inside[item]++; assert(inside[item] == 1) };
     if
     :: item == 0 -> turns[1] > 0
     :: else
     fi;
     atomic { inside[item]--; turns[item] = (turns[item] < 2 -> turns[item] + 1 : 2) }
  :: !has ->
end_wait:
     if
     :: atomic { bell -> bell = false }
     :: atomic { timer_set[1] && now >= timer_at -> timer_set[1] = false }
     :: atomic { timer_set[0] -> timer_set[0] = false }
     :: keeps && now >= limit -> skip
     fi;
     atomic {
       idle--;
       if
       :: keeps -> keeps = false;
#ifndef KEEPER_STAYS
          keeper = NEVER
#else
          skip
#endif
       :: else
       fi
     }
  fi;
  goto next
}

proctype Waker(byte i) {
  atomic {
    if
    :: state[i] == RESTING -> want(i); look(true)
    :: else -> want(i)
    fi
  };
  callers--
}

/* A pass on another thread arms item 1; or two passes arm both. */
proctype Armer() {
#ifdef TIMES
  atomic { armed[0] = SOON; look(true) };
#endif
  atomic {
#ifdef TIMES
    armed[1] = LATER;
#else
    armed[1] = SOON;
#endif
#ifndef ARM_SILENT
    if
    :: state[1] != RUNNING -> look(true)
    :: else
    fi
#endif
  };
  callers--
}

proctype Syncer() {
  if
  :: atomic { state[1] == RESTING -> state[1] = RUNNING };
     atomic { inside[1]++; assert(inside[1] == 1) };
     inside[1]--;
     atomic {
       end_turn(1);
#ifndef END_SILENT
       look(true)
#endif
     }
  :: atomic { state[1] != RESTING -> skip }
  fi;
  callers--
}

proctype Clock() {
end_clock:
  do
  :: atomic { now < 2 -> now++ }
  :: atomic { recent -> recent = false }
  od
}

init {
  atomic {
    armed[0] = NEVER; armed[1] = NEVER;
#ifdef TIMES
    threads = 2; born = 2;
    run Thread();
#else
    threads = 1; born = 1;
#endif
    run Thread();
    run Armer();
#ifdef TIMES
    callers = 1;
#else
    callers = 4;
    run Waker(0);
    run Waker(1);
    run Syncer();
#endif
    run Clock()
  };
  timeout;
  assert(callers == 0);
  assert(!wanted() && !wants[0] && !wants[1]);
  assert(armed[0] == NEVER && armed[1] == NEVER);
  assert(inside[0] == 0 && inside[1] == 0)
}
