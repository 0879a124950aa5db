// What is said of the core's own types in this module's interface is seen by whoever imports it: states, statuses,
// schedules, ticks, statistics.
@_exported public import ChimeCore
