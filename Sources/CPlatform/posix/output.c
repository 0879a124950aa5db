#if !defined(_WIN32)
#include "../common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(F_OFD_SETLK)
static int set_lock(int descriptor, int command, short *type) {
  struct flock lock = {.l_type = *type, .l_whence = SEEK_SET};
  int result = fcntl(descriptor, command, &lock);
  *type = lock.l_type;
  return result;
}

/* Takes the lock that says who writes the file. False: another writer has it. It is a write lock, which nobody can take who
   may only read the file. (flock gives anybody the same lock.) A reader's lock, which is in its way, too, is passed over: then
   no lock tells two writers of one name apart, but one that may only read does not keep a program from its trace. */
static int take_lock(int descriptor) {
  while (1) {
    short type = F_WRLCK;
    if (set_lock(descriptor, F_OFD_SETLK, &type) == 0 || (errno != EAGAIN && errno != EACCES)) return 1;
    if (set_lock(descriptor, F_OFD_GETLK, &type) != 0 || type == F_RDLCK) return 1;
    if (type == F_WRLCK) return 0;
  }
}

static void give_lock(int descriptor) {
  short type = F_UNLCK;
  set_lock(descriptor, F_OFD_SETLK, &type);
}
#else
static int take_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }
static void give_lock(int descriptor) { flock(descriptor, LOCK_UN); }
#endif

/* Each end of the file is written over; so what allows only appending, as a pipe, is refused, without waiting for a reader.
   So is a symbolic link, which may name any file of the user's. */
int chime_output_open(chime_output *output, const char *name) {
  struct stat found;
  enum { FLAGS = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW };
  output->descriptor = open(name, FLAGS | O_EXCL, 0666);
  output->is_new = output->descriptor >= 0;
  if (!output->is_new && errno == EEXIST) output->descriptor = open(name, FLAGS, 0666);
  if (output->descriptor < 0 || fstat(output->descriptor, &found) != 0 || lseek(output->descriptor, 0, SEEK_CUR) < 0)
    return errno;
  output->device = (uint64_t)found.st_dev;
  output->inode = found.st_ino;
  /* Some file systems know no locks. */
  if (!S_ISREG(found.st_mode) || take_lock(output->descriptor)) return 0;
  close(output->descriptor);
  output->descriptor = -1;
  output->is_new = 0; /* who has the lock may have opened it first */
  return EBUSY;
}

int chime_output_share(chime_output *output, chime_output *own) {
  if (own->device != output->device || own->inode != output->inode) return EBUSY;
  output->descriptor = fcntl(own->descriptor, F_DUPFD_CLOEXEC, 0);
  if (output->descriptor < 0) return errno;
  own->is_shared = 1;
  return 0;
}

int chime_output_write(const chime_output *output, const char *bytes, size_t count, int64_t at) {
  size_t done = 0;
  while (done < count) {
    ssize_t got = pwrite(output->descriptor, bytes + done, count - done, (off_t)at + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : ENOSPC;
    done += (size_t)got;
  }
  return 0;
}

int chime_output_cut(const chime_output *output, int64_t length) {
  return ftruncate(output->descriptor, (off_t)length) == 0 ? 0 : errno;
}

/* A child may have inherited the descriptor, which would keep the lock. */
void chime_output_close(const chime_output *output) {
  if (!output->is_shared) give_lock(output->descriptor);
  close(output->descriptor);
}

void chime_output_undo(const chime_output *output, const char *name) {
  if (output->is_new) unlink(name);
  if (output->descriptor >= 0) close(output->descriptor);
}

/* It may have been opened after the fork had copied the table of descriptors, before it copied the memory: then the number
   is the host's. */
void chime_output_close_inherited(const chime_output *output) {
  struct stat found;
  if (fstat(output->descriptor, &found) == 0 && (uint64_t)found.st_dev == output->device &&
      found.st_ino == output->inode)
    close(output->descriptor);
}
#endif
