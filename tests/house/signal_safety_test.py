#!/usr/bin/env python3
"""What the signal-safe walk may call, read from machine code.

  signal_safety_test.py PROGRAM

Follows every call and jump from SelfWalker::walk, walk_here and walk_registers, and from the agent's signal handler, in
a linked program, the targets of its virtual calls included. Fails on a call that leaves the program for anything but the functions in ALLOWED, and on an
indirect call in any function that is not in INDIRECT.
"""
import collections
import re
import subprocess
import sys

HANDLER = r"mixstack::agent::Sampler::on_signal\("  # of the agent's library: everything it does is in it
ROOTS = (r"mixstack::SelfWalker::walk(_here|_registers)?\(", HANDLER,
         # What the handler calls on a stack of ours.
         r"mixstack::agent::Sampler::take_apart\(", r"mixstack::agent::FaultRelay::on_fault\(",
         # What the indirect calls below reach.
         r"mixstack::self_walk::ProbedMemory::read_some\(",
         r"mixstack::self_walk::SectionExpressions::expression\(",
         # What code rules of the agent reach.
         r"mixstack::agent::ManagedCode::(compact|general|knows)\(", r"mixstack::agent::UnwindBytes::read_some\(",
         r"mixstack::agent::RuntimeFrames::next\(",
         r"mixstack::unwind::windows::(amd64|arm64)_rule\(",
         r"mixstack::unwind::windows::arm64_function_length\(",
         r"mixstack::unwind::prologue::(x86_64|aarch64)::decode\(",
         r"mixstack::arch::(x86_64|aarch64)::(call_before|ends_task)\(",
         r"mixstack::unwind::windows::UnwindDataSource::function_at\(")
# Async-signal-safe (POSIX.1-2024, signal-safety(7)), or documented so (_dl_find_object: glibc manual, AS-Safe).
ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "_dl_find_object", "__stack_chk_fail",
           "sigismember"}
# Function -> why an indirect call in it is known to end up in ROOTS or ALLOWED.
INDIRECT = {
    r"mixstack_call_on_stack$": "Sampler::take_apart",
    r"mixstack_begin_handler$|mixstack::agent::FaultRelay::on_fault\(": "the handler of faults that was there before",
    r"mixstack::self_walk::ObjectFinder::find\(": "_dl_find_object",
    r"mixstack::StackView::(slow_word|bytes)\(": "ProbedMemory::read_some",
    r"mixstack::MemoryReader::read_exact\(": "ProbedMemory::read_some",
    r"mixstack::self_walk::Walk::(follows_call|is_outermost)\(": "ProbedMemory::read_some: read_exact, inlined",
    r"mixstack::unwind::apply\(|mixstack::unwind::\(anonymous namespace\)::Evaluator::": "SectionExpressions::expression",
    r"mixstack::self_walk::Walk::(made_code_rule|make_rule|general_rule|is_described|without_rule|by_evidence)\(": "ManagedCode, or nobody",
    r"mixstack::agent::\(anonymous namespace\)::by_prologue\(": "ProbedMemory::read_some",
    r"mixstack::self_walk::Walk::(by_outer_frame|general_step)\(": "RuntimeFrames, or nobody; ProbedMemory::read_some",
    r"mixstack::agent::RuntimeFrames::(next|first)\(": "ProbedMemory::read_some",
    r"mixstack::agent::ManagedCode::": "amd64_rule, arm64_rule, ProbedMemory::read_some",
    r"mixstack::agent::(CodeImage::row_of|UnwindBytes::read_some)\(": "ProbedMemory::read_some",
    r"mixstack::unwind::(rule_in_method|\(anonymous namespace\)::rule_in_prologue|.*Epilogue::)": "the decoders",
    r"mixstack::arch::(call_before|ends_task)\(": "those of each CPU",
    r"mixstack::unwind::windows::": "UnwindBytes::read_some, UnwindDataSource::function_at",
    r"mixstack::unwind::read_pointer\(": "indirect pointers: the section has no image, so never made",
}
# Never called by these walks, whatever the code says.
NEVER = {r"mixstack::unwind::LazySection::fetch\(": "sections of loaded images are not lazy: the pointer is null"}
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
BRANCH = re.compile(r"^\s*[0-9a-f]+:\s+(?:bnd |notrack )*(call|jmp|j[a-z]+|bl|b|b\.[a-z]+|cbn?z|tbn?z|blr|br)\s+(.*)$")
TARGET = re.compile(r"<([^>]+?)(?:\+0x[0-9a-f]+)?>$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_calls(program):
    """Of every function: the symbols it branches to, and its indirect branches."""
    direct, indirect, name = collections.defaultdict(set), collections.defaultdict(list), None
    recent = collections.deque(maxlen=12)
    for line in run("objdump", "-d", "--no-show-raw-insn", program).splitlines():
        if match := FUNCTION.match(line):
            name = match.group(1)
            recent.clear()
        elif name and (match := BRANCH.match(line)):
            target = TARGET.search(match.group(2).split("  #")[0].strip())
            if target and not match.group(2).startswith("*"):
                if target.group(1) != name:
                    direct[name].add(target.group(1))
            elif match.group(1) in ("call", "blr") or match.group(2).startswith("*") and "," not in match.group(2):
                # The jump table of a switch: an entry of it was added to its address just before.
                is_switch = match.group(1) == "jmp" and any("movslq" in r and ",4)" in r for r in recent)
                if not is_switch:
                    indirect[name].append(line.strip())
        recent.append(line)
    return direct, indirect


def demangle(names):
    names = list(names)
    lines = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return dict(zip(names, lines.splitlines()))


def reachable(direct, roots, plain):
    """Every function that can be reached, with one that branches to it."""
    reached, todo = dict.fromkeys(roots), list(roots)
    while todo:
        name = todo.pop()
        if "@plt" in name or any(re.search(n, plain.get(name, name)) for n in NEVER):
            continue
        for target in direct.get(name, ()):
            if target not in reached:
                reached[target] = name
                todo.append(target)
    return reached


def main():
    direct, indirect = read_calls(sys.argv[1])
    plain = demangle(set(direct) | set(indirect) | {t for targets in direct.values() for t in targets})
    if any(name.startswith(("__asan", "__tsan", "__ubsan")) for name in plain):
        print("a sanitizer is in the way")
        return 0
    roots = [n for n, text in plain.items() if any(re.match(r, text) for r in ROOTS)]
    if len(roots) < 5:
        print(f"FAILED: only {len(roots)} of the functions to start from were found")
        return 1
    is_agent = any(text.startswith("mixstack::agent::") for text in plain.values())
    if is_agent and not any(re.match(HANDLER, plain[n]) for n in roots):
        print("FAILED: the agent's signal handler was not found")
        return 1
    reached, faults, outside = reachable(direct, roots, plain), [], set()
    for name, caller in reached.items():
        base = re.sub(r"@.*", "", name)
        if "@plt" in name or name not in direct and name not in indirect and base in ALLOWED:
            outside.add(base)
            if base not in ALLOWED:
                faults.append(f"{plain.get(caller, caller)} calls {base}")
        for line in indirect.get(name, ()):
            if "@plt" not in name and not any(re.search(r, plain[name]) for r in (*INDIRECT, *NEVER)):
                faults.append(f"{plain[name]} branches indirectly: {line}")
    for fault in faults:
        print(fault)
    print(f"{len(reached)} functions reached from {len(roots)}, outside the program: {', '.join(sorted(outside))}; "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
