# The scenario of ../README.md in Ruby, with fiddle from its standard library.
#
# Fiddle releases Ruby's lock around a call and takes it again for a callback, so other Ruby threads go on while a call
# waits (`Waits:` in the header). But a callback on a thread that Ruby did not make ends the process with "[BUG]
# rb_thread_call_with_gvl() is called by non-ruby thread": use virtual and host-driven queues, not serial, concurrent or
# precise ones.
require "fiddle"

module Chime
  LIBRARY = Fiddle.dlopen(ENV.fetch("CHIME_LIBRARY"))
  FOREVER = 2**63 - 1
  QUEUE_HOST, QUEUE_VIRTUAL = 2, 4
  QUEUE_FLAG_RECORDS = 0x400
  SCHEDULE_DEADLINE = 0x10000
  RESUME_REMAINING = 1
  TIMER_RECORD_ARMED, TIMER_RECORD_CANCELLED, TIMER_RECORD_FINALIZE = 0x200000, 0x400000, 0x800000
  KINDS = %w[DUE FIRED ARMED CANCELLED FINALIZE FUNCTION].freeze

  # Structures: name => member => directive of Array#pack (L uint32, l int32, Q uint64, q int64, J pointer or size_t).
  STRUCTURES = {
    chime_tick: { timer: "Q", generation: "Q", sequence: "Q", missed: "Q", scheduled_ns: "q", actual_ns: "q",
                  context: "J", target: "J", kind: "L", reserved: "L" },
    chime_queue_options: { size: "L", flags: "L", label: "J", qos: "L", clock: "L", timer_limit: "Q", start_ns: "q",
                           enter: "J", leave: "J", hook_context: "J", hook_finalizer: "J", realtime_priority: "l",
                           reserved: "L", seed: "Q" },
    chime_schedule: { size: "L", flags: "L", first_ns: "q", interval_ns: "q", leeway_ns: "q", tick_limit: "Q",
                      missed_policy: "L", resume_policy: "L", jitter_ns: "q" },
    chime_timer_options: { size: "L", flags: "L", handler: "J", registration_handler: "J", cancel_handler: "J",
                           context: "J", finalizer: "J", label: "J", target: "Q" },
    chime_timer_info: { size: "L", state: "L", queue: "Q", generation: "Q", sequence: "Q", next_deadline_ns: "q",
                        remaining_ns: "q", interval_ns: "q", leeway_ns: "q", tick_limit: "Q", due_count: "Q",
                        busy: "l", has_schedule: "l", missed: "Q", jitter_ns: "q", background: "l", reserved: "L" }
  }.freeze

  def self.size(structure) = STRUCTURES.fetch(structure).values.sum { |directive| "lL".include?(directive) ? 4 : 8 }

  # A structure's bytes: its size, the given members, 0 for the others.
  def self.pack(structure, members = {})
    layout = STRUCTURES.fetch(structure)
    members = { size: size(structure) }.merge(members)
    layout.map { |name, directive| [members.fetch(name, 0)].pack(directive) }.join
  end

  def self.unpack(structure, bytes)
    layout = STRUCTURES.fetch(structure)
    layout.keys.zip(bytes.unpack(layout.values.join)).to_h
  end

  # Compares the structures above with the header's, as the record of the ABI has them.
  def self.check_layout
    File.foreach(ENV.fetch("CHIME_LAYOUT")) do |line|
      path, number = line.split
      structure, member = path.split(".").map(&:to_sym)
      layout = STRUCTURES.fetch(structure)
      before = member ? layout.take(layout.keys.index(member) || raise(path)).to_h : layout
      ours = before.values.sum { |directive| "lL".include?(directive) ? 4 : 8 }
      raise "#{path}: #{ours}, not #{number}" unless ours == Integer(number)
    end
  end

  # Compares the numbers above with the header's constants.
  def self.check_numbers
    header = File.foreach(ENV.fetch("CHIME_NUMBERS")).to_h { |line| line.delete_prefix("CHIME_").split }
    constants.select { |name| const_get(name).is_a?(Integer) && name != :POINTER }.each do |name|
      raise "#{name}: #{const_get(name)}, not #{header[name.to_s]}" unless const_get(name).to_s == header[name.to_s]
    end
  end

  POINTER = Fiddle::TYPE_VOIDP
  TYPES = { "p" => POINTER, "q" => Fiddle::TYPE_LONG_LONG, "Q" => -Fiddle::TYPE_LONG_LONG,
            "l" => Fiddle::TYPE_INT, "L" => -Fiddle::TYPE_INT, "J" => Fiddle::TYPE_SIZE_T }.freeze

  # chime_NAME as a method of Chime.
  def self.declare(name, parameters, result = "l")
    types = parameters.chars.map { |letter| TYPES.fetch(letter) }
    function = Fiddle::Function.new(LIBRARY["chime_#{name}"], types, TYPES.fetch(result))
    define_singleton_method(name) { |*arguments| function.call(*arguments) }
  end

  declare :version, "", "L"
  declare :status_name, "l", "p"
  declare :queue_create, "Lpp"
  declare :queue_shutdown, "Qq"
  declare :queue_async, "Qppp"
  declare :queue_now, "Qp"
  declare :queue_advance, "Qq"
  declare :queue_jump, "Qq"
  declare :queue_fd, "Qp"
  declare :queue_process, "QLp"
  declare :queue_take_ticks, "QpJJp"
  declare :timer_start, "Qppp"
  declare :timer_after, "Qqpppp"
  declare :timer_activate, "Qp"
  declare :timer_suspend, "Q"
  declare :timer_resume, "Q"
  declare :timer_cancel, "Q"
  declare :timer_release, "Q"
  declare :timer_check_generation, "QQ"
  declare :timer_state, "Qp"
  declare :timer_get_info, "Qp"
  declare :target_create, "ppp"
  declare :target_retain, "Qp"
  declare :target_release, "Q"

  # Nothing may unwind through the library: what the block raises ends the process.
  def self.callback(*types, &block)
    Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_VOID, types) do |*arguments|
      block.call(*arguments)
    rescue Exception => error
      warn error.full_message
      exit!(1)
    end
  end

  def self.handler
    callback(POINTER, POINTER) do |tick, _context|
      yield unpack(:chime_tick, Fiddle::Pointer.new(tick.to_i)[0, size(:chime_tick)])
    end
  end

  def self.function = callback(POINTER) { |context| yield context.to_i }
end

$stdout.sync = true

def name(status) = Chime.status_name(status).to_s

def ok(status)
  raise name(status) unless status.zero?
end

# What a call writes through its last parameter.
def made(directive, function, *arguments)
  value = [0].pack(directive)
  ok Chime.public_send(function, *arguments, value)
  value.unpack1(directive)
end

def id(function, *arguments) = made("Q", function, *arguments)
def state(timer) = made("L", :timer_state, timer)

def describe(tick)
  target = tick[:target].zero? ? "" : " target #{tick[:target]}"
  "#{tick[:context]}: #{Chime::KINDS[tick[:kind]]} sequence #{tick[:sequence]} missed #{tick[:missed]} " \
    "due #{tick[:scheduled_ns]} at #{tick[:actual_ns]}#{target}"
end

# Constants, because the library does not keep them alive.
ON_TICK = Chime.handler { |tick| puts "tick #{describe(tick)}" }
ON_FINALIZE = Chime.function { |context| puts "finalizer #{context}" }
ON_DESTROY = Chime.function { |target| puts "destructor #{target}" }

Chime.check_layout
Chime.check_numbers
version = Chime.version
puts "version #{version >> 16}.#{version >> 8 & 255}.#{version & 255}"

# Virtual time
queue = id(:queue_create, Chime::QUEUE_VIRTUAL, nil)
advance = ->(duration) { ok Chime.queue_advance(queue, duration) }

puts "- virtual time"
target = id(:target_create, 77, ON_DESTROY)
options = Chime.pack(:chime_timer_options, handler: ON_TICK.to_i, registration_handler: ON_TICK.to_i,
                                           cancel_handler: ON_TICK.to_i, context: 1, finalizer: ON_FINALIZE.to_i,
                                           target: target)
schedule = Chime.pack(:chime_schedule, first_ns: 50, interval_ns: 50, resume_policy: Chime::RESUME_REMAINING)
timer = id(:timer_start, queue, options, schedule)
advance[20]
puts "suspend #{name(Chime.timer_suspend(timer))} again #{name(Chime.timer_suspend(timer))}"
advance[1005]
bytes = Chime.pack(:chime_timer_info)
ok Chime.timer_get_info(timer, bytes)
info = Chime.unpack(:chime_timer_info, bytes)
puts "state #{info[:state]} remaining #{info[:remaining_ns]}"
ok Chime.timer_resume(timer)
ok Chime.queue_jump(queue, 85)
puts "now #{made("q", :queue_now, queue)}"
advance[0]
puts "retain #{made("J", :target_retain, target)}"
ok Chime.target_release(target)
ok Chime.target_release(target)
puts "state #{state(timer)} activate #{name(Chime.timer_activate(timer, nil))} " \
     "retain #{name(Chime.target_retain(target, nil))}"
advance[0]
ok Chime.timer_release(timer)
puts "release #{name(Chime.timer_release(timer))} of 0 #{name(Chime.timer_release(0))}"
ok Chime.timer_after(queue, 10, ON_TICK, 2, ON_FINALIZE, nil)
puts "shutdown #{name(Chime.queue_shutdown(queue, Chime::FOREVER))}"
puts "advance #{name(Chime.queue_advance(queue, 10))}"

# Host-driven queues. The IO must not close the descriptor, which is the queue's own.
def descriptor(queue) = IO.for_fd(made("l", :queue_fd, queue), autoclose: false)

def wait_readable(descriptor)
  IO.select([descriptor], nil, nil, 10) or raise "the descriptor was not readable within 10 s"
end

puts "- host-driven, callbacks"
queue = id(:queue_create, Chime::QUEUE_HOST, nil)
readable = descriptor(queue)
due = early = functions = 0
on_count = Chime.handler do |tick|
  due += 1 + tick[:missed]
  early += 1 if tick[:actual_ns] < tick[:scheduled_ns]
end
on_function = Chime.function { functions += 1 }

options = Chime.pack(:chime_timer_options, handler: on_count.to_i, context: 3, finalizer: ON_FINALIZE.to_i)
schedule = Chime.pack(:chime_schedule, first_ns: 1_000_000, interval_ns: 1_000_000, tick_limit: 3)
timer = id(:timer_start, queue, options, schedule)
ok Chime.queue_async(queue, on_function, 4, ON_FINALIZE)
while due < 3 || functions < 1
  wait_readable(readable)
  ok Chime.queue_process(queue, 0, nil)
end
puts "due times #{due} early #{early} functions #{functions} state #{state(timer)}"
ok Chime.timer_release(timer)
ok Chime.queue_shutdown(queue, Chime::FOREVER)

puts "- host-driven, records"
size = Chime.size(:chime_tick)
queue = id(:queue_create, Chime::QUEUE_HOST, Chime.pack(:chime_queue_options, flags: Chime::QUEUE_FLAG_RECORDS))
readable = descriptor(queue)
flags = Chime::TIMER_RECORD_ARMED | Chime::TIMER_RECORD_CANCELLED | Chime::TIMER_RECORD_FINALIZE
schedule = Chime.pack(:chime_schedule, flags: Chime::SCHEDULE_DEADLINE, first_ns: 1, interval_ns: 10**18)
timer = id(:timer_start, queue, Chime.pack(:chime_timer_options, flags: flags, context: 5), schedule)
take = lambda do |expected|
  while expected.positive?
    wait_readable(readable)
    records = "\0".b * (16 * size) # bytes: a slice of a UTF-8 string would count characters
    count = made("J", :queue_take_ticks, queue, records, size, 16)
    count.times do |index|
      tick = Chime.unpack(:chime_tick, records.byteslice(index * size, size))
      kind = Chime::KINDS[tick[:kind]]
      puts "record #{tick[:context]}: #{kind}"
      next unless kind == "DUE"

      puts "due #{tick[:scheduled_ns]} cancel #{name(Chime.timer_cancel(tick[:timer]))} " \
           "generation #{name(Chime.timer_check_generation(tick[:timer], tick[:generation]))}"
    end
    expected -= count
  end
end
take[2]
take[1]
ok Chime.queue_async(queue, nil, 6, nil)
take[1]
ok Chime.timer_release(timer)
take[1]
ok Chime.queue_shutdown(queue, Chime::FOREVER)
