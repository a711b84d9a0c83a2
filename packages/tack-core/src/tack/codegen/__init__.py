"""Typed IR to text: one emitter for all C-like languages, one for LLVM. Knows no device and runs nothing."""
