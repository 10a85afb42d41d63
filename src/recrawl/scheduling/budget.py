"""What may be spent: token buckets that count exactly, and the price that makes a budget be spent.

A bucket receives `income` tokens per tick (or per second) and holds at most `capacity`; a crawl takes its cost out.
So in any window at most capacity + income × window is spent. Balances are whole numbers of a small unit, never
floats: three times one third is one.

The price controller is the dual descent of the relaxed problem [tcns2018, (22)]: the price rises while more than the
budget is spent and falls while less is. Shards that share nothing but this price spend one budget together.
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


class _Purse:
    """A balance in whole units of 1/`scale` token, never below nothing and never above the capacity."""

    def __init__(self, scale: int, capacity: Fraction, balance: Fraction) -> None:
        self._scale = math.lcm(scale, capacity.denominator, balance.denominator)
        self._capacity = self._units(capacity)
        self._balance = min(self._units(balance), self._capacity)

    def _units(self, amount: Fraction) -> int:
        return amount.numerator * (self._scale // amount.denominator)

    def _price(self, cost: Amount) -> int:
        """A cost in units; a cost that is no whole number of them makes the unit smaller."""
        amount = exact("cost", cost)
        if self._scale % amount.denominator:
            finer = math.lcm(self._scale, amount.denominator) // self._scale
            self._scale, self._capacity, self._balance = (
                finer * x for x in (self._scale, self._capacity, self._balance)
            )
        return self._units(amount)

    @property
    def capacity(self) -> float:
        """The most tokens it can hold."""
        return self._capacity / self._scale

    @property
    def balance(self) -> float:
        """Tokens now, as a float for showing; decide with :meth:`affordable` or :meth:`spend`, which are exact."""
        return self._balance / self._scale

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


class TokenBucket(_Purse):
    """Tokens by the tick, as in simulation and replay: balance ← min(balance + income, capacity).

    Parameters
        income: tokens per tick; a float such as 1/3 is read as the fraction it stands for
        capacity: the most that can be saved; by default max(1, income), so nothing beyond one tick's worth
        balance: tokens at the start

    >>> bucket = TokenBucket(1 / 3)
    >>> [bucket.fill() or bucket.affordable() for _ in range(3)]
    [0, 0, 1]
    """

    def __init__(self, income: Amount, capacity: Amount | None = None, balance: Amount = 0) -> None:
        per_tick = exact("income", income)
        most = max(Fraction(1), per_tick) if capacity is None else exact("capacity", capacity)
        super().__init__(per_tick.denominator, most, exact("balance", balance))
        self._income = per_tick

    def fill(self, ticks: int = 1) -> None:
        """Let `ticks` ticks pass."""
        if ticks < 0:
            raise ParameterError("ticks", "a whole number >= 0", ticks)
        self._balance = min(self._balance + int(ticks) * self._units(self._income), self._capacity)


class TimedBucket(_Purse):
    """Tokens by the clock, as in the live program: `per_second` tokens a second, at most `burst` saved.

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
        rate = exact("per_second", per_second)
        super().__init__(rate.denominator * NANOSECONDS, exact("burst", burst), exact("balance", balance))
        self._rate = rate
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

    def _per_nanosecond(self) -> int:
        """Units; whole, since the unit is chosen so."""
        return self._rate.numerator * (self._scale // (self._rate.denominator * NANOSECONDS))

    def _expire(self) -> None:
        if self.run_out:
            self._balance = 0

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


class PriceController:
    """The price at which sources, each crawled when its index reaches it, spend the budget on average.

    Dual descent on the logarithm of the price, which makes the step free of units::

        ln λ ← ln λ + gain·min(spent/budget − 1, 1)

    When the budget changes by a factor, the price moves at once by that factor to the power −`elasticity`, a guess
    that the descent then corrects. In the quadratic form spend is proportional to 1/√λ, which is elasticity 2;
    sources near their ceiling make it smaller. With the defaults, over sources spread across four decades and
    revisited every 20 ticks on average, the spend (mean of 10 ticks) is within 10 % of a doubled or halved budget
    after at most 40 ticks.

    Parameters
        budget: what may be spent per tick on average
        price: a first guess > 0
        gain: relative change of the price per tick and unit of relative overspending
        elasticity: expected relative fall of the price per relative growth of the budget

    It steers an average: single ticks overspend. Where the budget is hard, use a bucket and the ranking.
    """

    def __init__(self, budget: float, price: float, gain: float = 0.1, elasticity: float = 1.0) -> None:
        for name, number in (("budget", budget), ("price", price), ("gain", gain)):
            if not 0.0 < number < math.inf:
                raise ParameterError(name, "a finite number > 0", number)
        if not 0.0 <= elasticity < math.inf:
            raise ParameterError("elasticity", "a finite number >= 0", elasticity)
        self._budget, self._log_price = float(budget), math.log(price)
        self._gain, self._elasticity = float(gain), float(elasticity)

    @property
    def price(self) -> float:
        """λ now: crawl what has an index of at least this."""
        return math.exp(self._log_price)

    @property
    def budget(self) -> float:
        """What is to be spent per tick on average."""
        return self._budget

    @budget.setter
    def budget(self, amount: float) -> None:
        if not 0.0 < amount < math.inf:
            raise ParameterError("budget", "a finite number > 0", amount)
        self._log_price -= self._elasticity * math.log(amount / self._budget)
        self._budget = float(amount)

    def spent(self, amount: float) -> None:
        """Tell what one tick spent; the price follows, by a factor e^gain up or down at most."""
        if not 0.0 <= amount < math.inf:
            raise ParameterError("amount", "a finite number >= 0", amount)
        error = amount / self._budget - 1.0
        self._log_price += self._gain * min(error, 1.0)
