#!/usr/bin/env python3
"""Builds the programs under test for the ARM64 machine: native debuggees, the .NET scenarios, the oracle."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import debuggee_build  # noqa: E402

sys.exit(debuggee_build.for_arm64())
