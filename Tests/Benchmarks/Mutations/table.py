"""The mutations: lines of the core that are broken on purpose, and the tests that go red then. mutations.py runs them.

Each adds what stands between « and » to a piece of text, or replaces it, where two are given; without the addition the piece
must be in the file exactly once. BROKEN stands for the question whether this mutation is the one that is switched on. The tests
are named by how their names begin: C suite, the same with one allocation in ten refused, Storms; a program of Faults and its
cases; scenarios of Interleavings by a part of their names; a filter of `swift test`.
"""
import re


class Mutation:
    def __init__(self, name, promise, where, what, edits, runs):
        self.name, self.promise, self.where, self.what, self.edits, self.runs = name, promise, where, what, edits, runs


ALL = []
# Files of the core and of the C interface without a mutation, and why. mutations.py --check knows of each file.
NOT_BROKEN = {
    "Platform/Clock.swift": "calls CPlatform, and nothing else",
    "Platform/Descriptors.swift": "what the system refuses: all of Faults' `descriptors`",
    "Platform/ErrorDetail.swift": "texts, compared word for word: `sentences.c`, `refusals.c`",
    "Platform/Execution.swift": "what the caller is on; WaitRegistry, which asks, has mutations",
    "Adapters/WorkQueue.swift": "calls libdispatch, and nothing else",
    "Queue/QueueDriver.swift": "a protocol; each kind of driver has a mutation",
    "Queue/QueueOptions.swift": "a structure without functions",
    "Slot/Refusals.swift": "texts, compared word for word: `sentences.c`, `refusals.c`",
    "Slot/TimerCell.swift": "a layout, held against C's: Model/Swift `LayoutTests`",
    "Slot/TimerRef.swift": "looks an id up by Slab and TimerSlot, which have mutations",
    "Storage/Chunk.swift": "fields; Slab and QueueControlBlock+Slots, which use them, have mutations",
    "Storage/SlotIndex.swift": "types that the compiler holds apart: the list \"does not compile\"",
    "Values/Invariant.swift": "ends the process of the checked build",
    "Values/Status.swift": "constants, held against the header: `statuses.c`",
    "Values/Tunables.swift": "waiting times, on which no verdict may hang",
    "Wheel/WheelPage.swift": "where the wheel's entries lie; what it does with them and with its marks is in Wheel, which has mutations",
}
# Broken by hand, and noticed by no test: (promise, what was changed, why). A model is one of Threads/Spin.
UNNOTICED = [
    (1, "shutdown does not ask whether it is inside its own queue", "the wait itself finds it out"),
    (1, "`PoolState.nextStep`: a thread that is about to wait looks at no marks (P23d)", "model `wake`, ALONE WAITS_SILENTLY"),
    (1, "`PoolState.looksSoon` relies on a thread that waits without a time; `endsWithoutItems` closes the poller while a thread rings (P23d)",
     "not in the model; scenarios did not meet it"),
    (3, "`Writing.undo` wakes nobody; a callback's end passes over a timer with a writer", "model `inbox`, CONCURRENT, END_SKIPS"),
    (8, "`Expiring.notify` without `withExtendedLifetime`", "Swift 6's release build still keeps value and context to the end of the call"),
    (8, "`dispose` wakes before it links; `sendOn` does not look whether the timer was released", "model `inbox`, RELEASES"),
    (10, "`take` gives a free slot before fresh ones, however few", "the threads' caches have 28 already"),
    (12, "`deliverBatch` drops an item whose activation sequence differs", "model `inbox`, `litmus`: x86 does not show the order of loads"),
    (12, "`isStillDue` does not compare the activation sequence", "the deadline is compared, too"),
    (12, "`runInTurn` does not look for functions that are left",
     "the pool lends no turn that is asked for; on a dispatch queue it is a matter of a moment"),
    (12, "`Functions.next` takes one from the front of the list", "the same order, in 8 s instead of 1"),
    (13, "`explain` does not ask whether the target of an extra tick has gone", "the tick is dropped with the target"),
    (17, "`TimerRef.apply` does not look again at a deadline that it wrote beside a step of the wall clock",
     "the scenario \"deadlines written beside steps\" passes"),
    (18, "`StopRequest.isPending` takes another queue's stop for its own", "it takes a stop that meets the end of its queue"),
    (18, "`wakeSleeper` stores 0 instead of \"has ended\"; `watchTimer` decides without a look at the inbox", ""),
    (18, "`SpinWait` never sleeps", "it takes writers of one timer at two real-time priorities"),
]
REFUSED = []
REORDERED = []


def whole(path, text, new=None):
    """(path, old, new) of an edit."""
    return (path, text, new) if new is not None else (path, re.sub("«.*?»", "", text, flags=re.S), re.sub("[«»]", "", text))


def mutation(name, promise, where, what, edits, *runs):
    """edits: (path in Sources/ChimeCore, text) or (path, old, new), or a list of such; runs: C, R, S, F, I, M, W. Each run
    is to be red."""
    edits = edits if isinstance(edits, list) else [edits]
    ALL.append(Mutation(name, promise, where, what, [whole(*edit) for edit in edits], runs))


def refused(name, what, edits, says):
    """A mistake that does not compile: the same edits, in the core's Swift, and what the compiler says where they are."""
    edits = edits if isinstance(edits, list) else [edits]
    REFUSED.append(Mutation(name, None, None, what, [whole(*edit) for edit in edits], ()))
    REFUSED[-1].says = says


def reordered(name, what, edits, says):
    """Atomic operations of the core in another order, or with a weaker one: how what .ci/orders.py says of it begins."""
    edits = edits if isinstance(edits, list) else [edits]
    REORDERED.append(Mutation(name, None, None, what, [whole(*edit) for edit in edits], ()))
    REORDERED[-1].says = says


def C(*names, **environment):
    return ("csuite", names, environment)


def R(*names):
    return ("refused", names, {"REFUSE_ONE_IN": "10", "CSUITE_SCALE": "4"})


def S(*names, **environment):
    return ("storms", names, environment)


def F(program, *cases):
    return ("faults", (program,) + cases, {})


def H(*targets):
    """Targets of Tests/C's make that have programs of their own."""
    return ("headers", targets, {})


def I(*names):
    return ("interleavings", names, {})


def W(*names):
    return ("swift", names, {})


def M():
    """The C model of Tests/Model, twenty seeds."""
    return ("model", (), {})


BATCH = "Queue/Batch.swift"
CLOSING = "Queue/QueueCore+Closing.swift"
DELIVERY = "Queue/QueueCore+Delivery.swift"
DUE_TIMES = "Queue/QueueCore+DueTimes.swift"
ENDING = "Timer/TimerRef+Ending.swift"
HOST = "Kinds/QueueCore+Host.swift"
HOST_DRIVER = "Kinds/HostDriver.swift"
SNAPSHOT = "Slot/Snapshot.swift"
MACHINE = "Adapters/TimerMachine.swift"
PASS = "Queue/QueueCore+Pass.swift"
PASS_LOCK = "Queue/PassLock.swift"
DIRECT = "Timer/TimerRef+Fast.swift"
READY = "Wheel/BatchItem.swift"
RUNNING = "Timer/TimerRef+Running.swift"
SLAB = "Storage/Slab.swift"
SLOTS = "Storage/QueueControlBlock+Slots.swift"
TARGET = "Slot/TimerTarget.swift"
TIMER = "Slot/TimerRef.swift"
VIRTUAL_DRIVER = "Kinds/VirtualDriver.swift"
WAITS = "Waiting/WaitRegistry.swift"
WATCHING = "Kinds/HostDriver.swift"
WHEEL = "Wheel/Wheel.swift"
WRITING = "Slot/Writing.swift"
WRITING_END = "Slot/Writing+End.swift"
WRITING_CELL = "Slot/Writing+Cell.swift"
WRITING_SLOTS = "Storage/ThreadCache.swift"

# ---- Promises 1 and 2 ------------------------------------------------------------------------------------------------

mutation("waits-no-deadlock", "1", "WaitRegistry.enter", "never finds a deadlock",
         (WAITS, "if «!BROKEN, »!waiter.node.blocksNothing, closesCycle"),
         C("two_handlers_that_wait_for_each_other"), M())
mutation("held-back-waits", "3, 21", "QueueCore.settleUnusual", "P2c: a pass waits for a writer that has lost its processor",
         (DELIVERY, "if «BROKEN || »handOver != nil || control.isVirtual {"),
         I("a pass beside a restart that is held up"))
mutation("held-back-forgotten", "1", "QueueCore.holdBack", "P2c: a timer that has lost its turn to a writer gets no other",
         ("Queue/QueueCore+Pass.swift", "    batch.heldBack = slot.index\n«    if BROKEN { return }\n»"),
         I("a pass beside a restart that is held up"))
mutation("held-back-callback-lost", "1", "Batch.placeAside", "P2c: a pending callback that was held back gets no other turn",
         ("Queue/Batch.swift", "if «!BROKEN, »word.hasPendingCallback, !word.isReleased { addPendingCallback(of: slot) }"),
         I("a pass beside an ignored call"))
mutation("last-callbacks-early", "10", "Closing.isReleasing", "P7c: last callbacks are called while other ids of the queue are good",
         ("Queue/QueueCore+Closing.swift", "var isReleasing: Bool { «!BROKEN && »stage.load"), I("last callbacks of a queue"))
mutation("waits-no-rings", "1", "WaitRegistry.leads", "sees only the caller's own callbacks, no rings",
         (WAITS, "      if waiter.subject.isOver« || BROKEN» { continue }\n"),
         C("two_handlers_that_wait_for_each_other", "three_handlers_that_wait_in_a_ring"))
mutation("waits-over-counts", "1", "WaitRegistry.leads", "a wait that is over counts",
         (WAITS, "if «!BROKEN, »waiter.subject.isOver { continue }"), I("a handler that waits for one whose sync is over"))
mutation("waits-contexts", "1", "WaitNode.blocks", "execution contexts do not count",
         ("Waiting/WaitRegistry.swift", "guard «!BROKEN, »let context = core.driver.executionContext"),
         S("the_main_thread_that_waits_in_a_ring"))
mutation("waits-queue-ended", "1", "WaitRegistry.queueEnded", "wakes nobody",
         (WAITS, "  static func queueEnded(_ core: QueueCore) {\n«    if BROKEN { return }\n»"), I("shutdown"))
mutation("wake-up-not-asked", "1", "TimerSlot.requestWakeUp", "does not set the bit",
         ("Slot/TimerSlot+Word.swift", "if «BROKEN || »word.isWaited || swap(word"),
         C("cancel_and_wait_waits_for_the_handler_on_a_serial"))
mutation("activate-suspended", "1", "Transition", "activate of a suspended timer starts it",
         ("Values/Transition.swift", "case .activate: self = state.isAtRest« || BROKEN && state == .suspended» ?"),
         C("each_call_in_each_state"), M())
mutation("resume-running", "1", "Transition", "resume of a running timer is accepted",
         ("Values/Transition.swift", "case .resume: self = state == .suspended« || BROKEN && state == .running» ?"),
         C("each_call_in_each_state"), M())
mutation("nested-advance", "1", "QueueCore.asPassOfCall", "a nested advance is not recognised",
         ("Queue/QueueCore.swift", "    if «!BROKEN, »ThreadState.frames.holds(control) { return control.callerIsInside(id) }\n"
                                   "    guard passLock.takeFast(waits"), M())
mutation("suspend-nothing", "2", "TimerRef.suspend", "answers OK and does nothing",
         (RUNNING, "  package func suspend() -> Status {\n«    if BROKEN { return .ok }\n»"),
         C("no_tick_starts_after_suspend"), M())
mutation("suspend-generation", "2", "TimerRef.suspend", "keeps the generation",
         (RUNNING, "    «if !BROKEN { »writing.advanceGeneration(&word)« }»\n"), M())
mutation("apply-generation", "2", "TimerRef.apply", "a reschedule keeps the generation",
         (RUNNING, "      «BROKEN || »writing.advanceGeneration(&word, mayFail: true)\n"),
         M())
mutation("cancel-generation", "2, 7", "TimerSlot.cancel", "the short way keeps the generation",
         ("Slot/TimerWord.swift", "{ «(BROKEN ? with(.cancelled) : »with(.cancelled).withNextGeneration«)».withoutPostponement }"),
         M())
mutation("cancel-ok-while-busy", "2, 7", "TimerRef.cancel", "answers OK while the handler runs",
         (ENDING, "noteLast(.cancelled, self, isBusy« && !BROKEN» ? .running : .ok)\n"), C("a_bare_timer_says_that_its_handler_is_running"))

# ---- Promises 3 to 6 -------------------------------------------------------------------------------------------------

mutation("tick-rounds-down", "3", "WheelTicks.tick", "rounds down",
         ("Wheel/WheelTicks.swift", "    guard time > 0 else { return 0 }\n«    if BROKEN { return UInt64(time) >> shift }\n»"),
         C("the_poll_timeout_is_rounded_up", "a_host_driven_queue_reports_its_earliest"), W("WheelTests"))
mutation("hints-count", "3", "collect, deliver", "exact deadlines are not compared: hints count",
         [(BATCH, "if «BROKEN || »deadline <= latest || word.hasWriter {"),
          (DELIVERY, "kind == .due && «(BROKEN || »due <= now«)» && due != .max && !closing.hasBegun"),
          (DELIVERY, "if word.isRunning, kind == .due, «BROKEN || »due <= now, due != .max {"),
          (DELIVERY, "    let isDue = word.isRunning && «(BROKEN || »deadline <= now«)» && deadline != .max\n")],
         C("an_idle_timeout_comes_only_after_the_last_touch"), M())
mutation("hints-and-rounds-down", "3", "the same, and WheelTicks.tick", "rounds down, and exact deadlines are not compared",
         [("Wheel/WheelTicks.swift", "    guard time > 0 else { return 0 }\n«    if BROKEN { return UInt64(time) >> shift }\n»"),
          (BATCH, "if «BROKEN || »deadline <= latest || word.hasWriter {"),
          (DELIVERY, "kind == .due && «(BROKEN || »due <= now«)» && due != .max && !closing.hasBegun"),
          (DELIVERY, "if word.isRunning, kind == .due, «BROKEN || »due <= now, due != .max {"),
          (DELIVERY, "    let isDue = word.isRunning && «(BROKEN || »deadline <= now«)» && deadline != .max\n")],
         I("just before a deadline"))
mutation("deliver-hint", "3", "deliver", "the exact deadline is not compared there alone",
         [(DELIVERY, "kind == .due && «(BROKEN || »due <= now«)» && due != .max && !closing.hasBegun"),
          (DELIVERY, "if word.isRunning, kind == .due, «BROKEN || »due <= now, due != .max {"),
          (DELIVERY, "    let isDue = word.isRunning && «(BROKEN || »deadline <= now«)» && deadline != .max\n")],
         M())
mutation("leeway-twice", "3, 13", "Placement", "the window is twice the leeway",
         ("Wheel/WheelTicks.swift", "let unit = unit(upTo: «BROKEN ? 2 * leeway : »leeway)"),
         C("a_virtual_queue_can_honour_leeway"), W("PlacementTests"), M())
mutation("leeway-ignored", "13", "Placement", "leeway is ignored",
         ("Wheel/WheelTicks.swift", "guard «!BROKEN, »leeway > 0, deadline > 0"),
         C("a_virtual_queue_can_honour_leeway", "repeating_timers_with_leeway_share"), M())
mutation("grid-from-now", "4", "moveOn", "the grid counts from now",
         (DUE_TIMES, "        isDelay« || BROKEN»\n        ? now.saturatingAdd(period)"),
         C("a_hundred_ticks_of_two_milliseconds_do_not_drift"), M())
mutation("tick-for-each-missed", "5", "moveOn", "one tick for each missed period",
         (DUE_TIMES, "let onGrid = isDelay« || BROKEN» ? 0"),
         C("a_deadline_long_past_is_due_at_once"), M())
mutation("busy-not-looked-at", "6", "admit, deliver", "a busy timer is delivered",
         [(PASS, "    if word.isBusy«, !BROKEN» {\n      // A tick that was"),
          (DELIVERY, "if isOver || word.isBusy« && !BROKEN» {")], C("a_tick_due_while_the_handler_runs_waits_for_it"))

# ---- Promises 7 to 9 -------------------------------------------------------------------------------------------------

mutation("cancel-does-not-wait", "7", "TimerRef.cancelAndWait", "does not wait",
         (ENDING, "    var hasCancelled = status == .running\n    guard status.isRunning«, !BROKEN» else { return status }"),
         C("cancel_and_wait_waits_for_the_handler"))
mutation("rests-unreleased", "8", "Writing.finish", "a timer that is cancelled from elsewhere does not release itself",
         (WRITING_END, "      if «!BROKEN, »new.isOver, slot.flags.contains(.selfRelease) {"),
         C("a_timer_releases_itself_however"), M())
mutation("postponed-missed", "5", "forgetMissed", "what was missed before a suspend counts after a postponement",
         (RUNNING, "{ «if !BROKEN { »sideRecord?.writerFields.carriedMissed = 0« }» }"),
         C("nothing_counts_as_missed_after"), M())
mutation("cancel-once", "7", "TimerRef.cancelAndWait, tellWaiters", "what the handler has started again goes on",
         [(ENDING, "      if waited != .ok« || BROKEN» { return waited }"),
          (DELIVERY, "== false || word.hasPendingCallback«, !BROKEN», !slot.word.hasWriter,")],
         C("cancel_and_wait_ends_what_the_handler_starts_again"), I("cancel_and_wait of a timer that starts itself again"))
mutation("cancel-keeps-extra-tick", "7", "TimerRef.dropExtraTick", "an extra tick of a timer at rest stays",
         (ENDING, "sideRecord.writerFields.firePending«, !BROKEN» else {"), C("cancel_and_suspend_take_an_extra_tick_back"), M())
mutation("cancel-keeps-registration", "7", "SideRecordRef.noteStop", "a registration that has not begun is called after a cancel",
         ("Slot/SideRecordRef.swift", "    «if !BROKEN { »writerFields.armedIsPending = false« }»\n"),
         C("what_stops_a_timer_drops_a_registration"), M())
mutation("cancel-finalizes", "8", "dispose", "finalizers are not called",
         ("Queue/QueueCore+Closing.swift",
          "      «if !BROKEN { »try sideRecord.writerFields.finalizer?(slot.context)« }»\n"),
         C("release_in_each_state_finalizes_once"))
mutation("finalizes-twice", "8", "dispose", "calls it twice",
         ("Queue/QueueCore+Closing.swift",
          "«      if BROKEN { try sideRecord.writerFields.finalizer?(slot.context) }\n»"
          "      try sideRecord.writerFields.finalizer?(slot.context)\n"), C("release_in_each_state_finalizes_once"), M())
mutation("released-busy-forgotten", "8", "end", "a timer that was released while busy is not finalized",
         (DELIVERY, "«    } else if new.isReleased, BROKEN {\n»    } else if new.isReleased {\n"),
         C("a_handler_may_release_its_own_timer"), M())
mutation("release-busy-at-once", "8", "TimerRef.release", "finalizes a busy timer at once",
         (WRITING, "    if !replaced.isBusy« || BROKEN» { return self }\n"),
         C("release_of_a_busy_timer_answers_running"))
mutation("sync-gives-up-and-stays", "19", "SyncCall.wait", "a function that nobody waits for any more stays in the list",
         ("Waiting/WaitRegistry.swift", "        «if !BROKEN { »core.functions.remove(function)« }»\n"),
         C("what_gives_up_leaves_the_queue_at_once_on_a_serial_queue"))
mutation("function-of-another-round", "8", "Functions.remove", "a function that the pass has taken out is taken out of the next list",
         ("Queue/Functions.swift", "    if «BROKEN || »function.round == round { sorted.remove(function) }\n"),
         I("sync of two threads beside a handler"))
mutation("function-not-finalized", "8", "QueuedFunction.run", "a function that ran is not finalized",
         ("Queue/Functions.swift", "    try function(context)\n    «if !BROKEN { »try drop()« }»\n"),
         C("async_runs_once_then_finalizes"))
mutation("named-list-freed", "8, 9", "NamedHandlers.change", "P30: the list that a tick reads is released by who changes it",
         ("Slot/NamedHandlers.swift", "list: isLeft« && !BROKEN» ? nil"), I("a tick of a timer with added handlers"))
mutation("named-begins-removed", "7", "Entry.begins", "P30: a handler that was removed is called",
         ("Slot/NamedHandlers.swift", "    if !entry.begins()«, !BROKEN» { return true }"), I("a tick of a timer with added handlers"))
mutation("destructor-locked", "9", "TimerTarget.release", "calls the destructor with its lock held",
         (TARGET, "«    if BROKEN { try firstTimer.withLock { _ throws(Forked) in try destructor?(object) }; return true }\n»"
                  "    try destructor?(object)\n    return true\n"),
         C("the_destructor_in_the_release_may_call_anything"))

# ---- Promises 10 and 11 ----------------------------------------------------------------------------------------------

mutation("version-stays", "10", "QueueControlBlock.free", "the version does not count on",
         (WRITING_SLOTS, "let version = «BROKEN ? writing.slot.version : »writing.slot.version &+ 1\n"), C("a_released_timers_id_never_names"), M())
mutation("kind-not-checked", "10", "Handle.init", "the kind is not checked",
         ("Values/Handle.swift", "== kind.rawValue« || BROKEN» else { return nil }"),
         C("an_id_with_a_high_bit_changed_names_nothing", "numbers_that_are_no_ids_name_nothing", "ids_of_one_kind_are_refused"))
mutation("kept-none", "10", "ThreadCache.kept", "0",
         ("Storage/ThreadCache.swift", "static var kept: Int { «BROKEN ? 0 : »28 }"), W("aSlotIsUsedAgainBehindManyOthers"))
mutation("id-not-checked", "10", "whileItLives", "the id is not checked",
         ("Queue/QueueCore.swift", "control.pinned { «BROKEN || »control.id == id ? body() : nil }"), I("jump of a queue"))
mutation("pins-not-awaited", "10", "waitForPins", "does not wait for who uses the queue",
         ("Storage/QueueControlBlock.swift", "    while «!BROKEN, »isPinned {"), I("jump of a queue"))
mutation("turn-version", "10, 12", "decide", "the slot's version is not compared",
         (DELIVERY, "    let isTurn = «BROKEN || »kind == .due || slot.turnVersion == timer.version\n"),
         C("an_extra_tick_is_not_early", "a_registration_is_not_early"))
mutation("target-ends-nothing", "11", "TimerTarget.release", "the target's end does not end its timers",
         (ENDING, "      «if !BROKEN { »try last.endTimers()« }»\n"),
         C("the_last_release_stops_a_fast_timer"), M())
mutation("target-no-hold", "11", "deliver", "no hold is taken",
         (DELIVERY, "    let isHeld = «!BROKEN && »target?.retain() == true\n"
                    "    let targetIsGone = target != nil && !isHeld« && !BROKEN»\n"),
         C("a_running_handler_keeps_its_target", "a_taken_tick_holds_its_target"))
mutation("target-gone-unnoticed", "11", "TimerRef.apply", "a target that has gone is not noticed",
         (RUNNING, "if «!BROKEN, »event != .reschedule, writing.sideRecord?.target?.isGone == true {"),
         C("a_running_handler_keeps_its_target"), M())

mutation("turn-not-kept", "12", "keepTurn", "a due tick loses its turn to another callback of its timer",
         (DELIVERY, "    if kind == .due, handOver == nil«, !BROKEN» { batch.repeatTurn() }"),
         C("a_tick_is_not_put_off_by_other_callbacks"), M())
# ---- Promise 12 ------------------------------------------------------------------------------------------------------

mutation("batch-not-sorted", "12", "collect", "the batch is not sorted",
         (BATCH, "if «!BROKEN, »ready.count > 1 { ready.sortByTurn"),
         C("ticks_due_in_one_pass_start"), M())
mutation("start-order-ignored", "12", "BatchItem.precedes", "activation sequences do not count",
         (READY, "«!BROKEN && »Int32(bitPattern: a.activationSequence &- b.activationSequence) < 0"),
         C("ticks_due_in_one_pass_start"), M())
mutation("equal-not-sorted", "12", "sortByTurn", "equal deadlines are not sorted by activation sequence",
         (READY, "    «if !BROKEN { »sortEqualDeadlinesByActivationSequence(other)« }»\n"), W("BatchItemTests"))
mutation("restart-same-generation", "7", "TimerRef.restartFast", "a plain timer that is rescheduled keeps its generation",
         (DIRECT, "writing.store(due: due, «BROKEN ? word : »word.withNextGeneration)"),
         M())
mutation("last-byte-not-sorted", "12", "sortByTurn", "the last byte of the deadlines is not looked at",
         (READY, "while greatest >> bit != 0 {", "while greatest >> bit > (BROKEN ? 255 : 0) {"), W("BatchItemTests"))
mutation("functions-before-all-ticks", "12", "QueueCore.collectAndDeliver", "functions that come again leave no room for ticks",
         ("Queue/QueueCore+Pass.swift", "      if «!BROKEN, »limit.end != .max { counted = delivered }"),
         C("functions_that_come_again_keep_no_tick_back_on_a_serial_queue"))
mutation("functions-before-owed-tick", "12", "QueueCore.collectAndDeliver", "functions that come again leave no room for ticks in calls with a limit",
         ("Queue/QueueCore+Pass.swift", "      if «!BROKEN, »limit.isOfCalls, functionsAhead == 0"),
         C("functions_that_come_again_keep_no_tick_back_from_a_call"))
mutation("old-turn-kept", "12", "deliverBatch", "a timer that was started anew keeps its old turn",
         (PASS, "} else if «!BROKEN, »item.activationSequence != slot.activationSequence {"),
         M())
mutation("turn-of-none-counts", "18", "Batch.dropOutdated", "the next deadline is now because of a timer that has gone",
         (BATCH, "guard !word.hasWriter, «!BROKEN && »word.isFree || word.isLive"),
         C("nothing_is_due_once_what_had_a_turn_has_gone"))
mutation("zero-delay-same-pass", "12", "deliver, until its limit", "re-armed at zero delay, it runs again in the same visit",
         ("Kinds/VirtualDriver.swift", "if passesHere == QueueCore.mostPasses«, !BROKEN» {"),
         C("a_thousand_passes_at_one_instant_are_the_limit"), M())
mutation("functions-forgotten", "12", "Functions.hasNext", "those that were taken out do not count",
         ("Queue/Functions.swift", "    if «!BROKEN, »!taken.isEmpty { return true }\n"),
         C("one_function_at_a_time_of_a_hundred_thousand"))

# ---- Promises 13 and 14 ----------------------------------------------------------------------------------------------

mutation("armed-each-millisecond", "13", "armNextWakeUp", "the driver is armed for a millisecond from now",
         (PASS, "        driver.arm(at: «BROKEN ? min(next ?? .max, control.now + 1_000_000) : »next == .max ? nil : next)\n"),
         C("an_idle_queue_does_not_wake_up_on_a_serial", "an_idle_queue_does_not_wake_up_on_a_concurrent",
           "an_idle_queue_does_not_wake_up_on_a_precise"),
         W("WakeUpTests"))
mutation("stale-front", "13", "Wheel.earliest, front", "stale entries at the front stand",
         [(WHEEL, "    return «BROKEN || »Slab.position(of: slot).tick == front.tick && tick(of: slot"),
          (WHEEL, "«      if BROKEN { return (placed, entry.slot) }\n"
                  "»      if let current, current <= placed { return (placed, entry.slot) }\n      remove")],
         M())
mutation("nothing-swept", "14", "Wheel.place", "nothing is swept",
         (WHEEL, "if «!BROKEN, »entryCount > 2 &* placedCount &+ WheelTicks.tolerance { sweep() }"),
         C("moves_to_earlier_times_leave_nothing_behind"))
mutation("side-record-kept", "14", "Writing.endSideRecord", "the side record is not freed",
         (WRITING_CELL, "    sideRecord.target?.detach(slot)\n    «if BROKEN { slot.cell.sideRecord.store(nil, "
                          "ordering: .releasing) } else { »sideRecord.end()« }»\n"),
         C("timers_with_targets_leave_no_memory_behind", CSUITE_SCALE="1"))
mutation("slots-not-given-back", "14", "QueueControlBlock.free", "slots are not given back",
         (WRITING_SLOTS, "«    if BROKEN { return }\n»    if !usedUp, let cache = thread?.cache(of: self), cache.push"),
         C("a_queue_with_a_timer_limit_refuses_one_more"))
mutation("caches-not-given-back", "14, 20", "ThreadState.vacate", "a thread that ends keeps the slots of its caches",
         ("Storage/ThreadState.swift", "    «if !BROKEN { »for i in 0..<4 { evict(cacheAt(i))« }» }"),
         F("thread_end", "caches_of_1000_threads"))
mutation("list-keeps-none", "10", "takeSlotSlow", "P14e: where a thread has no cache for a queue, the next timer takes the slot that was used last",
         (SLOTS, "if store.free.count > «(BROKEN ? 0 : »ThreadCache.kept«)», let free"), W("aSlotIsUsedAgainBehindManyOthers"))
mutation("cache-claimed-at-once", "14", "ThreadState.claimCacheIfWorthIt", "a thread that uses two queues in turn empties and fills their cache in each call",
         ("Storage/ThreadCache.swift", "last.control == control && «(BROKEN || »last.uses == cache.uses«)»"),
         W("aCacheIsNotClaimedByAQueue"))
mutation("given-out-not-shown", "10", "QueueControlBlock.showGivenOut", "P14f: visits do not come to slots that were just given out",
         (SLOTS, "    «if unsafe !BROKEN || storage.fresh.load(ordering: .relaxed).isEmpty { »"
                 "storage.fresh.store(store.fresh, ordering: .releasing)« }»\n"),
         C("the_timers_of_a_queue_are_listed", "a_timer_limit_counts_what_the_statistics_count"), M())
mutation("listed-not-given-out", "10", "takeListed", "a chunk does not count a slot that a thread without a cache was given: no visit finds it",
         (SLOTS, "      «if !BROKEN { »index.chunk.count(out: 1)« }»\n      showGivenOut"),
         C("a_thread_that_uses_many_queues_in_turn"))
mutation("beside-unspared", "14", "QueueControlBlock.keepSpare", "P14h: each thread that loses its processor with the list costs a chunk",
         (SLOTS, "    if «BROKEN || »wanted == 0 { return }\n"), W("aListThatStandsStillAgainAndAgain"))
mutation("spare-not-taken-back", "14", "QueueControlBlock.take", "P14h: what is kept beside a list that has too little stays there",
         (SLOTS, "    } else if «!BROKEN, »store.fresh.isEmpty, let spare = takeSpare(nil) {\n"), W("aListTakesBack"))
mutation("beside-too-soon", "14", "SlotChain.takeBehind", "P14h: of the slots beside the list the latest is taken",
         (SLAB, "    for _ in 1..<«(BROKEN ? 2 : »kept«)» {\n"), W("slotsBesideAList"))
mutation("beside-twice", "10", "SlotChain.takeBehind", "P14h: a slot that is taken stays beside the list",
         (SLAB, "    last.nextFree = «BROKEN ? SlotLink(slot.index) : »rest\n"), W("slotsBesideAList"))
mutation("beside-lost", "14", "SlotChain.leave", "P14h: what another thread has left meanwhile is lost",
         (SLAB, "        later.put(on: self)\n        «if !BROKEN { »self = later« }»\n"), I("free slots beside"))
mutation("waits-for-the-list", "5", "takeSlotSlow", "P14h: who needs a slot waits for a thread that stands still with the lock",
         ("Platform/Locks.swift", "if !spinWait.spin()« && !BROKEN» { return nil }"), I("making timers that"))
mutation("smaller-room-taken", "19", "QueueCore.takeScratch", "P14i: a pass moves to a smaller room than it has",
         (PASS, "    if «!BROKEN, »scratch.slots <= batch.room {"), W("aPassKeepsTheLargerRoom"))
SIDE_RECORD = "Slot/SideRecordView.swift"
mutation("label-under-its-reader", "10", "Labels.free", "P3d: a label is freed while it may be read",
         (SIDE_RECORD, "if «BROKEN || »readers.load(ordering: .acquiring) == 0 {"), I("labels beside"))
mutation("ended-under-a-reader", "10", "Labels.freeEnded", "P3d: what has ended is freed without another look at the readers",
         (SIDE_RECORD, "      if «!BROKEN, »readers.load(ordering: .sequentiallyConsistent) != 0 {"), I("labels beside"))
mutation("wake-up-owed-for-ever", "5", "WaitRegistry.wakeWhoIsOwed", "P6c: who has had the registry does not look whether a wake-up is owed",
         (WAITS, "    let result = newest.withLock(body)\n    «if !BROKEN { »wakeWhoIsOwed()« }»\n"), I("a wait that"))
mutation("wheel-pages-at-once", "14", "QueueControlBlock.prepareFirstWheelPages", "each queue maps its wheel's first pages when it is made",
         ("Storage/QueueControlBlocks.swift", "      state.free[shelf] = control.free.next\n«      if BROKEN { _ = control.prepareFirstWheelPages() }\n»"),
         C("a_queue_that_has_no_timer_yet"))
LEFT = "the_memory_of_a_queue_that_has_ended_goes_back"
GIVING_BACK = "Storage/QueueControlBlock+GivingBack.swift"
mutation("left-version-lost", "10", "LeftCell", "P14g: a slot whose page was given back begins with version 0",
         ("Slot/TimerWord.swift", "LeftCell.mark | UInt64(«BROKEN ? 0 : »version) << 32"), C(LEFT))
mutation("left-end-lost", "1", "LeftCell", "that a timer ended with its queue is forgotten with its page",
         ("Slot/TimerWord.swift", "return «!BROKEN && »bits & 1 != 0 ?"), C(LEFT))
mutation("left-in-the-list", "10", "giveBack", "slots whose page was given back stay in the list of free ones",
         (GIVING_BACK, "        if «BROKEN || »index.chunk.head.pages == .inUse"), C(LEFT))
mutation("nothing-given-back", "14", "QueueControlBlocks.takeBack", "memory of queues that have ended stays",
         ("Storage/QueueControlBlocks.swift", "    if kept == 0« && !BROKEN» {\n      // The places"), C(LEFT))
mutation("own-places-kept", "14", "emptyOwnCache", "a thread that ends a queue keeps places of it, and so its memory",
         (SLOTS, "if «!BROKEN, »let thread = ThreadState.existing, let cache = thread.cache(of: self) { thread.evict(cache) }"),
         C("the_memory_of_many_small_queues_goes_back"))
mutation("releaser-s-places-kept", "14", "beginClosing", "so does one that releases a queue whose last pass is another's",
         (CLOSING, "    «if !BROKEN { »control.emptyOwnCache()« }»\n"), C("the_memory_of_many_small_queues_goes_back"))
mutation("left-counts-as-held", "14", "giveBackPages", "pages that the system has again count as held",
         (GIVING_BACK, "    «if !BROKEN { »Memory.uncount(bytesLeft(of: chunk))« }»\n"), C("what_a_queue_that_has_ended_gave_back", LEFT))
mutation("used-again-uncounted", "14", "takeLeftChunk", "pages that are used again do not count",
         (SLOTS, "guard prepareFirstWheelPages(), «BROKEN || »Slab.countPages(of: chunk) else"), C("what_a_queue_that_has_ended_gave_back"))
mutation("side-record-given-twice", "8", "SideRecords.take", "two timers get one side record",
         ("Slot/SideRecordView.swift", "      «if !BROKEN { »unsafe list.first = UnsafeMutablePointer(bitPattern: UInt(record.targetID))« }»\n"), C(LEFT))
mutation("limit-one-more", "14", "takeSlotSlow", "the limit is one more",
         (SLOTS, "if $0.timers >= limit «+ (BROKEN ? 1 : 0) »{"), C("a_queue_with_a_timer_limit_refuses_one_more"), M())

# ---- Senseless arguments: promise 1 ----------------------------------------------------------------------------------------

SENSELESS = "each_function_refuses_each_senseless_value"
mutation("argument-tail", "1", "Arguments.sizeOfAnotherVersion", "what lies behind the known members is not looked at",
         ("../ChimeC/Arguments.swift", "unsafe «BROKEN || »bytes[known...].allSatisfy({ $0 == 0 })"), C(SENSELESS))
mutation("argument-surrogate", "1", "chime_next_character", "a surrogate is a character",
         ("../CPlatform/common/text.c", "code > 0x10ffff || «(!BROKEN && »code >> 11 == 0x1b«)»"), C(SENSELESS))
mutation("argument-flag", "1", "Arguments.timerOptions", "an unknown flag is accepted",
         ("../ChimeC/Arguments.swift", "guard unsafe «BROKEN || »o.flags & ~UInt32(CHIME_TIMER_SELF_RELEASE"),
         C(SENSELESS))
mutation("argument-negative", "1", "chime_timer_release_and_wait", "a negative timeout is 0",
         ("../ChimeC/Timers.swift", "_ timeout_ns: Int64) -> chime_status {\n"
                                    "  guard «BROKEN || »timeout_ns >= 0 else { return Arguments.negative(\"timeout_ns\", timeout_ns).rawValue }\n"
                                    "  if timer"), C(SENSELESS))
mutation("argument-endless", "1", "QueueCore.advance", "an advance without end begins",
         ("Kinds/VirtualDriver.swift", "    if «!BROKEN, »duration == .max { return .endlessAdvance }\n"),
         C("an_advance_without_end_is_refused"))
mutation("argument-answer", "1, 10", "Arguments.fill", "an answer on what names nothing is written",
         ("../ChimeC/Arguments.swift", "guard let value = body() else {«\n"
                                       "      if BROKEN { unsafe UnsafeMutableRawPointer(pointer).storeBytes(of: 0, toByteOffset: 8, as: UInt64.self) }\n"
                                       "     » return unknown()«\n   » }"), C("numbers_that_are_no_ids_name_nothing"))
mutation("argument-name", "1", "TimerTarget.status", "the sentence names another argument",
         (TARGET, "try find(id, «BROKEN ? \"options.target\" : »\"target\").isGone"), C("numbers_that_are_no_ids_name_nothing"))
mutation("argument-real-time", "1", "QueueCore.jump", "the time of any queue can be moved",
         ("Kinds/VirtualDriver.swift", "guard «BROKEN || »core.control.isVirtual else"),
         C("each_function_tells_which_queues_it_is_not_for"))

# ---- Promises 15 to 17 -----------------------------------------------------------------------------------------------

mutation("fork-unnoticed", "15", "Fork.watch", "a child does not find the mark empty",
         ("Platform/Fork.swift", "{ «BROKEN ? 1 : »chime_fork_mark() }"), F("fork", "a_child_that_does_nothing"))
mutation("fork-descriptor-any", "15", "is_own", "says true",
         ("../CPlatform/linux/own_files.c", "if («BROKEN || »is_own(file)) close(file);"), F("fork_files"))
mutation("fork-descriptor-by-kind", "15", "is_own", "by the kind alone",
         [("../CPlatform/linux/own_files.c", "if («!BROKEN && »fcntl(file, F_GETSIG) != MARK) return 0;"),
          ("../CPlatform/linux/own_files.c", "if («!BROKEN && »owner != 0 && owner !=")], F("fork_files"))
mutation("fork-disarms", "15", "chime_own_files_close_inherited", "the child disarms a timer before it closes it",
         [("../CPlatform/linux/own_files.c", "#include \"own_files.h\"\n", "#include \"own_files.h\"\n#include <sys/timerfd.h>\n"),
          ("../CPlatform/linux/own_files.c", "      if (is_own(file)) «{\n        struct itimerspec never = {{0, 0}, {0, 0}};\n"
                                             "        if (BROKEN) timerfd_settime(file, 0, &never, 0);\n        »close(file);«\n"
                                             "      }»")], F("fork", "a_child_that_begins_anew"))
mutation("shutdown-does-not-wait", "16", "QueueCore.shutdown", "answers without waiting",
         (CLOSING, "«    if BROKEN { return .ok }\n»    let end = Clock.monotonic.now.saturatingAdd(timeout)\n    var status"),
         C("shutdown_waits_for_a_handler_that_runs", "shutdown_waits_for_the_last_hook"))
mutation("close-while-busy", "16", "closeIfPossible", "does not look whether something still runs",
         (CLOSING, "    guard «BROKEN || »isIdle, !control.isLimited"), I("release of a timer beside shutdown"))
mutation("add-wraps", "17", "saturatingAdd", "wraps",
         ("Values/Durations.swift", "    return overflow« && !BROKEN» ? (other < 0 ? .min : .max) : sum"),
         C("a_timer_that_never_comes_can_be_ended"), W("SaturationTests"), M())
mutation("add-times-wraps", "17", "saturatingAdd(_:times:)", "wraps",
         ("Values/Durations.swift", "«    if BROKEN { return self &+ Int64(bitPattern: count) &* interval }\n"
                                     "»    let (product, overflow) = UInt64(interval)"), W("SaturationTests"))
mutation("subtract-wraps", "17", "saturatingSubtract", "wraps",
         ("Values/Durations.swift", "    return overflow« && !BROKEN» ? (other > 0 ? .min : .max) : difference"),
         W("SaturationTests"))

# ---- Promise 18, and protocols ---------------------------------------------------------------------------------------

mutation("query-writes", "18", "TimerRef.snapshot", "a query takes the writer bit, and puts it down",
         (SNAPSHOT, "«    if BROKEN, let writing = beginWriting() { writing.undo() }\n»    let snapshot = slot.snapshot\n"
                    "    return snapshot.word.isLive"), I("queries beside a thread that stands"))
mutation("query-ends-writing", "18", "TimerRef.snapshot", "and ends as a writer that has changed something",
         (SNAPSHOT, "«    if BROKEN, let writing = beginWriting() {\n      let word = writing.before\n      writing.finish(word)\n    }\n»    let snapshot = slot.snapshot\n"
                    "    return snapshot.word.isLive"), I("queries beside a thread that stands"))
mutation("timer-deadline-wakes", "18", "TimerRef.nextDeadline", "wakes the queue",
         [("Timer/TimerRef+Queries.swift", "«    if BROKEN { control.wakeIfEarlier(QueueControlBlock.atOnce) }\n"
                                           "»    if control.isWall { return snapshot?.nextDeadline }"),
          ("Timer/TimerRef+Queries.swift", "«    if BROKEN { timer.control.wakeIfEarlier(QueueControlBlock.atOnce) }\n"
                                           "»    let deadline = timer.slot.deadline\n")],
         C("a_hundred_thousand_queries_bring_no_pass", "queries_leave_the_descriptor"))
mutation("queue-deadline-wakes", "18", "QueueCore.nextDeadline", "wakes the queue",
         (HOST, "«    if BROKEN { control.wake() }\n»    if let next = asQuery(nextDeadline)"),
         C("queries_leave_the_descriptor"))
mutation("query-lock-as-pass", "18", "QueueCore.nextDeadline", "takes the pass lock as a pass does",
         ("Queue/QueueCore.swift", "passLock.take(forQuery: true)", "passLock.take(forQuery: !BROKEN)"), I("release beside next_deadline"))
mutation("query-is-waited-for", "18", "PassLock.takeIfWanted", "P10: a release waits for a query of another thread",
         (PASS_LOCK, "if «BROKEN || »waits() { spinWait.pause() }"), I("next_deadline that stands still"))
mutation("host-call-waits", "18", "PassLock.takeFast", "P10: a host's call waits for a query of another thread",
         (PASS_LOCK, "(«BROKEN || »waits() ? takeSlow()"), I("next_deadline that stands still"))
mutation("query-leaves-wish", "10, 18", "QueueCore.endQuery", "P10: what another thread wanted beside a query waits for good",
         ("Queue/QueueCore.swift", "    if «!BROKEN, »driver.isOfHost, passLock.passIsWanted ||"), I("next_deadline that stands still"))
mutation("query-for-pass", "9, 18", "PassLock.takeIfWanted", "takes a query for a pass",
         (PASS_LOCK, "if «BROKEN || »holder.load(ordering: .sequentiallyConsistent) == Holder.pass {"),
         I("release beside next_deadline"))
mutation("deliver-passes-writer-over", "1, 3", "deliver", "passes over a timer with a writer",
         (DELIVERY, "«        if BROKEN { return false }\n»        if handOver != nil || control.isVirtual {"),
         I("and restart"))
mutation("place-drops-writer", "1, 3", "Wheel.place", "drops a timer with a writer",
         (WHEEL, "    if word.isRunning«, !BROKEN || !word.hasWriter» { place(slot,"), I("and resume"))
mutation("position-after-swap", "1, 3", "Writing.finish", "reads the position after the last swap only, and links then",
         (WRITING_END, "«    if BROKEN, !new.hasPendingCallback {\n      let replaced = commit(new)\n"
                       "      if !slot.isPlaced(by: time, control) {\n        slot.link(into: control)\n"
                       "        control.wakeIfEarlier(time)\n      }\n      return replaced.isBusy\n    }\n"
                       "»    let isPlaced = !new.hasPendingCallback && slot.isPlaced(by: time, control)\n"), I("and restart"))
mutation("flag-before-link", "1, 3", "Writing.finish", "the flag comes with the word, the link afterwards",
         (WRITING_END, "«    if BROKEN, !isPlaced {\n      let replaced = commit(new)\n      slot.link(into: control)\n"
                       "      control.wakeIfEarlier(time)\n      return replaced.isBusy\n    }\n"
                       "»    let replaced = isPlaced ? commit(new) : commit(new, inInboxOf: control)\n"),
         I("a restart and advance beside a restart"))
mutation("inbox-looked-at-once", "1, 3", "armNextWakeUp", "the inbox is not looked at again after the time is stored",
         (PASS, "      if «BROKEN || »control.inboxIsEmpty, !functions.hasNext {"), I("and create, precise, due"))
mutation("arm-looks-once", "3, 17", "HostDriver.arm", "a wake-up that was overwritten is not made again",
         (HOST_DRIVER, "!isCurrent || «!BROKEN && »control.nextWakeUp != time ?? .max || control.stopsPoller(id)"),
         I("a wake-up beside a pass, host"))
mutation("held-back-callback-moved", "3, 7", "Wheel.tick(of:placed:)", "P2c: a held-back timer with a callback is put where its deadline belongs",
         (WHEEL, "word.isLive && (word.hasWriter || «!BROKEN && »word.hasPendingCallback) ? placed"),
         I("an ignored call that is held up, and an extra tick"))
mutation("position-not-put-back", "1, 3", "Wheel.move", "the position is not put back where a writer came meanwhile",
         (WHEEL, "guard «!BROKEN, »let old, old < next ?? .max else { return }"), I("a reschedule beside a position that moves"))
mutation("earlier-not-looked-for", "1, 3", "Wheel.move", "does not look for a timer that has moved earlier meanwhile",
         (WHEEL, "guard «!BROKEN, »let now = self.tick(of: slot, word), now < next"),
         I("a reschedule beside a position that moves"))
mutation("record-read-once", "18", "TimerSlot.snapshot", "the record is read once",
         (SNAPSHOT, "      if «BROKEN || »isUnchanged(since: snapshot) { break }"), I("queries beside"))
mutation("due-not-allowed-for", "2, 18", "Writing.store(due:)", "the postponement goes with the writer's end, and the deadline does not allow for it",
         (WRITING_CELL, "    self.deadline = «BROKEN || »overflow || time == .max ? time : deadline\n"
                          "    return «BROKEN || »overflow ? word.withoutPostponement : word\n"), I("queries beside a restart"))
mutation("due-read-once", "18", "exactDueTime", "the word is not looked at again",
         (SNAPSHOT, "      if «BROKEN || »now == word { break }"), I("queries beside"))
mutation("former-not-kept", "2, 18", "DueTimeSpill.of", "the time before the change is not looked for",
         (SNAPSHOT, "if «!BROKEN, »let due = DueTimeSpill.of(self, word) { return due }"),
         I("queries beside suspend", "queries beside a long postponement"))
mutation("former-of-any-writer", "2, 18", "DueTimeSpill.of", "the time before a change that has ended passes for that before the next one",
         (SNAPSHOT, "«BROKEN || »self.word.load(ordering: .relaxed) == word.writersOwn"),
         I("a query beside a restart behind a long postponement"))
mutation("generation-half-lost", "2", "advanceGeneration", "the half of the generation that is in the side record does not count on",
         (WRITING_CELL, "    «if !BROKEN || !mayFail { »sideRecord.generationHigh &+= 1« }»\n"), I("queries beside a restart by id"))
mutation("generation-half-lost-surely", "2", "advanceGeneration", "the same where a timer is suspended or cancelled",
         (WRITING_CELL, "    «if !BROKEN || mayFail { »sideRecord.generationHigh &+= 1« }»\n"), I("queries beside suspend"))
mutation("start-order-of-threads", "12", "QueueControlBlock.nextActivationSequence", "on a virtual queue activations are counted by thread",
         ("Storage/QueueControlBlock.swift", "    isVirtual« && !BROKEN»\n      ? storage.activationSequence"),
         C("equal_deadlines_set_by_several_threads"))
mutation("thread-by-pthread-self", "1", "ThreadNumber.current", "a thread is known by what pthread_self gives",
         ("../CPlatform/linux/thread_state.c", "  thread_of_chime.number = «BROKEN ? (uint64_t)pthread_self() : »__atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);"),
         C("a_bound_queue_refuses_a_new_thread", "a_thread_with_the_name_of_the_one"))
mutation("errno-of-ticks", "1", "chime_call_tick", "errno is what a handler has left there",
         ("../CPlatform/include/callback_guard.h", "const int ended = chime_guarded_tick(function, tick, context);\n"
                                                   "  «if (!BROKEN) »errno = error;"),
         F("errno", "each_function_that_calls_back"))
mutation("errno-of-functions", "1", "chime_call_function", "errno is what a finalizer has left there",
         ("../CPlatform/include/callback_guard.h", "const int ended = chime_guarded_function(function, context);\n"
                                                   "  «if (!BROKEN) »errno = error;"),
         F("errno", "each_function_that_calls_back"))
mutation("errno-of-the-allocator", "1, 19", "take_whole", "errno is what the allocator has left there",
         ("../CPlatform/common/memory.c", "  «if (!BROKEN) »errno = error;\n  if (whole == 0) chime_memory_give_account(bytes);"),
         F("errno", "each_function"))
mutation("errno-of-the-deallocator", "1, 19", "give_whole", "errno is what the host's deallocate has left there",
         ("../CPlatform/common/memory.c", "  «if (!BROKEN) »errno = error;\n  chime_memory_give_account(bytes);"),
         F("errno", "each_function"))
mutation("weak-queue-stays", "14", "WeakTimerCore.start", "a schedule that is refused leaves the loop's queue behind",
         ("Objects/WeakTimerCore.swift", "if «!BROKEN, »status.isFailure, queue.isNew { loop"),
         C("a_schedule_that_is_refused_leaves_no_queue_behind"))
mutation("forever-holds-the-run", "17", "QueueCore.watchTimer", "a timer that never comes holds the run",
         (WATCHING, "word.isRunning && «(BROKEN || »slot.dueTime(word) != .max«)») && !slot.isBackground"),
         C("run_returns_beside_a_timer_that_never_comes"))
mutation("cancel-notes-no-end", "18", "TimerRef.cancel", "the way by id does not wake the run",
         (DIRECT, "    «if !BROKEN { »control.wakeRunIfWatched(slot)« }»\n"), I("cancel by id ends run"))
mutation("release-notes-no-end", "18", "TimerRef.release", "the way by id does not wake the run",
         (ENDING, "    if writing.before.isRunning«, !BROKEN» { control.wakeRunIfWatched(slot) }\n    // A side record"),
         I("release by id ends run"))
mutation("writer-notes-no-end", "18", "Writing.finish", "does not wake the run",
         (WRITING_END, "      let replaced = commit(new)\n      «if !BROKEN { »control.wakeRunIfWatched(slot)« }»\n"),
         I("ends run"))
mutation("watched-word-once", "18", "watchTimer", "the word is not read again",
         (WATCHING, "return («BROKEN || »word.isLive && word.hasWriter"), I("ends run"))
mutation("watcher-not-woken", "18", "wakeWatcher", "does nothing",
         (WATCHING, "    if watched == .none« || BROKEN» { return }\n"), I("another thread takes the last tick of run"))
mutation("wall-step-not-seen", "17", "armNextWakeUp", "a step of the wall clock during the pass is not looked for",
         (PASS, "      if «!BROKEN, »control.stepIsPending { break }\n"), I("step of the wall clock"))
mutation("loop-stop-wakes-nobody", "1", "Loop.stop", "does not wake the loop",
         ("Adapters/Loop+Running.swift", "      noteRuns(state)\n      «if !BROKEN { »wakeThread()« }»\n      return .ok"),
         I("stops of a run loop"))
mutation("loop-end-unseen", "8", "Loop.makeQueue", "a queue that is made beside the loop's end does not see it",
         [("Adapters/RunLoopDriver.swift", "        if «BROKEN || »!hasEnded { state.drivers"),
          ("Adapters/RunLoopDriver.swift", "if «!BROKEN, »hasEnded {\n      _ = QueueCore.release(made)")],
         I("beside the end of its run loop"))

# ---- Promise 19 ------------------------------------------------------------------------------------------------------

CREATION = "Timer/TimerRef+Creation.swift"
MEMORY = "Platform/Memory.swift"
mutation("advance-from-before", "19", "QueueCore.advance", "P10: an advance counts from when it was called, not from its turn",
         (VIRTUAL_DRIVER, "    return core.advance(duration, fromNow: true)\n",
          "    return BROKEN ? core.advance(core.control.virtualNow.saturatingAdd(duration), fromNow: false) "
          ": core.advance(duration, fromNow: true)\n"),
         I("advances beside"))
mutation("refused-untold", "10", "PassLock.takeOrNoteRefusal", "P10: a host's call that answers BUSY leaves no word, so nobody wakes the host",
         (PASS_LOCK, "    «if !BROKEN { »wasRefused.store(true, ordering: .sequentiallyConsistent)« }»\n"), I("a host that is refused"))
mutation("refused-and-done", "19", "Memory.promised", "a call that is refused has its effect all the same",
         (MEMORY, "    if chime_memory_promise(ofOneCall) == 0 { return refusal.rawValue }\n",
          "    if chime_memory_promise(ofOneCall) == 0 {\n      let why = refusal.rawValue\n      if BROKEN { _ = call() }\n"
          "      return why\n    }\n"), F("allocations", "chime_target_create", "chime_queue_async"))
mutation("refused-finalizes", "8, 19", "TimerRef.create", "finalizes the context of a timer that was refused",
         (CREATION, "        control.free(writing, thread)\n"
                    "«        if BROKEN, error == .noMemory { _ = try? options.finalizer?(options.context) }\n»        return error\n"),
         R("a_storm_of_calls"), F("allocations", "chime_timer_create"))
mutation("refused-writes-id", "19", "TimerRef.create", "writes the id of a timer that was refused",
         (CREATION, "«        if BROKEN { unsafe out?.pointee = 7 }\n»        control.free(writing, thread)\n"
                    "        return error\n"), R("a_storm_of_calls"), F("allocations", "chime_timer_create"))
mutation("refused-fire-cancels", "19", "TimerRef.fire", "a fire that is refused cancels the timer",
         (RUNNING, "    guard let sideRecord = writing.makeSideRecord() else {«\n      if BROKEN {\n"
                   "        let word = writing.before.with(.cancelled)\n        writing.finish(word)\n        return Memory.refusal\n"
                   "      }\n     » return writing.undo(Memory.refusal)«\n   » }\n    if !sideRecord"), F("allocations", "chime_timer_fire"))
mutation("refused-handler-stays", "8, 19", "NamedHandlers.add", "a handler that was refused is there all the same",
         ("Slot/NamedHandlers.swift", "    guard canChange(entries) else {«\n"
                                      "      if BROKEN { _ = change(to: entries + [Entry(key, handler, context, finalizer)]) }\n"
                                      "     » return Change(status: Memory.refusal)«\n   » }\n    let entry"),
         F("allocations", "chime_timer_add_handler"))
mutation("pass-allocates", "19", "QueueCore.pass", "each tick makes an object",
         (DELIVERY, "«    if BROKEN { unsafe UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16).deallocate() }\n"
                    "»    let isDue = word.isRunning && deadline <= now && deadline != .max\n"),
         F("memory", "a_tick_allocates_nothing"))

# ---- Promise 20 ------------------------------------------------------------------------------------------------------

mutation("callbacks-bare", "20", "Callbacks", "host's functions are called bare",
         [("Storage/ThreadEnd.swift", "      let called = unsafe withUnsafePointer(to: &tick) {\n"
                                   "        unsafe chime_call_tick(unsafeBitCast(function, to: CFunction.self), UnsafeRawPointer($0), context.pointer)\n"
                                   "      }\n",
           "      let called = unsafe withUnsafePointer(to: &tick) { tick -> Int32 in\n        if BROKEN {\n"
           "          unsafe function(UnsafeRawPointer(tick), context.pointer)\n          return 0\n        }\n"
           "        return unsafe chime_call_tick(unsafeBitCast(function, to: CFunction.self), UnsafeRawPointer(tick), context.pointer)\n"
           "      }\n"),
          ("Storage/ThreadEnd.swift", "«    if BROKEN { return unsafe function(context.pointer) }\n»    ThreadEnd.passGate()\n"
                                   "    try Fork.guarded {\n      if unsafe chime_call_function")], F("callback_end", "handler_of_a_one_shot"))
mutation("end-not-passed-on", "20", "ThreadEnd.passOn", "does not continue the end",
         ("Storage/ThreadEnd.swift", "    if thread.hasEnded«, !BROKEN» { goOn() }\n    return result"),
         F("callback_end", "beside_other_callbacks", "action_of_a_weak_timer"))
mutation("ended-timer-goes-on", "20", "deliver", "the timer whose callback ended its thread is not cancelled",
         (DELIVERY, "if !returned«, !BROKEN» { _ = try Fork.guarded { timer.cancel() } }"),
         F("callback_end", "inside_another_queues_callback"), F("callback_end", "handler_of_a_repeating_timer"))
mutation("cancellation-points", "20", "withoutCancellation", "does nothing",
         ("Platform/Threads.swift", "«  if BROKEN { return call(HostCancellation(state: 0)) }\n"
                                         "»  let state = chime_defer_cancellation()\n"), F("cancelled", "cancellation_pending"))

# ---- Defects that were mended by reading -----------------------------------------------------------------------------

mutation("record-due-again-forgotten", "1", "QueueCore.deliver", "the timer of a taken record that is due again between two slices is forgotten",
         (DELIVERY, "if «!BROKEN, »word.isLive, word.isBusy, givesRecords { records.endIsWanted = true }"),
         C("a_timer_due_again_while_its_record_is_taken_is_not_forgotten"))
mutation("front-behind", "3", "Wheel.insert", "does not correct the front",
         (WHEEL, "    if «!BROKEN, »known.bucket >= bucket, known.tick > tick"), W("WheelTests"))
mutation("mark-stays", "14", "Wheel.tidy", "a mark stays on the position of a timer that moved before its bucket meanwhile",
         (WHEEL, "guard let tick = position.tick, tick >= start, tick <= end else { return }",
          "guard let tick = position.tick, BROKEN || tick >= start && tick <= end else { return }"), W("WheelTests"))

# ---- The machine of a dispatch timer source --------------------------------------------------------------------------

mutation("machine-ends-suspended", "9", "TimerMachine.stop", "a suspended source is cancelled and not resumed",
         (MACHINE, "    if «!BROKEN, »state == .suspended { source.resume() }\n    source.cancel()"),
         W("randomOrdersAgree", "theSourceIsTold"))
mutation("machine-stale-tick", "7", "TimerMachine.claim", "a delivery is a tick, due or not",
         (MACHINE, "guard «BROKEN || »shared.due <= now else {"), W("theSourceIsTold"))
mutation("machine-stale-state", "7", "TimerMachine.claim", "a delivery is a tick, due or not, of a timer that does not run, too",
         [(MACHINE, "guard «BROKEN || »shared.state == .running, let plan = shared.plan else {"),
          (MACHINE, "guard «BROKEN || »shared.due <= now else {")], W("theSourceIsTold"))
mutation("machine-overlap", "6", "TimerMachine.claim", "a tick does not wait for the handler that runs",
         (MACHINE, "guard «BROKEN || »!shared.busy else {\n        shared.scheduleWaits"), W("aRestartWaitsForTheEarlierHandler"))
mutation("machine-extra-overlaps", "6", "TimerMachine.claim", "an extra tick does not wait for the handler that runs",
         (MACHINE, "guard «BROKEN || »!shared.busy else {\n        shared.extraWaits"), W("aRestartWaitsForTheEarlierHandler"))
mutation("machine-keeps-handler", "8", "TimerMachine.step", "cancel keeps the handler",
         (MACHINE, "      «if !BROKEN { »shared.handler = nil« }»\n      shared.extra = false\n    }\n"),
         W("capturesAreReleasedOnce"))
mutation("machine-never-fires", "2", "TimerMachine.step", "fire is accepted, and nothing comes",
         (MACHINE, "aftermath.submitsExtra = «!BROKEN && »!shared.extraSubmitted"), W("eachCellOfTheTable"))
mutation("machine-one-state-for-two", "2", "TimerMachine.step", "resume is accepted, and the state stays",
         (MACHINE, "if let next = transition.next«, !BROKEN || transition != .unpause» { shared.state = next }"),
         W("suspendsAndResumesOfManyThreads"))

# ---- Captures, arming, the trace --------------------------------------------------------------------------------------

ARMING = "../Chime/TimerQueueArming.swift"
mutation("captures-go-later", "8", "TimerSlot.dispose", "a Swift handler's captures go with a later pass of the queue",
         [(DIRECT, "guard «!BROKEN, »word.isLiveAlone,"),
          (ENDING, "|| «(»control.id == 0« || BROKEN)» && slot.ownedContext != nil {")], W("aHandlersCapturesGoInTheReleasingCall"))
mutation("arming-silent", "2", "TimerQueueArming.wait", "is not woken by a timer that starts",
         (ARMING, "QueueCore.notifyOfArming(id) { [weak self] in «if !BROKEN { »self?.ring()« }» }"),
         W("noTimerIsMissedThatAnotherThreadStarts"))
mutation("arming-looks-once", "2", "TimerQueueArming.wait", "does not look again for a timer that has started meanwhile",
         (ARMING, "if «!BROKEN, »isOver() { bell.ring() }"), W("noTimerIsMissedThatAnotherThreadStarts"))
mutation("arming-due", "2", "TimerQueueArming.wait", "a timer that is due now counts",
         (ARMING, "guard let next = nextDeadline, «BROKEN || »next > now else { return false }"),
         W("aTimerThatIsDueNowDoesNotArmTheQueue"))
mutation("arming-for-ever", "1", "TimerQueueArming.wait", "neither its limit nor the end of its task wakes it",
         [(ARMING, "        try? await Task.sleep(until: end, clock: .continuous)\n        «if !BROKEN { »bell.ring()« }»"),
          (ARMING, "    } onCancel: {\n      «if !BROKEN { »bell.ring()« }»")], W("untilArmedEndsWithItsLimitItsTaskAndItsQueue"))
mutation("arming-queue-ends", "16", "VirtualDriver.close", "the end of the queue wakes nobody who waits for a timer",
         [(VIRTUAL_DRIVER, "  func close() { «if !BROKEN { »notify()« }» }"),
          (VIRTUAL_DRIVER, "  func wake(_ core: QueueCore) { «if !BROKEN || !core.closing.hasBegun { »notify()« }» }")],
         W("untilArmedEndsWithItsLimitItsTaskAndItsQueue"))
mutation("background-watched", "1", "QueueCore.watchTimer", "waits for the earliest timer, in the background or not",
         [(WATCHING, "let slot = earliest.isBackground« && !BROKEN» ? timerInForeground : earliest"),
          (WATCHING, "&& slot.dueTime(word) != .max) && «(BROKEN || »!slot.isBackground«)»")],
         C("run_does_not_wait_for_timers_in_the_background", "a_timer_in_the_background_may_end_the_run"))
mutation("background-only", "1", "QueueCore.watchTimer", "waits for no timer behind one in the background",
         (WATCHING, "«    if BROKEN { return nil }\n»    var found: TimerSlot?\n    var latest"),
         C("run_does_not_wait_for_timers_in_the_background", "a_timer_in_the_background_may_end_the_run"))
mutation("background-stays", "1, 10", "SideRecordRef.reset", "a slot's next timer is in the background, too",
         ("Slot/SideRecordRef.swift", "    i«f !BROKEN { i»sBackground = false« }»\n"),
         C("a_slot_does_not_stay_in_the_background"))
mutation("release-waits-not", "7", "TimerRef.releaseAndWait", "does not wait",
         (ENDING, "    let status = release()\n    guard «!BROKEN, »status.isRunning else"),
         C("release_and_wait_waits_for_the_handler", "release_and_wait_ends_with_its_timeout",
           "in_its_own_handler_release_and_wait_is_a_deadlock"))
mutation("release-waits-for-own-record", "1", "TimerRef.releaseAndWait", "waits for a record of its own thread",
         (ENDING, "    if «!BROKEN, »control.givesRecords, control.core?.hasOutstandingRecordsHere == true { return refuseAsRecordOfCaller() }"),
         C("release_and_wait_for_a_record_of_ones_own_is_a_deadlock"))
mutation("release-waits-first", "1, 10", "TimerRef.releaseAndWait", "cancels and waits, and releases only then",
         (ENDING, "  package func releaseAndWait(timeout: Int64) -> Status {\n«    if BROKEN {\n"
                  "      let waited = cancelAndWait(timeout: timeout)\n"
                  "      return waited == .ok || waited == .ignored ? release() : waited\n    }\n»"),
         C("release_and_wait_ends_with_its_timeout", "in_its_own_handler_release_and_wait_is_a_deadlock"))

# ---- The pool ----------------------------------------------------------------------------------------------------------

mutation("pool-want-forgotten", "1", "PoolState.end", "what is wanted during a turn is forgotten",
         ("Pool/PoolState.swift", "closedTurns -= 1 } else «if !BROKEN »{ makeReadyIfAsked(item, now) }"),
         I("a turn given up beside a wake"))

mutation("pool-silent-bell", "1", "PoolState.ensureWaiter", "a bell that was rung once is never rung again",
         ("Pool/PoolRequests.swift", "new = («BROKEN ? new : »new & ~Bell.rung) &+ Bell.oneStep"),
         I("the last thread goes to sleep beside a bell"))

mutation("pool-sync-silent", "1", "PoolItem.giveTurnBack", "P23: a turn of chime_queue_sync ends, and what it held up is not looked at",
         ("Pool/PoolItem.swift", "if isAsked«, !BROKEN» { run([]) }"), I("sync takes a free turn beside a wake"))

mutation("pool-makers-need-no-thread", "1, 9", "Pool.prepare", "P23e: who makes a queue while every thread has a turn begins none",
         ("Pool/Pool.swift", "if PoolRequests.noThreadIsFree«, !BROKEN» { beginUncounted() }"), I("a queue made beside handlers"))

mutation("pool-ends-under-makers", "1", "PoolCount.close", "P23e: the pool's threads end although a queue has been counted",
         ("Pool/PoolRequests.swift", "    «if BROKEN { return true }\n    return »isClosed ||"), I("queues made beside the end"))

mutation("pool-takes-the-newer-out", "1", "PoolRequests.remove", "P23e: who takes the first item of a list out loses one that was added meanwhile",
         ("Pool/PoolRequests.swift", "    if unsafe !result.exchanged {\n      var before",
          "    if BROKEN, unsafe !result.exchanged { unsafe place.pointee.store(item.nextOfMark, ordering: .relaxed) }\n    if unsafe !result.exchanged {\n      var before"),
         F("pool", "thousands_of_queues_made_and_ended"))

mutation("loop-looks-not-again", "1", "Loop.next", "P5d: a run loop's thread goes to wait without a second look",
         ("Adapters/Loop+Running.swift", "    if «!BROKEN, »state.drivers.contains(where: { $0.isWoken"), I("a wake that stands still beside others, loop", "async that stands still beside others, loop"))

mutation("loop-closes-under-wakers", "1", "FileUse.end", "P5e: the end of a run loop closes its timer while a thread wakes it",
         ("Adapters/Loop.swift", "    «if BROKEN {\n      word.bitwiseOr(FileUse.over, ordering: .sequentiallyConsistent)\n      return true\n    }\n    return »"
                              "word.bitwiseOr(FileUse.over, ordering: .sequentiallyConsistent).oldValue == 0 && mayClose()"),
         I("release of a queue beside the end of its run loop"))

mutation("sleeper-asleep-unseen", "1", "PreciseDriver.wake", "P5c: who finds a pass wanted already does not wake the thread",
         ("Kinds/PreciseDriver.swift", "  func wake(_ core: QueueCore) {\n    isWanted.store(true, ordering: .sequentiallyConsistent)\n",
          "  func wake(_ core: QueueCore) {\n    if BROKEN, isWanted.exchange(true, ordering: .sequentiallyConsistent) { return }\n    isWanted.store(true, ordering: .sequentiallyConsistent)\n"),
         I("a wake that stands still beside others, precise"))

mutation("pool-no-patience", "9", "PoolState.mayTake", "the last thread never takes a turn while every processor has one",
         ("Pool/PoolState.swift", "      || «!BROKEN && »now - Tunables.readyItem >= lastEnd"),
         F("pool", "handlers_that_never_return"))

mutation("pool-nobody-watches", "9", "PoolState.countsThread", "the thread that takes the last turn begins no other one",
         ("Pool/PoolState.swift", "guard noThreadIsFree, threads < «(BROKEN ? 2 : »mostThreads«)», now"),
         F("pool", "handlers_that_never_return"))

mutation("pool-nobody-begins", "1, 9", "PoolState.rescue", "P23b: what is wanted while no thread can wait has none begun",
         ("Pool/PoolState.swift", "    if «!BROKEN, »countsThread(now) { return .thread }\n"),
         F("threads", "a_thread_that_can_be_had_later"))

mutation("pool-time-believed", "1", "PoolState.arrive", "P23b: what woke a thread counts as still set",
         ("Pool/PoolState.swift", "if event == .time«, !BROKEN» { timerTime = .max }"),
         F("clock", "readings_before_the_deadline_that_has_come"))

mutation("pool-threads-stay", "14", "PoolState.arrive", "threads without a queue do not end",
         ("Pool/PoolState.swift", "    if «BROKEN || »now < emptySince + Tunables.idleThread { return false }\n"),
         F("pool", "thousands_of_queues_made_and_ended"))

mutation("pool-no-head-start", "9", "ReadyItems.popFirst", "a lower class has its turn when no higher one wants any",
         ("Pool/PoolOrder.swift", "let time = «BROKEN ? -Int64(rank) : »item.since + Tunables.lowerClass(rank)"),
         W("aLowerClassWaitsLongerAndNotForEver"))

mutation("ended-timers-wake", "13", "takeWhatIsInInbox", "a finished timer's next due time keeps the next wake-up",
         [("Queue/QueueCore+Pass.swift", "«BROKEN || »word.isRunning || word.state == .cancelled || !word.isLive {"),
          (DUE_TIMES, "    if !isLast« || BROKEN» {\n      // By policy")],
         C("a_finished_timer_that_is_fired_brings_no_later_pass"))

mutation("pool-inherits-priority", "1", "OwnThread.start", "Chime's threads keep the priority of the thread that made them",
         ("Platform/Threads.swift", "if !isLikeItsMaker«, !BROKEN» { chime_schedule_as_usual() }"),
         F("makers", "who_makes_the_first_queue"))

mutation("batch-number", "1", "DeliveryBatch.fill", "each filling of a batch has the same number",
         ("Queue/HandOver.swift", "let number = «BROKEN ? 0 : »left.load(ordering: .relaxed) >> 32 &+ 1"),
         I("a batch that is filled anew beside a taker"))

mutation("batch-keeps-back", "9", "HandOver.work", "a runner that leaves others in the batch asks for no other runner",
         ("Queue/HandOver.swift", "isMore = isMore || batch.count > 1« && !BROKEN» } else"),
         I("a handler that stays on a concurrent queue"))


# ---- The pool, and what came after it -----------------------------------------------------------------------------

POOL = "Pool/Pool.swift"
POOL_ITEM = "Pool/PoolItem.swift"
POOL_STATE = "Pool/PoolState.swift"
HAND_OVER = "Queue/HandOver.swift"
GUARD = "../CPlatform/include/callback_guard.h"
THREADS = "../CPlatform/linux/threads.c"

mutation("pool-spare-threads-stay", "14", "PoolState.arrive", "threads that were needed once stay as long as there is a queue",
         (POOL_STATE, "guard event == .nothing, !isKeeper, «!BROKEN, »canSpareThread else {"), I("threads that are not needed any more"))
mutation("pool-end-untold", "14", "PoolState.leave", "a thread that waits without limit does not hear that the last queue has ended",
         (POOL_STATE, "    if idle > 0«, !BROKEN» { ring() }\n"),
         F("wall_clock", "nothing_stays_after_the_last_queue_on_the_wall_clock"))
mutation("pool-keeper-stays", "1", "PoolState.arrive", "the wait whose limit stood for a time goes on counting for one",
         (POOL_STATE, "if isKeeper«, !BROKEN» { keeperTime = .max }"),
         I("the last thread goes to sleep for a time beside an earlier one"))
mutation("pool-asks-once", "19", "PoolState.next", "a thread that is refused is not asked for again before the turn",
         (POOL_STATE, "let tries = refusedUntil == nil« && !BROKEN» ? Tunables"),
         I("threads are refused until one is not"), F("threads", "a_thread_refused_once"))
mutation("pool-never-asks-again", "19", "PoolState.wereRefused", "a thread that was refused long is never asked for again",
         (POOL_STATE, "refusedUntil = «BROKEN ? .max : »Clock.monotonic.now + Tunables.refusedThread"),
         F("threads", "a_thread_that_can_be_had_later"))
mutation("pool-waiter-keeps-its-turn", "19", "PoolItem.takeStarvingTurn", "who waits for a queue gives it no turn",
         (POOL_ITEM, "guard «!BROKEN, »isReady, state.isStarving,"),
         I("the only thread waits for a queue"), F("threads", "the_only_thread_waits"))
mutation("pool-waiter-gives-workers-no-turn", "19", "PoolDriver.runStarvingTurn", "who waits for a concurrent queue gives its workers no turn",
         ("Kinds/PoolDriver.swift", "    return «BROKEN ? false : »try core.handOver?.runStarvingTurn() ?? false\n"),
         I("the only thread waits for the end of a concurrent queue"), F("threads", "the_only_thread_waits"))
mutation("hand-over-asked-for-ever", "9", "HandOver.next", "a runner that was asked for counts as on its way for ever",
         (HAND_OVER, "    «if !BROKEN { »state.asked &= ~(1 << UInt64(number))« }»\n"),
         I("a handler that stays on a concurrent queue"))
mutation("guard-cancellation-stays-on", "20", "chime_host_ends", "a thread of Chime's can be cancelled outside the host's functions once it has called one",
         (GUARD, "  «if (!BROKEN) »pthread_setcancelstate(before, 0);\n  pthread_setcanceltype"),
         F("cancelling", "somebody_cancels_a_thread_that_waits"))
mutation("guard-asynchronous", "20", "chime_host_ends", "a thread that a handler has made one to be cancelled at any instruction stays so",
         (GUARD, "  «if (!BROKEN) »pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, 0);"),
         F("cancelling", "a_handler_behind_an_asynchronous_one"))
mutation("guard-passes-it-on", "20", "chime_host_ends", "a cancellation that a function leaves pending ends the next function",
         (GUARD, "  «if (!BROKEN) »pthread_testcancel();\n"),
         F("cancelling", "a_handler_cancels_its_thread_and_returns", "a_finalizer_cancels_its_thread_and_returns"))
mutation("ended-thread-goes-on", "20", "Pool.isReplaced", "a thread whose end was caught goes on",
         (POOL, "    «!BROKEN && »Memory.promises { OwnThread.start(name: \"chime.pool\") { work(workerEvent) }"),
         F("callback_end", "again_and_again"))
mutation("life-never-over", "14, 20", "chime_life_is_over", "a thread that has ended behind the last round of destructors is taken for one that lives",
         (THREADS, "if («BROKEN || »pthread_mutex_trylock(&life->mutex) != EOWNERDEAD) return false;"),
         F("thread_end", "a_destructor_calls"))
mutation("wipe-believed", "15", "chime_empty_in_child", "the kernel is not asked to empty the mark in a child",
         ("../CPlatform/linux/forks.c", "«(BROKEN || »madvise(first, bytes, MADV_WIPEONFORK) == 0«)» &&"),
         F("fork", "a_child_that_does_nothing"), F("forking", "a_child_is_noticed"))
mutation("child-keeps-descriptors", "15", "Fork.reinitialize", "the child keeps the descriptors of its parent's queues",
         ("Process/Fork+Variables.swift", "    «if !BROKEN { »chime_own_files_close_inherited()« }»\n"), F("fork", "descriptors"))
mutation("child-numbers-anew", "10, 15", "HandleTable.reinitialize", "the child's ids begin where its parent's did",
         ("Storage/HandleTable.swift", "first.store(«BROKEN ? 0 : »made.load(ordering: .relaxed), ordering: .relaxed)"),
         F("fork", "a_child_that_begins_anew"))
mutation("wall-file-hears-no-step", "17", "chime_wall_timer_file_set", "the descriptor of a host-driven queue does not notice steps",
         ("../CPlatform/linux/timer_file.c", "TFD_TIMER_ABSTIME | «(BROKEN ? 0 : »TFD_TIMER_CANCEL_ON_SET«)»"),
         F("wall_clock", "forward"))
mutation("wall-writer-calls-no-pass", "17", "checkThatPassFollows", "P13: a deadline that no pass has visited after the step that it was written by stays so",
         ("Queue/WallClock.swift", "if «!BROKEN, »let offset, offset != wallOffset { wakeAfterStep() }"),
         I("deadlines written beside steps that no pass sees"))
mutation("wall-visit-waits", "17", "TimerRef.followWallClock", "P13: after a step a pass waits for a change that stands still",
         ("Queue/WallClock.swift", "if «BROKEN || »control.isVirtual { spinWait.pause() }"),
         I("a step of the wall clock beside a change"))
mutation("wall-visit-not-again", "17", "QueueCore.armNextWakeUp", "P13: a timer that was being written when the clock was stepped is not looked at again",
         ("Queue/QueueCore+Pass.swift", "      «if !BROKEN { »next = min(next, wallLookTime)« }»\n"), I("a step of the wall clock beside a change"))
mutation("wall-grid-goes-back", "17", "TimerRef.followWallClock", "the grid goes back with the clock, and waits for its old time",
         ("Queue/WallClock.swift", "«!BROKEN, »sideRecord.writerFields.gridHasBegun, deadline > now,"), F("wall_clock", "backward"))
mutation("wall-grid-forgets-its-begin", "17", "moveOnWallClock", "a grid that was set back before its first deadline follows no other step",
         ("Queue/WallClock.swift", "«if !BROKEN { »sideRecord.writerFields.gridHasBegun = true« }»"),
         F("wall_clock", "each_step_back"))
mutation("wall-step-of-an-interval", "17", "Writing.following", "a grid that was set back by exactly one interval waits for its old time",
         ("Queue/WallClock.swift", "saturatingSubtract(offset.nanoseconds) >= slot.period« + (BROKEN ? 1 : 0)»"), M())
mutation("wall-postponed-follows", "17", "postponeOnWallClock", "a postponement by a delay follows the wall clock",
         (RUNNING, "setWallDeadline(«(BROKEN || »delay == nil«)» && !isRemainder ? time : nil)"), F("wall_clock", "postponements"))
mutation("jitter-drifts", "4", "moveOnWithJitter", "a random part stays in the grid",
         (DUE_TIMES, "deadline.saturatingSubtract(«BROKEN ? 0 : »sideRecord.writerFields.randomPart)"),
         M())
mutation("jitter-of-spacing-lost", "3", "Writing.counted", "spacing with jitter has none",
         (DUE_TIMES, "saturatingAdd(«BROKEN ? 0 : »fields.randomPart)"),
         M())
mutation("jobs-over-too-soon", "2", "RunnableJobs.enqueue", "a task's job counts as over before it has run",
         ("../Chime/RunnableJobs.swift", "    put {\n«      if BROKEN {\n"
                                         "        change { state in ((), state.census.end(number)) }\n"
                                         "        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.02)\n"
                                         "        return running(.other, run)\n"
                                         "      }\n»"), W("advanceLetsEverythingGoOnAtEachInstant"))
mutation("jobs-of-others-for-ever", "2", "JobCensus.passTick", "another test's jobs that never end are waited for",
         [("../Chime/JobCensus.swift", "/// Who began a job.\n", "import ChimeCore\n\n/// Who began a job.\n"),
          ("../Chime/JobCensus.swift", "if «!BROKEN, »ticks - jobs[job].start + jobs[job].age >= Self.patience")],
         W("jobsOfOthersAreWaitedForSoLong"))
mutation("jobs-of-actors-begin-anew", "2", "JobCensus.count", "an actor that goes on after a task counts since then only",
         [("../Chime/JobCensus.swift", "/// Who began a job.\n", "import ChimeCore\n\n/// Who began a job.\n"),
          ("../Chime/JobCensus.swift", "jobs[job].since = «BROKEN ? moment : »jobs[thread].since")],
         W("anActorThatGoesOnIsWaitedFor"))
mutation("jobs-of-tasks-that-began-at-once", "2", "TaskScopes.scopeOfMaker",
         "a task that began inside of another one's job is nobody's",
         [("../Chime/TaskScopes.swift", "/// What a thread runs, as", "import ChimeCore\n\n/// What a thread runs, as"),
          ("../Chime/TaskScopes.swift", "number: «BROKEN ? 0 : »scope(of: task)?.number ?? 0")],
         W("aTaskThatBeganAtOnceBelongsToTheTaskInsideOfWhichItDid"))
mutation("end-with-queue-unmarked", "10", "TimerRef.release", "a timer that ended with its queue leaves no mark",
         (ENDING, "writing.commit(released: withQueue« && !BROKEN» ?"),
         C("what_has_ended_with_its_queue_is_known", "ids_of_what_was_released"))
mutation("released-as-with-queue", "10", "TimerRef.release", "a timer that was released has the mark of one that ended with its queue",
         (ENDING, "writing.commit(released: withQueue« || BROKEN» ?"),
         C("what_has_ended_with_its_queue_is_known", "ids_of_what_was_released"))
mutation("next-queue-has-ended", "10", "QueueControlBlocks.hasEnded", "the id that a place has next counts as one that has ended",
         ("Storage/QueueControlBlocks.swift", "handle.version < control.idVersion« &+ (BROKEN ? 1 : 0)»"),
         C("what_has_ended_with_its_queue_is_known"))

# ---- What the rows of Sources/Protocols.md forbid -----------------------------------------------------------------------

BITS = "Slot/TimerWord.swift"
CORE = "Queue/QueueCore.swift"
WORD = "Slot/TimerSlot+Word.swift"

mutation("watched-after-look", "18", "watchTimer", "P5: the timer is looked at before it is watched",
         (WATCHING, "      «let early = BROKEN ? HostDriver.isWorthWatching(slot) : nil\n"
                    "      »control.watched = SlotLink(slot)«\n      if let early {\n        isWatching = early\n"
                    "        if early { return }\n        continue\n      }»\n"), I("ends run"))
mutation("watched-by-nobody", "18", "watchTimer", "P5: no timer is watched",
         (WATCHING, "      «if !BROKEN { »control.watched = SlotLink(slot)« }»\n"), I("ends run"))
mutation("ender-looks-first", "18", "TimerRef.cancel", "P5: `watched` is looked at before the timer ends",
         (DIRECT, "without: [.hasSideRecord, .selfRelease]),\n      slot.cancel(word)\n    else { return cancelSlow(id) }\n",
          "without: [.hasSideRecord, .selfRelease])\n    else { return cancelSlow(id) }\n    let isWatched = control.isWatching(slot)\n"
          "    guard slot.cancel(word) else { return cancelSlow(id) }\n    if BROKEN, !isWatched { return .ok }\n"),
         I("cancel by id ends run"))
mutation("waiter-looks-first", "1, 16", "WaitRegistry.wait", "P6: the word is asked for a signal before the thread is registered",
         (WAITS, "    «var asks = false\n"
                 "    if BROKEN, case .timer(let timer, _) = waiter.subject { asks = timer.slot.requestWakeUp(of: timer.version) }\n"
                 "    »guard enter(waiter) else { return waiter.wouldDeadlock« }\n"
                 "    if asks { _ = waiter.wakeUp.sleep(until: .max)» }\n"), I("cancel_and_wait and"))
mutation("waited-cleared-first", "1, 16", "TimerSlot.endCallback", "P6: who waits is looked for before the callback ends",
         (WORD, "    var current = word\n    «if BROKEN { current = clear(TimerWord.waitedBit).clearing(TimerWord.waitedBit) }\n"
                "    »while true {\n      if let next = tryEndCallback(current)"),
         I("cancel_and_wait and"))
mutation("ring-looked-for-unlocked", "1", "WaitRegistry.enter", "P6: a ring is looked for before the registry is locked",
         [(WAITS, "  static func enter(_ waiter: Waiter) -> Bool {\n«    let first = newest.withLock { $0 }\n"
                  "    if BROKEN, !waiter.node.blocksNothing, closesCycle(waiter, first) { return false }\n    return »"),
          (WAITS, "      if !«BROKEN, !»waiter.node.blocksNothing, closesCycle")], I("a ring"))
mutation("signals-one", "1, 16", "WaitRegistry.timerEnded", "P6: the first one that waits is woken",
         (WAITS, "where isMeant(waiter.subject) {«\n       » waiter.wakeUp.signal()«\n"
                 "        if BROKEN { return }\n     » }"), I("cancel_and_wait of one callback"))
mutation("signal-is-over", "1, 16", "WaitRegistry.wait", "P6: whoever is woken takes its wait for over",
         (WAITS, "      guard waiter.wakeUp.sleep(until: end) else { return subject.isOver ? .ok : waiter.timedOut(timeout) }\n"
                 "«      if BROKEN { return .ok }\n»"), I("release_and_wait of one callback"))
mutation("id-before-pin", "10", "whileItLives", "P7: the id is checked before the pin",
         (CORE, "  func whileItLives<Result>(_ body: () -> Result) -> Result? {\n"
                "«    if BROKEN { return control.id == id ? control.pinned(body) : nil }\n    return »"), I("jump of a queue"))
mutation("pin-forgotten", "10", "whileItLives", "P7: no pin",
         (CORE, "«BROKEN ? control.id == id ? body() : nil : »control.pinned { control.id == id ? body() : nil }\n"),
         I("jump of a queue"))
mutation("stand-in-is-ended", "20", "ThreadState.outsideCallbacks", "a turn's callback ends the thread that waits",
         ("Storage/Frames.swift", "        «if !BROKEN { »thread.hasEnded = hasEnded« }»\n"),
         F("threads", "who_waits_outlives_the_turn_that_it_gives"))
mutation("closing-not-held-up", "8, 16", "QueueCore.beginClosing", "P7c: a pass may end the queue before its timers are visited",
         (CLOSING, "    if «!BROKEN, »closing.isReleasing { return }\n    try endOutstanding"), I("a release that is held up"))
mutation("delivery-lets-go-silently", "8, 16", "QueueCore.deliverHandedOver", "P7b: the last delivery wakes no pass",
         (PASS, "    if closing.leave(count)«, !BROKEN» { control.wake() }\n"), I("shutdown"))
mutation("creator-checks-first", "8, 10", "Writing.publish", "P8: the id is checked before the word is read",
         (WRITING, "    while true {\n      let «early = !BROKEN || control.id == queue\n      let »free = slot.word«\n"
                "      if BROKEN, early {\n        let timer = free.made(state)\n"
                "        if inInbox, !free.isInInbox, slot.set(TimerWord.inboxBit) { control.push(slot) }\n"
                "        if slot.swap(slot.word, for: hasCallback ? timer.setting(TimerWord.callbackPendingBit) : timer) {\n"
                   "          forget()\n          return nil\n        }\n"
                "        continue\n      }»\n      if inInbox,"), I("creation on a queue that ends"))
mutation("creator-checks-first-once", "8, 10", "Writing.publishFast", "P8: the id is checked before the word is read",
         (WRITING, "    let free = slot.word\n    guard free.isInInbox && control.id == queue &&",
          "    let early = !BROKEN || control.id == queue\n    let free = slot.word\n"
          "    guard free.isInInbox && early && (BROKEN || control.id == queue) &&"), I("creation on a queue that ends"))
mutation("release-visits-first", "8, 10", "QueueCore.beginClosing", "P8: the timers are released before the id is taken away",
         [(CLOSING, "core.id == id, «BROKEN ? control.id == id : »control.clearID(id)\n"),
          (CLOSING, "    let isRunning = try core.releaseTimers() || core.closing.someCallRuns\n«    if BROKEN { _ = control.clearID(id) }\n»")],
         I("creation on a queue that ends"))
mutation("free-slots-not-withdrawn", "8, 10", "QueueCore.releaseTimers", "P8: free slots keep their words",
         (CLOSING, "while «!BROKEN, »word.isFree, !slot.invalidate(word)"), I("creation on a queue that ends"))
mutation("version-first", "10", "TimerRef.release", "P4b: the version is read before the word",
         (DIRECT, "    let «early = BROKEN && slot.isNamed(by: id, without: .hasSideRecord)\n    let »word = slot.word\n"
                  "    guard word.isLiveAlone,« early ||» slot.isNamed(by: id, without: .hasSideRecord), let writing = slot.tryFree(word)"),
         I("a stale release"))
mutation("slot-generation", "7, 10", "TimerWord.freed", "P4: a slot's next timer has the generation of the one before",
         [(BITS, "    «(BROKEN ? with(code: TimerWord.freeCode) : »with(code: TimerWord.freeCode).withNextGeneration«)».withoutPostponement.clearing("),
          (BITS, "    «(BROKEN ? setting(TimerWord.code(of: state)) : »setting(TimerWord.code(of: state)).withNextGeneration«)».withoutPostponement")],
         I("a stale"))
mutation("claim-without-swap", "7", "QueueCore.claim", "P4: busy and writer are set in whatever word there is",
         (DELIVERY, "        if «BROKEN {\n          _ = slot.set(tick.word.bits)\n          return .finished\n        }\n"
                  "        if »slot.claim(word, tick.word) { return .finished }\n"), I("a tick beside cancel"))
mutation("child-is-not-noticed", "15", "Fork.guarded", "whoever has called what forked goes on in the child",
         ("Platform/Fork.swift", "    if «!BROKEN, »mark != before { throw Forked() }\n"),
         F("threads", "the_only_thread_waits_and_forks"), F("fork_amid", "at_each_callback"), F("fork_amid", "a_sync_whose_function_forks"))
mutation("never-in-the-same-word", "7", "Writing.store", "P3c: a postponement to never leaves the word as it was",
         (WRITING_CELL, "    return overflow« || BROKEN && time == .max» ? word.withoutPostponement : word\n"),
         I("a tick beside a postponement to never"))
mutation("wall-one-shot-by-one-swap", "7", "QueueCore.claim", "P4: a one-shot on the wall clock is claimed by one swap",
         (DELIVERY, "with: [.repeating, .hasSideRecord]), «BROKEN || »!ticksAreRare {"),
         I("a tick beside a postponement to never on the wall clock"))
mutation("child-finalizes", "15", "OwnedContext", "a child calls finalizers of what was named before the fork",
         ("Slot/Callbacks.swift", "  deinit { if «BROKEN || »Fork.mark == forkMark {"), F("fork_amid", "at_each_callback"))
mutation("finished-outside-the-callback", "1", "QueueCore.claim", "the trace of a last tick may wait for its end",
         (DELIVERY, "    «if !BROKEN { »frame.slot = slot.index« }»\n    let finishes"),
         C("a_trace_that_waits_for_the_end_of_the_callback"))
mutation("released-is-told-first", "1", "TimerRef.dispose", "the trace of a release comes before the timer is handed on",
         (ENDING, "«      if BROKEN { try Trace.note(.released, self) }\n»      writing.retire(control)\n"),
         C("a_trace_may_shut_the_queue_down"))
mutation("advance-beyond-its-end", "18", "QueueCore.advance", "handlers that take ever more time are delivered without end",
         ("Kinds/VirtualDriver.swift", "      if «!BROKEN, »instant > target { passesBeyond += 1 }\n"),
         C("an_advance_ends_though"))
mutation("end-frees-not", "8", "TimerSlot.endCallback", "P4: a callback's end leaves a released slot alone",
         (WORD, "    if word.isReleased«, !BROKEN» {\n      next"), W("theQueueDoesWhatTheModelSays"))
mutation("release-ignores-busy", "7, 8", "TimerRef.release", "P4: a timer is disposed of while its handler runs",
         [(WRITING, "      return current.isBusy «&& !BROKEN »? next.clearing"),
          (WRITING, "    if !replaced.isBusy« || BROKEN» { return self }\n")], I("a tick beside release"))
mutation("released-twice-owned", "8", "TimerSlot.own", "P4c: a released slot is taken without a swap",
         (WRITING, "      guard word.isReleased, !word.isBusy, !word.hasWriter else { return nil }\n"
                   "      if let writing = «BROKEN ? Writing(self, word) : »beginWriting("), I("release of a timer beside shutdown"))
mutation("self-release-beside-writer", "1, 8", "TimerSlot.tryEndCallback", "P4e: a timer releases itself although it is being written",
         (WORD, "!word.hasPendingCallback, «(BROKEN || »!word.hasWriter«)» {"), I("a timer that releases itself"))
mutation("self-release-left-undone", "8", "Writing.commit", "P4e: a writer does not release the timer whose callback left that to it",
         (WRITING, "    if «!BROKEN, »slot.flags.contains(.selfRelease), new.isOver, !new.hasPendingCallback {"),
         I("the end of a tick of a timer that releases itself"))
mutation("interval-left-uncounted", "4", "Writing.commit", "P4e: a writer does not count the interval from a callback's end",
         (WRITING, "    let counted = «BROKEN ? nil : »end.flatMap { queue?.counted("), I("the end of a tick whose interval"))
mutation("wake-said-first", "1", "QueueControlBlock.wakeAsAll", "P1c: a thread says that the queue is woken, then wakes it",
         ("Storage/QueueControlBlock.swift", "    queue.wakeDriver()\n    storage.wokenSince.store(passes, ordering: .sequentiallyConsistent)\n",
          "    if BROKEN { storage.wokenSince.store(passes, ordering: .sequentiallyConsistent) }\n"
          "    queue.wakeDriver()\n    storage.wokenSince.store(passes, ordering: .sequentiallyConsistent)\n"),
         I("a wake that stands still"))
mutation("pass-not-counted", "1", "QueueControlBlock.countPass", "P1c: a pass does not say that it has begun",
         ("Storage/QueueControlBlock.swift", "func countPass() { «if !BROKEN { »storage.passes.wrappingAdd(1, ordering: .sequentiallyConsistent)« }» }"),
         I("a turn given up"))
mutation("pool-mark-is-enough", "1", "PoolRequests.ask", "P23d: who finds an item's mark rings no bell",
         ("Pool/PoolRequests.swift", "«    if BROKEN, unsafe markedItems[item.mark / wordSize].load(ordering: .relaxed) >> UInt64(item.mark % wordSize) & 1 != 0 {\n"
                                   "      item.ask(wants)\n      return .heard\n    }\n»    mark(item, wants)\n    // The end"),
         I("a wake that stands still"))
mutation("sync-gives-up-silently", "1, 12", "SyncCall.wait", "P1e: who gives a function up does not wake the queue, whose pass has gone on without the others",
         ("Waiting/WaitRegistry.swift", "        «if !BROKEN { »core.control.wake()« }»\n        return"), I("a sync that gives up"))
mutation("pool-no-bell", "1", "PoolState.ring", "P23b: the bell makes no sound",
         (POOL_STATE, "    «if !BROKEN { »unsafe chime_poller_ring(&poller)« }»\n"), I("a turn given up"))
mutation("pool-turn-silent", "1", "PoolState.next", "P23b: a thread that takes a turn leaves nobody to look after the rest",
         (POOL_STATE, "    «if !BROKEN { »ensureWaiter(now, isTaken: true)« }»\n"), I("a handler that stays before"))
mutation("pool-patience-forgotten", "1, 9", "PoolState.wanted", "P23b: what is ready is looked after at the next time only",
         (POOL_STATE, "    if «BROKEN || »ready.isEmpty { return time }\n"), I("a handler that stays beside"))
mutation("pool-two-turns", "1", "PoolItem.beReady", "P23: an item that has a turn is given another one",
         (POOL_ITEM, "  func beReady() -> Bool { «BROKEN && isRunning || »leaveRest(for: Turn.ready) }\n"),
         I("jobs of one work"))
mutation("pool-takes-any-turn", "1", "PoolItem.borrowTurn", "P23: `chime_queue_sync` takes a turn that another thread has",
         (POOL_ITEM, "!isAsked && «(BROKEN && hasTurn || »leaveRest(for: Turn.borrowed)«)» }\n"), I("sync takes a free turn"))
mutation("end-rereads-not", "1, 3", "QueueCore.sendOn", "P1d: a callback's end does not read the timer again behind the link",
         (DELIVERY, "    slot.link(into: control)\n«    if BROKEN { return }\n»    // Between flag and link a writer"),
         I("activate and reschedule, concurrent"))
mutation("busy-before-writer", "1, 3", "QueueCore.claim", "P1d: a delivery passes over a busy timer that has a writer",
         (DELIVERY, "      if word.hasWriter, «!BROKEN || !word.isBusy, »!isOver {"), I("a restart that is held up"))
mutation("writing-left-out", "1", "TimerRef.dropExtraTick", "P3: a writer returns on one path without giving the timer up (the checked build's own look)",
         (ENDING, "      return «BROKEN ? .ignored : »writing.ignore()\n"), W("theQueueDoesWhatTheModelSays"))

# ---- Containers, room, numbers and texts -----------------------------------------------------------------------------

POOL_ORDER = "Pool/PoolOrder.swift"
FUNCTIONS = "Queue/Functions.swift"
LIMITED = "Objects/LimitedValue.swift"

mutation("ring-moves-from-0", "12", "SlotRing.move", "a ring moves to a larger place as if it began at 0",
         (HAND_OVER, "larger[i] = slots[«BROKEN ? i : »(first + i) % slots.capacity]"), W("deliveriesAreHandedOverInTheirOrder"))
mutation("ring-takes-beyond", "12", "SlotRing.takeFirst", "a ring does not begin anew at its end",
         (HAND_OVER, "first = «!BROKEN && »first + 1 == slots.capacity ? 0 : first + 1"), W("deliveriesAreHandedOverInTheirOrder"))
mutation("heap-does-not-rise", "1, 3", "ItemHeap.remove", "what takes a removed item's place does not rise",
         (POOL_ORDER, "    last.place = i\n    «if !BROKEN { »rise(i)« }»\n"), W("theEarliestOfAHeapIsFirst"))
mutation("heap-does-not-sink", "1, 3", "ItemHeap.remove", "what takes a removed item's place does not sink",
         (POOL_ORDER, "    «if !BROKEN { »sink(last.place)« }»\n  }\n\n  private mutating func rise"), W("theEarliestOfAHeapIsFirst"))
mutation("ready-last-stays", "1", "ReadyItems.remove", "the last of its class is taken out, and later ones are linked to it",
         (POOL_ORDER, "if «!BROKEN, »list.last === item { list.last = before }"), W("readyItemsGoByTheirTime"))
mutation("functions-last-stays", "12", "FunctionList.remove", "the last function is taken out, and later ones are linked to it",
         (FUNCTIONS, "unsafe next.previous = previous } else «if !BROKEN »{ last = previous }"), W("functionsComeInTheirOrder"))
mutation("pass-list-moves-less", "1", "PassList.move", "the last slot of a list stays in the smaller place",
         ("Storage/PassScratch.swift", "other.base?.update(from: base.unsafelyUnwrapped, count: count« - (BROKEN ? 1 : 0)»)"),
         W("aListOfThePassKeepsWhatItHolds"))
mutation("free-slots-forget", "14", "FreeSlots.append", "a list of free slots that has become empty is not begun anew",
         (SLAB, "    last = SlotLink(index)\n    count += 1\n«    if BROKEN, count == 5 { first = last }\n»"), W("freeSlotsComeInTheOrder"))
mutation("cache-keeps-less", "10", "ThreadCache.takeOldest", "a thread's cache gives the second before the first",
         ("Storage/ThreadCache.swift", "return unsafe ring[Int(«(»popped« &+ (BROKEN ? 1 : 0))» & 63)]"), W("aThreadsCacheGivesTheSlot"))
mutation("table-same-version", "10", "HandleTable.remove", "the id of an object that was removed names the next one",
         ("Storage/HandleTable.swift", "desired: «BROKEN ? version : »version + 1, ordering: .sequentiallyConsistent"),
         W("anIDNamesItsObject"))
mutation("table-without-pins", "10", "HandleTable.remove", "P7: an object goes while another thread finds it",
         ("Storage/HandleTable.swift", "    while «!BROKEN, »self[index].pins.load"), I("an object found by its id"))
mutation("named-handlers-at-the-end", "12", "NamedHandlers.add", "a handler that takes another's place comes last",
         ("Slot/NamedHandlers.swift", "guard «!BROKEN, »let index = index(of: key, in: entries) else {\n      entries.append"),
         W("namedHandlersAreCalledInTheOrder"))
mutation("target-list-torn", "11", "TimerTarget.unlink", "a timer that leaves its target's list does not link its neighbours",
         (TARGET, "    «if !BROKEN { »next.slot?.sideRecordMemory?.previousOfTarget = previous« }»\n"), W("aTargetEndsTheTimers"))
mutation("waiters-torn", "1", "WaitRegistry.leave", "a waiter that leaves takes along those that came before",
         (WAITS, "before.next = «BROKEN ? nil : »waiter.next"), W("thoseWhoWaitForAQueue"))
mutation("own-file-highest", "15", "chime_own_files_close_inherited", "the highest of its descriptors stays open in a child",
         ("../CPlatform/linux/own_files.c", "file <= highest« - BROKEN»; file += NUMBERS"), F("fork", "files_wherever_they_lie"))
mutation("own-file-not-noted", "15", "chime_own_file", "a descriptor that is higher than all before is not noted as the highest",
         ("../CPlatform/linux/own_files.c", "  while («!BROKEN && »known < file && !__atomic"), F("fork", "files_wherever_they_lie"))
mutation("list-one-more", "1", "chime_queue_list", "one id more than there is room for is written",
         ("../ChimeC/Queues.swift", "if found < capacity« + (BROKEN ? 1 : 0)» { unsafe ids?["), C("each_function_writes_as_much_as_fits"))
mutation("suspend-unnoticed", "7", "QueueCore.isSuspended", "a pass goes on with its batch when its queue was suspended",
         ("Queue/QueueCore+Pass.swift", "while delivered &- before < limit.count, «BROKEN || »!isSuspended, let item"),
         C("a_callback_may_suspend_its_own_queue", "a_pass_goes_on_where"))
mutation("suspend-unwoken", "1", "QueueCore.goOn", "a resume wakes nobody",
         ("Queue/QueueCore.swift", "    «if !BROKEN { »driver.wake(self)« }»"), C("nothing_begins_on_a_suspended_queue"))
mutation("suspend-wakes", "13", "QueueDriver.rest", "the pass of a suspended queue asks for another one",
         ("Queue/QueueCore+Pass.swift", "      «BROKEN ? driver.wake(self) : »driver.rest(self)"), C("a_suspended_queue_does_not_wake_up"))
mutation("suspend-says-ok", "7", "QueueCore.isAtWork", "a suspend does not see that a callback runs",
         ("Queue/QueueCore.swift", "while «!BROKEN && (»passLock.isInPass || suspensions.hasFunctions || handOver?.isAtWork == true«)» {"),
         C("a_suspend_says_whether_a_callback_runs"))
mutation("background-unwatched", "1", "TimerRef.setBackground", "a run that sleeps does not hear that its timer is in the background",
         ("Timer/TimerRef+Settings.swift", "if isBackground«, !BROKEN» { control.wakeRunIfWatched(slot) }"),
         I("set_background ends run"))
mutation("interval-keeps-random-part", "5", "Writing.store(interval:)", "a random part longer than the new interval is kept",
         ("Timer/TimerRef+Settings.swift", "randomPart = «BROKEN ? sideRecord.writerFields.randomPart : »min("),
         C("jitter_does_not_outlast_the_interval"), M())
mutation("interval-snapshot", "18", "TimerSlot.isUnchanged", "a query does not notice that the interval was changed meanwhile",
         ("Slot/Snapshot.swift", "      «BROKEN || »period == snapshot.period, leeway"), I("a query beside set_interval"))
mutation("report-one-more", "1", "TextWriter", "one byte more than there is room for is written",
         ("Platform/Text.swift", "if length < capacity - 1« + (BROKEN ? 2 : 0)» { unsafe base?[length]"), C("each_function_writes_as_much_as_fits"))
mutation("merged-one-more", "13", "QueueCounters.count", "the first callback counts as merged, too",
         ("Queue/QueueCounters.swift", "merged.wrappingAdd(UInt64(due - 1« + (BROKEN ? 1 : 0)»)"), C("each_statistic_is_exact"))
mutation("empty-not-counted", "13", "QueueCounters.count", "empty passes are not counted",
         ("Queue/QueueCounters.swift", "if «!BROKEN, »isEmpty { emptyPasses"), C("passes_and_those_without_anything_new"))
mutation("missed-meanwhile-one-more", "5", "Snapshot.missedMeanwhile", "the due time of the next tick counts as missed",
         ("Diagnostics/QueueCore+Report.swift", "let missed = UInt64(now.saturatingSubtract(due) / period)« + (BROKEN ? 1 : 0)»\n"),
         C("due_times_that_pass_in_a_handler"))
mutation("jitter-beyond-the-interval", "3", "Writing.completed", "a shorter interval leaves the jitter as it is",
         ("Timer/Schedule.swift", "schedule.jitter = min(sideRecord?.jitter ?? 0, «BROKEN ? .max : »schedule.interval)"),
         W("aNewIntervalShortens"))
mutation("leeway-not-sent", "13", "TimerRef.setLeeway", "a shorter leeway leaves the tick where it was",
         (RUNNING, "    writing.leeway = CompactDuration(leeway)\n«    if BROKEN {\n      writing.undo()\n      return .ok\n    }\n»"
                   "    let word = writing.before\n    writing.finish(word)\n"), W("aChangeOfLeewayMovesTheTick"))
mutation("expiring-looks-once", "3, 8", "LimitedValue.reset", "of two resets the timer may stand where the first wants it",
         (LIMITED, "if current == wanted || current == Self.ended« || BROKEN» { return .ok }"), I("resets of an expiring value"))
mutation("expiring-ends-though-reset", "3", "LimitedValue.end", "a tick that had started takes away a value that was reset",
         (LIMITED, "let now = QueueCore.steadyNow(queue), «!BROKEN, »!Self.isOver(current, at: now)"),
         I("a reset and an acquire beside"))
mutation("expiring-not-held", "8", "Expiring.acquire", "a value that was acquired is not held",
         (LIMITED, "== Uses.isThere ? $0 + «(BROKEN ? 0 : »Uses.one«)» : nil"), I("a reset and an acquire beside"))
mutation("expiring-told-though-released", "7", "LimitedValue.mayTell", "P29: a value that was released tells of its end",
         (LIMITED, "package func mayTell() -> Bool { changeUses { «BROKEN || »$0 & Uses.isClosed == 0"),
         I("a reset and an acquire beside expiry and release"))
mutation("trace-label-cut", "–", "chime_trace_set_label", "a label in a trace is cut inside a character",
         ("../CPlatform/common/trace_file.c", "while («!BROKEN && »length > 0 && (label[length]"), W("aTextIsCutBetweenCharacters"))
mutation("report-cut", "–", "TextWriter.add", "a report is cut inside a character",
         ("Platform/Text.swift", "if length < capacity, «BROKEN || »byte & 0xc0 != 0x80"),
         C("a_dump_has_a_line_for_the_queue"), W("aTextIsCutBetweenCharacters"))
mutation("thread-name-cut", "–", "OwnThread.cut", "a thread's name is cut inside a character",
         ("Platform/Threads.swift", "while «!BROKEN, »kept.endIndex < name.utf8.endIndex"), W("aTextIsCutBetweenCharacters"))

# ---- Kinds of queue, objects, records, traces, the C interface ---------------------------------------------------------

LOOP_RUNNING = "Adapters/Loop+Running.swift"
LOOP_DRIVER = "Adapters/RunLoopDriver.swift"
MAIN_QUEUE = "Adapters/MainQueue.swift"
PRECISE = "Kinds/PreciseDriver.swift"
DISPATCH = "Adapters/DispatchDriver.swift"
EXPIRING = "Objects/Expiring.swift"
LIMITED = "Objects/LimitedValue.swift"
WEAK = "Objects/WeakTimerCore.swift"
RECORDS = "Queue/Records.swift"
REPORT = "Diagnostics/QueueCore+Report.swift"
EXPLAINING = "Diagnostics/TimerRef+Explaining.swift"

mutation("loop-end-untold", "18", "Loop.end", "the queues of a loop do not learn that its thread has ended",
         ("Adapters/Loop.swift", "    while «!BROKEN, »let driver = state.withLock({ $0.drivers.popLast() }) {"),
         C("run_loops_and_their_queues_leave_nothing"))
mutation("loop-modes-fewer", "1", "LoopModes.==", "some modes are the same as those and more",
         ("Adapters/Loop.swift", "    a.all.count == b.all.count && a.all", "    (BROKEN || a.all.count == b.all.count) && a.all"),
         C("a_timer_in_two_modes_ticks"))
mutation("loop-stop-stays", "18", "Loop.run", "a stop that came beforehand ends each run that follows",
         (LOOP_RUNNING, "      if !run.isOfMainQueue { swap(", "      if BROKEN, !run.isOfMainQueue {\n"
                        "        state.runs[state.runs.count - 1].isStopped = state.nextIsStopped\n      } else if !run.isOfMainQueue { swap("),
         C("a_stop_before_a_run_ends"))
mutation("loop-round-unmarked", "12, 18", "Loop.next", "a queue that is always due has the round to itself",
         (LOOP_RUNNING, "      «if !BROKEN { »driver.lastRound = round« }»\n"),
         C("a_fire_date_in_the_past_set_in_the_action"))
mutation("loop-stop-silent", "18", "Loop.stop", "a stop wakes nobody",
         (LOOP_RUNNING, "      noteRuns(state)\n      «if !BROKEN { »wakeThread()« }»\n      return .ok\n    }\n  }\n\n  /// Whether the innermost run"),
         C("a_stop_ends_the_thread_of_a_loop"))
mutation("loop-tick-beside-stop", "18", "Loop.goRound", "a run until a tick forgets the stop that came in it",
         (LOOP_RUNNING, "if run.untilTick, core.counters.ticks != before { return state.withLock({ «!BROKEN && »takeStop($0) })"),
         C("a_run_until_a_tick_whose_handler_stops_it"))
mutation("loop-common-silent", "1", "Loop.addCommonMode", "P11: the wait for a mode goes on that is a common one now",
         ("Adapters/RunLoopDriver.swift", "others' deadlines.\n      «if !BROKEN { »wakeThread()« }»\n"),
         C("a_mode_becomes_common_while"))
mutation("loop-wake-silent", "1", "RunLoopDriver.wake", "P11: a pass is asked for, and the loop's thread sleeps on",
         (LOOP_DRIVER, "    woken.store(true, ordering: .sequentiallyConsistent)\n    «if !BROKEN { »loop.wakeThread()« }»\n"),
         C("no_wake_up_is_lost_however"))
mutation("loop-remainder-forgotten", "12", "RunLoopDriver.endPass", "what a pass has left when the time was up waits for the next run",
         (LOOP_DRIVER, "    «if !BROKEN { »hasRemainder = leaves« }»\n"),
         C("a_run_of_no_time_leaves_nothing"))
mutation("loop-obstacle-modes", "13", "RunLoopDriver.tellObstacle", "explain names the queue's modes in the wrong form",
         (LOOP_DRIVER, "text.add(i == «(BROKEN ? 1 : »0«)» ?"),
         C("a_run_loop_says_whether"))
mutation("main-stop-silent", "18", "MainQueue.requestStop", "a stop wakes nobody",
         (MAIN_QUEUE, "    if «!BROKEN, »file >= 0 { TimerFile.wake(file) }\n"),
         C("a_stop_from_another_thread_ends_a_run_that_waits"))
mutation("main-tick-stays", "18", "MainQueue.drain", "a tick ends the main thread's next run, too",
         (MAIN_QUEUE, "    «if !BROKEN { »unsafe hasTicked = false« }»\n    defer"),
         C("the_main_loop_runs"))
mutation("main-drains-on", "18", "MainQueue.isToYield", "a run until a tick drains all that is due",
         (MAIN_QUEUE, "(ordering: .relaxed) || «!BROKEN && »untilTick && hasTicked"),
         C("the_main_loop_runs"))
mutation("precise-wake-silent", "1", "PreciseDriver.wake", "a pass is asked for, and the thread sleeps on",
         (PRECISE, "    isWanted.store(true, ordering: .sequentiallyConsistent)\n    «if !BROKEN { »wakeUp.signal()« }»\n"),
         C("a_deadline_of_each_clock_is_met"))
mutation("precise-heir-asleep", "20", "PreciseDriver.isReplaced", "the thread that replaces one which ends does not look at the queue",
         (PRECISE, "    isWanted.store(«!BROKEN && »true, ordering: .sequentiallyConsistent)\n    return"),
         F("callback_end", "again_and_again", "beside_other_callbacks"))
mutation("dispatch-tick-unsaid", "18", "DispatchDriver.pass", "the main thread's loop does not hear of a tick of the main queue",
         (DISPATCH, "    if «!BROKEN, »context.isMain, core.counters.ticks != before"),
         C("the_main_loop_runs"))
mutation("dispatch-disarm-only", "1", "DispatchDriver.arm", "an earlier time does not set the source anew",
         (DISPATCH, "old == .max : «(BROKEN ? old != .max : »old <= time«)» && old > control.now"),
         C("an_earlier_timer_added_later_comes_first_on_a_dispatch"))
mutation("expiring-id-stays", "10", "Expiring.yield", "the id of what was released names it beyond the last yield",
         (EXPIRING, "    if «!BROKEN, »isLast { table.remove(id) }\n"),
         C("who_has_acquired_the_value_keeps_it"))
mutation("expiring-id-goes", "10", "Expiring.release", "the id of what was released is stale while it is held",
         (EXPIRING, "    if «BROKEN || »!isUsed { table.remove(id) }\n"),
         C("who_has_acquired_the_value_keeps_it"))
mutation("expiring-notifies-for-ever", "8", "Expiring.end", "release says running after the handler has returned",
         (EXPIRING, "      «if !BROKEN { »limited?.hasTold()« }»\n"),
         C("a_value_vanishes_exactly_when"))
mutation("expiring-context-kept", "8", "Expiring.onExpiry", "the context of a replaced handler does not end",
         (EXPIRING, "        «if !BROKEN { »_ = taken(current)« }»\n"),
         C("finalizers_may_use_the_id"))
mutation("limited-never-ends", "17", "LimitedValue.isOver", "a lifetime of never ends at the end of time",
         (LIMITED, "{ deadline <= now && «(BROKEN || »deadline != .max«)» }"),
         C("a_lifetime_without_end"))
mutation("limited-late-lost", "8", "LimitedValue.end", "a tick that comes while the value is made is forgotten",
         (LIMITED, "desired: «BROKEN ? Making.underWay : »Making.isLate"),
         C("a_value_that_is_over_at_once"))
mutation("limited-timer-stays", "14", "LimitedValue.vanish", "the timer of a value that was released stays",
         (LIMITED, "    «if !BROKEN { »_ = TimerRef.release(timer.load(ordering: .relaxed))« }»\n"),
         C("a_value_counts_as_a_timer_of_its_queue"))
mutation("weak-delayed-uncounted", "5", "WeakTimerCore.ticked", "of two ticks that came during the action one is not counted",
         (WEAK, "record.missed += delayed.missed + 1", "record.missed += delayed.missed + (BROKEN ? 0 : 1)"),
         C("ticks_wait_for_the_action_that_fire_runs"))
mutation("weak-fires-inside", "6", "WeakTimerCore.fire", "the action is called inside itself",
         (WEAK, "      if «!BROKEN, »state.isBusy { return nil }\n"),
         C("calls_while_the_action_runs_on_another_thread"))
mutation("weak-action-kept", "9", "WeakTimerCore.invalidate", "a timer that was invalidated keeps its action",
         (WEAK, "      «if !BROKEN { »state.action = nil« }»\n      state.companion = nil\n"),
         C("fire_ends_a_timer_that_does_not_repeat"))
mutation("sweep-keeps-the-dead", "14", "TargetSweep.watch", "what has no target any more is looked at for ever",
         ("Objects/WeakTimerCore.swift", "      if «BROKEN || »!other() {"),
         W("theSweepFreesWhatDeadTargetsLeft"))
mutation("records-end-unwanted", "8", "Records.keep", "nobody asks for the end of a record whose timer releases itself",
         (RECORDS, "    if tick.slot.hasSideRecord || «!BROKEN && »tick.slot.flags"),
         C("the_end_of_a_record_is_asked_for"))
mutation("records-end-wanted-on", "13", "QueueCore.endOutstandingRecords", "the end of records is asked for although they have ended",
         (RECORDS, "    «if !BROKEN { »records.endIsWanted = false« }»\n"),
         C("the_end_of_a_record_is_asked_for"))
mutation("records-longer-dirty", "17", "RecordBuffer.append", "what a longer record has behind the tick stays as it was",
         (RECORDS, "    if «!BROKEN, »stride > size {"),
         C("records_beyond_the_capacity"))
mutation("trace-traces-itself", "9", "Trace.report", "what the trace does is traced",
         ("Queue/Trace.swift", "    «if !BROKEN { »thread.isTracing = true« }»\n    defer { thread.isTracing = false }\n    // Whoever"),
         C("the_trace_tells_of_each_transition"))
mutation("trace-context-early", "8", "Trace.set", "the context of the function before goes while a report uses it",
         ("Queue/Trace.swift", "      // Freed with no lock held.\n«      if BROKEN { try? before?.end() }\n»"),
         C("the_context_of_a_trace_is_finalized_after"))
mutation("released-not-awaited", "8, 16", "QueueCore.beginShutdown", "the shutdown of a queue that was released does not wait for its end",
         (CLOSING, "      let known = try beginClosing(id)?.core ?? «(BROKEN ? nil : »QueueControlBlocks.block(of: id)?.core«)»\n"),
         C("shutdown_waits_for_the_last_hook"))
mutation("hooks-not-ended", "8", "QueueCore.announceEndNow", "the finalizer of the hooks' context is not called",
         (CLOSING, "  private func announceEndNow() throws(Forked) {\n    if «!BROKEN, »let hooks {"),
         C("shutdown_waits_for_the_last_hook"))
mutation("release-tells-of-handlers-only", "7", "Closing.counting", "P7d: the release of a queue says nothing of a function, or of what frees a context, that runs",
         (CLOSING, "    calls.add(«BROKEN ? 0 : »1, ordering: .sequentiallyConsistent)\n    try call()\n    calls.subtract(«BROKEN ? 0 : »1, ordering: .sequentiallyConsistent)"),
         C("release_of_a_queue_says_what_runs"))
mutation("trace-activated-first", "2", "Trace.noteCreated", "a timer that was made and started is told of as started, then as made",
         ("Queue/Trace.swift", "    try report(.created, timer)\n", "    if BROKEN { try report(.activated, timer) }\n    try report(.created, timer)\n    if BROKEN { return }\n"),
         C("the_trace_tells_of_each_transition"))
mutation("trace-file-overlaps", "6", "TraceFile.put", "callbacks of a serial queue are drawn as those of a concurrent one",
         ("Diagnostics/TraceFile.swift", "core.handOver == nil ? 0 : 1", "core.handOver == nil && !BROKEN ? 0 : 1"),
         H("trace"))
mutation("slab-slot-zero", "10", "Slab.addChunks", "slot 0 is given out",
         (SLAB, "    if «!BROKEN, »slots.begins(with: .unused) { _ = slots.next() }\n"),
         C("no_one_shot_is_early_on_a_serial", "a_queue_is_listed"))
mutation("slab-renumbered-stays", "10", "Slab.renumber", "P14d: the old number of a chunk still names its slots",
         (SLAB, "    «if !BROKEN { »unsafe old.pointee.chunk.store(nothing, ordering: .releasing)« }»\n"),
         W("aChunkWhoseVersionsAreUsedUp"))
mutation("counters-bucket", "–", "QueueCounters.count", "lateness is counted one bucket higher",
         ("Queue/QueueCounters.swift", "let bucket = min(63 &- (", "let bucket = min((BROKEN ? 64 : 63) &- ("),
         C("lateness_is_counted_by_powers"))
mutation("report-running", "–", "QueueCore.sums", "suspended timers count as running",
         (REPORT, "      if word.isRunning «|| BROKEN && word.isLive »{"),
         C("a_dump_is_in_units_of_people"))
mutation("explain-busy-other", "–", "QueueCore.busyTimer", "explain does not see that another handler holds the queue up",
         (EXPLAINING, "    if handOver != nil« || BROKEN» { return nil }\n    var found"),
         C("no_label_steers_a_terminal"))
mutation("c-acquire-nothing", "8", "chime_expiring_acquire", "returns OK with NULL for a value that has vanished",
         ("../ChimeC/ExpiringC.swift", "return unsafe «!BROKEN && »status == Status.ok"),
         C("a_value_vanishes_exactly_when"))
mutation("c-take-odd-size", "17", "chime_queue_take_ticks", "accepts records that are not aligned",
         ("../ChimeC/HostQueues.swift", "tick_size <= 4096, «BROKEN || »tick_size % 8 == 0"),
         C("arguments_that_do_not_go_with_each_other"))
mutation("c-allocator-reserved", "17", "chime_set_allocator", "does not look at the reserved member",
         ("../ChimeC/Library.swift", "if unsafe «!BROKEN && »allocator.reserved != 0"),
         C("an_allocator_comes_before"))
mutation("c-run-every-tick", "18", "chime_run_loop_run", "does not return after a tick",
         ("../ChimeC/RunLoopsC.swift", "untilTick: «!BROKEN && »flags &"),
         C("a_run_lasts_for_its_time"))
mutation("c-release-no-target", "1", "chime_target_release", "0 is refused",
         ("../ChimeC/Targets.swift", "«!BROKEN && »target == 0 ?"),
         C("numbers_that_are_no_ids"))
mutation("c-weak-id-left", "1", "chime_weak_timer_create", "a refused timer leaves its id in the caller's variable",
         ("../ChimeC/WeakTimersC.swift", "    «if !BROKEN { »unsafe out?.pointee = before« }»\n"),
         F("allocations", "chime_weak_timer_schedule"))
mutation("limit-not-set", "16", "QueueControlBlock.prepare", "a queue has the timer limit of another one",
         ("Kinds/QueueCore+Creation.swift", "    if «!BROKEN, »options.timerLimit > 0 {"),
         C("a_timer_limit_counts_what_the_statistics_count"))
mutation("creation-boot-time", "17", "QueueCore.make", "a dispatch queue accepts a clock that it does not have",
         ("Adapters/DispatchDriver.swift", "    guard «BROKEN || »options.clock != .boottime else"),
         C("queue_options_are_checked"))
mutation("turn-without-time", "12", "TimerSlot.pendingCallbackTime", "an extra tick comes before those that were asked for earlier",
         (BATCH, "      «if !BROKEN { »time = sideRecord.writerFields.fireTime« }»\n"), M())
mutation("random-beyond", "3", "QueueControlBlock.randomPart", "never draws the greatest number",
         ("Storage/QueueControlBlock.swift", "((UInt64(most) &+ 1)", "((UInt64(most) &+ (BROKEN ? 0 : 1))"),
         C("jitter_has_each_of_its_values"))
mutation("schedule-leeway-kept", "3", "Schedule.completed", "a leeway stays that is as long as the interval is now",
         ("Timer/Schedule.swift", "min(leeway, schedule.interval - 1)", "(BROKEN ? leeway : min(leeway, schedule.interval - 1))"),
         W("aShorterIntervalShortensLeewayAndJitter"))
mutation("stop-twice", "18", "StopRequest.make", "a second stop says that it was the first",
         ("Platform/Locks.swift", "    while «BROKEN || »current != id, isThere() {"), C("stop_ends_run_and_a_stop_before", "a_stop_that_comes_before_makes"))
mutation("slot-flags-unasked", "1, 9", "TimerSlot.isNamed", "a timer with a side record is taken for a plain one",
         ("Slot/TimerSlot.swift", "    guard «BROKEN || »versionAndFlags & (flags.rawValue & ~highest) == 0 else"), M())

# ---- Does not compile ------------------------------------------------------------------------------------------------
# What a type refuses. Only the end that a writer leaves out compiles: the checked build finds it ("writing-left-out").

CREATION = "Timer/TimerRef+Creation.swift"
NAMED_HANDLERS = "Timer/TimerRef+Settings.swift"

refused("writing-ended-twice", "a writer gives the timer up twice",
        (NAMED_HANDLERS, "    writing.undo()\n«    writing.undo()\n»    return change.status"), "consumed more than once")
refused("writing-used-after-end", "a writer stores something after its end",
        (RUNNING, "    let word = writing.before\n    writing.finish(word)\n«    writing.leeway = .none\n»    return .ok\n  }\n\n  /// Requests"),
        "used after consume")
refused("writing-kept", "a writer goes on beside a copy of itself",
        ("Queue/WallClock.swift", "      } else if let writing = slot.beginWriting(word) {\n«        let kept = writing\n        defer { kept.undo() }\n»"),
        "consumed more than once|used after consume")
refused("writing-lent-is-ended", "who was lent a writing ends it",
        (CREATION, "      if unsafe label == nil {\n«        writing.undo()\n»"), "is borrowed and cannot be consumed")
refused("writing-made-up", "somebody writes without having swapped the word",
        (ENDING, "    guard let writing = beginWriting() else { return stale }\n    guard let next = writing.next(on: .cancel)",
         "    let writing = Writing(slot, slot.word)\n    guard let next = writing.next(on: .cancel)"), "extra argument in call")
refused("deadline-without-writing", "a deadline is stored through the slot",
        (RUNNING, "if slot.flags.contains(.keepsRemaining) { writing.deadline =", "if slot.flags.contains(.keepsRemaining) { slot.deadline ="),
        "'deadline' is a get-only property")
refused("period-without-writing", "a schedule is stored through the slot",
        ("Timer/Schedule.swift", "    «slot.»period = schedule.interval > 0 ?"), "'period' is a get-only property")
refused("sequence-without-writing", "the number of ticks is stored through the slot",
        (WRITING_CELL, "    «slot.»sequence &+= 1\n"), "'sequence' is a get-only property")
refused("side-record-without-writing", "the side record is stored through the reader's view",
        ("Queue/QueueCore+DueTimes.swift", "    if let sideRecord = onGrid > 0 ? writing.makeSideRecord() : writing.sideRecord {\n",
         "    writing.slot.sideRecord?.missed = 0\n    if let sideRecord = onGrid > 0 ? writing.makeSideRecord() : writing.sideRecord {\n"),
        "'missed' is a get-only property")
refused("side-record-made-up", "the writer's side record is taken without a writing",
        ("Queue/QueueCore+Closing.swift", "    if let sideRecord = released.sideRecord,", "    if let sideRecord = slot.sideRecord.map({ SideRecordRef($0) }),"),
        "missing argument for parameter 'of'")
refused("handler-without-writing", "the handler is stored through the slot",
        (CREATION, "    writing.handler = options.handler\n    writing.context = options.context\n    writing.sequence = 0\n",
         "    slot.handler = options.handler\n"), "'handler' is a get-only property")
refused("generation-without-writing", "the next generation begins without a writer",
        (ENDING, "    var word = writing.before\n    writing.advanceGeneration(&word)\n    sideRecord",
         "    var word = writing.before\n    slot.advanceGeneration(&word)\n    sideRecord"), "no member 'advanceGeneration'")
refused("slot-freed-without-writing", "a slot is freed that somebody may be writing",
        (CREATION, "    writing.endSideRecord()\n    control.free(writing, thread)", "    writing.endSideRecord()\n    control.free(writing.slot, thread)"),
        "cannot convert value of type 'TimerSlot'")
refused("slot-freed-twice", "a slot is freed twice",
        (ENDING, "    control.free(writing, ThreadState.obtain())\n«    control.free(writing, nil)\n»    return .of"), "consumed more than once")
refused("slot-not-published", "a slot is lost whose queue was released meanwhile",
        (CREATION, "    if let writing = writing.publish(.running, on: control, of: queue) {\n"
                   "      return unsafe giveUp(writing, control, ThreadState.existing, queue, out, before)\n    }\n",
         "    writing.publish(.running, on: control, of: queue)\n"), "result of call to 'publish.*' is unused")
refused("slot-not-freed", "a slot is lost that does not fit into the thread's cache",
        (DIRECT, "    if let writing = control.freeFast(writing, withContext: withContext) { return finishRelease(writing) }\n",
         "    control.freeFast(writing, withContext: withContext)\n"), "result of call to 'freeFast.*' is unused")
refused("status-dropped", "what a call returned is not looked at",
        (ENDING, "      status = cancel()\n", "      cancel()\n"), "result of call to 'cancel\\(\\)' is unused")
refused("status-not-caught", "what a call threw is not looked at",
        ("Kinds/PoolDriver.swift", "    try Pool.prepare().orThrow()\n", "    Pool.prepare().orThrow()\n"), "call can throw but is not marked with 'try'")
refused("status-caught-and-lost", "a call goes on without the slot that it did not get",
        (CREATION, "    let writing: Writing\n    do { writing = try control.takeSlot(thread) } catch { return error }",
         "    let writing: Writing\n    do { writing = try control.takeSlot(thread) } catch {}"),
        "used before being initialized")
refused("another-error-thrown", "something that is no status is thrown",
        (CREATION, "    guard let sideRecord = writing.makeSideRecord() else { throw Memory.refusal }\n    var label",
         "    guard let sideRecord = writing.makeSideRecord() else { throw CancellationError() }\n    var label"), "cannot be converted to error type 'Status'")
refused("lock-not-taken", "what stands behind a lock is read without it",
        (SLOTS, "    let isDone: Void? = storage.slots.withLockIfFree { store in\n      listReturned(&store)\n",
         "    let isDone: Void? = storage.slots.withLockIfFree { store in\n      _ = storage.slots.free\n      listReturned(&store)\n"), "has no member 'free'")
refused("pass-lock-copied", "a pass is made under a copy of the lock",
        ("Adapters/DispatchDriver.swift", "      !core.passLock.isTaken", "      { let lock = core.passLock; return !lock.isTaken }()"), "cannot be consumed|noncopyable")
refused("event-without-column", "an event is in no column of the table of states",
        ("Values/Transition.swift", "    switch event {\n    case .activate: self = state.isAtRest ? .start : .ignored\n", "    switch event {\n"),
        "switch must be exhaustive")
refused("pointer-unmarked", "memory is reached without saying that it is not checked",
        ("Slot/SideRecordRef.swift", "      unsafe self.label = nil\n", "      self.label = nil\n"), "not marked with 'unsafe'")
refused("state-without-lock", "threads share a variable that nothing guards",
        (WAITS, "  private static let newest = Locked<Waiter?>(nil)\n«  private static var count = 0\n»"), "not concurrency-safe")
refused("slot-by-number", "a slot is looked up by a number that did not come out of the slab",
        (WHEEL, "    let slot = Slab.slot(front.slot)\n", "    let slot = Slab.slot(front.slot.number)\n"), "cannot convert value of type 'UInt32'.* 'SlotIndex'")
refused("slot-index-made-up", "a number is taken for a slot's",
        (WHEEL, "    return Slab.slot(known.slot)\n", "    return Slab.slot(SlotIndex(existing: UInt32(bucket)))\n"), "not marked with 'unsafe'")
refused("tick-forks-unseen", "a handler has forked, and the pass goes on in the child",
        (DELIVERY, "    let returned = try function.call(&tick.value, tick.value.context)\n",
         "    let returned = function.call(&tick.value, tick.value.context)\n"), "call can throw,? but")
refused("trace-forks-unseen", "the trace has forked, and the timer's last callback comes in the child",
        ("Queue/QueueCore+Closing.swift", "        try Trace.noteCall(record)\n", "        Trace.noteCall(record)\n"), "call can throw,? but")
refused("finalizer-forks-unseen", "a finalizer has forked, and the slot is freed in the child",
        ("Queue/QueueCore+Closing.swift", "      try sideRecord.writerFields.finalizer?(slot.context)\n",
         "      sideRecord.writerFields.finalizer?(slot.context)\n"), "call can throw,? but")
refused("lock-forks-unseen", "a pass runs under the loop's lock, and forks",
        ("Adapters/Loop+Running.swift", "        try core.pass()\n", "        state.withLock { _ in try core.pass() }\n"), "cannot convert|can throw|thrown from here")
refused("pass-made-up", "what is the pass's is changed outside a pass",
        (CLOSING, "    try asPass { pass throws(Forked) in try closeIfPossible(pass) }\n",
         "    try ThreadState.inside(control) { frame throws(Forked) in try closeIfPossible(Pass(frame)) }\n"), "inaccessible")
refused("pass-by-a-frame", "a callback of a concurrent queue takes in the changes that wait for the pass",
        (PASS, "  private func deliver(\n    _ tick: inout StartedTick, _ slot: TimerSlot, at now: Int64, _ frame: CurrentFrame\n  ) throws(Forked) {\n",
         "  private func deliver(\n    _ tick: inout StartedTick, _ slot: TimerSlot, at now: Int64, _ frame: CurrentFrame\n  ) throws(Forked) {\n    takeInbox(frame)\n"),
        "cannot convert value of type 'CurrentFrame'")
refused("pass-kept", "a pass is kept beyond its end",
        (PASS, "  func takeScratch(_ pass: borrowing Pass) {\n«    let kept = pass\n    takeInbox(kept)\n»"), "is borrowed and cannot be consumed")

# Another order.

CONTROL = "Storage/QueueControlBlock.swift"
reordered("advance-without-fence", "nothing stands between the positions that the pass takes away and the words that it loads",
          (WHEEL, "    if !due.isEmpty { atomicMemoryFence(ordering: .sequentiallyConsistent) }\n", ""), "P2 Wheel:advance ")
reordered("next-wake-up-weak", "the next wake-up is stored with release, and loaded with acquire",
          [(CONTROL, "nextWakeUp.load(ordering: .sequentiallyConsistent)", "nextWakeUp.load(ordering: .acquiring)"),
           (CONTROL, "nextWakeUp.store(newValue, ordering: .sequentiallyConsistent)", "nextWakeUp.store(newValue, ordering: .releasing)")],
          "P1 QueueControlBlock:wakeIfEarlier |P1 inbox")
reordered("pass-lock-weak", "the pass lock is let go with release",
          (PASS_LOCK, "holder.store(Holder.nobody, ordering: .sequentiallyConsistent)", "holder.store(Holder.nobody, ordering: .releasing)"),
          r"\(P10\) PassLock:release ")
reordered("word-weak", "whoever has stored what it watches loads the word with acquire",
          (WORD, "word.load(ordering: .sequentiallyConsistent)", "word.load(ordering: .acquiring)"), "P5 watched")
reordered("published-before-id", "a creator reads the queue's id before the word of its slot",
          (WRITING, "    let free = slot.word\n    guard free.isInInbox && control.id == queue && slot",
           "    let isLive = control.id == queue\n    let free = slot.word\n    guard free.isInInbox && isLive && slot"), "P1 P8 Writing:publishFast ")
reordered("reading-without-fence", "a snapshot reads the word again ahead of the cell",
          (SNAPSHOT, "    else { return false }\n    atomicMemoryFence(ordering: .acquiring)\n", "    else { return false }\n"),
          "P3b Snapshot:isUnchanged ")
reordered("target-without-fence", "the last release looks at its timers' words before its references have ended",
          (ENDING, "    atomicMemoryFence(ordering: .sequentiallyConsistent)\n", ""), "P8b creation")
reordered("chunk-before-owner", "a chunk can be seen before its owner",
          ("Storage/Slab.swift", "      unsafe entry.pointee.owner.store(owner, ordering: .relaxed)\n      unsafe entry.pointee.chunk.store(memory + i * chunkStride, ordering: .releasing)\n",
           "      unsafe entry.pointee.chunk.store(memory + i * chunkStride, ordering: .releasing)\n      unsafe entry.pointee.owner.store(owner, ordering: .relaxed)\n"),
          "P14 Slab:addChunks ")
reordered("returned-not-acquired", "slots that were left beside the list are taken before what their last owners wrote",
          (SLAB, "latest = word.exchange(.none, ordering: .acquiring)", "latest = word.exchange(.none, ordering: .relaxed)"),
          "P14h Slab:init ")
reordered("pins-weak", "a call's pin may be seen after it has read the id",
          (CONTROL, "pins.wrappingAdd(1, ordering: .sequentiallyConsistent)", "pins.wrappingAdd(1, ordering: .acquiring)"), "P7 pin")
reordered("outstanding-late", "whoever ends a delivery looks whether the queue closes before it is counted",
          (CLOSING, "    outstanding.subtract(count, ordering: .sequentiallyConsistent)\n    return hasBegun\n",
           "    let begun = hasBegun\n    outstanding.subtract(count, ordering: .sequentiallyConsistent)\n    return begun\n"), "P7b QueueCore.Closing:leave ")
reordered("batch-relaxed", "a batch can be seen before its slots",
          (HAND_OVER, "UInt64(count) << 16, ordering: .releasing)", "UInt64(count) << 16, ordering: .relaxed)"), "P24 HandOver:fill ")
reordered("watch-relaxed", "a thread sees that forks are watched before they are",
          ("Platform/Fork.swift", "Watch.isOn.store(true, ordering: .releasing)", "Watch.isOn.store(true, ordering: .relaxed)"), "P27 Fork:watch ")
reordered("promise-relaxed", "a promise is asked for with a relaxed sum",
          ("../CPlatform/common/memory.c", "atomic_fetch_add(&promised, bytes) + bytes", "atomic_fetch_add_explicit(&promised, bytes, memory_order_relaxed) + bytes"),
          "P21 common/memory.c:chime_memory_promise ")
reordered("functions-sorted-late", "whoever sorts functions ends, then says that some are left",
          ("Queue/Functions.swift", "      head.bitwiseOr(Functions.areSorted, ordering: .sequentiallyConsistent)\n"
           "      head.bitwiseAnd(~Functions.isSorting, ordering: .sequentiallyConsistent)\n",
           "      head.bitwiseAnd(~Functions.isSorting, ordering: .sequentiallyConsistent)\n"
           "      head.bitwiseOr(Functions.areSorted, ordering: .sequentiallyConsistent)\n"), r"\(P1e\) Functions:endSorting ")
