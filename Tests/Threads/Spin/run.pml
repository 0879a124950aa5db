/*
 * P5: the end of `run`, and the timer that it watches.
 *
 * Two timers of a host-driven queue: A runs at the beginning, B is activated by somebody. One thread is in
 * chime_queue_run(q, 0), a second calls process, others cancel. The descriptor is a timer of the kernel: arming it anew
 * takes a wake-up away that nobody has read.
 *
 * Once no timer runs, `run` returns; it does not return while a timer runs that ran when it looked into the inbox.
 *
 * Mutations (-D): WATCH_AFTER_LOOK, ENDER_LOOKS_FIRST, PROCESS_SILENT, PICKS_ONCE, NOT_WATCHED.
 */

#define NONE 2
#define A 0
#define B 1

bool running[2], flag[2], linked[2], placed[2];
bool due;              /* A's time has come */
bool readable, armed;  /* the descriptor */
bool asleep;           /* next_wake_up is a time, not awake */
byte watched = NONE;
bool token;
byte ended;
bool returned;

#define wake_host() atomic { readable = true }

inline end_timer(t) {
  if
  :: atomic {
#ifdef ENDER_LOOKS_FIRST
       true -> before = watched }
     atomic {
#endif
       running[t] -> running[t] = false
     }
#ifndef ENDER_LOOKS_FIRST
     before = watched;
#endif
     if
     :: before == t -> wake_host()
     :: else
     fi
  :: atomic { !running[t] -> skip }
  fi
}

proctype Canceller() {
  byte before;
  end_timer(A);
  before = 0;
  ended++
}

proctype User() {
  byte before;
  bool push;
  /* Activates B. */
  atomic { push = !flag[B]; flag[B] = true; running[B] = true }
  if
  :: push -> linked[B] = true
  :: else
  fi;
  if
  :: atomic { asleep -> asleep = false } wake_host()
  :: atomic { !asleep -> skip }
  fi;
  /* And cancels it. */
  end_timer(B);
  before = 0;
  ended++
}

proctype Clock() {
  atomic { due = true; if :: armed -> readable = true :: else fi };
  ended++
}

inline drain(t) {
  if
  :: atomic { linked[t] -> linked[t] = false }
     atomic { flag[t] = false; now_running = running[t] }
     if
     :: now_running -> placed[t] = true
     :: else
     fi;
     now_running = false
  :: atomic { !linked[t] -> skip }
  fi
}

/* The earliest timer in the wheel that runs; others leave it. */
inline find_earliest(found) {
  found = NONE;
  if
  :: atomic { placed[A] && running[A] -> found = A }
  :: atomic { !placed[A] || !running[A] -> placed[A] = false }
     if
     :: atomic { placed[B] && running[B] -> found = B }
     :: atomic { !placed[B] || !running[B] -> placed[B] = false }
     fi
  fi
}

inline arm() {
  atomic { armed = (next == A); readable = (next == A && due) };
  if
  :: !asleep -> wake_host()
  :: else
  fi
}

/* One pass; the caller holds the lock. */
inline pass() {
  asleep = false;
  drain(B);
  if
  :: due && placed[A] ->
     placed[A] = false;
     if
     :: atomic { running[A] -> running[A] = false } /* its last tick */
     :: atomic { !running[A] -> skip }
     fi
  :: else
  fi;
  do
  :: find_earliest(next);
     asleep = true;
     if
     :: !linked[B] -> arm(); break
     :: else -> asleep = false; drain(B)
     fi
  od
}

proctype Process() {
  byte next;
  bool now_running;
  if
  :: atomic { !token -> token = true }
     pass();
     token = false;
#ifndef PROCESS_SILENT
     if
     :: watched != NONE -> wake_host()
     :: else
     fi
#endif
  :: true
  fi;
  next = 0;
  ended++
}

proctype Runner() {
  byte next;
  bool now_running, ran_a, ran_b;
  do
  :: atomic { !token -> token = true }
     pass();
     atomic { ran_a = running[A]; ran_b = running[B] && !linked[B] && !flag[B] };
     do
     :: drain(B);
        find_earliest(next);
        if
        :: next == NONE -> break
        :: else
        fi;
#ifdef NOT_WATCHED
        break
#else
#ifdef WATCH_AFTER_LOOK
        if
        :: running[next] -> watched = next; break
        :: else
        fi
#else
        watched = next;
#ifdef PICKS_ONCE
        break
#else
        if
        :: running[next] -> break
        :: else
        fi
#endif
#endif
#endif
     od;
     if
     :: next == NONE ->
        atomic { assert(!(ran_a && running[A]) && !(ran_b && running[B])); watched = NONE };
        token = false;
        break
     :: else
     fi;
     token = false;
     ran_a = false; ran_b = false; next = 0;
     readable; /* poll */
     watched = NONE
  od;
  returned = true
}

init {
  atomic {
    running[A] = true; placed[A] = true; asleep = true;
    run Runner(); run Process(); run User(); run Clock();
    if
    :: run Canceller()
    :: ended = 1
    fi
  }
  timeout;
  assert(ended == 4 && returned)
}
