-- The scenario of ../README.md in LuaJIT, with its ffi and the header itself.
--
-- Two rules. A Lua callback runs only on Lua's own thread: use virtual, host-driven and main queues. And a C call that
-- calls back must be interpreted: a compiled one panics with "bad callback". The header says of each function whether it
-- does (`Calls back:`); those used here go through functions for which the compiler is off.
local ffi = require("ffi")
local bit = require("bit")

local header = assert(io.popen("cc -E -P -DCHIME_CDEF '" .. os.getenv("CHIME_HEADER") .. "'"))
ffi.cdef(header:read("*a"))
header:close()
ffi.cdef("struct pollfd { int fd; short events; short revents; }; int poll(struct pollfd *, unsigned long, int);")
local chime = ffi.load(os.getenv("CHIME_LIBRARY"))
local FOREVER = 0x7fffffffffffffffLL

local function interpreted(name)
  local call = function(...) return chime[name](...) end
  jit.off(call)
  return call
end
local queue_advance = interpreted("chime_queue_advance")
local queue_process = interpreted("chime_queue_process")
local queue_take_ticks = interpreted("chime_queue_take_ticks") -- destructors of targets
local queue_shutdown = interpreted("chime_queue_shutdown")
local timer_release = interpreted("chime_timer_release")
local target_release = interpreted("chime_target_release")

-- 64-bit integers and pointers become Lua numbers here: exact up to 2^53, as ids are, and as these small numbers are.
-- Keep deadlines of real clocks as cdata (int64_t).
local function number(value)
  if ffi.istype("void *", value) then value = ffi.cast("uintptr_t", value) end
  return tonumber(value)
end
local function pointer(value) return ffi.cast("void *", value) end
local function say(...)
  local words = { ... }
  for index = 1, #words do words[index] = tostring(words[index]) end
  io.write(table.concat(words, " "), "\n")
end
local function name(status) return ffi.string(chime.chime_status_name(status)) end
local function ok(status) assert(status == chime.CHIME_OK, name(status)) end

-- What a call writes through its last parameter.
local function made(ctype, call, ...)
  local value = ffi.new(ctype .. "[1]")
  local arguments = { ... }
  local count = select("#", ...) + 1 -- some are nil
  arguments[count] = value
  ok(call(unpack(arguments, 1, count)))
  return value[0]
end

local kinds = { [0] = "DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION" }

-- Callbacks are a scarce resource in LuaJIT: these few are made once and never freed.
local on_tick = ffi.cast("chime_handler", function(tick, context)
  say("tick", number(context) .. ":", kinds[tick.kind], "sequence", number(tick.sequence), "missed",
    number(tick.missed), "due", number(tick.scheduled_ns), "at",
    number(tick.actual_ns) .. (tick.target ~= nil and " target " .. number(tick.target) or ""))
end)
local on_finalize = ffi.cast("chime_finalizer", function(context) say("finalizer", number(context)) end)
local on_destroy = ffi.cast("chime_finalizer", function(target) say("destructor", number(target)) end)

local function sized(ctype, members)
  members.size = ffi.sizeof(ctype)
  return ffi.new(ctype, members)
end

local version = chime.chime_version()
say("version " .. bit.rshift(version, 16) .. "." .. bit.band(bit.rshift(version, 8), 255) .. "." .. bit.band(version, 255))

-- Virtual time
local queue = made("chime_queue_t", chime.chime_queue_create, chime.CHIME_QUEUE_VIRTUAL, nil)
local function advance(duration) ok(queue_advance(queue, duration)) end
local function state(timer) return made("chime_state", chime.chime_timer_state, timer) end

say("- virtual time")
local target = made("chime_target_t", chime.chime_target_create, pointer(77), on_destroy)
local timer = made("chime_timer_t", chime.chime_timer_start, queue,
  sized("chime_timer_options", { handler = on_tick, registration_handler = on_tick, cancel_handler = on_tick,
    context = pointer(1), finalizer = on_finalize, target = target }),
  sized("chime_schedule", { first_ns = 50, interval_ns = 50, resume_policy = chime.CHIME_RESUME_REMAINING }))
advance(20)
say("suspend", name(chime.chime_timer_suspend(timer)), "again", name(chime.chime_timer_suspend(timer)))
advance(1005)
local info = sized("chime_timer_info", {})
ok(chime.chime_timer_get_info(timer, info))
say("state", info.state, "remaining", number(info.remaining_ns))
ok(chime.chime_timer_resume(timer))
ok(chime.chime_queue_jump(queue, 85))
say("now", number(made("int64_t", chime.chime_queue_now, queue)))
advance(0)
say("retain", number(made("void *", chime.chime_target_retain, target)))
ok(target_release(target))
ok(target_release(target))
say("state", state(timer), "activate", name(chime.chime_timer_activate(timer, nil)), "retain",
  name(chime.chime_target_retain(target, nil)))
advance(0)
ok(timer_release(timer))
say("release", name(timer_release(timer)), "of 0", name(timer_release(0)))
ok(chime.chime_timer_after(queue, 10, on_tick, pointer(2), on_finalize, nil))
say("shutdown", name(queue_shutdown(queue, FOREVER)))
say("advance", name(queue_advance(queue, 10)))

-- Host-driven queues
local function wait_readable(queue)
  local entry = ffi.new("struct pollfd[1]", { { made("int32_t", chime.chime_queue_fd, queue), 1, 0 } })
  assert(ffi.C.poll(entry, 1, 10000) == 1, "the descriptor was not readable within 10 s")
end

say("- host-driven, callbacks")
queue = made("chime_queue_t", chime.chime_queue_create, chime.CHIME_QUEUE_HOST, nil)
local due, early, functions = 0, 0, 0
local on_count = ffi.cast("chime_handler", function(tick)
  due = due + 1 + number(tick.missed)
  if tick.actual_ns < tick.scheduled_ns then early = early + 1 end
end)
local on_function = ffi.cast("chime_function", function() functions = functions + 1 end)

timer = made("chime_timer_t", chime.chime_timer_start, queue,
  sized("chime_timer_options", { handler = on_count, context = pointer(3), finalizer = on_finalize }),
  sized("chime_schedule", { first_ns = 1000000, interval_ns = 1000000, tick_limit = 3 }))
ok(chime.chime_queue_async(queue, on_function, pointer(4), on_finalize))
while due < 3 or functions < 1 do
  wait_readable(queue)
  ok(queue_process(queue, 0, nil))
end
say("due times", due, "early", early, "functions", functions, "state", state(timer))
ok(timer_release(timer))
ok(queue_shutdown(queue, FOREVER))

say("- host-driven, records")
queue = made("chime_queue_t", chime.chime_queue_create, chime.CHIME_QUEUE_HOST,
  sized("chime_queue_options", { flags = chime.CHIME_QUEUE_FLAG_RECORDS }))
timer = made("chime_timer_t", chime.chime_timer_start, queue,
  sized("chime_timer_options", { context = pointer(5), flags = bit.bor(chime.CHIME_TIMER_RECORD_ARMED,
    chime.CHIME_TIMER_RECORD_CANCELLED, chime.CHIME_TIMER_RECORD_FINALIZE) }),
  sized("chime_schedule", { flags = chime.CHIME_SCHEDULE_DEADLINE, first_ns = 1, interval_ns = 1000000000000000000LL }))
local ticks = ffi.new("chime_tick[16]")
local function take(expected)
  while expected > 0 do
    wait_readable(queue)
    local count = number(made("size_t", queue_take_ticks, queue, ticks, ffi.sizeof("chime_tick"), 16))
    for index = 0, count - 1 do
      local tick = ticks[index]
      say("record", number(tick.context) .. ":", kinds[tick.kind])
      if tick.kind == chime.CHIME_TICK_DUE then
        say("due", number(tick.scheduled_ns), "cancel", name(chime.chime_timer_cancel(tick.timer)), "generation",
          name(chime.chime_timer_check_generation(tick.timer, tick.generation)))
      end
    end
    expected = expected - count
  end
end
take(2)
take(1)
ok(chime.chime_queue_async(queue, nil, pointer(6), nil))
take(1)
ok(timer_release(timer))
take(1)
ok(queue_shutdown(queue, FOREVER))
