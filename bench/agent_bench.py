#!/usr/bin/env python3
"""What the agent costs a program, each figure beside a peer of the same run.

    bench/agent_bench.py [signal] [throughput] [start]       default: all

signal       a whole sample (sent, walked, put into the ring, returned) on stacks of different depth, half of it native
             frames, against a handler that only reads registers; the slope is what a frame costs. Sent by the thread
             itself, and by another one to a thread that computes: there the figure is for how long it does not run
throughput   rounds per second of a program that computes and of a server with its clients: without the agent, with it at
             100 Hz of CPU time of each thread and 100 Hz of wall time, and under `dotnet-trace collect` where it is
             installed (DOTNET_TRACE, PATH or ~/.dotnet/tools); phases take turns, ROUNDS times
start        a program of which all code is jitted, from its start to its end, without and with the agent, in turns
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("MIXSTACK", str(ROOT / "build/release/bin/mixstack"))
sys.path.insert(0, str(ROOT / "tests/support"))

import agent_walks  # noqa: E402
import debuggee_build  # noqa: E402
import processes  # noqa: E402

MIXSTACK = pathlib.Path(os.environ["MIXSTACK"]).resolve()
AGENT = MIXSTACK.parent.parent / "lib" / "libmixstack_agent.so"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "4"))
RUNNING = 1  # sampler.cc: what a tick's signal carries beside the mark


def environment(**more):
    return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{01020304-0506-0708-090a-0b0c0d0e0f10}",
            "CORECLR_PROFILER_PATH": str(AGENT), **more}


def signal_costs():
    with processes.scenario("signal_cost", environment=environment(MIXSTACK_AGENT_WALL="1", MIXSTACK_AGENT_WALL_THREADS="1")) as debuggee:
        value = agent_walks.mark(debuggee.pid, AGENT) ^ RUNNING
        cost = lambda levels, of: float(debuggee.ask(f"cost {levels} {of} {8 * ROUNDS}", 300).split()[1])
        cost(4, value)
        print(f"{'a signal to a thread, ns (fastest of many)':58} {'sample':>10} {'floor':>10}")
        rows = []
        for levels in (2, 10, 30, 100):
            frames = 2 * levels
            floor, sample = cost(levels, 0), cost(levels, value)
            rows.append((frames, sample - floor))
            print(f"{f'{frames} mixed frames and the thread start':58} {sample:10.0f} {floor:10.0f} ns        {sample / floor:.2f}x of the floor")
        (few, less), (many, more) = rows[0], rows[-1]
        print(f"{'a frame more':58} {(more - less) / (many - few):10.1f} {'':10} ns")
        gap = lambda levels, of: float(debuggee.ask(f"gap {levels} {of} 400", 300).split()[1])
        print(f"\n{'a thread that computes does not run, ns (median)':58} {'sample':>10} {'floor':>10}")
        for levels in (2, 10, 30, 100):
            floors, samples = [], []
            for _ in range(ROUNDS):
                floors.append(gap(levels, 0))
                samples.append(gap(levels, value))
            floor, sample = min(floors), min(samples)
            print(f"{f'{2 * levels} mixed frames and the thread start':58} {sample:10.0f} {floor:10.0f} ns        {sample / floor:.2f}x of the floor")


def rounds_of(debuggee, question, place):
    parts = debuggee.ask(question).split()[1:]
    return int(place(parts))


def phase(debuggee, question, place, seconds):
    before, start = rounds_of(debuggee, question, place), time.monotonic()
    time.sleep(seconds)
    return (rounds_of(debuggee, question, place) - before) / (time.monotonic() - start)


def agent(verb, pid, *options):
    subprocess.run([MIXSTACK, "agent", verb, str(pid), *options], check=True, stdout=subprocess.DEVNULL)


def dotnet_trace():
    found = os.environ.get("DOTNET_TRACE") or shutil.which("dotnet-trace")
    own = pathlib.Path.home() / ".dotnet/tools/dotnet-trace"
    return found or (str(own) if own.exists() else None)


def throughput():
    tracer = dotnet_trace()
    for name, scenario, question, place in (
            ("computing", ("storms", "sum:2"), "stormed", lambda parts: parts[0].split(":")[1]),
            ("a server and its clients", ("traffic",), "traffic", lambda parts: parts[0])):
        rates = {"without": [], "agent, silent": [], "agent": [], "dotnet-trace": []}
        with processes.scenario(*scenario) as debuggee, tempfile.TemporaryDirectory() as folder:
            time.sleep(2)  # tiers
            rates["without"].append(phase(debuggee, question, place, SECONDS))
            for i in range(ROUNDS):
                if tracer:  # before the agent is loaded, and between
                    child = subprocess.Popen([tracer, "collect", "-p", str(debuggee.pid), "-o", f"{folder}/{i}.nettrace", "--duration",
                                              f"00:00:{int(SECONDS) + 3:02}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL)
                    time.sleep(2)
                    rates["dotnet-trace"].append(phase(debuggee, question, place, SECONDS))
                    child.wait()
                agent("attach", debuggee.pid, "--hz", "100", "--wall", "100", "--out", f"{folder}/{i}.collapsed")
                rates["agent"].append(phase(debuggee, question, place, SECONDS))
                agent("stop", debuggee.pid)
                rates["agent, silent"].append(phase(debuggee, question, place, SECONDS))
        print(f"\n{name + ', rounds a second':58} {'best':>10} {'median':>10}")
        base = max(rates["without"] + rates["agent, silent"])
        for way, values in rates.items():
            if values:
                print(f"{way:58} {max(values):10.0f} {statistics.median(values):10.0f}           {max(values) / base:.3f} of none")
        if not tracer:
            print("dotnet-trace: not installed (dotnet tool install -g dotnet-trace)")


def start():
    jitted = {"DOTNET_ReadyToRun": "0", "DOTNET_TieredCompilation": "0"}
    ways = {"without": jitted, "agent, silent": jitted | environment(), "agent, 100 Hz CPU and wall": jitted | environment(
        MIXSTACK_AGENT_HZ="100", MIXSTACK_AGENT_WALL="100")}
    times = {way: [] for way in ways}
    for _ in range(2 * ROUNDS):
        for way, more in ways.items():
            begin = time.monotonic()
            subprocess.run([debuggee_build.SCENARIOS], env=os.environ | more, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
            times[way].append((time.monotonic() - begin) * 1000)
    print(f"\n{'a program of which everything is jitted, ms':58} {'min':>10} {'median':>10}")
    for way, values in times.items():
        print(f"{way:58} {min(values):10.1f} {statistics.median(values):10.1f}           {min(values) / min(times['without']):.3f} of none")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["signal", "throughput", "start"]
    for what, function in (("signal", signal_costs), ("throughput", throughput), ("start", start)):
        if what in chosen:
            function()
