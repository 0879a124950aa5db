/*
 * P16b: the ring of events of the trace file.
 *
 * Two threads put events, a third takes them out and writes them. An event is two halves, which are not put at once. A
 * cell's turn says whether it is empty or full, and in which lap round the ring.
 *
 * Every event is written once and whole, or dropped; those of one thread in their order. Nobody is at a cell beside the
 * writer or another putter.
 *
 * Mutations (-D): TURN_FIRST, EMPTY_FIRST, NO_LAPS, NO_SWAP.
 */

#define CELLS 2
#define PUTTERS 2
#define EVENTS 3 /* of each putter */

byte turn[CELLS];         /* 2n: empty for lap n; 2n + 1: full */
byte left[CELLS], right[CELLS];
byte tail;
byte dropped, written, ended;
byte at[CELLS];           /* ghost: who is inside a cell */

#ifdef NO_LAPS
#define EMPTY(position) 0
#define FULL 1
#define NEXT_EMPTY(full) 0
#else
#define EMPTY(position) ((position) / CELLS * 2)
#define FULL (EMPTY(head) + 1)
#define NEXT_EMPTY(full) ((full) + 1)
#endif

inline fill() {
  atomic { at[position % CELLS]++; assert(at[position % CELLS] == 1); left[position % CELLS] = event };
  atomic { right[position % CELLS] = event; at[position % CELLS]-- }
}

proctype Putter(byte me) {
  byte position, seen, event = me * 16;
  bool has_it;
  do
  :: event == me * 16 + EVENTS -> break
  :: else ->
     event++;
     position = tail;
     do
     :: true ->
        seen = turn[position % CELLS];
        if
        :: seen < EMPTY(position) -> dropped++; break
        :: seen == EMPTY(position) ->
#ifdef NO_SWAP
           has_it = tail == position;
           if
           :: has_it -> tail = position + 1
           :: else -> position = tail
           fi;
#else
           atomic {
             has_it = tail == position;
             if
             :: has_it -> tail++
             :: else -> position = tail
             fi
           };
#endif
           if
           :: has_it ->
#ifdef TURN_FIRST
              turn[position % CELLS] = EMPTY(position) + 1;
              fill();
#else
              fill();
              turn[position % CELLS] = EMPTY(position) + 1;
#endif
              break
           :: else
           fi
        :: seen > EMPTY(position) ->
#ifdef NO_LAPS
           dropped++; break
#else
           position = tail
#endif
        fi
     od
  od;
  ended++
}

proctype Writer() {
  byte head, last[PUTTERS], seen;
  bool all_ended;
  do
  :: all_ended = ended == PUTTERS;
     if
     :: turn[head % CELLS] == FULL ->
#ifdef EMPTY_FIRST
        turn[head % CELLS] = NEXT_EMPTY(FULL);
#endif
        atomic { at[head % CELLS]++; assert(at[head % CELLS] == 1); seen = left[head % CELLS] };
        atomic {
          assert(seen == right[head % CELLS]);
          at[head % CELLS]--;
          assert(seen % 16 > last[seen / 16]);
          last[seen / 16] = seen % 16;
          written++
        };
#ifndef EMPTY_FIRST
        turn[head % CELLS] = NEXT_EMPTY(FULL);
#endif
        head++
     :: turn[head % CELLS] != FULL ->
        if
        :: all_ended -> break
        :: else
        fi
     fi;
     all_ended = false; seen = 0
  od;
  assert(written + dropped == PUTTERS * EVENTS);
  ended++
}

init {
  atomic { run Putter(0); run Putter(1); run Writer() }
  timeout;
  assert(ended == PUTTERS + 1)
}
