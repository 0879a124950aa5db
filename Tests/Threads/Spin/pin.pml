/*
 * P7 and P8: calls on a whole queue, and creations, against its release, its end and the next queue of its
 * control block.
 *
 * A control block, a queue in it with id 1, another with id 2 when that has ended. One thread makes a call on queue 1 as
 * a whole
 * (a jump of its clock), one makes a timer on it, one releases it.
 *
 * No call acts on queue 2 with the id 1; a creation that answers OK has made a timer that the release
 * takes away; none of queue 1 is left at the end; the queue ends.
 *
 * Mutations (-D): CHECK_BEFORE_PIN, NO_PIN, NO_CHECK, CLOSING_FIRST, NO_WAKE, CREATOR_CHECKS_FIRST,
 * RELEASE_VISITS_FIRST, NO_WITHDRAW.
 */

byte id = 1;           /* of the queue that lives in the control block; 0: none, or released */
byte lives = 1;        /* ghost: the queue whose core the control block has */
byte outstanding;
bool closing, woken;
byte timer;            /* a slot: the queue whose timer it holds, 0 free */
bit generation;        /* of the slot's word, as far as a release changes that of a free slot */
bool made;             /* the creation answered OK */
byte ended;

inline wake() { woken = true }

/* A call on queue 1. */
proctype Call() {
  bool valid, pinned;
#ifdef CHECK_BEFORE_PIN
  valid = (id == 1);
  if :: valid -> atomic { if :: lives == 1 -> outstanding++; pinned = true :: else fi } :: else fi;
#else
#ifdef NO_PIN
  valid = (id == 1);
#else
  /* The core of the id: a pin of one that has ended harms nobody. */
  atomic { if :: lives == 1 -> outstanding++; pinned = true; valid = true :: else fi };
#ifndef NO_CHECK
  valid = valid && id == 1;
#endif
#endif
#endif
  if
  :: valid -> assert(lives == 1) /* acts */
  :: else
  fi;
#ifndef NO_PIN
  if :: pinned -> outstanding-- :: else fi;
#ifndef NO_WAKE
  if
  :: closing -> wake()
  :: else
  fi;
#endif
#endif
  ended++
}

/* Takes the timer away if it is there; otherwise sees to it that a creation which has looked at the word fails. */
inline take_away() {
  if
  :: atomic { timer == 1 -> timer = 0 }
#ifdef NO_WITHDRAW
  :: atomic { timer != 1 -> skip }
#else
  :: atomic { timer != 1 -> generation = 1 - generation }
#endif
  fi
}

proctype Creator() {
  bit free;
  bool valid;
#ifdef CREATOR_CHECKS_FIRST
  valid = (id == 1);
  free = generation;
#else
  free = generation;
  valid = (id == 1);
#endif
  /* One try; the next one would begin like it. */
  if
  :: valid -> atomic { if :: generation == free && timer == 0 -> timer = 1; made = true; assert(lives == 1) :: else fi }
  :: else
  fi;
  ended++
}

proctype Releaser() {
#ifdef CLOSING_FIRST
  closing = true;
  wake();
  id = 0;
#else
  outstanding++;
#ifdef RELEASE_VISITS_FIRST
  take_away();
  id = 0;
#else
  id = 0;
#endif
  closing = true;
#ifndef RELEASE_VISITS_FIRST
  take_away();
#endif
  outstanding--;
#endif
  wake();
  assert(!made || timer != 1);
  ended++
}

/* The passes, which end the queue. */
proctype Queue() {
  bool idle;
end:
  do
  :: woken ->
     woken = false;
     if
     :: closing && lives == 1 ->
        idle = (outstanding == 0);
        idle = idle && timer == 0;
        if
        :: idle ->
           /* The control block is given to the next queue. */
           atomic { lives = 2; outstanding = 0; closing = false }
           assert(!made || timer != 1);
           id = 2;
           break
        :: else
        fi
     :: else
     fi
  od
}

init {
  atomic { run Call(); run Creator(); run Releaser(); run Queue() }
  timeout;
  assert(ended == 3 && lives == 2 && timer != 1)
}
