/*
 * image.c - maps libchime.0.dylib into a process of Linux: its segments, with their protections in the end; what it imports,
 * bound to the shims or to glibc; its own addresses, moved; the names it exports, put where entries.S leads; its
 * initialisers, run. So libchime.so here is that dylib, and a program of Linux that is linked with it runs Apple's code.
 *
 * CHIME_DYLIB names the file.
 */
#define _GNU_SOURCE
#include "shims.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* <mach-o/loader.h>, <mach-o/fixup-chains.h>, <mach-o/nlist.h>, as far as they are needed. */
enum {
  MAGIC_64 = (int)0xfeedfacf,
  SEGMENT_64 = 0x19,
  SYMTAB = 2,
  CHAINED_FIXUPS = (int)0x80000034,
  THREAD_LOCAL_REGULAR = 0x11,
  INIT_FUNC_OFFSETS = 0x16,
  POINTER_64 = 2,
  POINTER_64_OFFSET = 6,
  NO_CHAIN = 0xffff,
};

typedef struct segment {
  uint32_t command, size;
  char name[16];
  uint64_t address, bytes, file_offset, file_bytes;
  int32_t most_protection, protection;
  uint32_t sections, flags;
} segment;

typedef struct section {
  char name[16], segment[16];
  uint64_t address, bytes;
  uint32_t offset, alignment, relocations, relocation_count, flags, reserved[3];
} section;

typedef struct fixups_header {
  uint32_t version, starts, imports, symbols, import_count, import_format, symbol_format;
} fixups_header;

typedef struct symbol {
  uint32_t name;
  uint8_t type, section;
  uint16_t description;
  uint64_t value;
} symbol;

/* Written by entries.sh. */
extern void *chime_entries[];
extern const char *const chime_entry_names[];
extern const int chime_entry_count;

char *image_base;
size_t image_bytes;
char image_path[500];
static const char *file;

static void require(int condition, const char *what, const char *name) {
  if (condition) return;
  fprintf(stderr, "loading %s: %s%s\n", image_path, what, name);
  abort();
}

/* ---- What it imports -------------------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void call_unbound(const char *name) {
  fprintf(stderr, "%s was called, for which there is nothing on Linux\n", name);
  abort();
}

/* A function that ends the process when it is called, and not before: much is imported that a test never comes to. */
static const void *unbound(const char *name) {
  static uint32_t *page;
  static int used;
  enum { WORDS = 8 };
  uint32_t *code;
  uint64_t data[2] = {(uint64_t)strdup(name), (uint64_t)call_unbound};
  if (page == NULL) page = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  code = page + WORDS * used++;
  code[0] = 0x58000080; /* ldr x0, the name, 16 bytes on */
  code[1] = 0x580000b0; /* ldr x16, the function, 20 bytes on */
  code[2] = 0xd61f0200; /* br x16 */
  code[3] = 0xd503201f; /* nop */
  memcpy(code + 4, data, sizeof data);
  __builtin___clear_cache((char *)code, (char *)(code + WORDS));
  return code;
}

/* A function's name has an underscore in front there. Where there is no shim, glibc's own is as good. */
static const void *find(const char *name) {
  char shim[200];
  const void *found;
  snprintf(shim, sizeof shim, "s%s", name);
  found = dlsym(RTLD_DEFAULT, shim);
  if (found == NULL) found = dlsym(RTLD_DEFAULT, name + 1);
  return found != NULL ? found : unbound(name);
}

/* ---- Addresses in it -------------------------------------------------------------------------------------------- */

/* Each page has a chain of its pointers: one word each, which says what it is and how far it is to the next. */
static void fix_up(const char *at, const void **imports) {
  const uint32_t *starts = (const uint32_t *)at;
  for (uint32_t i = 0; i < starts[0]; i++) {
    const char *in = at + starts[1 + i];
    uint16_t page_bytes, format, pages, first;
    uint64_t segment_offset;
    if (starts[1 + i] == 0) continue;
    memcpy(&page_bytes, in + 4, 2);
    memcpy(&format, in + 6, 2);
    memcpy(&segment_offset, in + 8, 8);
    memcpy(&pages, in + 20, 2);
    require(format == POINTER_64 || format == POINTER_64_OFFSET, "pointers of another format", "");
    for (uint16_t page = 0; page < pages; page++) {
      uint32_t *word;
      memcpy(&first, in + 22 + 2 * page, 2);
      if (first == NO_CHAIN) continue;
      word = (uint32_t *)(image_base + segment_offset + (uint64_t)page * page_bytes + first);
      for (uint64_t raw, next = 1; next != 0; word += next) {
        uint64_t value;
        memcpy(&raw, word, 8);
        next = raw >> 51 & 0xfff;
        if (raw >> 63) {
          value = (uint64_t)imports[raw & 0xffffff] + (raw >> 24 & 0xff);
        } else { /* the upper byte is the pointer's own: literal strings have flags there */
          value = ((uint64_t)image_base + (raw & 0xfffffffff)) | (raw >> 36 & 0xff) << 56;
        }
        memcpy(word, &value, 8);
      }
    }
  }
}

static void bind_all(uint32_t offset) {
  const char *at = file + offset;
  const fixups_header *header = (const void *)at;
  const uint32_t *words = (const void *)(at + header->imports);
  const void **imports = calloc(header->import_count + 1, sizeof *imports);
  require(header->import_format == 1, "imports of another format", "");
  for (uint32_t i = 0; i < header->import_count; i++) imports[i] = find(at + header->symbols + (words[i] >> 9));
  fix_up(at + header->starts, imports);
  free(imports);
}

/* ---- The whole -------------------------------------------------------------------------------------------------- */

static const char *next_command(const char *command) { return command + ((const uint32_t *)command)[1]; }

static int is_mapped(const char *command) {
  const segment *it = (const void *)command;
  return it->command == SEGMENT_64 && strcmp(it->name, "__LINKEDIT") != 0;
}

__attribute__((constructor)) static void load(void) {
  const uint32_t *header;
  const char *first, *command;
  const section *initialisers = NULL;
  uint32_t count, fixups = 0, symbols = 0, symbol_count = 0, names = 0;
  struct stat status;
  char *memory;
  const char *name = getenv("CHIME_DYLIB");
  int descriptor;
  snprintf(image_path, sizeof image_path, "%s", name != NULL ? name : "libchime.0.dylib");
  descriptor = open(image_path, O_RDONLY | O_CLOEXEC);
  require(descriptor >= 0 && fstat(descriptor, &status) == 0, "it cannot be opened; CHIME_DYLIB says where it is", "");
  file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  header = (const void *)file;
  require(file != MAP_FAILED && (int)header[0] == MAGIC_64, "it is no Mach-O file of 64 bits", "");
  count = header[4];
  first = file + 32;

  for (command = first; command < first + header[5]; command = next_command(command)) {
    const uint32_t *words = (const void *)command;
    const segment *it = (const void *)command;
    if (is_mapped(command) && it->address + it->bytes > image_bytes) image_bytes = it->address + it->bytes;
    if ((int)words[0] == CHAINED_FIXUPS) fixups = words[2];
    if (words[0] == SYMTAB) symbols = words[2], symbol_count = words[3], names = words[4];
  }
  memory = mmap(NULL, image_bytes + 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  image_base = (char *)(((uintptr_t)memory + 16383) & ~(uintptr_t)16383);
  for (command = first; count > 0; command = next_command(command), count--) {
    const segment *it = (const void *)command;
    const section *sections = (const void *)(it + 1);
    if (!is_mapped(command)) continue;
    memcpy(image_base + it->address, file + it->file_offset, it->file_bytes);
    for (uint32_t i = 0; i < it->sections; i++) {
      if ((sections[i].flags & 0xff) == INIT_FUNC_OFFSETS) initialisers = &sections[i];
      require((sections[i].flags & 0xff) != THREAD_LOCAL_REGULAR, "thread-local variables with values: not done", "");
    }
  }
  bind_all(fixups);
  __builtin___clear_cache(image_base, image_base + image_bytes);

  for (uint32_t i = 0; i < symbol_count; i++) {
    const symbol *it = (const symbol *)(file + symbols) + i;
    if ((it->type & 0x1f) != 0x0f) continue; /* defined here, for others */
    for (int entry = 0; entry < chime_entry_count; entry++) {
      if (strcmp(file + names + it->name + 1, chime_entry_names[entry]) == 0)
        chime_entries[entry] = image_base + it->value;
    }
  }
  for (int i = 0; i < chime_entry_count; i++) require(chime_entries[i] != NULL, "there is no ", chime_entry_names[i]);

  for (command = first; command < first + header[5]; command = next_command(command)) {
    const segment *it = (const void *)command;
    int protection = it->protection;
    if (!is_mapped(command)) continue;
    if (strcmp(it->name, "__DATA_CONST") == 0) protection = PROT_READ; /* as dyld has it once it is fixed up */
    require(mprotect(image_base + it->address, it->bytes, protection) == 0, "mprotect of ", it->name);
  }
  for (uint32_t i = 0; initialisers != NULL && i < initialisers->bytes / 4; i++) {
    uint32_t offset;
    memcpy(&offset, image_base + initialisers->address + 4 * i, 4);
    ((void (*)(void))(uintptr_t)(image_base + offset))();
  }
}
