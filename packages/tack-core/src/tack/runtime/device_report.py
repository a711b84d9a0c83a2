"""`tack.devices()`: which devices can be started here, and what the others lack. Starts none of them.

Knows the kinds by the table of `device` alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from tack.runtime.backend import Unavailable, no_backend, no_device
from tack.runtime.device import _KINDS, DeviceKind, _check_startable, _simulated

__all__ = ["DeviceInfo", "devices"]


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device that can be started here, or a kind that has none.

    `spec` is what `tack.device` takes ("cuda:0", or the kind where there is no device); `label` names the kind in messages;
    `found` says what was found. Where `available` is False, `missing` says what is not there and `install` is the command that
    helps, "" if there is none. `simulated`: its driver is tack-sim's.
    """

    spec: str
    kind: str
    label: str
    available: bool
    found: str
    missing: str = ""
    install: str = ""
    simulated: bool = False


def devices() -> tuple[DeviceInfo, ...]:
    """What there is of each kind of device: a row for each device that can be started, else one that says what is missing.

    Looks for bindings, drivers and compilers, and starts no device. Raises nothing: what goes wrong is what was found.
    """
    return tuple(row for kind in _KINDS.values() for row in _of_kind(kind))


def _of_kind(kind: DeviceKind) -> list[DeviceInfo]:
    try:
        if kind.start is None:
            raise no_backend(kind.name, kind.label)
        _check_startable(kind)
        specs = [f"{kind.name}:{index}" for index in range(kind.count())] if kind.numbered else [kind.name]
        if not specs:
            raise no_device(kind.name, "its driver sees no device")
        simulated = kind.name in _simulated
        found = [(spec, kind.describe(index)) for index, spec in enumerate(specs)]
        return [DeviceInfo(spec, kind.name, kind.label, True, text, simulated=simulated) for spec, text in found]
    except Exception as error:  # a broken installation raises anything, and this is where people look for what is broken
        why = getattr(error, "unavailable", None) or Unavailable(kind.name, "it fails", f"{type(error).__name__}: {error}", "")
        return [DeviceInfo(kind.name, kind.name, kind.label, False, why.found, why.missing, why.install)]
