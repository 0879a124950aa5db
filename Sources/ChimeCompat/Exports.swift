// Who imports the old names needs what they stand for.
@_exported public import Chime
@_exported public import protocol ChimeCore.MachineTimer
