#if !defined(_WIN32)
#include "own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

int chime_open_for_a_moment(int count) {
  int file, error;
  if (count <= 0) return 0;
  file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  error = chime_open_for_a_moment(count - 1);
  close(file);
  return error;
}

bool chime_wait_for_files(int first, int second, int milliseconds) {
  struct pollfd files[2] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  return poll(files, 2, milliseconds) > 0 && files[1].revents != 0;
}
#endif
