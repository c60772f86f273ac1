"""What `mixstack memory` must say of the ARM64 machine's cores (make_cores.py): of types and holders, by ClrMD there and by
the programs' own word."""
import json
import subprocess

import debuggee_build
import mixstack_dump

# The shape, how many; of the program Memory or Holders.
SHAPES = (("Memory", "cache", 5000), ("Memory", "pinned", 500), ("Memory", "large", 6), ("Holders", "cache", 1000),
          ("Holders", "worker", 1000), ("Holders", "threads", 200), ("Holders", "handles", 500))
PROGRAMS = {"Memory": debuggee_build.memory, "Holders": debuggee_build.holders}
HANDLES = {"Strong": "strong_handle", "Pinned": "pinned_handle"}
GENERATIONS = ("0", "1", "2", "large", "pinned", "frozen")
# By the names of lines of the tree: what holds what the program has made.
HELD_BY = {"cache": "Holders.Shapes.s_orders", "worker": "System.Collections.Generic.List<Order>"}


def name_of(program, shape):
    return f"{program.lower()}-{shape}"


def asked_of_oracle(pid):
    """ClrMD's answers of a stopped process."""
    def answer(option):
        done = subprocess.run([debuggee_build.ORACLE, option, str(pid)], capture_output=True, text=True, check=True, timeout=400)
        return json.loads(done.stdout)
    return {"types": answer("--types")["types"], "references": answer("--references")}


def truth(lines):
    return {name: int(value) for name, value in (line.removeprefix("TRUTH ").rsplit(" ", 1) for line in lines)}


def lines_of(tree):
    for line in tree:
        yield line
        yield from lines_of(line["held"])


def told(core, option, files):
    """The answer, or a fault."""
    status, out, error, _ = mixstack_dump.run("memory", core, "--json", option, *files)
    if status != 0:
        return None, f"memory {option}: status {status}, {error.strip()[-300:]}"
    [heap] = json.loads(out)["heaps" if option == "--types" else "holders"]
    return heap, None if heap["is_exact"] else f"memory {option}: {heap['why_not']}"


def faults_of_types(heap, oracle, known):
    ours = {(t["method_table"], g): (t["objects_of"][g], t["bytes_of"][g])
            for t in heap["types"] for g in GENERATIONS if g in t["objects_of"]}
    theirs = {(t["methodTable"], t["generation"]): (t["count"], t["bytes"]) for t in oracle["types"]}
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            yield f"type {key}: ours {ours.get(key)}, ClrMD's {theirs.get(key)}"
    for name, objects in known.items():
        if ("." in name or name.endswith("[]")) and sum(t["objects"] for t in heap["types"] if t["type"] == name) < objects:
            yield f"{name}: the program made {objects}"
    if nameless := [t["method_table"] for t in heap["types"] if not t["is_free"] and not t["type"]]:
        yield f"types without names: {nameless}"


def faults_of_holders(heap, oracle, shape, known):
    theirs = oracle["references"]
    if (heap["all_objects"], heap["references"], heap["reference_sum"]) != (theirs["objects"], theirs["references"], theirs["sum"]):
        yield f"references: ours {heap['all_objects'], heap['references']}, ClrMD's {theirs['objects'], theirs['references']}"
    for kind, ours in HANDLES.items():
        count = sum(root["roots"] for root in heap["roots"] if root["kind"] == ours)
        if count != theirs["handles"].get(kind, 0):
            yield f"{kind} handles: ours {count}, ClrMD's {theirs['handles'].get(kind, 0)}"
    if shape == "threads":
        found = [line for line in lines_of(heap["tree"]) if line["root"] == "thread_static" and "t_orders" in line["name"]]
        if len(found) != known["items"] or not all(known["least"] <= line["retained"] <= known["most"] for line in found):
            yield f"statics of {known['items']} threads: {[line['retained'] for line in found]}"
    if shape in HELD_BY and "least" in known:
        found = [line for line in lines_of(heap["tree"]) if line["name"] == HELD_BY[shape]]
        if not found or not known["least"] <= max(line["retained"] for line in found) <= known["most"]:
            yield f"{HELD_BY[shape]}: {[line['retained'] for line in found]}, the program says {known}"
        if shape == "worker" and found:
            place = max(found, key=lambda line: line["retained"])["place"] or {}
            if place.get("variable") != "cache" or "Holders.Stacks.Run(" not in place.get("method", ""):
                yield f"the variable: {place}"


def faults_of(core, said, files):
    """(faults, objects) of a core whose JSON says "memory"."""
    known, shape = truth(said["lines"]), said["memory"]["shape"]
    types, fault = told(core, "--types", files)
    faults = [fault] if fault else list(faults_of_types(types, said["oracle"], known))
    holders, fault = told(core, "--holders", files)
    faults += [fault] if fault else list(faults_of_holders(holders, said["oracle"], shape, known))
    return faults, sum(t["objects"] for t in types["types"]) if types else 0
