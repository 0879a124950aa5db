/*
 * P1 and P2: the inbox, the next wake-up and the position in the wheel.
 *
 * One timer, two writers, and a queue whose passes run one after another; sometimes the queue's driver only asks for the
 * next deadline. Times are 1, 2 and 3; 0 is nowhere, in the past or awake; NEVER is later than all.
 *
 * After every pass the timer is where the next pass finds it (`visible`), also while a writer owns its record, and at
 * the end nothing that runs is left behind.
 *
 * Mutations (-D): PLACE_AFTER_CAS, NO_PUT_BACK, SKIP_WRITER, OUTDATED_SKIPS, STAMP_DROPS, NO_SECOND_LOOK,
 * ANNOUNCE_BEFORE_PUSH, NO_REREAD, ADMIT_SKIPS, END_SKIPS; with three writers (THREE) REREAD_SKIPS.
 */

#define NEVER 4
#define LAST 3
#ifdef THREE
#define STEP 3
#define WHOLE atomic /* the positions are the smaller model's subject */
#else
#define WHOLE
#define STEP 1
#endif

/* The word. `image*`: what the record was before the writer began; the writer's image, see image.pml. */
bool running, writer, inbox, busy;
byte postponed; /* no separate record: the deadline belongs to the word */
byte deadline;  /* of the record */
bool image_running;
byte image_deadline;
bit stamp;

byte place;     /* position: 0 nowhere */
bool linked;    /* the slot hangs in the inbox */
byte published = NEVER;
byte armed = NEVER;
bool woken;
byte now;
byte other;      /* when another timer of the queue is due; NEVER: there is none */
bool in_batch;
byte ticks;
byte writers, done; /* how many there are, and have ended */
bool quiet;     /* the pass sleeps */

/* The timer as the last completed operation left it. */
#define runs     (writer -> image_running : running)
#define due_at   (writer -> image_deadline : deadline)
#define visible  (!runs || (place != 0 && place <= due_at) || inbox || in_batch || busy)

inline wake() {
  /* An exchange: who takes the time away wakes the queue. */
  atomic { slept = published != 0; published = 0 }
  if
  :: slept -> woken = true; slept = false
  :: else
  fi
}

inline announce(time) {
  if
  :: atomic { published > time -> skip } wake()
  :: atomic { published <= time -> skip }
  fi
}

/*
 * A writer: owns the record, changes it, reads the position, publishes with one compare-and-swap. The first restarts the
 * timer, to an earlier or a later time; the second cancels it, or activates it, which a running timer ignores.
 */
proctype Writer(bool restarts; byte only) {
  byte target, seen;
  bool starts, push, slept, changes;

  if
  :: only != 0 -> target = only
  :: only == 0 && restarts -> target = 1
  :: only == 0 && restarts -> target = 3
  :: only == 0 && !restarts -> target = 2
  :: only == 0 && !restarts -> skip
  fi;
  starts = target != 0;

#ifdef THREE
  /* Here only what follows the final compare-and-swap matters. */
  if
  :: restarts ->
     atomic {
       !writer -> running = true; deadline = target; changes = true;
       push = !inbox && (place == 0 || place > target);
       if :: push -> inbox = true :: else fi
     };
     goto published_word
  :: else
  fi;
#endif
  atomic {
    !writer -> writer = true; image_running = running; image_deadline = deadline;
    changes = restarts || starts != running
  }
  if
  :: changes && starts -> deadline = target; stamp = 1 - stamp
  :: else
  fi;
  starts = starts && changes;
#ifdef PLACE_AFTER_CAS
  push = false;
  seen = 1;
#else
  seen = place;
  push = starts && (seen == 0 || seen > deadline);
#endif

#ifdef ANNOUNCE_BEFORE_PUSH
  if :: starts -> announce(target) :: else fi;
#endif
  /* The final compare-and-swap: the flag is set by one writer only. */
  atomic {
    if :: changes -> running = starts :: else fi;
    writer = false;
    push = push && !inbox;
    if :: push -> inbox = true :: else fi
  }
#ifdef PLACE_AFTER_CAS
  seen = place;
  if
  :: starts && (seen == 0 || seen > target) -> atomic { push = !inbox; inbox = true }
  :: else
  fi;
#endif
published_word:
  if
  :: push -> linked = true
  :: else
  fi;
#ifndef ANNOUNCE_BEFORE_PUSH
#ifdef NO_REREAD
  if
  :: starts -> announce(target)
  :: else
  fi;
#else
  if
  :: push ->
     /* Another writer may have met the flag before the link was there: what it wanted is announced too. */
     atomic {
       if
#ifdef REREAD_SKIPS
       :: running && !writer && deadline < target -> target = deadline
#else
       :: runs && due_at < target -> target = due_at
#endif
       :: else
       fi
     }
     announce(target)
  :: starts && !push -> announce(target)
  :: else
  fi;
#endif
#endif
  target = 0; seen = 0; push = false; starts = false; changes = false;
  done++
}

/* What the pass does. One process, since the pass lock admits one. */

/* Moves the timer's position to `to` (0 nowhere), and on until it agrees with the word. */
inline move(to) {
  was = place;
  next = to;
  do
  :: if
     :: next != place -> place = next
     :: else
     fi;
     atomic {
       /* One sequentially consistent load of the word, and the record that belongs to it. */
       if
       :: writer ->
#ifdef NO_PUT_BACK
          break
#else
          /* A writer may have relied on any position that was there: back to the earliest of them. */
          if
          :: was != 0 && (next == 0 || was < next) -> next = was
          :: image_running && (next == 0 || image_deadline < next) -> next = image_deadline
          :: else -> break
          fi
#endif
       :: !writer && running && (next == 0 || deadline < next) -> next = deadline
       :: else -> break
       fi
     }
  od;
  next = 0; was = 0
}

/* Where the timer belongs by the word, or by the writer's image. */
inline place_it() {
  atomic {
    if
    :: writer && image_running -> at = image_deadline
    :: !writer && running -> at = deadline
    :: else -> at = 0
    fi
  }
  if
  :: at != 0 -> move(at)
  :: else
  fi;
  at = 0
}

inline take_inbox() {
  atomic { taken = linked; linked = false }
  if
  :: taken ->
     atomic {
       inbox = false;
       skipped = busy;
#ifdef ADMIT_SKIPS
       skipped = skipped || writer
#endif
     }
     if
     :: !skipped -> place_it()
     :: else /* the end of the handler places it */
     fi;
     skipped = false
  :: else
  fi;
  taken = false
}

/* The earliest position of a timer that runs; one that has moved later is moved. */
inline find_earliest(found) {
  do
  :: if
     :: place == 0 -> found = NEVER; break
     :: else
     fi;
     atomic {
       if
       :: writer -> should = place
       :: !writer && running -> should = deadline
       :: else -> should = 0
       fi
     }
     if
     :: should != 0 && should <= place -> found = place; break
     :: else -> move(should)
     fi
  od;
  should = 0
}

inline visit() {
  do
  :: atomic { writer -> skip }
     (!writer) /* waits */
  :: atomic { !writer && !running -> break }
  :: atomic { !writer && running && deadline > now -> skip } place_it(); break
  :: atomic {
       !writer && running && deadline <= now ->
       writer = true; busy = true; image_running = running; image_deadline = deadline; claimed = true;
       assert(ticks < 4); ticks++
     }
     atomic { running = false; writer = false }
     /* The handler, which may ask for the next deadline: that takes the inbox in. */
     if
#ifndef THREE
     :: take_inbox()
#endif
     :: skip
     fi;
     break
  od;
  if
  :: claimed ->
     atomic {
       busy = false;
#ifdef END_SKIPS
       skips = writer
#endif
     }
     if
     :: !skips -> place_it()
     :: else
     fi;
     skips = false;
     claimed = false
  :: else
  fi
}

inline collect() {
  if
  :: place != 0 && place <= now ->
     place = 0; /* then one fence */
     atomic {
       seen_stamp = stamp;
       if
#ifdef SKIP_WRITER
       :: writer -> skip
#else
       :: writer -> in_batch = true
#endif
       :: !writer && running && deadline <= now -> in_batch = true
       :: !writer && running && deadline > now -> outdated = true
       :: else
       fi
     }
     if
     :: outdated ->
#ifdef OUTDATED_SKIPS
        if
        :: atomic { writer -> skip }
        :: atomic { !writer -> skip } place_it()
        fi
#else
        place_it()
#endif
     :: else
     fi;
     if
     :: in_batch ->
#ifdef STAMP_DROPS
        /* The stamp is a hint that may be read late: an item whose stamp differs is let go. */
        if
        :: seen_stamp != stamp -> skip
        :: else -> visit()
        fi;
#else
        visit();
#endif
        in_batch = false
     :: else
     fi;
     seen_stamp = 0; outdated = false
  :: else
  fi
}

inline settle() {
  do
  :: rounds == 2 -> woken = true; break
  :: else ->
     rounds++;
     WHOLE { find_earliest(first) }
     if
     :: other > now && other < first -> first = other
     :: else
     fi;
     if
     :: first <= now -> woken = true; break
     :: else
     fi;
#ifdef NO_SECOND_LOOK
     if
     :: linked -> take_inbox()
     :: else -> published = first; armed = first; break
     fi
#else
     published = first;
     if
     :: !linked -> armed = first; break
     :: else -> published = 0; WHOLE { take_inbox() }
     fi
#endif
  od;
  first = 0; rounds = 0
}

proctype Pass() {
  byte next, was, at, should, first, rounds;
  bool taken, skipped, skips, claimed, outdated, looked;
  bit seen_stamp;
  do
  :: quiet = true;
end: atomic {
       woken || armed <= now ->
       quiet = false; woken = false;
       if :: armed <= now -> armed = NEVER :: else fi
     }
     published = 0;
     WHOLE { take_inbox(); collect() }
     settle();
     assert(visible)
#ifndef THREE
  :: !looked -> /* next_deadline on the driver's thread, between two passes */
     quiet = false;
     looked = true;
     take_inbox();
     find_earliest(first);
     assert(visible);
     assert(!runs || inbox || first <= due_at);
     first = 0
#endif
  od
}

/* Whoever comes now has not been late: what runs is announced when no call is under way. */
#define calm (done == writers && quiet && !woken && armed > now)

proctype Clock() {
  do
  :: now < LAST -> atomic { assert(!calm || !running || armed <= deadline); now = now + STEP }
  :: now == LAST -> break
  od
}

init {
  atomic {
#ifdef THREE
    /* A restart to a later time, one to an earlier, and an operation that is ignored. */
    other = 2; published = 2; armed = 2;
    writers = 3;
    run Writer(true, 3); run Writer(true, 1); run Writer(false, 2);
#else
    /* The timer runs and has its position; or it was postponed; or it rests, and another timer runs. */
    if
    :: running = true; deadline = 2; place = 2; published = 2; armed = 2
    :: running = true; deadline = 3; place = 1; published = 1; armed = 1
    :: other = 2; published = 2; armed = 2
    fi;
    if :: other == 0 -> other = NEVER :: else fi;
    writers = 2;
    run Writer(true, 0); run Writer(false, 0);
#endif
    run Pass(); run Clock()
  }
  /* Nothing can go on any more. */
  timeout;
  assert(done == writers && quiet);
  assert(!running && !linked && !inbox)
}
