/*
 * arguments.c - the second fuzz target: every function of chime.h with arguments from the bytes, in no sensible order.
 *
 * Nothing may crash or hang; each answer is one that the function's comment names; a call that fails leaves its
 * out-parameters and everything else as they were; each context is finalized once if it was accepted, and never if it
 * was not. Exempt: pointers to nowhere, and waits without end: timeouts are cut to a millisecond, a stop is asked for
 * before every chime_queue_run and chime_main_run, and a sleep ends soon.
 */
#include "world.h"

#include <errno.h>

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void make_queue(bytes *input, int function) {
  uint8_t form = take_byte(input);
  chime_queue_options *options = queue_options_from(input);
  chime_queue_t id = UNTOUCHED;
  chime_queue_t *out = (form & 31) == 31 ? NULL : &id;
  chime_status status;
  int kind = CHIME_QUEUE_VIRTUAL;
  statuses permitted = STATUS(CHIME_OK) | FAILS(ARGUMENT, CHIME_ERROR_UNSUPPORTED, CHIME_ERROR_PERMISSION,
                                                CHIME_ERROR_LIMIT, CHIME_ERROR_NO_MEMORY, CHIME_ERROR_RESOURCE);
  if (function == 0) {
    kind = (form & 32) != 0 ? CHIME_QUEUE_VIRTUAL : (form & 64) != 0 ? CHIME_QUEUE_HOST : (int32_t)take_byte(input) - 2;
    /* Threads are slow to make. */
    if (kind != CHIME_QUEUE_VIRTUAL && kind != CHIME_QUEUE_HOST && w.threads_made++ > 0) return;
    status = chime_queue_create(kind, options, out);
  } else {
    if (w.threads_made++ > 0) return;
    status = function == 1   ? chime_queue_main(options, out)
             : function == 2 ? chime_queue_global((int32_t)take_byte(input) - 2, options, out)
                             : chime_queue_wrap_dispatch(NULL, options, out);
    kind = function == 1 ? MAIN : CHIME_QUEUE_CONCURRENT;
  }
  expect_status("queue creation", status, permitted);
  if (kind == CHIME_QUEUE_VIRTUAL && function == 0 && out != NULL && status != CHIME_ERROR_UNSUPPORTED) {
    if ((status == CHIME_OK) != virtual_options_are_valid(options)) fail("options of a virtual queue: %d", (int)status);
  }
  if (status != CHIME_OK) {
    expect_number("a refused queue's id", (int64_t)id, (int64_t)UNTOUCHED);
  } else {
    remember_queue(id, kind);
  }
}

static void end_queue(bytes *input) {
  chime_queue_t queue = id_from(input);
  uint8_t form = take_byte(input);
  if ((form & 1) != 0) {
    statuses permitted = STATUS(CHIME_OK) | STATUS(CHIME_RUNNING) | FAILS(HANDLE);
    expect_status("queue_release", chime_queue_release(queue), permitted);
  } else {
    int64_t timeout = short_duration(input, 1);
    statuses permitted = STATUS(CHIME_OK) | STATUS(CHIME_TIMED_OUT) | FAILS(HANDLE, ARGUMENT);
    expect_status("shutdown", chime_queue_shutdown(queue, timeout), permitted);
  }
}

static void sync_or_async(bytes *input) {
  chime_queue_t queue = id_from(input);
  uint8_t form = take_byte(input);
  if ((form & 1) != 0) {
    statuses permitted = STATUS(CHIME_OK) | STATUS(CHIME_TIMED_OUT) |
                         FAILS(HANDLE, ARGUMENT, CHIME_ERROR_UNSUPPORTED, CHIME_ERROR_SHUT_DOWN);
    int64_t timeout = short_duration(input, 0);
    int calls = 0;
    chime_status status = chime_queue_sync(queue, (form & 2) != 0 ? NULL : count_call, &calls, timeout);
    expect_status("sync", status, permitted);
    expect_number("calls of sync's function", calls, status == CHIME_OK);
  } else {
    statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE, ARGUMENT, CHIME_ERROR_UNSUPPORTED, CHIME_ERROR_NO_MEMORY);
    owned *o = new_owned();
    int has_finalizer = (form & 4) == 0;
    chime_status status =
        chime_queue_async(queue, (form & 2) != 0 ? NULL : ignore_context, o, has_finalizer ? finalize : NULL);
    expect_status("async", status, permitted);
    accept(o, status == CHIME_OK && has_finalizer);
  }
}

/* Does not move time back or for longer than a few timers bear. LIMIT is an advance cut short: much has changed. */
static void advanced(chime_status status) {
  statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE, ARGUMENT, CHIME_ERROR_UNSUPPORTED, CHIME_ERROR_LIMIT);
  if (status == CHIME_ERROR_LIMIT) w.changes = 1;
  expect_status("advance", status, permitted);
}

static void move_time(bytes *input) {
  chime_queue_t queue = id_from(input);
  uint8_t form = take_byte(input);
  int64_t amount = take_duration(input);
  statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE, ARGUMENT, CHIME_ERROR_UNSUPPORTED);
  /* So that no repeating timer ticks a million times. */
  if (amount > 0 && form % 3 != 2) amount %= 2000;
  if (form % 3 == 0) {
    advanced(chime_queue_advance(queue, amount));
  } else if (form % 3 == 1) {
    int64_t now = 0;
    if (chime_queue_now(queue, &now) != CHIME_OK) now = 0;
    advanced(chime_queue_advance_to(queue, saturating_sum(now, amount)));
  } else {
    expect_status("jump", chime_queue_jump(queue, amount), permitted);
  }
}

static void ask_queue(bytes *input) {
  chime_queue_t queue = id_from(input);
  uint8_t form = take_byte(input);
  int64_t wide = UNTOUCHED;
  int32_t narrow = (int32_t)UNTOUCHED;
  int no_out = (form & 128) != 0;
  chime_status status;
  statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE, ARGUMENT);
  switch (form % 6) {
    case 0: status = chime_queue_now(queue, no_out ? NULL : &wide); break;
    case 1: status = chime_queue_next_deadline(queue, no_out ? NULL : &wide); break;
    case 2: status = chime_queue_fd(queue, no_out ? NULL : &narrow); break;
    case 3: status = chime_queue_poll_timeout(queue, no_out ? NULL : &narrow); break;
    case 4: {
      chime_queue_stats *stats = structure_from(input, sizeof *stats);
      remember_bytes(stats);
      status = chime_queue_get_stats(queue, no_out ? NULL : stats);
      expect_filled(status, stats, sizeof *stats, offsetof(chime_queue_stats, stale), no_out);
      break;
    }
    default: {
      uint64_t length = UNTOUCHED;
      status = ask_text(input, queue, chime_queue_dump, &length);
      wide = (int64_t)length;
      break;
    }
  }
  if (form % 6 == 1 || form % 6 == 2 || form % 6 == 3) permitted |= FAILS(CHIME_ERROR_UNSUPPORTED);
  expect_status("a question to a queue", status, permitted);
  if (status != CHIME_OK && (wide != (int64_t)UNTOUCHED || narrow != (int32_t)UNTOUCHED)) {
    fail("an out-parameter was touched");
  }
}

static void drive(bytes *input) {
  chime_queue_t queue = id_from(input);
  uint8_t form = take_byte(input);
  uint32_t count = (uint32_t)UNTOUCHED;
  statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE, CHIME_ERROR_UNSUPPORTED);
  chime_status status;
  switch (form % 5) {
    case 0: {
      uint32_t most = take_byte(input);
      status = chime_queue_process(queue, most, (form & 128) != 0 ? NULL : &count);
      if (status == CHIME_OK && (form & 128) == 0 && most > 0 && count > most) {
        fail("%u ran, %u were asked for", count, most);
      }
      break;
    }
    case 1: {
      uint32_t capacity = take_byte(input) % 16;
      uint32_t size = take_byte(input);
      uint32_t code = take_byte(input);
      char *ticks = buffer_of(16 * 256, 0x5a);
      size = code < 128 ? (uint32_t)sizeof(chime_tick) : code < 250 ? size : UINT32_MAX - size;
      if (size > 256) capacity = capacity > 0; /* the array must be as large as is said */
      permitted |= FAILS(ARGUMENT);
      status = chime_queue_take_ticks(queue, (form & 64) != 0 ? NULL : (chime_tick *)(void *)ticks, size, capacity,
                                      (form & 128) != 0 ? NULL : &count);
      if (status == CHIME_OK && count > capacity) fail("%u records in room for %u", count, capacity);
      for (size_t i = status == CHIME_OK ? (size_t)count * size : 0; i < 16 * 256; i += 1) {
        if (ticks[i] != 0x5a) fail("take_ticks writes at %zu", i);
      }
      if (status == CHIME_OK) note_records(ticks, size, count);
      break;
    }
    case 2:
      permitted |= STATUS(CHIME_TIMED_OUT) | STATUS(CHIME_STOPPED) | FAILS(ARGUMENT);
      status = chime_queue_wait(queue, short_duration(input, 0));
      break;
    case 3:
      /* With a stop pending it returns; where the stop is refused, so is the run. */
      status = chime_queue_stop(queue);
      expect_status("stop", status, permitted | STATUS(CHIME_IGNORED));
      permitted |= STATUS(CHIME_STOPPED) | FAILS(ARGUMENT);
      status = chime_queue_run(queue, (form & 128) != 0 ? take_byte(input) : form >> 4 & 1);
      break;
    default:
      status = chime_queue_stop(queue);
      permitted |= STATUS(CHIME_IGNORED);
      break;
  }
  expect_status("driving", status, permitted);
  if (status < 0) expect_number("count after a failure", count, (uint32_t)UNTOUCHED);
}

/* ---- The library, and all calls -------------------------------------------------------------------------------- */

static void call_library(bytes *input) {
  uint8_t form = take_byte(input);
  int32_t number = (int32_t)take_word(input);
  int64_t now = UNTOUCHED;
  chime_status status;
  if ((form & 64) != 0) number = (number & 63) - 32;
  switch (form % 8) {
    case 6:
      expect_status("set_trace", chime_set_trace((form & 128) != 0 ? trace_call : NULL, &w), STATUS(CHIME_OK));
      break;
    case 7: expect_status("reinitialize", chime_reinitialize(), STATUS(CHIME_IGNORED)); break;
    case 0:
      if (chime_version() != CHIME_VERSION) fail("version");
      if (strlen(chime_status_name(number)) < 5 || strlen(chime_status_message(number)) < 5) fail("name of %d", number);
      if (strlen(chime_tick_kind_name(number)) < 10) fail("name of kind %d", number);
      break;
    case 1:
      status = chime_now(number, (form & 128) != 0 ? NULL : &now);
      expect_status("now", status, STATUS(CHIME_OK) | FAILS(ARGUMENT, CHIME_ERROR_UNSUPPORTED));
      if (status != CHIME_OK && now != (int64_t)UNTOUCHED) fail("an out-parameter was touched");
      break;
    case 2: {
      /* Not into the future by more than a microsecond. */
      int64_t deadline = take_duration(input);
      if (chime_now(number, &now) != CHIME_OK) now = 0;
      if (deadline > 0) deadline = saturating_sum(now, deadline % 1000);
      expect_status("sleep_until", chime_sleep_until(number, deadline),
                    STATUS(CHIME_OK) | FAILS(ARGUMENT, CHIME_ERROR_UNSUPPORTED));
      break;
    }
    case 3:
      if ((form & 128) == 0) return;
      status = chime_main_stop();
      expect_status("main_stop", status, STATUS(CHIME_OK) | STATUS(CHIME_IGNORED));
      expect_status("main_run", chime_main_run(), STATUS(CHIME_STOPPED));
      break;
    case 4:
      status = chime_set_thread_hooks((form & 128) != 0 ? ignore_context : NULL,
                                      (form & 32) != 0 ? ignore_context : NULL, &w);
      expect_status("set_thread_hooks", status, STATUS(CHIME_OK));
      break;
    default:
      expect_number("timer_release of 0", chime_timer_release(0), CHIME_OK);
      expect_number("target_release of 0", chime_target_release(0), CHIME_OK);
      expect_number("expiring_release of 0", chime_expiring_release(0), CHIME_OK);
      expect_number("queue_release of 0", chime_queue_release(0), CHIME_OK);
      break;
  }
}

static void call(bytes *input) {
  uint8_t code = take_byte(input) % 32;
  trace("call %d", code);
  switch (code) {
    case 0: make_queue(input, 0); break;
    case 1: make_queue(input, take_byte(input) % 4); break;
    case 2: end_queue(input); break;
    case 3: sync_or_async(input); break;
    case 4:
    case 5:
    case 6: move_time(input); break;
    case 7: ask_queue(input); break;
    case 8:
    case 9: drive(input); break;
    case 10: make_timer(input, 0); break;
    case 11:
    case 12:
    case 13: make_timer(input, 1); break;
    case 14: make_timer(input, 2); break;
    case 15: make_timer(input, 3); break;
    case 16:
    case 17:
    case 18:
    case 19:
    case 20:
    case 21: call_timer(input); break;
    case 22: ask_timer(input); break;
    case 23:
    case 24: name_handler(input); break;
    case 25:
    case 26: call_target(input); break;
    case 27:
    case 28:
    case 29: call_value(input); break;
    default: call_library(input); break;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bytes input = {data, size};
  begin_world();
  while (input.left > 0 && w.owned_count < MOST_OWNED) {
    picture before, after;
    w.changes = 0;
    last_status = CHIME_OK;
    take_picture(&before);
    errno = 4711;
    call(&input);
    if (errno != 4711) fail("errno is %d", errno);
    take_picture(&after);
    if ((last_status < 0 || last_status == CHIME_IGNORED) && !w.changes) expect_same_picture(&before, &after);
    free_buffers();
  }
  end_world();
  return 0;
}
