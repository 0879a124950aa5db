#if defined(_WIN32)
#include "platform.h"

#include "handles.h"
#include "interpreter.h"

#include <psapi.h>

unsigned char __stdcall SystemFunction036(void *bytes, unsigned long count); /* RtlGenRandom, of advapi32 */

void *chime_file_of(const void *address) {
  HMODULE found = 0;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, address,
                     &found);
  return found;
}

/* FreeLibrary has no effect from then on. */
void chime_stay_loaded(const void *address) {
  HMODULE found;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, address, &found);
}

/* A program with more rights than its user has is started by a service of the system's, with an environment that is not
   that user's program's. */
const char *chime_getenv(const char *name) { return getenv(name); }

int64_t chime_process_number(void) { return GetCurrentProcessId(); }

bool chime_fill_at_random(void *bytes, size_t count) { return SystemFunction036(bytes, (unsigned long)count); }

void chime_write_error(const char *text, size_t length) {
  DWORD written;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)length, &written, 0);
}

/* Whichever library of the process has it: python313.dll and the like. */
chime_interpreter_question chime_find_interpreter(void) {
  HMODULE modules[1024];
  DWORD bytes = 0, i;
  if (!K32EnumProcessModules(GetCurrentProcess(), modules, sizeof modules, &bytes)) return 0;
  for (i = 0; i < bytes / sizeof *modules && i < 1024; i++) {
    FARPROC found = GetProcAddress(modules[i], "Py_IsFinalizing");
    if (found == 0) found = GetProcAddress(modules[i], "_Py_IsFinalizing");
    if (found == 0) continue;
    chime_stay_loaded((const void *)(uintptr_t)found);
    return (chime_interpreter_question)(uintptr_t)found;
  }
  return 0;
}
#endif
