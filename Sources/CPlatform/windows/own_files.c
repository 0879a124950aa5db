/* Here they are handles, which no child inherits. */
#if defined(_WIN32)
#include "own_files.h"

#include "handles.h"

void chime_own_file(int file) { (void)file; }
void chime_own_file_close(int file) {
  chime_watch_end(chime_handle_of_file(file));
  CloseHandle(chime_handle_of_file(file));
}
void chime_own_files_close_inherited(void) {}

/* Their number is limited by memory alone. */
int chime_open_for_a_moment(int count) { return (void)count, 0; }

bool chime_wait_for_files(int first, int second, int milliseconds) {
  HANDLE handles[2];
  DWORD count = 0, limit = milliseconds < 0 ? INFINITE : (DWORD)milliseconds;
  if (first >= 0) handles[count++] = chime_handle_of_file(first);
  if (second >= 0) handles[count++] = chime_handle_of_file(second);
  if (count == 0) {
    Sleep(limit);
    return false;
  }
  WaitForMultipleObjects(count, handles, FALSE, limit);
  return second >= 0 && WaitForSingleObject(chime_handle_of_file(second), 0) == WAIT_OBJECT_0;
}
#endif
