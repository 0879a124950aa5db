/* Here they are kqueues, which a fork does not keep. */
#if defined(__APPLE__)
#include "own_files.h"

#include <unistd.h>

void chime_own_file(int file) { (void)file; }
void chime_own_file_close(int file) { close(file); }
void chime_own_files_close_inherited(void) {}
#endif
