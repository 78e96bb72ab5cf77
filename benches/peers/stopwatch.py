"""How PyTorch's calls are timed: as `ubtile run --time` times its own."""

import statistics
import time

# What a core that has idled needs to reach its pace, in seconds.
WARM = 0.1
LEAST = 7


def median_ms(call, budget):
    """Median of many calls, after two or more that are not timed; more than the least number while the budget (seconds) lasts."""
    end = time.perf_counter() + WARM
    call(), call()
    while time.perf_counter() < end:
        call()
    times, end = [], time.perf_counter() + budget
    while len(times) < LEAST or (time.perf_counter() < end and len(times) < 2000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3
