"""Durations in seconds, for the tests; and the way back."""

MICROSECOND, MILLISECOND, SECOND, HOUR = 1e-6, 1e-3, 1, 3600


def seconds(nanoseconds):
    return nanoseconds / 1e9
