/*
 * Pages: chime_version CHIME_VERSION chime-versions
 * Output:
 *   the library has what the header declares: yes
 */
#include <chime.h>
#include <stdio.h>

int main(void) {
  /* For programs that look functions up by name; those that are
     linked do not start otherwise. */
  printf("the library has what the header declares: %s\n",
         CHIME_VERSION_MATCHES() ? "yes" : "no");
  return chime_version() >> 16 != CHIME_VERSION_MAJOR;
}
