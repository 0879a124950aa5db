internal import CPlatform

/// Which thread it is: a number of Chime's own, above 0, that no other thread of the process has or will have. What
/// `pthread_self` gives is soon another thread's once a thread has ended.
package enum ThreadNumber {
  package static var current: UInt64 { chime_own_thread_number() }
}
