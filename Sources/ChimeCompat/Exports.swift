// Who imports the old names needs what they stand for.
@_exported public import Chime
