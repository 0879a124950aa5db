/*
 * trim_libdispatch.c - takes the table of queue attributes out of libdispatch's init.o, whose name is the argument.
 *
 * The attributes of a dispatch queue are encoded in an address within that table. What is there, 4,032 times the same 16
 * bytes, is looked at only for an address outside of it, which Chime never passes. With its relocations it is 161 KB, more
 * than a fifth of libchime, and the dynamic linker writes to 16 pages each time that the library is loaded. Here the table
 * moves to .bss, where it is nothing but addresses. An object file that does not look as expected is left as it is, and the
 * program fails.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "_dispatch_queue_attrs"

static unsigned char *file;
static Elf64_Shdr *sections;

static void refuse(const char *why) {
  fprintf(stderr, "trim_libdispatch: %s\n", why);
  exit(1);
}

static const char *name_in(const Elf64_Shdr *strings, Elf64_Word offset) {
  return (const char *)file + strings->sh_offset + offset;
}

static Elf64_Shdr *section_named(const char *name) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
  for (int i = 1; i < header->e_shnum; i++) {
    if (strcmp(name_in(&sections[header->e_shstrndx], sections[i].sh_name), name) == 0) return &sections[i];
  }
  refuse("a section is missing");
  return NULL;
}

static long load(const char *path) {
  FILE *stream = fopen(path, "rb");
  if (stream == NULL || fseek(stream, 0, SEEK_END) != 0) refuse("no such file");
  long size = ftell(stream);
  rewind(stream);
  file = malloc((size_t)size);
  if (file == NULL || fread(file, 1, (size_t)size, stream) != (size_t)size) refuse("cannot be read");
  fclose(stream);
  return size;
}

static void store(const char *path, long size) {
  FILE *stream = fopen(path, "wb");
  if (stream == NULL || fwrite(file, 1, (size_t)size, stream) != (size_t)size || fclose(stream) != 0) {
    refuse("cannot be written");
  }
}

int main(int count, char **arguments) {
  if (count != 2) refuse("one argument: the object file");
  long size = load(arguments[1]);
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_REL) refuse("no object file");
  sections = (Elf64_Shdr *)(file + header->e_shoff);

  Elf64_Shdr *data = section_named(".data.rel.ro"), *relocated = section_named(".rela.data.rel.ro");
  Elf64_Shdr *zeros = section_named(".bss"), *symbols = section_named(".symtab");
  Elf64_Sym *first = (Elf64_Sym *)(file + symbols->sh_offset), *end = first + symbols->sh_size / sizeof *first;
  Elf64_Sym *table = first;
  while (table < end && strcmp(name_in(&sections[symbols->sh_link], table->st_name), TABLE) != 0) table++;
  if (table == end || &sections[table->st_shndx] != data) refuse("no table of attributes");
  const Elf64_Addr from = table->st_value, length = table->st_size, behind = from + length;
  if (length % data->sh_addralign != 0 || behind > data->sh_size) refuse("a table of another size");

  /* Names lead to what moves. A distance from the section's beginning does so only from one place in it to another. */
  for (int i = 1; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_RELA) continue;
    Elf64_Rela *r = (Elf64_Rela *)(file + sections[i].sh_offset), *last = r + sections[i].sh_size / sizeof *r,
               *kept = r;
    for (; r < last; r++) {
      const Elf64_Sym *to = &first[ELF64_R_SYM(r->r_info)];
      if (ELF64_ST_TYPE(to->st_info) == STT_SECTION && &sections[to->st_shndx] == data) {
        if (&sections[i] != relocated || ELF64_R_TYPE(r->r_info) != R_X86_64_64) refuse("an unknown relocation");
        if ((Elf64_Addr)r->r_addend >= behind) r->r_addend -= (Elf64_Sxword)length;
      }
      if (&sections[i] == relocated && r->r_offset >= from && r->r_offset < behind) continue;
      if (&sections[i] == relocated && r->r_offset >= behind) r->r_offset -= length;
      *kept++ = *r;
    }
    sections[i].sh_size = (Elf64_Xword)((unsigned char *)kept - (file + sections[i].sh_offset));
  }

  if (zeros->sh_addralign < data->sh_addralign) zeros->sh_addralign = data->sh_addralign;
  const Elf64_Addr place = (zeros->sh_size + data->sh_addralign - 1) / data->sh_addralign * data->sh_addralign;
  for (Elf64_Sym *symbol = first; symbol < end; symbol++) {
    if (symbol->st_shndx >= SHN_LORESERVE || &sections[symbol->st_shndx] != data) continue;
    if (symbol->st_value >= behind) {
      symbol->st_value -= length;
    } else if (symbol->st_value >= from) {
      symbol->st_shndx = (Elf64_Section)(zeros - sections);
      symbol->st_value += place - from;
    }
  }
  zeros->sh_size = place + length;
  unsigned char *content = file + data->sh_offset;
  memmove(content + from, content + behind, data->sh_size - behind);
  data->sh_size -= length;
  store(arguments[1], size);
  return 0;
}
