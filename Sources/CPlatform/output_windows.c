#if defined(_WIN32)
#include "output.h"

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
  return output->descriptor >= 0 ? 0 : errno;
}

/* Nothing is locked there. */
int chime_output_share(chime_output *output, chime_output *own) {
  (void)output, (void)own;
  return EBUSY;
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

void chime_output_close(const chime_output *output) { _close(output->descriptor); }

void chime_output_undo(const chime_output *output, const char *name) {
  WCHAR wide[LONGEST_NAME];
  if (output->descriptor >= 0) _close(output->descriptor);
  if (output->is_new && widen(name, wide)) _wunlink(wide);
}

void chime_output_close_inherited(const chime_output *output) { (void)output; }
#endif
