/* CHIME_VERSION_MATCHES() of headers of other versions, beside libraries of other versions. */
#include <chime.h>
#include <stdio.h>

#undef CHIME_VERSION_MAJOR
#undef CHIME_VERSION_MINOR
#undef CHIME_VERSION_PATCH
#define CHIME_VERSION_MAJOR row->header[0]
#define CHIME_VERSION_MINOR row->header[1]
#define CHIME_VERSION_PATCH row->header[2]

static uint32_t library;

uint32_t chime_version(void) { return library; }

int main(void) {
  static const struct {
    int header[3], library[3], matches;
  } * row, rows[] = {{{0, 1, 0}, {0, 1, 0}, 1}, {{0, 1, 0}, {0, 1, 7}, 1}, {{0, 1, 1}, {0, 1, 0}, 0},
                     {{0, 1, 0}, {0, 2, 0}, 0}, {{0, 2, 0}, {0, 1, 9}, 0}, {{0, 1, 0}, {1, 0, 0}, 0},
                     {{1, 2, 0}, {1, 2, 0}, 1}, {{1, 2, 0}, {1, 9, 0}, 1}, {{1, 2, 0}, {1, 1, 9}, 0},
                     {{1, 2, 0}, {2, 0, 0}, 0}, {{1, 0, 0}, {0, 9, 0}, 0}};
  for (row = rows; row < rows + sizeof rows / sizeof rows[0]; row++) {
    library = (uint32_t)(row->library[0] << 16 | row->library[1] << 8 | row->library[2]);
    if (CHIME_VERSION_MATCHES() == row->matches) continue;
    printf("header %d.%d.%d, library %#x: not %d\n", row->header[0], row->header[1], row->header[2], library,
           row->matches);
    return 1;
  }
  return 0;
}
