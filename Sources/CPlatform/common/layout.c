#include "layout.h"

#include <stdint.h>

/*
 * Offsets and sizes in bytes. Swift lays these types out (MemoryLayout.offset(of:) is not in Embedded Swift), and
 * Tests/C/headers/dump.py compares what a debugger finds by them with what chime_queue_dump says. install/chime.gdb knows
 * the members by their order: new ones come last.
 */
typedef struct chime_layout {
  char magic[16];
  const void *queues; /* pointers to control blocks, from index 1 on, up to the first NULL */
  const void *chunks; /* pairs of pointers, to a chunk of slots and to its control block, up to the first NULL */
  uint32_t control_id, control_virtual_now, control_traits, control_clock, control_core;
  uint32_t core_id, core_label; /* the label is a Swift string */
  uint32_t counters_late, counters_missed, counters_passes, counters_merged, counters_last_pass, counters_buckets;
  uint32_t slots_in_chunk, slot_size;
  uint32_t slot_word, slot_deadline, slot_period, slot_side_record, slot_version_and_flags, slot_sequence;
  uint32_t side_missed, side_sequence_high, side_label;
} chime_layout_record;

/* In memory that is written to, so that it is in every core file. */
static chime_layout_record chime_layout __attribute__((used)) = {
    .magic = "chime layout 1\n",
    /* QueueControlBlockStorage; its core is a pointer, and the lowest of its traits says that it is virtual */
    .control_id = 0,
    .control_virtual_now = 16,
    .control_traits = 28,
    .control_clock = 32,
    .control_core = 416,
    /* QueueCore, and its QueueCounters */
    .core_id = 16,
    .core_label = 32,
    .counters_late = 48,
    .counters_missed = 56,
    .counters_passes = 64,
    .counters_merged = 80,
    .counters_last_pass = 88,
    .counters_buckets = 32,
    /* TimerRecord */
    .slots_in_chunk = 256,
    .slot_size = 64,
    .slot_word = 0,
    .slot_deadline = 8,
    .slot_period = 16,
    .slot_side_record = 40,
    .slot_version_and_flags = 48,
    .slot_sequence = 56,
    /* TimerSideRecord */
    .side_missed = 16,
    .side_sequence_high = 24,
    .side_label = 56,
};

void chime_layout_note_queues(const void *table) { chime_layout.queues = table; }
void chime_layout_note_chunks(const void *table) { chime_layout.chunks = table; }
