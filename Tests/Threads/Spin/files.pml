/*
 * P9c: the descriptors that Chime opens for itself, as a forked child finds them.
 *
 * Two threads open and close some, a third opens files of the host's under numbers that are free. Numbers share counts. At
 * any moment the process forks: one step copies all that there is. The child's only thread looks at the numbers whose
 * count is not 0, and closes what bears the mark.
 *
 * It closes every descriptor that was counted when the process forked, and nothing of the host's.
 *
 * Mutations (-D): NO_MARK, FORGET_FIRST, A_FLAG.
 */

#define NUMBERS 4
#define COUNTS 2

mtype = { nothing, own, hosts };

typedef Process {
  mtype is[NUMBERS];   /* what is open under a number */
  byte count[COUNTS];
  bool noted[NUMBERS]; /* ghost: it is open, and was counted */
}

Process parent, child;
byte ended;

/* The lowest number that is free, as the system gives it. */
inline open_as(kind) {
  atomic {
    file = 0;
    do
    :: parent.is[file] == nothing -> parent.is[file] = kind; break
    :: else -> file++
    od
  }
}

#ifdef A_FLAG
#define note(file) parent.count[file % COUNTS] = 1
#define forget(file) parent.count[file % COUNTS] = 0
#else
#define note(file) parent.count[file % COUNTS]++
#define forget(file) parent.count[file % COUNTS]--
#endif

proctype Opener() {
  byte file, rounds;
  do
  :: rounds == 3 -> break
  :: else ->
     rounds++;
     open_as(own);
     atomic { note(file); parent.noted[file] = true }
#ifdef FORGET_FIRST
     forget(file);
     atomic { parent.is[file] = nothing; parent.noted[file] = false }
#else
     atomic { parent.is[file] = nothing; parent.noted[file] = false }
     forget(file)
#endif
  od;
  ended++
}

proctype Host() {
  byte file;
  open_as(hosts);
  parent.is[file] = nothing;
  open_as(hosts);
  ended++
}

proctype Fork() {
  byte i;
  atomic {
    /* At one instant; what comes after it happens in another process. */
    for (i : 0 .. NUMBERS - 1) { child.is[i] = parent.is[i]; child.noted[i] = parent.noted[i] }
    for (i : 0 .. COUNTS - 1) { child.count[i] = parent.count[i] }

    for (i : 0 .. NUMBERS - 1) {
      if
#ifdef NO_MARK
      :: child.count[i % COUNTS] > 0 && child.is[i] != nothing ->
#else
      :: child.count[i % COUNTS] > 0 && child.is[i] == own ->
#endif
         assert(child.is[i] == own);
         child.is[i] = nothing
      :: else
      fi
    }
    for (i : 0 .. NUMBERS - 1) { assert(!child.noted[i] || child.is[i] == nothing) }
    ended++
  }
}

init {
  atomic {
    byte i;
    for (i : 0 .. NUMBERS - 1) { parent.is[i] = nothing }
    run Opener(); run Opener(); run Host(); run Fork()
  }
  timeout;
  assert(ended == 4)
}
