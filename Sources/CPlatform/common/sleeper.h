/* sleeper.h - chime_sleeper of threads.h by a lock and a condition, for systems whose file includes it. */
void chime_sleeper_init(chime_sleeper *sleeper) {
  chime_lock_init(&sleeper->lock);
  chime_condition_init(&sleeper->condition);
  sleeper->is_woken = false;
}

void chime_sleeper_destroy(chime_sleeper *sleeper) {
  chime_condition_destroy(&sleeper->condition);
  chime_lock_destroy(&sleeper->lock);
}

void chime_sleeper_wake(chime_sleeper *sleeper) {
  chime_lock_take(&sleeper->lock);
  sleeper->is_woken = true;
  chime_condition_signal(&sleeper->condition);
  chime_lock_give(&sleeper->lock);
}

bool chime_sleeper_sleep(chime_sleeper *sleeper, int64_t time) {
  bool was_woken;
  chime_lock_take(&sleeper->lock);
  if (!sleeper->is_woken && time == INT64_MAX) {
    chime_condition_wait(&sleeper->condition, &sleeper->lock);
  } else if (!sleeper->is_woken) {
    chime_condition_wait_until(&sleeper->condition, &sleeper->lock, time);
  }
  was_woken = sleeper->is_woken;
  sleeper->is_woken = false;
  chime_lock_give(&sleeper->lock);
  return was_woken;
}
