/* What Chime's Swift code sees of Windows' C library (windows.mk): no more than it calls, and nothing that has a long in it. */
#ifndef CHIME_WINDOWS_ERRNO_H
#define CHIME_WINDOWS_ERRNO_H

int *_errno(void);
#define errno (*_errno())

#endif
