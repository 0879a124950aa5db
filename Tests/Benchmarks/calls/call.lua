-- What call.c measures, from LuaJIT with its ffi, compiled.
--
--     luajit call.lua OPERATIONS     needs CHIME_LIBRARY and CHIME_HEADER
--
-- The timer is one of a queue that gives records, so that no Lua function needs to be a callback of C.
local ffi = require("ffi")
local header = assert(io.popen("cc -E -P -DCHIME_CDEF '" .. os.getenv("CHIME_HEADER") .. "'"))
ffi.cdef(header:read("*a"))
header:close()
ffi.cdef("typedef struct { long seconds, ns; } time_of_clock; int clock_gettime(int, time_of_clock *);")
local chime = ffi.load(os.getenv("CHIME_LIBRARY"))
local operations = tonumber(arg[1])

local time = ffi.new("time_of_clock")
local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) * 1e9 + tonumber(time.ns)
end

local options = ffi.new("chime_queue_options")
options.size, options.flags = ffi.sizeof(options), chime.CHIME_QUEUE_RECORDS
local timer_options, schedule = ffi.new("chime_timer_options"), ffi.new("chime_schedule")
timer_options.size, schedule.size = ffi.sizeof(timer_options), ffi.sizeof(schedule)
schedule.first_ns = 3600000000000LL
local queue, timer, state = ffi.new("chime_queue_t[1]"), ffi.new("chime_timer_t[1]"), ffi.new("chime_state[1]")
assert(chime.chime_queue_create(chime.CHIME_QUEUE_HOST, options, queue) == 0)
assert(chime.chime_timer_start(queue[0], timer_options, schedule, timer) == 0)

local function states(number)
  for _ = 1, operations do
    if chime.chime_timer_state(number, state) ~= 0 then error("chime_timer_state") end
  end
end
local latest = ffi.cast("int64_t", now()) + 3600000000000LL
local function postpones(number)
  local deadline = latest
  for _ = 1, operations do
    deadline = deadline + 1000LL
    if chime.chime_timer_postpone_until(number, deadline) ~= 0 then error("chime_timer_postpone_until") end
  end
  latest = deadline
end
local function least(work)
  local smallest = math.huge
  for _ = 1, 5 do
    local begun = now()
    work(timer[0])
    smallest = math.min(smallest, (now() - begun) / operations)
  end
  return smallest
end
print(string.format('{"state": %.1f, "postpone_until": %.1f}', least(states), least(postpones)))
