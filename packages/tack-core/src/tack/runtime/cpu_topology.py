"""How many threads a kernel should use: distinct physical cores in the affinity mask, capped by the control group's quota.

Reads Linux' sysfs and procfs; elsewhere it falls back to what Python knows. Knows nothing of kernels or pools.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["available_cpus", "cgroup_quota", "default_threads", "physical_cores"]

_ROOT = Path("/")


def available_cpus() -> frozenset[int]:
    """The logical CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def physical_cores(cpus: frozenset[int], root: Path = _ROOT) -> int:
    """How many distinct physical cores the logical `cpus` belong to; a CPU that sysfs does not describe is its own core."""
    cores: set[str] = set()
    for cpu in cpus:
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        siblings = _read(topology / "core_cpus_list") or _read(topology / "thread_siblings_list")
        cores.add(siblings or f"cpu {cpu}")
    return max(1, len(cores))


def cgroup_quota(root: Path = _ROOT) -> float | None:
    """The CPUs' worth of time that the control group (version 1 or 2) and its parents grant; None without a limit."""
    limits: list[float] = []
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            limits += _walk(root / "sys/fs/cgroup", path, _quota_v2)
        elif "cpu" in controllers.split(","):
            for mount in ("cpu", controllers, "cpu,cpuacct"):
                limits += _walk(root / "sys/fs/cgroup" / mount, path, _quota_v1)
    return min(limits, default=None)


def default_threads(root: Path = _ROOT, cpus: frozenset[int] | None = None) -> int:
    """The number of threads to use when nobody says: at least 1."""
    cores = physical_cores(available_cpus() if cpus is None else cpus, root)
    quota = cgroup_quota(root)
    return cores if quota is None else max(1, min(cores, int(quota)))


def _walk(mount: Path, path: str, quota: Callable[[Path], float | None]) -> list[float]:
    """The limits of the group at `path` and of every group above it. A container sees its own group as the mount itself."""
    group = mount / path.strip("/")
    groups = [group, *group.parents]
    found = (quota(g) for g in groups if g == mount or mount in g.parents)
    return [limit for limit in found if limit is not None]


def _quota_v2(group: Path) -> float | None:
    words = (_read(group / "cpu.max") or "").split()
    if len(words) != 2 or words[0] == "max":
        return None
    return int(words[0]) / int(words[1])


def _quota_v1(group: Path) -> float | None:
    quota, period = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
    if quota is None or period is None or int(quota) <= 0:
        return None
    return int(quota) / int(period)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
