"""The driver's result codes with their names and meanings, and the codes in which faults of kernels surface."""

from __future__ import annotations

__all__ = ["FAULT_CODES", "MEANINGS", "code_name"]

# number: (name behind CUDA_ERROR_, meaning)
MEANINGS: dict[int, tuple[str, str]] = {
    0: ("", "no error"),
    1: ("INVALID_VALUE", "invalid argument"),
    2: ("OUT_OF_MEMORY", "out of memory"),
    3: ("NOT_INITIALIZED", "initialization error"),
    4: ("DEINITIALIZED", "driver shutting down"),
    34: ("STUB_LIBRARY", "CUDA driver is a stub library"),
    36: ("CALL_REQUIRES_NEWER_DRIVER", "API call is not supported in the installed CUDA driver"),
    46: ("DEVICE_UNAVAILABLE", "CUDA-capable device is busy or unavailable"),
    100: ("NO_DEVICE", "no CUDA-capable device is detected"),
    101: ("INVALID_DEVICE", "invalid device ordinal"),
    200: ("INVALID_IMAGE", "device kernel image is invalid"),
    201: ("INVALID_CONTEXT", "invalid device context"),
    205: ("MAP_FAILED", "mapping of buffer object failed"),
    209: ("NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    214: ("ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"),
    215: ("UNSUPPORTED_LIMIT", "limit is not supported on this architecture"),
    216: ("CONTEXT_ALREADY_IN_USE", "exclusive-thread device already in use by a different thread"),
    217: ("PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"),
    218: ("INVALID_PTX", "a PTX JIT compilation failed"),
    221: ("JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"),
    222: ("UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."),
    300: ("INVALID_SOURCE", "device kernel image is invalid"),
    301: ("FILE_NOT_FOUND", "file not found"),
    304: ("OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"),
    400: ("INVALID_HANDLE", "invalid resource handle"),
    401: ("ILLEGAL_STATE", "the operation cannot be performed in the present state"),
    500: ("NOT_FOUND", "named symbol not found"),
    600: ("NOT_READY", "device not ready"),
    700: ("ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    701: ("LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    702: ("LAUNCH_TIMEOUT", "the launch timed out and was terminated"),
    704: ("PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"),
    705: ("PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"),
    708: ("PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"),
    709: ("CONTEXT_IS_DESTROYED", "context is destroyed"),
    710: ("ASSERT", "device-side assert triggered"),
    714: ("HARDWARE_STACK_ERROR", "hardware stack error"),
    715: ("ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"),
    716: ("MISALIGNED_ADDRESS", "misaligned address"),
    717: ("INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"),
    718: ("INVALID_PC", "invalid program counter"),
    719: ("LAUNCH_FAILED", "unspecified launch failure"),
    800: ("NOT_PERMITTED", "operation not permitted"),
    801: ("NOT_SUPPORTED", "operation not supported"),
    999: ("UNKNOWN", "unknown error"),
}

# By the kinds of `engine_fault.Fault`. What a GPU would let pass with a wrong number is a failed launch here.
FAULT_CODES = {
    "out of bounds": 700,
    "use after free": 700,
    "not device memory": 700,
    "misaligned access": 716,
    "uninitialized shared memory": 719,
    "shared memory race": 719,
    "barrier divergence": 719,
    "bad texture": 719,
    "bad call": 718,
    "bad branch": 718,
    "stack overflow": 714,
    "assertion failed": 710,
    "trap": 719,
}


def code_name(code: int) -> str:
    """CUDA's name of a result code."""
    name = MEANINGS[code][0] if code in MEANINGS else f"code {code}"
    return f"CUDA_ERROR_{name}" if name else "CUDA_SUCCESS"
