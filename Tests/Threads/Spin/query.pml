/*
 * P3: queries beside writers.
 *
 * Two threads change one timer; one query. What a timer is due at is its record's deadline and the postponement in its word.
 * A writer that changes the deadline leaves the postponement in the word, and allows for it; where it cannot, it leaves the
 * time before its change where queries find it, with the word that this goes with (`kept`, behind a lock, which the writer
 * lets go of after its end: then another one may be writing).
 *
 * The time that a query answers with was the timer's at one moment during the call, also while a writer stands still. Its other
 * members belong to that moment if nobody was writing (SNAPSHOT): the time, the generation and the count of ticks here.
 *
 * Mutations (-D): NO_ALLOWANCE, NO_KEEPING, KEPT_LATE, FORGOTTEN_FIRST, KEPT_FOR_ALL, WORD_ONCE; with SNAPSHOT FIELDS_ONCE,
 * WORD_BETWEEN, WORD_LAST, WRITER_PASSES.
 */

#define OPERATIONS 3

/* The word, and the record. */
typedef Word {
  byte generation, postponement;
  bool writer
}
Word word;
byte deadline = 10;
byte sequence;

bool locked, kept;
byte kept_time;
Word kept_word;

/* Ghosts: when it was due by each operation, its generation and its count of ticks. */
byte due[OPERATIONS + 1], generation[OPERATIONS + 1];
byte ticks[OPERATIONS + 1];
byte version;

#define same_word(a, b) (a.generation == b.generation && a.postponement == b.postponement && a.writer == b.writer)

inline note(time) {
  version++;
  due[version] = time;
  generation[version] = word.generation;
  ticks[version] = sequence
}

/* A query of the time alone may find a change before the writer's end; from then on all of them do. */
#ifdef SNAPSHOT
#define when_stored(time) skip
#define at_end(time)      note(time)
#else
#define when_stored(time) note(time)
#define at_end(time)      skip
#endif

proctype Writer(byte operations) {
  byte time;
  do
  :: operations == 0 -> break
  :: operations > 0 ->
     operations--;
     if
     :: /* One swap, of the word that the deadline was read beside. */
        atomic { !word.writer -> word.postponement++; note(deadline + word.postponement) }
     :: atomic { !word.writer -> word.writer = true }
        time = 20 + 20 * version; /* of no other operation */
        if
        :: /* store(due:) */
#ifdef SNAPSHOT
           if
           :: word.postponement == 0 -> time = 10 /* as it was once, under another generation */
           :: skip
           fi;
#endif
#ifdef NO_ALLOWANCE
           atomic { deadline = time; when_stored(time) }
           atomic { word.generation++; word.writer = false; word.postponement = 0; at_end(time) }
#else
           atomic { deadline = time - word.postponement; when_stored(time) }
           atomic { word.generation++; word.writer = false; at_end(time) }
#endif
        :: /* DueTimeSpill.keep: the word has another postponement, and the same generation. */
           atomic { !locked -> locked = true }
#ifdef KEPT_LATE
           deadline = time - word.postponement - 1;
#endif
#ifndef NO_KEEPING
           kept_time = due[version];
           kept_word.generation = word.generation; kept_word.postponement = word.postponement; kept_word.writer = true;
           kept = true;
#endif
           deadline = time - word.postponement - 1;
#ifdef FORGOTTEN_FIRST
           kept = false;
#endif
           atomic { word.postponement++; word.writer = false; note(time) }
           kept = false;
           locked = false
#ifdef SNAPSHOT
        :: /* A tick, of a repeating timer: the word is as it was. */
           deadline = time - word.postponement;
           sequence++;
           atomic { word.writer = false; note(time) }
#endif
        fi
     fi
  od
}

proctype Reader() {
  Word seen;
  byte found, at, since;
  byte ticks_at;
  bool same;
  since = version;
  do
  :: atomic {
       seen.generation = word.generation; seen.postponement = word.postponement; seen.writer = word.writer
     }
     at = deadline;
     found = at + seen.postponement;
#ifdef SNAPSHOT
     ticks_at = sequence;
#ifdef WRITER_PASSES
     same = true;
#else
     same = !seen.writer;
#endif
#ifndef FIELDS_ONCE
#ifndef WORD_LAST
     same = same && same_word(seen, word);
#endif
     same = same && at == deadline;
     same = same && ticks_at == sequence;
#endif
#ifndef WORD_BETWEEN
     same = same && same_word(seen, word);
#endif
#else
     if
     :: seen.writer ->
        if
#ifdef KEPT_FOR_ALL
        :: kept -> found = kept_time
#else
        /* Read one after the other: the next one's may be found, and then the word has changed. */
        :: kept -> same = same_word(kept_word, seen);
           if
           :: same -> found = kept_time
           :: else
           fi
#endif
        :: else
        fi
     :: else
     fi;
#ifdef WORD_ONCE
     same = true;
#else
     same = same_word(seen, word);
#endif
#endif
     if
     :: same -> break
     :: else
     fi
  od;
  atomic {
    same = false;
    do
    :: since > version -> break
    :: else ->
#ifdef SNAPSHOT
       same = same || (due[since] == found && generation[since] == seen.generation && ticks[since] == ticks_at);
#else
       same = same || due[since] == found;
#endif
       since++
    od;
    assert(same)
  }
}

init {
  atomic {
    due[0] = deadline;
    run Writer(2); run Writer(1); run Reader()
  }
}
