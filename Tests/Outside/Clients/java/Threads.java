import com.sun.jna.CallbackThreadInitializer;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;

/** How many threads of Java's 3,000 ticks on a serial queue take, without the hook that the guide's program has, and with it. */
final class Threads {
  static native int chime_queue_create(int kind, Scenario.QueueOptions options, long[] queue);
  static native int chime_queue_shutdown(long queue, long timeout);
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

  static void check(int status) {
    if (status < 0) throw new IllegalStateException("status " + status);
  }

  public static void main(String[] arguments) throws InterruptedException {
    Native.register(Threads.class, System.getenv("CHIME_LIBRARY"));
    long without = started(null);
    Native.setCallbackThreadInitializer(ATTACH, new CallbackThreadInitializer(true, false, "chime"));
    Scenario.QueueOptions options = new Scenario.QueueOptions();
    options.enter = ATTACH;
    long with = started(options);
    System.err.println(TICKS + " ticks: " + without + " threads of Java's, " + with + " with the hook");
    if (without < 100 || with > 20) System.exit(1);
  }
}
