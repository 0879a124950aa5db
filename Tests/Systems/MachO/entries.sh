#!/bin/sh
# Writes the assembly of libchime.so's functions: each goes on at the function of its name in the dylib. Its arguments are
# the names, with the underscore that they have there.
set -eu
echo '.text'
i=0
for name; do
  name=${name#_}
  echo ".globl $name
.type $name, %function
$name:
  adrp x16, chime_entries + $((8 * i))
  ldr x16, [x16, #:lo12:chime_entries + $((8 * i))]
  br x16
.size $name, . - $name"
  i=$((i + 1))
done
echo '.section .rodata'
for name; do echo "name_${name#_}: .asciz \"${name#_}\""; done
echo ".align 3
.globl chime_entry_count
.hidden chime_entry_count
chime_entry_count: .word $i
.section .data.rel.ro
.align 3
.globl chime_entry_names
.hidden chime_entry_names
chime_entry_names:"
for name; do echo "  .xword name_${name#_}"; done
echo ".bss
.align 3
.globl chime_entries
.hidden chime_entries
chime_entries: .skip $((8 * i))
.section .note.GNU-stack,\"\",%progbits"
