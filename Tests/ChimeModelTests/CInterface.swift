import CChime

func name(of status: chime_status) -> String { String(cString: chime_status_name(status)) }
