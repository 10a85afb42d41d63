"""What may be spent: a token bucket that counts exactly.

A bucket receives tokens with time and holds at most its capacity; a crawl takes its cost out. So in any window at most
capacity + income × window is spent. Balances are whole numbers of a small unit, never floats: three times one third is
one.
"""

from __future__ import annotations

import math
from fractions import Fraction

from recrawl.errors import ParameterError

Amount = int | float | Fraction
NANOSECONDS = 10**9
# A float within four units in the last place of a fraction with a denominator up to 10⁹ is that fraction.
_ROUNDING = Fraction(1, 2**50)


def exact(argument: str, amount: Amount, *, positive: bool = False) -> Fraction:
    """The fraction a caller meant: 1/3 for the float 1/3, 1/10 for 0.1, the decimal digits where neither fits.

    >>> exact("income", 1 / 3)
    Fraction(1, 3)
    >>> exact("income", 24 / 86400 * 600)
    Fraction(1, 6)
    """
    expected = "a finite number > 0" if positive else "a finite number >= 0"
    try:
        given = Fraction(amount)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(argument, expected, repr(amount)) from error
    if given < 0 or (positive and given == 0):
        raise ParameterError(argument, expected, repr(amount))
    if not isinstance(amount, float) or given.denominator == 1:
        return given
    simple = given.limit_denominator(10**9)
    return simple if abs(simple - given) <= given * _ROUNDING else Fraction(repr(float(amount)))


class TimedBucket:
    """Tokens by the clock: `per_second` tokens a second, at most `burst` saved.

    Between any two moments a and b at most burst + per_second·(b − a) is spent. Time is counted in whole nanoseconds
    of the caller's clock; a clock that steps back brings nothing until it has caught up.

    Rate and burst may change and run out (:meth:`allot`): then at most the largest burst + ∫ rate dt is spent between
    any two moments, and nothing from the moment it runs out, however late that is noticed.

    >>> bucket = TimedBucket(per_second=2, burst=10, now=100.0)
    >>> bucket.fill(101.5)
    >>> bucket.affordable()
    3
    """

    def __init__(self, per_second: Amount, burst: Amount = 1, *, now: float, balance: Amount = 0) -> None:
        self._rate = exact("per_second", per_second)
        most, tokens = exact("burst", burst), exact("balance", balance)
        self._scale = math.lcm(self._rate.denominator * NANOSECONDS, most.denominator, tokens.denominator)
        self._capacity = self._units(most)
        self._balance = min(self._units(tokens), self._capacity)
        self._filled_ns = _nanoseconds(now)
        self._until_ns: int | None = None

    def allot(self, per_second: Amount, burst: Amount, now: float, until: float = math.inf) -> None:
        """From `now` on another rate and burst hold, and from `until` on (-inf: at once) nothing does.

        What was saved up at the old rate stays, as far as the new burst holds it.

        >>> bucket = TimedBucket(per_second=2, burst=10, now=100.0)
        >>> bucket.allot(per_second=1, burst=4, now=105.0, until=107.0)
        >>> bucket.balance, bucket.fill(107.0), bucket.balance
        (4.0, None, 0.0)
        """
        rate, most = exact("per_second", per_second), exact("burst", burst)
        end = None if math.isinf(until) else _nanoseconds(until, "until")
        self.fill(now)
        end = self._filled_ns if until == -math.inf else end
        # The unit is chosen anew, or many rates would make it ever smaller; a broken one of the balance is dropped.
        scale = math.lcm(rate.denominator * NANOSECONDS, most.denominator)
        balance, self._scale = self._balance * scale // self._scale, scale
        self._rate, self._until_ns, self._capacity = rate, end, self._units(most)
        self._balance = min(balance, self._capacity)
        self._expire()

    @property
    def capacity(self) -> float:
        """The most tokens it can hold."""
        return self._capacity / self._scale

    @property
    def balance(self) -> float:
        """Tokens now, as a float for showing; decide with :meth:`affordable` or :meth:`spend`, which are exact."""
        return self._balance / self._scale

    @property
    def per_second(self) -> float:
        """Tokens a second, as of the last :meth:`fill`; 0 once it has run out."""
        return 0.0 if self.run_out else float(self._rate)

    @property
    def run_out(self) -> bool:
        """Whether nothing is there any more, as of the last :meth:`fill`."""
        return self._until_ns is not None and self._filled_ns >= self._until_ns

    def fill(self, now: float) -> None:
        """Let the clock reach `now`, in seconds."""
        moment = _nanoseconds(now)
        if moment > self._filled_ns:
            income = (moment - self._filled_ns) * self._per_nanosecond()
            self._balance = min(self._balance + income, self._capacity)
            self._filled_ns = moment
            self._expire()

    def _units(self, amount: Fraction) -> int:
        return amount.numerator * (self._scale // amount.denominator)

    def _price(self, cost: Amount) -> int:
        """A cost in units; a cost that is no whole number of them makes the unit smaller."""
        if isinstance(cost, float) and cost >= 0.0 and cost.is_integer():  # as nearly all are
            return int(cost) * self._scale
        amount = exact("cost", cost)
        if self._scale % amount.denominator:
            finer = math.lcm(self._scale, amount.denominator) // self._scale
            self._scale, self._capacity, self._balance = (
                finer * x for x in (self._scale, self._capacity, self._balance)
            )
        return self._units(amount)

    def _per_nanosecond(self) -> int:
        """Units; whole, since the unit is chosen so."""
        return self._rate.numerator * (self._scale // (self._rate.denominator * NANOSECONDS))

    def _expire(self) -> None:
        if self.run_out:
            self._balance = 0

    def affordable(self, cost: Amount = 1) -> int:
        """How many crawls of this cost the balance pays for."""
        price = self._price(exact("cost", cost, positive=True))
        return self._balance // price

    def spend(self, cost: Amount = 1) -> bool:
        """Take `cost` tokens if they are there; False, and nothing taken, if they are not."""
        price = self._price(cost)
        if price > self._balance:
            return False
        self._balance -= price
        return True

    def spend_all(self) -> None:
        """Take all there is."""
        self._balance = 0

    def put_back(self, cost: Amount = 1) -> None:
        """Return what was taken and not used; never more than can be saved up, and nothing once it has run out."""
        self._balance = min(self._balance + self._price(cost), self._capacity)
        self._expire()

    def widen(self, burst: Amount) -> None:
        """Let at least so many tokens be saved up: what a single crawl costs must fit."""
        self._capacity = max(self._capacity, self._price(burst))

    def ready_at(self, cost: Amount = 1) -> float:
        """The earliest moment at which `cost` tokens will be there; inf if they never can be."""
        price = self._price(cost)
        if price <= self._balance:
            return self._filled_ns / NANOSECONDS
        per_ns = self._per_nanosecond()
        if price > self._capacity or per_ns == 0:
            return math.inf
        moment = self._filled_ns + -(-(price - self._balance) // per_ns)
        if self._until_ns is not None and moment >= self._until_ns:
            return math.inf
        seconds = moment / NANOSECONDS
        while _nanoseconds(seconds) < moment:
            seconds = math.nextafter(seconds, math.inf)
        return seconds


def _nanoseconds(now: float, argument: str = "now") -> int:
    if not math.isfinite(now):
        raise ParameterError(argument, "a finite time in seconds", now)
    whole, parts = float(now).as_integer_ratio()
    return whole * NANOSECONDS // parts if whole >= 0 else -(-whole * NANOSECONDS // parts)
