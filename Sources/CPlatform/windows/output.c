#if defined(_WIN32)
#include "../common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <windows.h>

enum { LONGEST_NAME = 4096 };

/* The name is UTF-8. False, and errno, if it is none, or too long. */
static bool widen(const char *name, WCHAR wide[LONGEST_NAME]) {
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, LONGEST_NAME) > 0) return true;
  errno = EINVAL;
  return false;
}

static HANDLE handle_of(const chime_output *output) { return (HANDLE)_get_osfhandle(output->descriptor); }

/* A byte far behind all that is written: others may read the file. */
static OVERLAPPED lock_place(void) { return (OVERLAPPED){.Offset = 0xfffffffe, .OffsetHigh = 0x7fffffff}; }

/* Other programs may read it meanwhile. */
int chime_output_open(chime_output *output, const char *name) {
  enum { FLAGS = _O_WRONLY | _O_CREAT | _O_BINARY | _O_NOINHERIT };
  WCHAR wide[LONGEST_NAME];
  output->descriptor = -1;
  output->is_new = false;
  if (!widen(name, wide)) return errno;
  output->descriptor = _wopen(wide, FLAGS | _O_EXCL, _S_IREAD | _S_IWRITE);
  output->is_new = output->descriptor >= 0;
  if (!output->is_new && errno == EEXIST) output->descriptor = _wopen(wide, FLAGS, _S_IREAD | _S_IWRITE);
  if (output->descriptor < 0) return errno;
  BY_HANDLE_FILE_INFORMATION found;
  if (GetFileInformationByHandle(handle_of(output), &found)) {
    output->device = found.dwVolumeSerialNumber;
    output->inode = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow;
  }
  OVERLAPPED place = lock_place();
  if (LockFileEx(handle_of(output), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place) ||
      (GetLastError() != ERROR_LOCK_VIOLATION && GetLastError() != ERROR_IO_PENDING))
    return 0;
  _close(output->descriptor);
  output->descriptor = -1;
  output->is_new = false; /* who has the lock may have opened it first */
  return EBUSY;
}

int chime_output_share(chime_output *output, chime_output *own) {
  if (own->device != output->device || own->inode != output->inode) return EBUSY;
  output->descriptor = _dup(own->descriptor);
  if (output->descriptor < 0) return errno;
  SetHandleInformation(handle_of(output), HANDLE_FLAG_INHERIT, 0);
  own->is_shared = 1;
  return 0;
}

int chime_output_write(const chime_output *output, const char *bytes, size_t count, int64_t at) {
  size_t done = 0;
  if (_lseeki64(output->descriptor, at, 0) < 0) return errno;
  while (done < count) {
    int got = _write(output->descriptor, bytes + done, (unsigned)(count - done));
    if (got <= 0) return got < 0 ? errno : ENOSPC;
    done += (size_t)got;
  }
  return 0;
}

int chime_output_cut(const chime_output *output, int64_t length) { return _chsize_s(output->descriptor, length); }

void chime_output_close(const chime_output *output) {
  OVERLAPPED place = lock_place();
  if (!output->is_shared) UnlockFileEx(handle_of(output), 0, 1, 0, &place);
  _close(output->descriptor);
}

void chime_output_undo(const chime_output *output, const char *name) {
  WCHAR wide[LONGEST_NAME];
  if (output->descriptor >= 0) _close(output->descriptor);
  if (output->is_new && widen(name, wide)) _wunlink(wide);
}

void chime_output_close_inherited(const chime_output *output) { (void)output; }
#endif
