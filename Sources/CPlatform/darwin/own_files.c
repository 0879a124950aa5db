/* Here they are kqueues, which a fork does not keep. */
#if defined(__APPLE__)
#include "own_files.h"

#include <unistd.h>

#include "step_file.h"

void chime_own_file(int file) { (void)file; }
void chime_own_file_close(int file) {
  int steps = chime_step_file_of(file);
  if (steps >= 0) chime_step_file_close(steps);
  close(file);
}
void chime_own_files_close_inherited(void) {}
#endif
