"""Counters of requests, in the text format that Prometheus reads."""

import threading
from collections import defaultdict

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """Counts requests by route and status, and their time by route."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._times: dict[str, list[float]] = defaultdict(lambda: [0.0] * (len(_BOUNDS) + 2))

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[route, status] += 1
            times = self._times[route]
            for i, bound in enumerate(_BOUNDS):
                times[i] += seconds <= bound
            times[-2] += 1
            times[-1] += seconds

    def text(self, gauges: dict[str, float]) -> str:
        """Return all counters, and the gauges of the present state."""
        lines = ["# TYPE prefjudge_requests_total counter"]
        with self._lock:
            for (route, status), number in sorted(self._requests.items()):
                lines.append(f'prefjudge_requests_total{{route="{route}",status="{status}"}} {number}')
            lines.append("# TYPE prefjudge_request_seconds histogram")
            for route, times in sorted(self._times.items()):
                for bound, times_under in zip((*_BOUNDS, "+Inf"), times[:-1], strict=True):
                    lines.append(
                        f'prefjudge_request_seconds_bucket{{route="{route}",le="{bound}"}} {int(times_under)}'
                    )
                lines.append(f'prefjudge_request_seconds_sum{{route="{route}"}} {times[-1]:.6f}')
                lines.append(f'prefjudge_request_seconds_count{{route="{route}"}} {int(times[-2])}')
        for name, value in sorted(gauges.items()):
            family = name.partition("{")[0]
            header = f"# TYPE {family} gauge"
            if header not in lines:
                lines.append(header)
            lines.append(f"{name} {value:g}")
        return "\n".join(lines) + "\n"
