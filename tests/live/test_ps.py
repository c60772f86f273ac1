"""`mixstack ps`, and processes chosen by name."""
import json
import os
import pathlib
import re
import subprocess
import threading
import unittest

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase, alone


def run(*arguments, **options):
    return subprocess.run([mixstack_dump.binary(), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, **options)


def listed(*arguments):
    """pid -> what is said of it."""
    document = json.loads(run("ps", "--json", *arguments).stdout)
    return {p["pid"]: p for p in document["processes"]}


class Ps(LiveCase):
    def test_of_the_machines_framework(self):
        with processes.scenario("sleepers", 7) as target:
            said = listed()[target.pid]
            status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
            self.assertEqual(said["hosting"], "framework")
            self.assertEqual(said["runtime"], mixstack_dump.dump(target.pid)["process"]["runtimes"][0]["version"])
            self.assertEqual(said["threads"], int(status.split("Threads:")[1].split()[0]))
            self.assertEqual((said["uid"], said["name"]), (os.getuid(), "Scenarios"))
            self.assertEqual(said["command_line"], target.command)
            self.assertLess(said["cpu_percent"], 50)
            lines = run("ps").stdout.decode().splitlines()
            # The approved text of this command.
            self.assertRegex(lines[0], "^PID +RUNTIME +HOSTING +USER +CONTAINER +THREADS +CPU +UP +COMMAND$")
            self.assertTrue(any(line.startswith(f"{target.pid} ") and line.endswith("Scenarios sleepers 7") for line in lines))

    @alone("the share of a processor")
    def test_with_its_own_runtime(self):
        with processes.Debuggee([debuggee_build.old_runtime(8)]) as target:
            said = listed()[target.pid]
            self.assertEqual(said["hosting"], "self-contained")
            self.assertRegex(said["runtime"], r"^8\.0\.\d+$")
            self.assertGreater(said["cpu_percent"], 20, "it spins")

    def test_single_file(self):
        with processes.Debuggee([debuggee_build.single_file(), "sleepers", "3"]) as target:
            self.assertEqual(listed()[target.pid]["hosting"], "single-file")

    def test_native_aot(self):
        try:
            program = debuggee_build.native_aot()
        except RuntimeError as refused:
            self.skipTest(f"NativeAOT cannot be built here: {str(refused)[-300:]}")
        with processes.Debuggee([program]) as target:
            said = listed()[target.pid]
            self.assertEqual((said["hosting"], said["runtime"]), ("native-aot", None))
            dump = mixstack_dump.dump(target.pid)
            self.assertEqual([r["kind"] for r in dump["process"]["runtimes"]], ["NativeAOT"])
            sleeper = next(t for t in dump["threads"] if t["name"] == "aot-sleeper")
            self.assertEqual(sleeper["stop_reason"], "end_of_stack")
            self.assertGreaterEqual(sum("Sleeper" in f["name"] for f in sleeper["frames"]), 5)

    def test_others_are_not_listed(self):
        with processes.native("guest", "deep_fiber") as target:
            self.assertNotIn(target.pid, listed())

    @alone("stops all processes of a name")
    def test_chosen_by_name(self):
        with processes.scenario("sleepers", 2) as one, processes.scenario("sleepers", 3) as two:
            self.assertEqual(set(listed("-n", "Scenarios")) & {one.pid, two.pid}, {one.pid, two.pid})
            done = run("dump", "-n", "Scenarios", "--json")
            self.assertIn(done.returncode, (0, 7), done.stderr)
            text, at, pids = done.stdout.decode(), 0, []
            while text[at:].strip():
                document, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
                at += len(text[at:]) - len(text[at:].lstrip()) + end
                pids.append(document["process"]["pid"])
            self.assertTrue({one.pid, two.pid} <= set(pids), pids)
            both = run("dump", one.pid, two.pid).stdout.decode()
            self.assertIn(f"Process {one.pid}:", both)
            self.assertIn(f"Process {two.pid}:", both)
            self.assertIn(f"Process {one.pid}:".encode(), run(one.pid).stdout)
        done = run("dump", "-n", "NobodyIsCalledSo")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"'NobodyIsCalledSo'", done.stderr)
        self.assertEqual(run("ps", "-n", "NobodyIsCalledSo").returncode, 3)

    def test_quick_list_is_what_shells_complete_with(self):
        with processes.scenario("sleepers", 2) as target:
            self.assertIn(f"{target.pid} Scenarios", run("ps", "-q").stdout.decode().splitlines())
            script = ('source <("$0" completions bash); COMP_WORDS=("$0" dump ""); COMP_CWORD=2; _mixstack; '
                      'printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "-c", script, mixstack_dump.binary()], stdout=subprocess.PIPE, text=True, timeout=60)
            self.assertIn(str(target.pid), done.stdout.splitlines())

    def test_command_lines_are_escaped(self):
        evil = "\x1b]0;owned\x07\u202e" + "x" * 100_000
        with processes.scenario("sleepers", 2, 1, 0, evil) as target:
            text = run("ps").stdout.decode()
            self.assertIn(str(target.pid), text)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\u202e", text)
            self.assertLess(max(map(len, text.splitlines())), 10_000)

    def test_processes_that_vanish(self):
        stop = threading.Event()

        def churn():
            while not stop.is_set():
                subprocess.run(["/bin/true"], check=False)

        workers = [threading.Thread(target=churn) for _ in range(2)]
        for worker in workers:
            worker.start()
        try:
            for _ in range(20):
                done = run("ps")
                self.assertEqual((done.returncode, done.stderr), (0, b""))
        finally:
            stop.set()
            for worker in workers:
                worker.join()

    def test_of_others_without_rights(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        with processes.scenario("sleepers", 2) as target:
            done = run("ps", "--json", user=65534, group=65534, extra_groups=[])
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(done.stdout)
            self.assertNotIn(target.pid, [p["pid"] for p in document["processes"]])
            self.assertGreater(document["not_readable"], 0)


class Words(LiveCase):
    def test_wrong_ones(self):
        for words, right in ((["dmup"], "dump"), (["doktor"], "doctor"), (["dump", "1", "--merg"], "--merge"),
                             (["dump", "1", "--manged-only"], "--managed-only"), (["ps", "--jsn"], "--json")):
            done = run(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"'{right}'", done.stderr.decode())
        quoted = re.findall(r"'([^']*)'", run("zzzzzz").stderr.decode())
        self.assertEqual([word for word in quoted if word not in ("zzzzzz", "mixstack --help")], [], "nothing is near")


if __name__ == "__main__":
    unittest.main()
