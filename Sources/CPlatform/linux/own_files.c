#if defined(__linux__)
#include "own_files.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* What marks an open file as Chime's, and survives a fork: the signal that it would send, and the process that it would
   send it to. (None of them can actually be made to send one. They are one inode, so that device and inode do not tell
   them apart; P9b.) */
enum { MARK = 61 };
/* The process that opens them: a fork changes it when the child opens its first. */
static int maker;
/* The inode that all of them are. */
static dev_t device;
static ino_t inode;

/* How many are open under the numbers that end in these bits; and the highest number. A descriptor is counted after it was
   opened and, since its number is another one's at once, until after it was closed: what the count says too much, the
   mark says right (P9c). */
enum { NUMBERS = 1 << 14 };
static uint32_t noted[NUMBERS]; /* 32 bits: of fewer not every processor has an atomic sum */
static int highest;

void chime_own_file(int file) {
  int known = __atomic_load_n(&highest, __ATOMIC_RELAXED);
  struct stat status;
  if (fstat(file, &status) == 0) {
    __atomic_store_n(&device, status.st_dev, __ATOMIC_RELAXED);
    __atomic_store_n(&inode, status.st_ino, __ATOMIC_RELAXED);
  }
  fcntl(file, F_SETSIG, MARK);
  fcntl(file, F_SETOWN, getpid());
  __atomic_store_n(&maker, getpid(), __ATOMIC_RELAXED);
  while (known < file && !__atomic_compare_exchange_n(&highest, &known, file, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  __atomic_fetch_add(&noted[file % NUMBERS], 1, __ATOMIC_RELEASE);
}

void chime_own_file_close(int file) {
  close(file);
  __atomic_fetch_sub(&noted[file % NUMBERS], 1, __ATOMIC_RELEASE);
}

static int is_own(int file) {
  struct stat status;
  int owner;
  if (fcntl(file, F_GETSIG) != MARK) return 0;
  owner = fcntl(file, F_GETOWN);
  /* 0: the process that opened it has ended. */
  if (owner != 0 && owner != __atomic_load_n(&maker, __ATOMIC_RELAXED)) return 0;
  return fstat(file, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void chime_own_files_close_inherited(void) {
  int bits, file;
  for (bits = 0; bits < NUMBERS; bits++) {
    if (noted[bits] == 0) continue;
    noted[bits] = 0;
    for (file = bits; file <= highest; file += NUMBERS) {
      if (is_own(file)) close(file);
    }
  }
  highest = 0;
}
#endif
