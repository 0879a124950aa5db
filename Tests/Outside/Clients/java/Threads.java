import com.sun.jna.CallbackThreadInitializer;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * What a cancel answers: there was a tick to take back, a handler runs, both or neither. And how many threads of
 * Java's 3,000 ticks on a serial queue take, without the hook that the guide's program has, and with it.
 */
final class Threads {
  static native int chime_queue_create(int kind, Scenario.QueueOptions options, long[] queue);
  static native int chime_queue_shutdown(long queue, long timeout);
  static native int chime_timer_cancel(long timer);
  static native int chime_timer_cancel_and_wait(long timer, long timeout);
  static native int chime_timer_restart_after(long timer, long delay);
  static native int chime_timer_after(
      long queue, long delay, Scenario.Handler handler, Pointer context, Pointer finalizer, long[] timer);
  static native int chime_timer_every(
      long queue, long interval, Scenario.Handler handler, Pointer context, Pointer finalizer, long[] timer);

  static final int TICKS = 3000;
  static CountDownLatch left;
  static final Scenario.Function ATTACH = context -> {};
  static final Scenario.Handler ON_TICK = (tick, context) -> left.countDown();

  static long started(Scenario.QueueOptions options) throws InterruptedException {
    long before = ManagementFactory.getThreadMXBean().getTotalStartedThreadCount();
    long[] queue = new long[1];
    left = new CountDownLatch(TICKS);
    check(chime_queue_create(0, options, queue));
    check(chime_timer_every(queue[0], 100_000, ON_TICK, null, null, null));
    left.await();
    check(chime_queue_shutdown(queue[0], Long.MAX_VALUE));
    return ManagementFactory.getThreadMXBean().getTotalStartedThreadCount() - before;
  }

  static final BlockingQueue<Integer> answers = new LinkedBlockingQueue<>();
  static final Scenario.Handler CANCELS = (tick, context) -> {
    for (int count = 0; count < 2; count++) answers.add(chime_timer_cancel(tick.timer));
  };

  /** What two cancels answer, in the handler and behind it. */
  static List<Integer> cancelled(long interval) throws InterruptedException {
    long[] queue = new long[1], timer = new long[1];
    check(chime_queue_create(0, null, queue));
    check(interval > 0 ? chime_timer_every(queue[0], interval, CANCELS, null, null, timer)
        : chime_timer_after(queue[0], 0, CANCELS, null, null, timer));
    List<Integer> seen = new ArrayList<>(List.of(answers.take(), answers.take()));
    check(chime_timer_cancel_and_wait(timer[0], Long.MAX_VALUE)); // the handler has returned
    check(chime_timer_restart_after(timer[0], Long.MAX_VALUE));
    for (int count = 0; count < 2; count++) seen.add(chime_timer_cancel(timer[0]));
    check(chime_queue_shutdown(queue[0], Long.MAX_VALUE));
    return seen;
  }

  static void check(int status) {
    if (status < 0) throw new IllegalStateException("status " + status);
  }

  public static void main(String[] arguments) throws InterruptedException {
    Native.register(Threads.class, System.getenv("CHIME_LIBRARY"));
    System.err.println("cancels of a one-shot " + cancelled(0) + ", of a repeating timer " + cancelled(1_000_000));
    if (!cancelled(0).equals(List.of(3, 3, 0, 1)) || !cancelled(1_000_000).equals(List.of(2, 3, 0, 1))) System.exit(1);
    long without = started(null);
    Native.setCallbackThreadInitializer(ATTACH, new CallbackThreadInitializer(true, false, "chime"));
    Scenario.QueueOptions options = new Scenario.QueueOptions();
    options.enter = ATTACH;
    long with = started(options);
    System.err.println(TICKS + " ticks: " + without + " threads of Java's, " + with + " with the hook");
    if (without < 100 || with > 20) System.exit(1);
  }
}
