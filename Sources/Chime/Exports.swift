// The core's own types in this module's interface. The rest of it, the state machine's events and transitions, is exported
// by ChimeCompat.
@_exported public import struct ChimeCore.Schedule
@_exported public import enum ChimeCore.TimerState
