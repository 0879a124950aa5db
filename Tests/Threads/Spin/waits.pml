/*
 * P6: waits for the end of a callback, and rings of them.
 *
 * Three timers and four threads: each is inside a handler of one, two of them in turn inside the first timer's, and
 * waits for another timer or for none. The ender is told by a flag in the word.
 *
 * Nobody waits for ever: a ring of two or three is answered WOULD_DEADLOCK by the wait that would close it. Nobody else
 * is answered so: a wait that is over is no part of a ring. No wait ends before the callback that it met.
 *
 * Mutations (-D): LOOKS_FIRST, ENDER_LOOKS_FIRST, CHECK_UNLOCKED, COUNTS_OVER, SIGNALS_ONE, SIGNAL_IS_OVER, NO_RECHECK.
 */

#define N 3       /* timers */
#define THREADS 4
#define NOBODY N

bool busy[N], waited[N];
byte inside[N];        /* the thread that is inside the timer's handler, while it is busy */
byte tick[N];          /* ghost: which of its ticks runs */
bool lock;
byte subject[THREADS];       /* what thread i waits for; guarded by the lock */
bool signalled[THREADS];
byte ended;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

/* Whether a wait for `target` would close a ring. */
inline find_ring(target) {
  atomic {
    step = target; ring = false; real = true;
    do
    :: step == mine -> ring = true; break
    :: step != mine ->
#ifndef COUNTS_OVER
       if
       :: busy[step] -> skip
       :: else -> break
       fi;
#endif
       real = real && busy[step];
       other = inside[step];
       if
       :: subject[other] == NOBODY -> break
#ifndef COUNTS_OVER
       :: subject[other] != NOBODY && signalled[other] -> break
#endif
       :: else -> real = real && !signalled[other]; step = subject[other]
       fi
    od;
    other = 0;
    /* WOULD_DEADLOCK is the truth. */
    assert(!ring || real);
    step = 0; real = false
  }
}

/* One more look: it is over, or whoever ends it knows of the wait. */
inline look(target) {
  atomic { over = !busy[target]; waited[target] = waited[target] || busy[target] }
}

inline wait_for(target) {
  met = tick[target];
#ifdef LOOKS_FIRST
  look(target);
#endif
#ifdef CHECK_UNLOCKED
  find_ring(target);
  acquire();
#else
  acquire();
  find_ring(target);
#endif
  if
  :: !ring ->
     subject[me] = target;
     release();
#ifndef LOOKS_FIRST
     look(target);
#endif
     do
     :: over -> break
     :: !over ->
        signalled[me];
#ifdef SIGNAL_IS_OVER
        over = true
#else
        /* It can have been another tick's end, and this one's ring was passed over meanwhile. */
        acquire();
        signalled[me] = false;
#ifndef NO_RECHECK
        subject[me] = NOBODY;
        find_ring(target);
        if
        :: ring -> skip
        :: else -> subject[me] = target
        fi;
#endif
        release();
        if
        :: ring -> over = true
        :: !ring -> look(target)
        fi
#endif
     od;
     assert(ring || !busy[target] || tick[target] != met);
     acquire();
     atomic { subject[me] = NOBODY; signalled[me] = false };
     release()
  :: ring -> release()
  fi;
  ring = false; over = false; met = 0
}

inline end_callback() {
#ifdef ENDER_LOOKS_FIRST
  atomic { tell = waited[mine]; waited[mine] = false };
  busy[mine] = false;
#else
  atomic { busy[mine] = false; tell = waited[mine]; waited[mine] = false };
#endif
  if
  :: tell ->
     acquire();
     atomic {
       other = 0;
       do
       :: other == THREADS -> break
       :: other < THREADS && subject[other] == mine -> signalled[other] = true;
#ifdef SIGNALS_ONE
          break
#else
          other++
#endif
       :: other < THREADS && subject[other] != mine -> other++
       od;
       other = 0
     }
     release()
  :: !tell
  fi;
  tell = false
}

proctype Thread(byte me; byte mine) {
  byte step, other, met;
  bool ring, real, over, tell;
  atomic { !busy[mine] -> busy[mine] = true; inside[mine] = me; tick[mine]++ }
  if
  :: wait_for((mine + 1) % N)
  :: wait_for((mine + 2) % N)
  :: skip
  fi;
  end_callback();
  ended++
}

init {
  atomic {
    subject[0] = NOBODY; subject[1] = NOBODY; subject[2] = NOBODY; subject[3] = NOBODY;
    run Thread(0, 0); run Thread(1, 1); run Thread(2, 2); run Thread(3, 0)
  }
  timeout;
  assert(ended == THREADS && !lock)
}
