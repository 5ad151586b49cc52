"""The numbers of a date put together, and the calendar they are meant in."""

from __future__ import annotations

from typing import NamedTuple

from loop_core.loop._datetokens import Invalid

__all__ = ["MAX_TIME", "Composer", "Parsed", "civil_from_days", "days_from_civil"]

#: The last millisecond a JavaScript date reaches, in both directions.
MAX_TIME = 8_640_000_000_000_000
_MAX_SMI = 2**31 - 1


class Parsed(NamedTuple):
    """Milliseconds of the written time, and its offset in seconds (None: local time)."""

    local_ms: int
    offset_s: int | None


class Composer:
    """Collects the numbers of a day, a time and a zone in the order they come."""

    def __init__(self) -> None:
        self.day: list[int] = []
        self.month_name: int | None = None
        self.iso = False
        self.time: list[int] = []
        self.half: int | None = None  # 0 for AM, 12 for PM
        self.sign: int | None = None
        self.hour: int | None = None
        self.minute: int | None = None

    def add_day(self, number: int) -> None:
        if len(self.day) == 3:
            raise Invalid
        self.day.append(number)

    def add_time(self, number: int) -> None:
        if len(self.time) == 4:
            raise Invalid
        self.time.append(number)

    def end_time(self, number: int) -> None:
        """The last number of a time; one too many is passed over."""
        self.time = [*self.time, number, 0, 0, 0][:4]

    def time_expects(self, number: int) -> bool:
        limits = (0, 60, 60, 1000, 0)
        return number < limits[len(self.time)]

    def zone_expects(self, number: int) -> bool:
        return self.hour is not None and self.minute is None and number < 60

    def set_zone(self, hours: int) -> None:
        self.sign, self.hour, self.minute = (-1 if hours < 0 else 1), abs(hours), 0

    @property
    def is_utc(self) -> bool:
        return self.hour == 0 and self.minute == 0

    def result(self) -> Parsed:
        year, month, day = self._date()
        hour, minute, second, milli = self._clock()
        offset = None
        if self.sign is not None:
            seconds = ((self.hour or 0) * 3600 + (self.minute or 0) * 60) % 2**32
            if seconds > _MAX_SMI:
                raise Invalid
            offset = self.sign * seconds
        days = days_from_civil(year, month, 1) + day - 1
        clock = ((hour * 60 + minute) * 60 + second) * 1000 + milli
        return Parsed(days * 86_400_000 + clock, offset)

    def _date(self) -> tuple[int, int, int]:
        if not self.day:
            raise Invalid
        first, second, third = (*self.day, 1, 1)[:3]
        if self.month_name is not None:
            month = self.month_name
            year, day = (second, first) if 1 <= first <= 31 else (first, second)
        elif self.iso or not 1 <= first <= 31:
            year, month, day = first, second, third
        else:
            month, day, year = first, second, third
        if not self.iso and 0 <= year <= 99:
            year += 2000 if year < 50 else 1900
        if not 1 <= month <= 12 or not 1 <= day <= 31 or abs(year) > _MAX_SMI:
            raise Invalid
        return year, month, day

    def _clock(self) -> tuple[int, int, int, int]:
        hour, minute, second, milli = (*self.time, 0, 0, 0, 0)[:4]
        if self.half is not None:
            if not 0 <= hour <= 12:
                raise Invalid
            hour = hour % 12 + self.half
        midnight = (hour, minute, second, milli) == (24, 0, 0, 0)
        if not midnight and not (hour < 24 and minute < 60 and second < 60 and milli < 1000):
            raise Invalid
        return hour, minute, second, milli


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a day in the proleptic Gregorian calendar."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
