import com.sun.jna.Callback;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.PointerByReference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The scenario of ../README.md in Java, with JNA.
 *
 * <p>A callback on a thread that Java did not make attaches that thread, every time, unless a hook of the queue does it
 * once (Threads.java). Here Java gets its timers from a host-driven queue that chime_queue_run drives on one thread of
 * Java's own. Callbacks are static: JNA keeps them only
 * as long as Java does. An exception must not be lost in one: it ends the program. A context is a number, under which
 * the Java object is found until the finalizer removes it.
 */
final class Scenario {
  static final int OK = 0;
  static final long FOREVER = Long.MAX_VALUE;
  static final int QUEUE_HOST = 2, QUEUE_VIRTUAL = 4;
  static final int QUEUE_FLAG_RECORDS = 0x400;
  static final int SCHEDULE_DEADLINE = 0x10000;
  static final int RESUME_REMAINING = 1;
  static final int TIMER_RECORD_ARMED = 0x200000, TIMER_RECORD_CANCELLED = 0x400000, TIMER_RECORD_FINALIZE = 0x800000;
  static final String[] KINDS = {"DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"};

  interface Handler extends Callback {
    void call(Tick tick, Pointer context);
  }

  interface Function extends Callback { // finalizers too
    void call(Pointer context);
  }

  /** A structure of the header's. */
  public abstract static class Laid extends Structure {
    Laid(Pointer memory) {
      super(memory);
    }

    /** Of a member, or of "", which is behind the last one. */
    int offset(String member) {
      return member.isEmpty() ? size() : fieldOffset(member);
    }
  }

  @FieldOrder({
    "timer", "generation", "sequence", "missed", "scheduled_ns", "actual_ns", "context", "target", "kind", "reserved"
  })
  public static class Tick extends Laid {
    public long timer, generation, sequence, missed, scheduled_ns, actual_ns;
    public Pointer context, target;
    public int kind, reserved;

    public Tick() {
      this(null);
    }

    public Tick(Pointer memory) {
      super(memory);
      setAutoWrite(false); // JNA would write a handler's const tick back when the handler returns
    }
  }

  /** A structure whose first member is its own size. */
  @FieldOrder("size")
  public abstract static class Sized extends Laid {
    public int size;

    Sized() {
      super(null);
      size = size();
    }
  }

  @FieldOrder({
    "flags", "label", "qos", "clock", "timer_limit", "start_ns", "enter", "leave", "hook_context",
    "hook_finalizer", "realtime_priority", "reserved", "seed"
  })
  public static class QueueOptions extends Sized {
    public int flags;
    public String label;
    public int qos, clock;
    public long timer_limit, start_ns;
    public Function enter, leave;
    public Pointer hook_context;
    public Function hook_finalizer;
    public int realtime_priority, reserved;
    public long seed;
  }

  @FieldOrder({
    "flags", "first_ns", "interval_ns", "leeway_ns", "tick_limit", "missed_policy", "resume_policy",
    "jitter_ns"
  })
  public static class Schedule extends Sized {
    public int flags;
    public long first_ns, interval_ns, leeway_ns, tick_limit;
    public int missed_policy, resume_policy;
    public long jitter_ns;

    public Schedule() {}

    Schedule(long first, long interval) {
      first_ns = first;
      interval_ns = interval;
    }
  }

  @FieldOrder({
    "flags", "handler", "registration_handler", "cancel_handler", "context", "finalizer", "label", "target"
  })
  public static class TimerOptions extends Sized {
    public int flags;
    public Handler handler, registration_handler, cancel_handler;
    public Pointer context;
    public Function finalizer;
    public String label;
    public long target;

    public TimerOptions() {}

    /** For a timer that calls back. */
    TimerOptions(long number, Consumer<Tick> object) {
      handler = ON_TICK;
      context = context(number, object);
      finalizer = ON_FINALIZE;
    }
  }

  @FieldOrder({
    "state", "queue", "generation", "sequence", "next_deadline_ns", "remaining_ns", "interval_ns", "leeway_ns",
    "tick_limit", "due_count", "busy", "has_schedule", "missed", "jitter_ns", "background", "reserved"
  })
  public static class TimerInfo extends Sized {
    public int state;
    public long queue, generation, sequence, next_deadline_ns, remaining_ns, interval_ns, leeway_ns, tick_limit;
    public long due_count;
    public int busy, has_schedule;
    public long missed, jitter_ns;
    public int background, reserved;
  }

  static native int chime_version();
  static native String chime_status_name(int status);
  static native int chime_queue_create(int kind, QueueOptions options, long[] queue);
  static native int chime_queue_shutdown(long queue, long timeout);
  static native int chime_queue_async(long queue, Function function, Pointer context, Function finalizer);
  static native int chime_queue_now(long queue, long[] now);
  static native int chime_queue_advance(long queue, long duration);
  static native int chime_queue_jump(long queue, long duration);
  static native int chime_queue_poll_timeout(long queue, int[] milliseconds);
  static native int chime_queue_run(long queue, int flags);
  static native int chime_queue_take_ticks(long queue, Pointer ticks, long tickSize, long capacity, long[] count);
  static native int chime_timer_start(long queue, TimerOptions options, Schedule schedule, long[] timer);
  static native int chime_timer_after(
      long queue, long delay, Handler handler, Pointer context, Function finalizer, long[] timer);
  static native int chime_timer_activate(long timer, Schedule schedule);
  static native int chime_timer_suspend(long timer);
  static native int chime_timer_resume(long timer);
  static native int chime_timer_cancel(long timer);
  static native int chime_timer_release(long timer);
  static native int chime_timer_check_generation(long timer, long generation);
  static native int chime_timer_state(long timer, int[] state);
  static native int chime_timer_get_info(long timer, TimerInfo info);
  static native int chime_target_create(Pointer object, Function destructor, long[] target);
  static native int chime_target_retain(long target, PointerByReference object);
  static native int chime_target_release(long target);

  static {
    Native.register(Scenario.class, System.getenv("CHIME_LIBRARY"));
    Native.setCallbackExceptionHandler(
        (callback, exception) -> {
          exception.printStackTrace();
          Runtime.getRuntime().halt(1); // exit would wait in a call that has not returned
        });
  }

  // ---- Callbacks ----------------------------------------------------------------------------------------------------

  /** What the contexts stand for. Concurrent, since on other queues handlers run on other threads. */
  static final Map<Long, Consumer<Tick>> OBJECTS = new ConcurrentHashMap<>();

  static Pointer context(long number, Consumer<Tick> object) {
    check(OBJECTS.put(number, object) == null, "this context is in use");
    return new Pointer(number);
  }

  static final Handler ON_TICK =
      (tick, context) -> {
        check(context.equals(tick.context), "the tick has another context");
        OBJECTS.get(number(context)).accept(tick);
      };
  static final Function ON_FUNCTION = context -> OBJECTS.get(number(context)).accept(null);
  static final Function ON_FINALIZE =
      context -> {
        check(OBJECTS.remove(number(context)) != null, "this context was finalized before");
        say("finalizer " + number(context));
      };
  static final Function ON_DESTROY = object -> say("destructor " + number(object));

  static long number(Pointer pointer) {
    return Pointer.nativeValue(pointer);
  }

  static void say(String line) {
    System.out.println(line);
  }

  static void describe(Tick tick) {
    String target = tick.target == null ? "" : " target " + number(tick.target);
    say(String.format("tick %d: %s sequence %d missed %d due %d at %d%s", number(tick.context), KINDS[tick.kind],
        tick.sequence, tick.missed, tick.scheduled_ns, tick.actual_ns, target));
  }

  // ---- Statuses -----------------------------------------------------------------------------------------------------

  static void check(boolean condition, String message) {
    if (!condition) throw new IllegalStateException(message);
  }

  static String name(int status) {
    return chime_status_name(status);
  }

  /** For a call that can only succeed here. */
  static void ok(int status) {
    check(status == OK, name(status));
  }

  interface Making {
    int call(long[] value);
  }

  /** What the call writes through its last parameter. */
  static long made(Making call) {
    long[] value = new long[1];
    ok(call.call(value));
    return value[0];
  }

  static int state(long timer) {
    int[] state = new int[1];
    ok(chime_timer_state(timer, state));
    return state[0];
  }

  // ---- The scenario -------------------------------------------------------------------------------------------------

  static long start(long queue, TimerOptions options, Schedule schedule) {
    return made(timer -> chime_timer_start(queue, options, schedule, timer));
  }

  static void virtualTime() {
    long queue = made(value -> chime_queue_create(QUEUE_VIRTUAL, null, value));

    say("- virtual time");
    long target = made(value -> chime_target_create(new Pointer(77), ON_DESTROY, value));
    TimerOptions options = new TimerOptions(1, Scenario::describe);
    options.registration_handler = options.cancel_handler = ON_TICK;
    options.target = target;
    Schedule schedule = new Schedule(50, 50);
    schedule.resume_policy = RESUME_REMAINING;
    long timer = start(queue, options, schedule);
    ok(chime_queue_advance(queue, 20));
    say("suspend " + name(chime_timer_suspend(timer)) + " again " + name(chime_timer_suspend(timer)));
    ok(chime_queue_advance(queue, 1005));
    TimerInfo info = new TimerInfo();
    ok(chime_timer_get_info(timer, info));
    say("state " + info.state + " remaining " + info.remaining_ns);
    ok(chime_timer_resume(timer));
    ok(chime_queue_jump(queue, 85));
    say("now " + made(value -> chime_queue_now(queue, value)));
    ok(chime_queue_advance(queue, 0));
    PointerByReference object = new PointerByReference();
    ok(chime_target_retain(target, object));
    say("retain " + number(object.getValue()));
    ok(chime_target_release(target));
    ok(chime_target_release(target));
    say("state " + state(timer) + " activate " + name(chime_timer_activate(timer, null))
        + " retain " + name(chime_target_retain(target, null)));
    ok(chime_queue_advance(queue, 0));
    ok(chime_timer_release(timer));
    say("release " + name(chime_timer_release(timer)) + " of 0 " + name(chime_timer_release(0)));
    ok(chime_timer_after(queue, 10, ON_TICK, context(2, Scenario::describe), ON_FINALIZE, null));
    say("shutdown " + name(chime_queue_shutdown(queue, FOREVER)));
    say("advance " + name(chime_queue_advance(queue, 10)));
  }

  static long due, early, functions;

  static void count(Tick tick) {
    due += 1 + tick.missed;
    if (tick.actual_ns < tick.scheduled_ns) early++;
  }

  /** chime_queue_run in place of a poll loop: it returns when no timer runs and nothing is left to call. */
  static void hostDriven() throws InterruptedException {
    say("- host-driven, callbacks");
    long queue = made(value -> chime_queue_create(QUEUE_HOST, null, value));
    Schedule threeTimes = new Schedule(1_000_000, 1_000_000);
    threeTimes.tick_limit = 3;
    long timer = start(queue, new TimerOptions(3, Scenario::count), threeTimes);
    ok(chime_queue_async(queue, ON_FUNCTION, context(4, tick -> functions++), ON_FINALIZE));
    int[] status = {1};
    Thread loop = new Thread(() -> status[0] = chime_queue_run(queue, 0), "timers");
    loop.start();
    loop.join(10_000);
    check(!loop.isAlive(), "the timers were not done within 10 s");
    ok(status[0]);
    say("due times " + due + " early " + early + " functions " + functions + " state " + state(timer));
    ok(chime_timer_release(timer));
    ok(chime_queue_shutdown(queue, FOREVER));
  }

  /** Takes until that many records came, acts on each, prints each. Only this thread changes timers: it sleeps in place of poll. */
  static void take(long queue, int expected) throws InterruptedException {
    int size = new Tick().size();
    Memory records = new Memory(16 * size);
    long[] count = new long[1];
    int[] wait = new int[1];
    for (long seen = 0; seen < expected; seen += count[0]) {
      ok(chime_queue_poll_timeout(queue, wait));
      Thread.sleep(wait[0] < 0 ? 1 : wait[0]);
      ok(chime_queue_take_ticks(queue, records, size, 16, count));
      for (int index = 0; index < count[0]; index++) {
        Tick tick = new Tick(records.share(index * size));
        tick.read();
        String kind = KINDS[tick.kind];
        say("record " + number(tick.context) + ": " + kind);
        if (!kind.equals("DUE")) continue;
        say("due " + tick.scheduled_ns + " cancel " + name(chime_timer_cancel(tick.timer))
            + " generation " + name(chime_timer_check_generation(tick.timer, tick.generation)));
      }
    }
  }

  static void records() throws InterruptedException {
    say("- host-driven, records");
    QueueOptions recording = new QueueOptions();
    recording.flags = QUEUE_FLAG_RECORDS;
    long queue = made(value -> chime_queue_create(QUEUE_HOST, recording, value));
    TimerOptions options = new TimerOptions();
    options.flags = TIMER_RECORD_ARMED | TIMER_RECORD_CANCELLED | TIMER_RECORD_FINALIZE;
    options.context = new Pointer(5);
    Schedule schedule = new Schedule(1, 1_000_000_000_000_000_000L);
    schedule.flags = SCHEDULE_DEADLINE;
    long timer = start(queue, options, schedule);
    take(queue, 2);
    take(queue, 1);
    ok(chime_queue_async(queue, null, new Pointer(6), null));
    take(queue, 1);
    ok(chime_timer_release(timer));
    take(queue, 1);
    ok(chime_queue_shutdown(queue, FOREVER));
  }

  /** Compares the structures above with the header's, as the record of the ABI has them. */
  static void checkLayout() throws Exception {
    Map<String, Laid> laid = Map.of("chime_tick", new Tick(), "chime_queue_options", new QueueOptions(), "chime_schedule",
        new Schedule(), "chime_timer_options", new TimerOptions(), "chime_timer_info", new TimerInfo());
    for (String line : Files.readAllLines(Path.of(System.getenv("CHIME_LAYOUT")))) {
      String[] words = line.split("[. ]");
      int ours = laid.get(words[0]).offset(words.length == 2 ? "" : words[1]);
      check(ours == Integer.parseInt(words[words.length - 1]), line + ", not " + ours);
    }
  }

  /** Compares the numbers above with the header's constants. */
  static void checkNumbers() throws Exception {
    List<String> lines = Files.readAllLines(Path.of(System.getenv("CHIME_NUMBERS")));
    for (Field field : Scenario.class.getDeclaredFields()) {
      if (!field.getType().isPrimitive() || !Modifier.isFinal(field.getModifiers())) continue;
      String ours = "CHIME_" + field.getName() + " " + field.get(null);
      check(lines.contains(ours), ours + ": not the header's");
    }
  }

  public static void main(String[] arguments) throws Exception {
    checkLayout();
    checkNumbers();
    int version = chime_version();
    say("version " + (version >> 16) + "." + (version >> 8 & 255) + "." + (version & 255));
    virtualTime();
    hostDriven();
    records();
    check(OBJECTS.isEmpty(), "contexts without a finalizer: " + OBJECTS.keySet());
  }
}
