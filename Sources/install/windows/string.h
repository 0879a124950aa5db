/* What Chime's Swift code sees of Windows' C library (windows.mk). */
#ifndef CHIME_WINDOWS_STRING_H
#define CHIME_WINDOWS_STRING_H

#include <stddef.h>

size_t strlen(const char *text);

#endif
