/* arguments.c, continued: timers, targets and values. */
#include "world.h"

/* For creations: what may lack, and what cannot be had. */
static statuses creation(void) {
  return STATUS(CHIME_OK) | FAILS(ARGUMENT, HANDLE, CHIME_ERROR_LIMIT, CHIME_ERROR_NO_MEMORY, CHIME_ERROR_TARGET_GONE,
                                  CHIME_ERROR_UNSUPPORTED);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

void make_timer(bytes *input, int function) {
  chime_queue_t queue = id_from(input);
  uint8_t form = take_byte(input);
  chime_timer_t id = UNTOUCHED;
  chime_timer_t *out = (form & 7) == 7 ? NULL : &id;
  owned *o = new_owned();
  chime_status status;
  int is_valid, has_finalizer = (form & 8) == 0;
  chime_handler handler = (form & 48) == 48 ? NULL : ignore_tick;
  if (function == 0 || function == 1) {
    chime_timer_options *options = timer_options_from(input, o);
    chime_schedule *schedule = function == 1 ? schedule_from(input) : NULL;
    has_finalizer =
        options != NULL && (options->finalizer != NULL || (options->flags & CHIME_TIMER_RECORD_FINALIZE) != 0);
    is_valid = timer_options_are_valid(options) && (function == 1 || out != NULL);
    if (function == 1) is_valid = is_valid && schedule != NULL && schedule_bytes_are_valid(schedule);
    status = function == 0 ? chime_timer_create(queue, options, out) : chime_timer_start(queue, options, schedule, out);
    /* Where ticks are taken as records, so is the end: see note_records. */
    if (status == CHIME_OK && options->handler == NULL) has_finalizer = 0;
  } else {
    int64_t amount = take_duration(input);
    is_valid = amount >= (function == 3) && (handler != NULL || !has_finalizer);
    status = function == 2 ? chime_timer_after(queue, amount, handler, o, has_finalizer ? finalize : NULL, out)
                           : chime_timer_every(queue, amount, handler, o, has_finalizer ? finalize : NULL, out);
    if (handler == NULL) has_finalizer = 0;
  }
  expect_status("timer creation", status, creation());
  if (status == CHIME_OK && !is_valid) fail("what is not valid made a timer");
  accept(o, status == CHIME_OK && has_finalizer);
  if (status != CHIME_OK) expect_number("a refused timer's id", (int64_t)id, (int64_t)UNTOUCHED);
  if (status == CHIME_OK && out != NULL) remember_id(id);
}

void call_timer(bytes *input) {
  chime_timer_t timer = id_from(input);
  uint8_t form = take_byte(input);
  statuses permitted = STATUS(CHIME_OK) | STATUS(CHIME_IGNORED) | FAILS(HANDLE);
  chime_status status;
  switch (form % 11) {
    case 0:
    case 1:
    case 2: {
      chime_schedule *schedule = schedule_from(input);
      permitted |= STATUS(CHIME_RUNNING) | FAILS(ARGUMENT, CHIME_ERROR_TARGET_GONE, CHIME_ERROR_NO_MEMORY);
      status = form % 11 == 0   ? chime_timer_activate(timer, schedule)
               : form % 11 == 1 ? chime_timer_restart(timer, schedule)
                                : chime_timer_reschedule(timer, schedule);
      if (schedule != NULL && !schedule_bytes_are_valid(schedule) && status >= 0 && status != CHIME_IGNORED) {
        fail("a schedule that is not valid was accepted");
      }
      break;
    }
    case 3:
      status = chime_timer_suspend(timer);
      permitted |= STATUS(CHIME_RUNNING);
      break;
    case 4: status = chime_timer_resume(timer); break;
    case 5: {
      int64_t delay = take_duration(input);
      status = chime_timer_postpone(timer, delay);
      if (delay < 0 && status == CHIME_OK) fail("a negative delay was accepted");
      permitted |= FAILS(ARGUMENT);
      break;
    }
    case 6: status = chime_timer_postpone_until(timer, take_duration(input)); break;
    case 7:
      status = chime_timer_fire(timer);
      permitted |= FAILS(CHIME_ERROR_TARGET_GONE, CHIME_ERROR_NO_MEMORY);
      break;
    case 8:
      status = chime_timer_cancel(timer);
      permitted |= STATUS(CHIME_RUNNING);
      break;
    case 9:
      status = chime_timer_cancel_and_wait(timer, short_duration(input, 1));
      permitted |= STATUS(CHIME_TIMED_OUT) | FAILS(ARGUMENT, CHIME_ERROR_WOULD_DEADLOCK);
      /* That answer comes after the cancel: here for a tick that this thread has taken as a record. */
      if (status == CHIME_ERROR_WOULD_DEADLOCK) w.changes = 1;
      break;
    default:
      status = chime_timer_release(timer);
      permitted = STATUS(CHIME_OK) | STATUS(CHIME_RUNNING) | FAILS(HANDLE);
      break;
  }
  expect_status("a call on a timer", status, permitted);
}

void ask_timer(bytes *input) {
  chime_timer_t timer = id_from(input);
  uint8_t form = take_byte(input);
  uint64_t wide = UNTOUCHED;
  int64_t deadline = UNTOUCHED;
  chime_state state = (chime_state)UNTOUCHED;
  int no_out = (form & 128) != 0;
  chime_status status;
  statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE, ARGUMENT);
  switch (form % 6) {
    case 5:
      no_out = 0;
      status = ask_text(input, timer, chime_timer_explain, &wide);
      if (status == CHIME_OK) wide = UNTOUCHED;
      break;
    case 0: status = chime_timer_generation(timer, no_out ? NULL : &wide); break;
    case 1:
      status = chime_timer_check_generation(timer, take_word(input));
      permitted |= STATUS(CHIME_IGNORED);
      break;
    case 2: status = chime_timer_state(timer, no_out ? NULL : &state); break;
    case 3: status = chime_timer_next_deadline(timer, no_out ? NULL : &deadline); break;
    default: {
      chime_timer_info *info = structure_from(input, sizeof *info);
      remember_bytes(info);
      status = chime_timer_get_info(timer, no_out ? NULL : info);
      expect_filled(status, info, sizeof *info, offsetof(chime_timer_info, missed), no_out);
      break;
    }
  }
  expect_status("a question to a timer", status, permitted);
  if (no_out && form % 6 != 1 && status == CHIME_OK) fail("a question without a place for the answer");
  if (status < 0 && (wide != UNTOUCHED || deadline != (int64_t)UNTOUCHED || state != (chime_state)UNTOUCHED)) {
    fail("an out-parameter was touched");
  }
}

void name_handler(bytes *input) {
  chime_timer_t timer = id_from(input);
  uint8_t form = take_byte(input);
  const char *key = text_from(input);
  chime_status status;
  if ((form & 1) != 0) {
    owned *o = new_owned();
    int has_finalizer = (form & 4) == 0;
    status =
        chime_timer_add_handler(timer, key, (form & 24) == 24 ? NULL : ignore_tick, o, has_finalizer ? finalize : NULL);
    expect_status("add_handler", status,
                  STATUS(CHIME_OK) | STATUS(CHIME_RUNNING) |
                      FAILS(HANDLE, ARGUMENT, CHIME_ERROR_UNSUPPORTED, CHIME_ERROR_NO_MEMORY));
    if ((form & 24) == 24) expect_number("add_handler without one", status, ARGUMENT);
    accept(o, status >= 0 && has_finalizer);
  } else {
    status = chime_timer_remove_handler(timer, key);
    expect_status("remove_handler", status,
                  STATUS(CHIME_OK) | STATUS(CHIME_RUNNING) | STATUS(CHIME_IGNORED) | FAILS(HANDLE, ARGUMENT));
  }
  if ((key == NULL || !is_utf8(key)) && status != ARGUMENT) fail("a key that is no text: %d", (int)status);
}

/* ---- Targets, values, the rest ----------------------------------------------------------------------------------- */

void call_target(bytes *input) {
  uint8_t form = take_byte(input);
  chime_target_t target = id_from(input);
  if (form % 3 == 0) {
    owned *o = new_owned();
    chime_target_t id = UNTOUCHED;
    int has_destructor = (form & 8) == 0;
    chime_status status = chime_target_create((form & 48) == 48 ? NULL : o, has_destructor ? finalize : NULL,
                                              (form & 192) == 192 ? NULL : &id);
    statuses permitted = (form & 48) == 48 || (form & 192) == 192 ? FAILS(ARGUMENT) : STATUS(CHIME_OK);
    expect_status("target_create", status, permitted);
    accept(o, status == CHIME_OK && has_destructor);
    if (status == CHIME_OK) remember_id(id);
    if (status != CHIME_OK) expect_number("a refused target's id", (int64_t)id, (int64_t)UNTOUCHED);
  } else if (form % 3 == 1) {
    void *object = &object;
    chime_status status = chime_target_retain(target, (form & 64) != 0 ? NULL : &object);
    expect_status("target_retain", status, STATUS(CHIME_OK) | FAILS(HANDLE));
    if (status < 0 && object != &object) fail("an out-parameter was touched");
  } else {
    expect_status("target_release", chime_target_release(target), STATUS(CHIME_OK) | FAILS(HANDLE));
  }
}

void call_value(bytes *input) {
  uint8_t form = take_byte(input);
  uint64_t id = id_from(input);
  statuses permitted = STATUS(CHIME_OK) | FAILS(HANDLE);
  owned *o;
  chime_status status;
  switch (form % 6) {
    case 0: {
      chime_expiring_t made = UNTOUCHED;
      int has_finalizer = (form & 8) == 0;
      o = new_owned();
      status = chime_expiring_create(id, (form & 48) == 48 ? NULL : o, has_finalizer ? finalize : NULL,
                                     take_duration(input), (form & 192) == 192 ? NULL : &made);
      permitted |= FAILS(ARGUMENT, CHIME_ERROR_UNSUPPORTED, CHIME_ERROR_LIMIT, CHIME_ERROR_NO_MEMORY);
      accept(o, status == CHIME_OK && has_finalizer);
      if (status == CHIME_OK) remember_id(made);
      if (status != CHIME_OK && made != UNTOUCHED) fail("an out-parameter was touched");
      break;
    }
    case 1: {
      int has_finalizer = (form & 8) == 0;
      o = new_owned();
      status = chime_expiring_on_expiry(id, (form & 48) == 48 ? NULL : ignore_tick, o, has_finalizer ? finalize : NULL);
      permitted |= STATUS(CHIME_IGNORED) | FAILS(ARGUMENT);
      accept(o, status == CHIME_OK && has_finalizer);
      break;
    }
    case 2: {
      void *value = &value;
      status = chime_expiring_acquire(id, (form & 128) != 0 ? NULL : &value);
      permitted |= STATUS(CHIME_IGNORED) | FAILS(ARGUMENT);
      if (status < 0 && value != &value) fail("an out-parameter was touched");
      if (status == CHIME_IGNORED && value != NULL) fail("a value that has vanished");
      if (status == CHIME_OK) note_acquired(id);
      break;
    }
    case 3:
      status = chime_expiring_yield(id);
      permitted |= STATUS(CHIME_IGNORED);
      break;
    case 4:
      status = chime_expiring_reset(id, take_duration(input));
      permitted |= STATUS(CHIME_IGNORED) | FAILS(ARGUMENT);
      break;
    default:
      status = chime_expiring_release(id);
      permitted |= STATUS(CHIME_RUNNING);
      break;
  }
  expect_status("a call on a value", status, permitted);
}
