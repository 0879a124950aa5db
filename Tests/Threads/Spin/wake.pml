/*
 * P1c and P23d: a queue of the pool is woken, whoever stands still on the way.
 *
 * Two threads change a timer each, then wake the queue. The first stands still for ever behind any step of its own. Two threads of the pool (ALONE: one) wait, take what was asked for, and have turns, in each of
 * which a pass takes the changes. When nobody can go on, each change is seen whose thread has returned.
 *
 * Mutations (-D): END_LOOKS_NOT, EXCHANGES, SINCE_FIRST, COUNTS_LATE, ASKED_IS_ENOUGH, MARK_IS_ENOUGH, RUNG_FIRST, NO_STEP,
 * STAYS_RUNG; with ALONE WAITS_SILENTLY.
 */

#define WAKERS 2

bool changed[WAKERS], returned[WAKERS]; /* a pass takes a change away */
bool awake;                             /* nextWakeUp; false: a time that is later than all changes */
byte passes = 1, woken_since;

bool asked, mark, words;
bool locked, ready, has_turn;
byte waits = 0, step;
bool rung, sounds;

#define any (changed[0] || changed[1])

/* The first waker may stay here for ever. */
#define STOP                                   \
  if                                           \
  :: number == 0 -> goto stopped               \
  :: true                                      \
  fi

proctype Waker(byte number) {
  byte seen, at;
  bool was;

  changed[number] = true;
  STOP;
  if
  :: awake -> goto ended
  :: else
  fi;
#ifdef EXCHANGES
  atomic { was = awake; awake = true }
  if
  :: was -> goto ended
  :: else
  fi;
  STOP;
#endif
  seen = passes;
  STOP;
  if
  :: woken_since == seen -> goto ended
  :: else
  fi;
#ifdef SINCE_FIRST
  woken_since = seen;
  STOP;
#endif
  was = asked;
#ifdef ASKED_IS_ENOUGH
  if
  :: was -> goto told
  :: else
  fi;
#endif
  asked = true;
  STOP;
  was = mark;
  mark = true;
  STOP;
#ifdef MARK_IS_ENOUGH
  if
  :: was -> goto told
  :: else
  fi;
#endif
  words = true;
  STOP;
  if
  :: has_turn -> goto told
  :: else
  fi;
  STOP;
  atomic {
    at = step;
    if
    :: rung -> goto told
    :: !rung && waits == 0 -> was = true
    :: !rung && waits != 0 -> was = false
    fi
  }
  if
  :: was -> goto told /* a thread is on its way to the marks */
  :: else ->
     STOP;
#ifdef RUNG_FIRST
     atomic { rung = true }
     STOP;
#endif
     sounds = true;
     STOP;
     atomic {
       if
#ifdef NO_STEP
       :: true -> rung = true
#else
       :: at == step -> rung = true
       :: else
#endif
       fi
     }
  fi;
told:
  STOP;
  woken_since = seen;
ended:
  atomic { returned[number] = true; seen = 0; at = 0; was = false }
stopped:
  skip
}

/* What was asked for, with the lock held. */
inline take_marks() {
  if
  :: atomic { words -> words = false; found = true }
     atomic { found = mark; mark = false }
     if
     :: found && asked -> atomic { ready = ready || !has_turn }
     :: else
     fi;
     found = false
  :: else
  fi
}

proctype Thread() {
  bool found;

  atomic { !locked -> locked = true }
next_step:
#ifdef STAYS_RUNG
  step++;
#else
  atomic { step++; rung = false }
#endif
  take_marks();
again:
  if
  :: ready ->
     atomic { ready = false; has_turn = true }
     asked = false;
     locked = false;
     /* The pass: takes the changes, then looks once more after it has stored its time. */
     awake = true;
#ifndef COUNTS_LATE
     passes++;
#endif
     do
     :: changed[0] = false; changed[1] = false;
        awake = false;
        if
        :: any -> awake = true
        :: else -> break
        fi
     od;
#ifdef COUNTS_LATE
     passes++;
#endif
     atomic { !locked -> locked = true }
     has_turn = false;
     if
#ifndef END_LOOKS_NOT
     :: asked -> ready = true
#endif
     :: else
     fi;
     goto next_step
  :: else
  fi;
  waits++;
#ifndef WAITS_SILENTLY
  if
  :: words -> waits--; take_marks(); goto again
  :: else
  fi;
#endif
  locked = false;
end:
  atomic { sounds -> sounds = false }
  atomic { !locked -> locked = true; waits-- }
  goto next_step
}

proctype Monitor() {
end:
  timeout ->
  assert(!locked);
  assert(!returned[0] || !changed[0]);
  assert(returned[1] && !changed[1])
}

init {
  atomic {
    run Waker(0);
    run Waker(1);
    run Thread();
#ifndef ALONE
    run Thread();
#endif
    run Monitor()
  }
}
