/*
 * P3: the writer's image, which queries read.
 *
 * Two threads write one timer's record; the first writes another timer's record in between, so that its image holds
 * that one's. When a thread has ended another takes its image over: the first thread's operations may be those of
 * several threads in turn. One query of the timer.
 *
 * What the query returns was the timer's state at one moment during the call. It retries only when an operation on the
 * timer has begun, filled its image or been completed meanwhile, so that a writer that stands still holds up no query.
 *
 * Mutations (-D): WORD_ONCE, WORD_LAST, NO_SECOND_SEQ, FIELDS_ONCE, WORD_BETWEEN, NOT_ODD, COPY_BEFORE_SWAP, CHANGE_BEFORE_EVEN,
 * SEQ_RESET.
 */

#ifdef NOT_ODD
#define ODD 0
#else
#define ODD 1
#endif

/* Operations of the first thread; the second has one. */
#ifdef IDLE
#define OPERATIONS 3
#define WHOLE atomic /* the images are the other model's subject */
#else
#ifndef OPERATIONS
#define OPERATIONS 2
#endif
#define WHOLE
#endif

typedef Record {
  byte generation; /* in the word; with a writer in the image's copy of the word */
  byte sequence; /* and with it the deadline */
  bit leeway
}

/* The timer: the word's generation, writer bit and index of the image, and the fields of the record. */
Record timer;
bool writer;
bit owner;

Record image[2];
byte seq[2];

/* Ghosts: the states that completed operations left, and the steps of operations on the timer that a query can meet. */
Record history[OPERATIONS + 2];
byte version, steps;

inline copy_image(me, from_timer) {
  if
  :: from_timer ->
     image[me].sequence = timer.sequence;
     image[me].leeway = timer.leeway
  :: else -> /* another timer's record: values that this one never has */
     image[me].generation = 99;
     image[me].sequence = 99;
     image[me].leeway = 0
  fi
}

proctype Writer(bit me; byte operations) {
  byte generation; /* of the word that the swap expects */
  do
  :: operations == 0 -> break
  :: operations > 0 ->
     operations--;
     if
#ifndef IDLE
     :: me == 0 && operations > 0 -> seq[me] = seq[me] + ODD; copy_image(me, false); seq[me] = seq[me] + 2 - ODD /* another timer */
#endif
     :: true ->
#ifdef COPY_BEFORE_SWAP
        do
        :: atomic { !writer -> generation = timer.generation }
           seq[me] = seq[me] + 1;
           image[me].generation = generation;
           copy_image(me, true);
           seq[me] = seq[me] + 1;
           if
           :: atomic { !writer && timer.generation == generation -> writer = true; owner = me; steps++ }
              break
           :: atomic { writer || timer.generation != generation -> skip }
           fi
        od;
#else
        WHOLE {
        seq[me] = seq[me] + ODD;
        do
        :: atomic { !writer -> generation = timer.generation }
           image[me].generation = generation; /* the word's copy: what the swap expects */
           if
           :: atomic { !writer && timer.generation == generation -> writer = true; owner = me; steps++ }
              break
           :: atomic { writer || timer.generation != generation -> skip }
           fi
        od;
        copy_image(me, true)
#ifndef CHANGE_BEFORE_EVEN
        ;
        atomic { seq[me] = seq[me] + 2 - ODD; steps++ }
#endif
        }
#endif
        /* What it changes. A tick and a change of leeway leave the generation as it is. */
        if
        :: timer.sequence = timer.sequence + 1
        :: timer.leeway = 1 - timer.leeway
        :: timer.sequence = 0; generation = generation + 1
        :: skip /* ignored */
        fi;
#ifdef CHANGE_BEFORE_EVEN
        atomic { seq[me] = seq[me] + 2 - ODD; steps++ };
#endif
        atomic {
          timer.generation = generation;
          writer = false;
          steps++;
          version++;
          history[version].generation = timer.generation;
          history[version].sequence = timer.sequence;
          history[version].leeway = timer.leeway
        };
        generation = 0
     fi;
#ifdef SEQ_RESET
     /* The thread ends; the next one begins to count anew. */
     if
     :: seq[me] = 0
     :: skip
     fi
#endif
  od
}

proctype Reader() {
  Record result;
  byte generation, s1, s2, begun, since, sequence;
  bit by, leeway;
  bool written, same;

  since = version;
  do
  :: atomic { written = writer; by = owner; generation = timer.generation; begun = steps }
     if
     :: !written ->
        result.generation = generation;
        result.sequence = timer.sequence;
        result.leeway = timer.leeway;
#ifdef WORD_BETWEEN
        atomic { same = !writer && timer.generation == generation };
#endif
#ifdef FIELDS_ONCE
        sequence = result.sequence;
        leeway = result.leeway;
#else
        sequence = timer.sequence;
        leeway = timer.leeway;
#endif
#ifndef WORD_BETWEEN
        atomic { same = !writer && timer.generation == generation };
#endif
        same = same && sequence == result.sequence && leeway == result.leeway
     :: else ->
#ifdef WORD_ONCE
        s1 = seq[by];
        same = true;
#else
#ifdef WORD_LAST
        s1 = seq[by];
        same = true;
#else
        s1 = seq[by];
        /* The same writer after the look at seq: what seq says is of this operation, or of a later one. */
        atomic { same = writer && owner == by };
#endif
#endif
        result.generation = image[by].generation;
        if
        :: s1 % 2 == 1 -> /* the writer has not changed the record yet */
#ifdef COPY_BEFORE_SWAP
           same = false
#else
           result.sequence = timer.sequence;
           result.leeway = timer.leeway
#endif
        :: else ->
           result.sequence = image[by].sequence;
           result.leeway = image[by].leeway
        fi;
#ifdef WORD_LAST
        atomic { same = writer && owner == by && timer.generation == generation };
#endif
        s2 = seq[by];
#ifdef NO_SECOND_SEQ
        s2 = s1;
#endif
        same = same && s1 == s2
     fi;
     if
     :: same -> break
     :: else -> assert(steps != begun)
     fi
  od;
  /* One of the states that held during the call. */
  atomic {
    same = false;
    do
    :: since > version -> break
    :: else ->
       same = same || (history[since].generation == result.generation && history[since].sequence == result.sequence && history[since].leeway == result.leeway);
       since++
    od;
    assert(same)
  }
}

init {
  atomic { run Writer(0, OPERATIONS); run Writer(1, 1); run Reader() }
}
