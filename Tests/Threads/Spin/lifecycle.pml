/*
 * P4: claim, end of the handler, cancel, release and disposal, over two versions of one slot.
 *
 * The owner releases the first timer, makes another in its slot when that is free, and releases it too. Meanwhile
 * another thread, which has the first timer's id only, cancels it and releases it. A queue delivers ticks.
 *
 * No handler starts for a timer that was released, or after a cancel that answered OK; a stale id changes nothing; each
 * finalizer is called once, behind the handler's end; the slot is free at the end.
 *
 * SELF: the first timer releases itself when a handler ends and it is at rest.
 *
 * Mutations (-D): VERSION_FIRST, NO_GENERATION, CLAIM_WITHOUT_SWAP, END_FREES_NOT, RELEASE_IGNORES_BUSY, NO_OWNER,
 * WAIT_FOR_RELEASED; of SELF: END_IGNORES_WRITER.
 */

mtype = { FREE, RUNNING, REST, RELEASED };
mtype = { NONE, OK, BUSY, STALE };

#define TICKS 2

/* The word. The generation runs on when the slot is reused. */
mtype code = RUNNING;
bool busy, writer, flag;
byte generation;

byte version = 1;   /* of the slot; in the record */
bool finalizer;     /* the side record: the timer has a finalizer */
bool linked;        /* the slot hangs in the inbox */
bool available;     /* the slot is in the list of free ones */

/* Ghosts, by version. */
byte finalized[4];
bool released[4], had_finalizer[4], cancelled[4];
byte handling;      /* the version whose handler runs */
byte ended;         /* threads that have ended */

#define live (code == RUNNING || code == REST)

/* One load of the word. */
#define LOAD c = code; b = busy; w = writer; f = flag; g = generation
#ifdef NO_GENERATION
#define SAME (c == code && b == busy && w == writer && f == flag)
#else
#define SAME (c == code && b == busy && w == writer && f == flag && g == generation)
#endif
#define ALIVE (c == RUNNING || c == REST)

/* At the handler's end: the first timer, once it is at rest. */
#ifdef SELF
#define RELEASES_ITSELF (c == REST && version == 1)
#else
#define RELEASES_ITSELF false
#endif
#ifdef END_IGNORES_WRITER
#define WAITS_FOR_WRITER false
#else
#define WAITS_FOR_WRITER w
#endif

inline free_slot() {
  atomic { assert(code == RELEASED && writer); code = FREE; writer = false }
  give_back()
}

inline give_back() {
  finalizer = false;
  version++;
  available = true
}

inline release(id) {
  r = NONE;
  do
#ifdef VERSION_FIRST
  :: v = version;
     atomic { LOAD }
#else
  :: atomic { LOAD }
     v = version;
#endif
     if
     :: !ALIVE || v != id -> r = STALE; break
     :: else
     fi;
     if
     :: w -> (!writer || code != c || generation != g)
     :: !w && (b || finalizer) ->
        /* Through the writer bit. */
        if
        :: atomic { SAME -> writer = true }
           do
           :: atomic { LOAD }
              if
#ifdef RELEASE_IGNORES_BUSY
              :: false -> skip
#else
              :: atomic {
                   b && SAME ->
                   assert(version == id);
                   code = RELEASED; generation++; writer = false; released[id] = true; r = BUSY
                 }
                 break
#endif
              :: atomic {
#ifndef RELEASE_IGNORES_BUSY
                   !b &&
#endif
                   SAME ->
                   assert(version == id);
                   code = RELEASED; generation++; released[id] = true; r = OK
                 }
                 if
                 :: finalizer ->
                    /* Its finalizer is called on the queue. */
                    atomic { writer = false; linked_by_me = !flag; flag = true }
                    if
                    :: linked_by_me -> linked = true; linked_by_me = false
                    :: else
                    fi
                 :: !finalizer -> free_slot()
                 fi;
                 break
              :: atomic { !SAME -> skip }
              fi
           od;
           break
        :: atomic { !SAME -> skip }
        fi
     :: !w && !b && !finalizer ->
        if
        :: atomic { SAME -> assert(version == id); code = FREE; generation++; released[id] = true; r = OK }
           give_back();
           break
        :: atomic { !SAME -> skip }
        fi
     fi
  od
}

inline cancel(id) {
  r = NONE;
  do
#ifdef VERSION_FIRST
  :: v = version;
     atomic { LOAD }
#else
  :: atomic { LOAD }
     v = version;
#endif
     if
     :: !ALIVE || v != id -> r = STALE; break
     :: else
     fi;
     if
     :: w -> (!writer || code != c || generation != g)
     :: !w && c == REST -> break
     :: !w && c == RUNNING ->
        if
        :: atomic {
             SAME ->
             assert(version == id);
             code = REST; generation++; r = (b -> BUSY : OK);
             assert(r != OK || handling != id);
             cancelled[id] = (r == OK)
           }
           break
        :: atomic { !SAME -> skip }
        fi
     fi
  od
}

proctype Owner() {
  mtype c, r; bool b, w, f, linked_by_me; byte g, v;
  release(1);
  assert(r == OK || r == BUSY || r == STALE);
  /* Another timer in the slot, as soon as that is free. */
  atomic { available -> available = false }
  if
  :: finalizer = true; had_finalizer[version] = true
  :: skip
  fi;
  c = RUNNING; g = 0; v = 0;
  atomic { assert(code == FREE && version == 2); code = RUNNING; generation++ };
  release(2);
  assert(r == OK || r == BUSY);
  ended++
}

proctype Other() {
  mtype c, r; bool b, w, f, linked_by_me; byte g, v;
  cancel(1);
  release(1);
  ended++
}

inline dispose() {
  if
  :: finalizer ->
     atomic { busy = true }
     atomic { busy = false }
     assert(handling != version && released[version]);
     finalized[version]++;
     assert(finalized[version] == 1)
  :: else
  fi;
  free_slot()
}

proctype Queue() {
  mtype c; bool b, w, f, retired, owned; byte g, ticks;
end:
  do
  :: linked || ticks < TICKS ->
     /* The inbox. */
     if
     :: linked ->
        linked = false;
        flag = false;
        atomic { LOAD }
        if
        :: c == RELEASED && !b && !w ->
#ifdef NO_OWNER
           retired = true
#else
           if
           :: atomic { SAME -> writer = true } retired = true
           :: atomic { !SAME -> skip }
           fi
#endif
        :: else
        fi
     :: !linked
     fi;
     /* A tick. */
     if
     :: ticks < TICKS ->
        ticks++;
        do
        :: atomic { LOAD }
           if
#ifdef WAIT_FOR_RELEASED
           :: w -> (!writer)
           :: !w && !ALIVE -> break
#else
           :: !ALIVE -> break
           :: ALIVE && w -> (!writer || !live)
#endif
           :: !w && (b || c == REST) -> break
           :: !w && !b && c == RUNNING ->
              if
#ifdef CLAIM_WITHOUT_SWAP
              :: atomic { busy = true; writer = true }
#else
              :: atomic { SAME -> busy = true; writer = true }
#endif
                 assert(!released[version] && !cancelled[version]);
                 handling = version;
                 if
                 :: atomic { code = REST; writer = false } /* the last tick */
                 :: atomic { writer = false }
                 fi;
                 /* The handler. */
                 assert(finalized[handling] == 0);
                 handling = 0;
                 do
                 :: atomic { LOAD }
                    owned = (c == RELEASED);
#ifdef END_FREES_NOT
                    owned = false;
#endif
                    if
                    :: RELEASES_ITSELF && WAITS_FOR_WRITER -> (!writer || code != c)
                    :: RELEASES_ITSELF && !WAITS_FOR_WRITER && finalizer ->
                       if
                       :: atomic { SAME -> busy = false; code = RELEASED; generation++; writer = true; released[1] = true }
                          owned = true;
                          break
                       :: atomic { !SAME -> skip }
                       fi
                    :: RELEASES_ITSELF && !WAITS_FOR_WRITER && !finalizer ->
                       if
                       :: atomic { SAME -> busy = false; code = FREE; generation++; released[1] = true }
                          give_back();
                          break
                       :: atomic { !SAME -> skip }
                       fi
                    :: !RELEASES_ITSELF ->
                       if
                       :: atomic { SAME -> busy = false; writer = writer || owned }
                          break
                       :: atomic { !SAME -> skip }
                       fi
                    fi
                 od;
                 retired = retired || owned;
                 break
#ifndef CLAIM_WITHOUT_SWAP
              :: atomic { !SAME -> skip }
#endif
              fi
           fi
        od
     :: skip
     fi;
     /* The end of the slice. */
     if
     :: retired -> retired = false; owned = false; dispose()
     :: else
     fi
  od
}

init {
  atomic {
    if
    :: finalizer = true; had_finalizer[1] = true
    :: skip
    fi;
    run Owner(); run Other(); run Queue()
  }
  timeout;
  assert(ended == 2);
  assert(code == FREE && !writer && !busy && !linked && available);
  assert(finalized[1] == had_finalizer[1] && finalized[2] == had_finalizer[2])
}
