/*
 * P1, P1d and P2: the inbox, the next wake-up and the position in the wheel.
 *
 * One timer, two writers, and a queue whose passes run one after another; sometimes the queue's driver only asks for the
 * next deadline. Times are 1, 2 and 3; 0 is nowhere, in the past or awake; NEVER is later than all.
 *
 * A writer links the slot before its word is seen without the writer bit. On a concurrent queue (CONCURRENT) the visits
 * run beside the passes, and a callback's end and a disposal set the flag of a timer that nobody writes, then link: the
 * end reads the timer again after that and announces what it finds, the disposal wakes.
 *
 * After every pass the timer is where the next pass finds it (`visible`), or has a writer, who looks at the end where it
 * is; and at the end nothing that runs is left behind; nor a slot that was released.
 *
 * Mutations (-D): POSITION_AFTER_CAS, NO_PUT_BACK, SKIP_WRITER, OUTDATED_SKIPS, START_ORDER_DROPS, NO_SECOND_LOOK,
 * WAKE_BEFORE_PUSH, WORD_BEFORE_LINK, ADMIT_SKIPS, END_SKIPS; with CONCURRENT NO_REREAD,
 * ABANDON_SILENT, BUSY_FIRST, and REREAD_SKIPS with ABANDON_SENT (one of them alone is harmless); with RELEASES
 * REREAD_ALIVE, DISPOSE_WAKES_FIRST.
 */

#define NEVER 4
#define LAST 3
#ifdef RELEASES
#define CONCURRENT
#endif
#ifdef CONCURRENT
#define STEP 3
#define WHOLE atomic /* the positions are the smaller model's subject */
#else
#define WHOLE
#define STEP 1
#endif

/* The word, which says until a writer's end what it said before; see query.pml. */
bool running, writer, inbox, busy;
byte postponed; /* no separate record: the deadline belongs to the word */
byte deadline;  /* of the record */
#ifdef START_ORDER_DROPS
bit start_order;
#endif

byte position;     /* position: 0 nowhere */
bool linked;    /* the slot hangs in the inbox */
bool taken;     /* the pass has taken it out, and not cleared the flag yet */
byte next_wake_up = NEVER;
byte armed = NEVER;
bool woken;
byte now;
byte other;      /* when another timer of the queue is due; NEVER: there is none */
bool in_batch;
byte ticks;
byte writers, done; /* how many there are, and have ended */
bool quiet;     /* the pass sleeps */

#ifdef CONCURRENT
bool handed;             /* a visit is on its way */
byte visits;             /* how many have begun and not ended */
bool released, disposed; /* what was released is disposed of once, behind its callbacks */
#define elsewhere (handed || visits != 0)
#else
#define released  false
#define elsewhere false
#endif

/* Whoever is writing it looks where it is, at the end. */
#define visible (!running || writer || (position != 0 && position <= deadline) || inbox || in_batch || busy || elsewhere)

inline wake() {
  /* An exchange: whoever takes the time away wakes the queue. */
  atomic { slept = next_wake_up != 0; next_wake_up = 0 }
  if
  :: slept -> woken = true; slept = false
  :: else
  fi
}

inline wake_if_earlier(time) {
  if
  :: atomic { next_wake_up > time -> skip } wake()
  :: atomic { next_wake_up <= time -> skip }
  fi
}

/*
 * A writer: owns the record, changes it, reads the position, links the slot if the pass has to look, and publishes with
 * one compare-and-swap. The first restarts the timer, to an earlier or a later time; the second cancels it, or activates
 * it, which a running timer ignores; or, on a concurrent queue, releases it. An activation links at its beginning.
 */
proctype Writer(bool restarts) {
  byte target, seen;
  bool starts, push, slept, changes, links;
#ifdef RELEASES
  bool releases;
#endif

  if
  :: restarts -> target = 1
#ifndef CONCURRENT
  :: restarts -> target = 3
#endif
#ifdef RELEASES
  :: !restarts -> releases = true
#else
  :: !restarts -> target = 2
#ifndef CONCURRENT
  :: !restarts -> skip
#endif
#endif
  fi;
  starts = target != 0;

  atomic {
    (!writer || released) ->
    if
    :: released -> goto ended
    :: else
    fi;
#if !defined(CONCURRENT) && !defined(WORD_BEFORE_LINK)
    /* Whoever meets the flag of a timer that nobody writes knows that a pass finds it. */
    assert(!inbox || linked || taken);
#endif
    writer = true;
    changes = restarts || starts != running;
    links = starts && !restarts && !inbox;
    if :: links -> inbox = true :: else fi
  }
  if
  :: links -> linked = true
  :: else
  fi;

#ifdef RELEASES
  if
  :: releases ->
     /* While it is busy the slot is left to the handler's end; otherwise it stays this thread's. */
     atomic { running = false; released = true; writer = !busy; push = writer }
     if
     :: push ->
        atomic { writer = false; links = !inbox; inbox = true }
#ifdef DISPOSE_WAKES_FIRST
        wake();
#endif
        if
        :: links -> linked = true
        :: else
        fi;
#ifndef DISPOSE_WAKES_FIRST
        wake()
#endif
     :: else
     fi;
     goto ended
  :: else
  fi;
#endif

  if
  :: !changes ->
     /* It is ignored. Between flag and link a handler's end may have met the flag, and woken a pass in vain. */
     atomic {
       push = inbox && running;
#ifdef ABANDON_SENT
       push = push && links;
#endif
       writer = false
     }
#ifndef ABANDON_SILENT
     if
     :: push -> target = deadline; wake_if_earlier(target)
     :: else
     fi;
#endif
     goto ended
  :: else
  fi;

  if
#ifdef START_ORDER_DROPS
  :: starts -> deadline = target; start_order = 1 - start_order
#else
  :: starts -> deadline = target
#endif
  :: else
  fi;
#ifdef POSITION_AFTER_CAS
  push = false;
  seen = 1;
#else
  seen = position;
  push = starts && (seen == 0 || seen > deadline); seen = 0;
#endif

#ifdef WAKE_BEFORE_PUSH
  if :: starts -> wake_if_earlier(target) :: else fi;
#endif
#ifdef WORD_BEFORE_LINK
  /* As it was before: the flag with the final compare-and-swap, then the link. */
  atomic {
    running = starts; writer = false;
    links = push && !inbox;
    if :: links -> inbox = true :: else fi
  }
  if
  :: links -> linked = true
  :: else
  fi;
#else
  /* The pass may take the slot out again before the word is next_wake_up: then the swap fails, and it is linked anew. */
  do
  :: atomic { push && !inbox -> inbox = true } linked = true
  :: atomic { !push || inbox -> running = starts; writer = false; break }
  od;
#endif
#ifdef POSITION_AFTER_CAS
  seen = position;
  if
  :: starts && (seen == 0 || seen > target) ->
     atomic { push = !inbox; inbox = true }
     if
     :: push -> linked = true
     :: else
     fi
  :: else
  fi;
#endif
#ifndef WAKE_BEFORE_PUSH
  if
  :: starts -> wake_if_earlier(target)
  :: else
  fi;
#endif
ended:
  target = 0; seen = 0; push = false; starts = false; changes = false; links = false;
  done++
}

#ifdef CONCURRENT
/* The visits of a concurrent queue, on threads of their own. The first of them begins inside a handler. */
proctype Visit(bool inside) {
  byte due;
  bool slept, claimed, sends, links, owns, dead;

  if
  :: inside -> claimed = true; goto handler
  :: else
  fi;
next_turn:
end: atomic { handed -> handed = false; visits++; dead = released }
  if
  :: dead ->
     atomic {
       if
       :: !busy && !writer && !disposed -> writer = true; owns = true
       :: else
       fi
     }
  :: else ->
     atomic {
       /* Waits for a writer, of a timer that is busy, too: he may have relied on the position that was taken away. */
#ifdef BUSY_FIRST
       (released || busy || !writer) ->
#else
       (released || !writer) ->
#endif
       if
       :: released || busy || !running -> skip
       :: else ->
          if
          :: deadline > now -> sends = true
          :: else ->
             writer = true; busy = true; claimed = true;
             assert(ticks < 4); ticks++
          fi
       fi
     }
     if
     :: claimed -> atomic { running = false; writer = false }
     :: else
     fi
  fi;
handler:
  if
  :: claimed ->
     atomic {
       busy = false;
       if
       :: released -> writer = true; owns = true
#ifdef END_SKIPS
       :: !released -> sends = running
#else
       :: !released -> sends = running || writer
#endif
       fi
     }
  :: else
  fi;
  if
  :: owns -> atomic { assert(!disposed); disposed = true; writer = false }
  :: else
  fi;
  if
  :: sends ->
     atomic { links = !inbox; inbox = true }
     if
     :: links -> linked = true
     :: else
     fi;
#ifndef NO_REREAD
     /* Somebody may have met the flag before the link was there: what there is now is announced too. */
     atomic {
       due = NEVER;
       if
#ifdef REREAD_SKIPS
       :: !writer && running -> due = deadline
#else
       :: running -> due = deadline
#endif
#ifndef REREAD_ALIVE
       :: !writer && released -> due = 0
#endif
       :: else
       fi
     }
     if
     :: due != NEVER -> wake_if_earlier(due)
     :: else
     fi
#endif
  :: else
  fi;
  atomic {
    due = 0; claimed = false; sends = false; links = false; owns = false; dead = false;
    visits--
  }
  goto next_turn
}
#endif

/* What the pass does. One process, since the pass lock admits one. */

/* Moves the timer's position to `to` (0 nowhere), and on until it agrees with the word. */
inline move(to) {
  was = position;
  next = to;
  do
  :: if
     :: next != position -> position = next
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

/* Where the timer belongs, by the record as it is at this moment. */
inline place_it() {
  atomic {
    if
    :: running -> at = deadline
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
       inbox = false; taken = false;
       skipped = busy;
#ifdef ADMIT_SKIPS
       skipped = skipped || writer
#endif
#ifdef CONCURRENT
       if
       :: released && !busy -> handed = true; skipped = true
       :: else
       fi
#endif
     }
     if
     :: !skipped -> place_it()
     :: else /* the end of the handler places it */
     fi;
     skipped = false
  :: else
  fi
}

/* The earliest position of a timer that runs; one that has moved later is moved. */
inline find_earliest(found) {
  do
  :: if
     :: position == 0 -> found = NEVER; break
     :: else
     fi;
     atomic {
       if
       :: writer -> should = position
       :: !writer && running -> should = deadline
       :: else -> should = 0
       fi
     }
     if
     :: should != 0 && should <= position -> found = position; break
     :: else -> move(should)
     fi
  od;
  should = 0
}

#ifdef CONCURRENT
inline deliver() {
  handed = true
}
#else
inline deliver() {
  do
  :: atomic { writer -> skip }
     (!writer) /* waits */
  :: atomic { !writer && !running -> break }
  :: atomic { !writer && running && deadline > now -> skip } place_it(); break
  :: atomic {
       !writer && running && deadline <= now ->
       writer = true; busy = true; claimed = true;
       assert(ticks < 4); ticks++
     }
     atomic { running = false; writer = false }
     /* The handler, which may ask for the next deadline: that takes the inbox in. */
     if
     :: take_inbox()
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

#endif

inline collect() {
  if
  :: position != 0 && position <= now ->
     position = 0; /* then one fence */
     atomic {
#ifdef START_ORDER_DROPS
       /* What the writer has stored may be on its way still. */
       if
       :: seen_start_order = start_order
       :: writer -> seen_start_order = 1 - start_order
       fi;
#endif
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
#ifdef START_ORDER_DROPS
        /* The activation sequence is a hint that may be read late: an item whose activation sequence differs is dropped. */
        if
        :: seen_start_order != start_order -> skip
        :: else -> deliver()
        fi;
#else
        deliver();
#endif
        in_batch = false
     :: else
     fi;
#ifdef START_ORDER_DROPS
     seen_start_order = 0;
#endif
     outdated = false
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
     :: else -> next_wake_up = first; armed = first; break
     fi
#else
     next_wake_up = first;
     if
     :: !linked -> armed = first; break
     :: else -> next_wake_up = 0; WHOLE { take_inbox() }
     fi
#endif
  od;
  first = 0; rounds = 0
}

proctype Pass() {
  byte next, was, at, should, first, rounds;
  bool skipped, skips, claimed, outdated, looked;
#ifdef START_ORDER_DROPS
  bit seen_start_order;
#endif
  do
  :: quiet = true;
end: atomic {
       woken || armed <= now ->
       quiet = false; woken = false;
       if :: armed <= now -> armed = NEVER :: else fi
     }
     next_wake_up = 0;
     WHOLE { take_inbox(); collect() }
     settle();
     assert(visible)
#ifndef CONCURRENT
  :: !looked -> /* next_deadline on the driver's thread, between two passes */
     quiet = false;
     looked = true;
     take_inbox();
     find_earliest(first);
     assert(visible);
     assert(!running || writer || inbox || first <= deadline);
     first = 0
#endif
  od
}

/* Whoever comes now has not been late: the next wake-up knows of what runs when no call is under way. */
#define calm (done == writers && quiet && !woken && armed > now && !elsewhere)

proctype Clock() {
  do
  :: now < LAST -> atomic { assert(!calm || !running || armed <= deadline); now = now + STEP }
  :: now == LAST -> break
  od
}

init {
  atomic {
#ifdef CONCURRENT
    /* A handler runs, of a timer that has had its last tick, or has another one. */
#ifdef RELEASES
    if
    :: skip
    :: running = true; deadline = 3
    fi;
#endif
    busy = true; visits = 1;
    other = NEVER; now = LAST; /* all that runs is due, and no pass comes but one that is woken */
    writers = 2;
    run Writer(true); run Writer(false);
    run Visit(true); run Visit(false);
#else
    /* The timer runs and has its position; or it was postponed; or it rests, and another timer runs. */
    if
    :: running = true; deadline = 2; position = 2; next_wake_up = 2; armed = 2
    :: running = true; deadline = 3; position = 1; next_wake_up = 1; armed = 1
    :: other = 2; next_wake_up = 2; armed = 2
    fi;
    if :: other == 0 -> other = NEVER :: else fi;
    writers = 2;
    run Writer(true); run Writer(false);
#endif
    run Pass();
#ifndef CONCURRENT
    run Clock()
#endif
  }
  /* Nothing can go on any more. */
  timeout;
  assert(done == writers && quiet);
#ifdef CONCURRENT
  /* A timer that was cancelled may hang in the inbox until the next pass. */
  assert(!running && !handed && visits == 0 && disposed == released)
#else
  assert(!running && !linked && !inbox)
#endif
}
