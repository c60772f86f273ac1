"""The base of the end-to-end tests: a stopped process, three observers, one comparison.

Procedure: start, wait for READY, SIGSTOP, wait until every thread stands, `mixstack dump`, ClrMD, gdb, compare, kill.
"""
import json
import os
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import debuggee_build  # noqa: E402
import mixstack_dump  # noqa: E402
import processes  # noqa: E402
import stack_compare  # noqa: E402
import witnesses  # noqa: E402

# Failures on standard error have codes then, which tests read in place of words (mixstack_dump.codes).
os.environ["MIXSTACK_MESSAGES"] = "json"

_oracle = witnesses.Oracle()
_gdb = witnesses.Gdb()


# Until .NET 10, P/Invokes that marshal equal signatures are one IL stub; since 11 each is code of its own. Calls by address
# and of delegates are stubs in both.
SHARES_PINVOKE_STUBS = debuggee_build.RUNTIME == ""


def pinvoke(method):
    """What the frame of a P/Invoke that marshals is named."""
    return "IL_STUB_PInvoke" if SHARES_PINVOKE_STUBS else f".{method}("


def alone(why):
    """Marks a test, or all of a class, that needs the machine for itself: it runs when no other test does (run.py)."""
    def mark(what):
        what.alone = why
        return what
    return mark


def close():
    """Ends what the harness keeps between tests."""
    _oracle.close()
    _gdb.close()


def gdb(pid):
    """What gdb says of the stacks of a stopped process."""
    return _gdb.look(pid)


class Observation:
    """What the three observers said of one stopped process."""

    def __init__(self, dump, oracle, gdb, mappings=None):
        self.dump = dump
        self.oracle = oracle
        self.gdb = gdb
        self.differences = stack_compare.compare_process(dump, oracle, gdb, mappings)

    @property
    def faults(self):
        return [difference for difference in self.differences if not difference.known]

    def oddities(self, name):
        return [difference for difference in self.differences if difference.known == name]

    def thread(self, name):
        """Our thread with this managed name or (15 bytes of it) comm."""
        for thread in self.dump["threads"]:
            managed = thread.get("managed") or {}
            if managed.get("name") == name or thread["name"] == name[:15]:
                return thread
        raise AssertionError(f"no thread {name} among {[t['name'] for t in self.dump['threads']]}")

    def names(self, thread_name, kind=None):
        """raw_name (or name) of each frame of a thread, innermost first."""
        return [frame["raw_name"] or frame["name"] for frame in self.thread(thread_name)["frames"]
                if kind is None or frame["kind"] == kind]


class LiveCase(unittest.TestCase):
    """A test that looks at running processes."""

    needs_dotnet = True

    def setUp(self):
        if mixstack_dump.binary() is None:
            self.skipTest("no mixstack binary: set MIXSTACK or build")
        if self.needs_dotnet and not debuggee_build.SCENARIOS.exists():
            self.skipTest("no .NET debuggee: is dotnet installed?")

    def observe(self, debuggee, options=(), with_oracle=True, with_gdb=True):
        """Stops the process and lets everybody look. It stays stopped."""
        debuggee.stop()
        dump = mixstack_dump.dump(debuggee.pid, *options)
        self.assert_stopped(debuggee)
        oracle = _oracle.look(debuggee.pid) if with_oracle else None
        gdb = _gdb.look(debuggee.pid) if with_gdb else None
        return Observation(dump, oracle, gdb, processes.mappings(debuggee.pid))

    def wait_until(self, holds, what, timeout=60.0):
        """Waits for something that must come about, however slow the machine is."""
        deadline = time.monotonic() + timeout
        while not holds():
            self.assertLess(time.monotonic(), deadline, f"not within {timeout} s: {what}")
            time.sleep(0.05)

    def assert_stopped(self, debuggee):
        """mixstack leaves a stopped process as it found it."""
        deadline = time.monotonic() + 20  # a thread that was let run for an instant needs a processor to stop again
        while True:
            moving = {t: s for t, s in processes.thread_states(debuggee.pid).items() if s not in processes.STOPPED}
            if not moving:
                return
            self.assertLess(time.monotonic(), deadline, f"threads run after the dump: {moving}")
            time.sleep(0.005)

    def assert_no_faults(self, observation):
        faults = observation.faults
        if faults:
            shown = "\n  ".join(str(fault) for fault in faults[:25])
            self.fail(f"{len(faults)} differences:\n  {shown}")

    def check(self, name, *arguments, environment=None, **options):
        """The standard test: a scenario in which nothing may differ."""
        with processes.scenario(name, *arguments, environment=environment) as debuggee:
            observation = self.observe(debuggee, **options)
            self.assert_no_faults(observation)
            if environment is None:
                self.keep(name, observation.dump)
            return observation

    @staticmethod
    def keep(name, dump):
        """Leaves a dump in $MIXSTACK_KEEP_DUMPS, for another CPU's to be compared with (tests/arm64/same_stacks.py)."""
        if os.environ.get("MIXSTACK_KEEP_DUMPS"):
            folder = pathlib.Path(os.environ["MIXSTACK_KEEP_DUMPS"])
            folder.mkdir(parents=True, exist_ok=True)
            new = folder / f"{name}.{os.getpid()}"
            new.write_text(json.dumps(dump))
            new.replace(folder / f"{name}.json")  # several tests look at one scenario

    def assert_order(self, names, *patterns):
        """Each pattern is found in `names`, in this order (innermost first)."""
        position = 0
        for pattern in patterns:
            found = next((i for i in range(position, len(names)) if pattern in names[i]), None)
            if found is None:
                self.fail(f"no {pattern!r} from frame {position} on in\n  " + "\n  ".join(map(str, names)))
            position = found + 1
