// The core's own types in this module's interface.
@_exported public import struct ChimeCore.Schedule
@_exported public import enum ChimeCore.TimerState
