"""Functions that a compiler put into others: native ones against addr2line and gdb, managed ones against the JIT."""
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest

import debuggee_build
import mixstack_dump
import processes

SOURCE = r"""
#include <unistd.h>
#include <cstdio>
namespace shop {
struct Cart {
  int n = 0;
  [[gnu::always_inline]] inline int wait(int k) {
    n += k;
    return pause() + n;
  }
};
[[gnu::always_inline]] inline int outer(Cart& c, int k) {
  c.n++;
  return c.wait(k) + 1;
}
[[gnu::noinline]] int run(int k) {
  Cart c;
  const int r = outer(c, k);
  return r + c.n;
}
}  // namespace shop
int main(int argc, char**) {
  puts("READY 0");
  fflush(stdout);
  return shop::run(argc) + 1;
}
"""


def line_of(frame):
    return (pathlib.PurePath(frame["file"]).name, frame["line"]) if frame["file"] else None


class NativeInlines(unittest.TestCase):
    """A program with debug information, and the same with it in a file of its own."""

    def frames_of(self, options, how=()):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "shop"
            source = pathlib.Path(folder) / "shop.cpp"
            source.write_text(SOURCE)
            subprocess.run(["g++", "-std=c++17", "-o", program, source, *options], check=True)
            for command in how:
                subprocess.run([part.format(program) for part in command], check=True)
            with processes.Debuggee([program]) as debuggee:
                self.wait_for_pause(debuggee.pid)
                frames = mixstack_dump.dump(debuggee.pid, inlined=True)["threads"][0]["frames"]
                gdb = subprocess.run(["gdb", "-nx", "-p", str(debuggee.pid), "-batch", "-ex", "bt"], capture_output=True, text=True)
                lines = {f["ip"]: self.by_addr2line(program, f) for f in frames if f["module_path"] == str(program)}
                text = mixstack_dump.run("dump", debuggee.pid)[1]
        return frames, gdb.stdout, lines, text

    def wait_for_pause(self, pid):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if "pause" in pathlib.Path(f"/proc/{pid}/wchan").read_text() or pathlib.Path(f"/proc/{pid}/syscall").read_text().startswith("34 "):
                return
            time.sleep(0.01)
        self.fail("the program does not pause")

    def by_addr2line(self, program, frame):
        """[(function, file, line)] of the call, innermost first."""
        address = hex(int(frame["module_offset"], 16) - (0 if frame["is_interrupted"] else 1))
        said = subprocess.run(["addr2line", "-C", "-f", "-i", "-e", program, address], capture_output=True, text=True, check=True).stdout.split("\n")
        return [(f, pathlib.PurePath(p.split(" ")[0].rpartition(":")[0]).name, int(p.split(" ")[0].rpartition(":")[2]))
                for f, p in zip(said[::2], said[1::2]) if ":?" not in p and p]

    def check(self, frames, gdb, lines, text):
        program = [f for f in frames if f["ip"] in lines]
        self.assertEqual([f["name"] for f in program if f["inlined_by"]], ["shop::Cart::wait(int)", "shop::outer(shop::Cart&, int)"])
        self.assertEqual({f["inlined_by"] for f in program if f["inlined_by"]}, {"debug_information"})
        for ip, witness in lines.items():
            mine = [f for f in program if f["ip"] == ip]
            self.assertEqual([line_of(f) for f in mine if f["file"]], [(file, line) for _, file, line in witness])
            if witness:
                self.assertEqual(len(mine), len(witness))
        shown = re.findall(r"(?m)^#\d+ +(?:0x\w+ in )?(shop::\S+|main) .* at (?:\S*/)?(shop\.cpp):(\d+)$", gdb)
        ours = [(re.sub(r"\(.*", "", f["name"]), *map(str, line_of(f))) for f in program if f["file"]]
        self.assertEqual(ours, shown, gdb)
        self.assertRegex(text, r"(?m)^ {6}[0-9a-f]{12} N shop::Cart::wait\(int\) \{inlined\}  \(shop\)  at \S*shop\.cpp:9$")
        # They are no frames of their own: numbers go on without them.
        numbers = list(map(int, re.findall(r"(?m)^#(\d+) ", text)))
        self.assertEqual(numbers, list(range(len([f for f in frames if not f["inlined_by"]]))))

    def test_in_the_program(self):
        self.check(*self.frames_of(["-O2", "-g"]))

    def test_older_dwarf(self):
        self.check(*self.frames_of(["-O2", "-gdwarf-4"]))

    def test_packed_sections(self):
        self.check(*self.frames_of(["-O2", "-g", "-gz"]))

    def test_debug_file_by_link(self):
        self.check(*self.frames_of(["-O2", "-g"], [
            ["objcopy", "--only-keep-debug", "{}", "{}.debug"],
            ["strip", "-g", "{}"],
            ["objcopy", "--add-gnu-debuglink={}.debug", "{}"]]))

    def test_not_wanted(self):
        with processes.native("plain", 2) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid, "--no-lines", inlined=True)
        self.assertEqual([f for t in dump["threads"] for f in t["frames"] if f["inlined_by"] or f["file"]], [])


class ManagedInlines(unittest.TestCase):
    """What is concluded from IL is what the JIT says it did, where it was told to write that down."""
    SETTINGS = {"DOTNET_TieredCompilation": "0", "DOTNET_ReadyToRun": "0"}
    SCENARIOS = ("async", "iterators", "lambdas", "mixtures", "generics", "members", "tiers", "exception_details")

    def stacks(self, scenario, settings, program=debuggee_build.SCENARIOS):
        """{thread name or order: [[(name, inlined)] of its managed frames]}: equal programs do the same."""
        with processes.Debuggee([program, scenario], settings) as debuggee:
            dump = mixstack_dump.dump_at_rest(debuggee.pid)
            dump = mixstack_dump.dump(debuggee.pid, inlined=True)
        chains = {}
        for thread in dump["threads"]:
            inner, chain = None, []
            for frame in thread["frames"]:
                if frame["kind"] != "managed":
                    inner, chain = None, []
                elif frame["inlined_by"]:
                    chain.append((frame["raw_name"], frame["inlined_by"]))
                else:
                    if inner:
                        chains.setdefault((frame["raw_name"], inner), set()).add(tuple(chain))
                    inner, chain = frame["raw_name"], []
        return chains

    @staticmethod
    def open_form(name):
        """The name without type arguments and parameters: a conclusion does not know what a method was made for."""
        depth, out = 0, ""
        for c in name.partition("(")[0]:
            depth += (c == "[") - (c == "]")
            out += c if depth == 0 and c != "]" else ""
        return out

    def test_conclusions_are_what_the_jit_recorded(self):
        agreed = missed = unrecorded = 0
        for scenario in self.SCENARIOS:
            recorded = self.stacks(scenario, {**self.SETTINGS, "DOTNET_RichDebugInfo": "1"})
            inferred = self.stacks(scenario, self.SETTINGS)
            for call in recorded.keys() & inferred.keys():
                said = {tuple(self.open_form(name) for name, how in chain) for chain in recorded[call] if all(h == "runtime" for _, h in chain)}
                for chain in inferred[call]:
                    if chain and said == {()}:
                        unrecorded += 1  # left by a tail call, or forgotten; were it called, it would have a frame
                    elif chain and said:
                        with self.subTest(scenario, call=call):
                            self.assertEqual({how for _, how in chain}, {"inferred"})
                            self.assertIn(tuple(self.open_form(name) for name, _ in chain), said)
                            agreed += 1
                    elif any(said):
                        missed += 1
        print(f"            inlined chains: {agreed} concluded as recorded, {unrecorded} not recorded, {missed} recorded and "
              "not concluded", flush=True)
        self.assertGreater(agreed, 10)
        self.assertLess(unrecorded, agreed / 2)

    def test_what_precompiled_images_prove(self):
        """Chains that an image's own table proves are those of the JIT, wherever that made the same ones of the same calls."""
        program = debuggee_build.scenarios_built("ready-to-run")
        agreed, otherwise = 0, []
        for scenario in self.SCENARIOS:
            recorded = self.stacks(scenario, {**self.SETTINGS, "DOTNET_RichDebugInfo": "1"})
            for call, chains in self.stacks(scenario, {}, program).items():
                said = {tuple(self.open_form(name) for name, _ in chain) for chain in recorded.get(call, ()) if chain}
                for chain in chains:
                    if not chain or {how for _, how in chain} != {"runtime"}:
                        continue
                    names = tuple(self.open_form(name) for name, _ in chain)
                    agreed += names in said
                    if said and names not in said:
                        otherwise.append((call, names, said))
        print(f"            {agreed} chains proved, as the JIT recorded them", flush=True)
        self.assertEqual(otherwise, [])
        self.assertGreater(agreed, 0)

    def test_starved_service(self):
        """A small method between a dynamic method and the pool: it has no frame, and is named all the same."""
        with processes.Debuggee([debuggee_build.starved(), 3, 1]) as service:
            clients = []
            try:
                for i in range(3):
                    clients.append(socket.create_connection(("127.0.0.1", int(service.ready.split()[1]))))
                    clients[-1].sendall(f"GET /price/{i} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                for _ in range(100):
                    frames = [t["frames"] for t in mixstack_dump.dump(service.pid, inlined=True)["threads"]]
                    waiting = [f for f in frames if any("lambda_method" in x["name"] for x in f)]
                    if len(waiting) == 3:
                        break
                text = mixstack_dump.run("dump", service.pid)[1]
            finally:
                for client in clients:
                    client.close()
        self.assertEqual(len(waiting), 3)
        for stack in waiting:
            at = next(i for i, f in enumerate(stack) if "lambda_method" in f["name"])
            chain = []
            while stack[at - 1 - len(chain)]["inlined_by"]:
                chain.append(stack[at - 1 - len(chain)])
            names = [f["name"] for f in chain]  # outermost first
            self.assertEqual(names[:2], ["Starved.Program.Main(string[]).lambda#1(int)", "Starved.PriceService.GetPrice(int)"])
            self.assertEqual({f["inlined_by"] for f in chain}, {"inferred"})
            self.assertEqual({f["ip"] for f in chain}, {stack[at]["ip"]})
            source = pathlib.Path(chain[1]["file"]).read_text().splitlines()
            self.assertIn("LoadAsync(id).Result", source[chain[1]["line"] - 1])
        self.assertRegex(text, r"(?m)^ +3 threads +Starved\.PriceService\.GetPrice\(int\) \{inlined, inferred\}  Program\.cs:12")


if __name__ == "__main__":
    unittest.main()
