/* Prints CHIME_VERSION_MATCHES() of the header it is compiled with, beside a library of version LIBRARY. */
#include <chime.h>
#include <stdio.h>

uint32_t chime_version(void) { return LIBRARY; }

int main(void) {
  printf("%d\n", CHIME_VERSION_MATCHES());
  return 0;
}
