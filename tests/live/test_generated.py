"""Code that others than .NET generate: named by the list that the process writes for perf, named and unwound by the images
that it shows to debuggers. The program tells what it has made; of images gdb reads the same list."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import LiveCase
import cores
import mixstack_dump
import processes


class Made(processes.Debuggee):
    """A program that writes a list for perf: nobody else removes it."""

    @property
    def list(self):
        return pathlib.Path(f"/tmp/perf-{self.pid}.map")

    def end(self):
        super().end()
        self.list.unlink(missing_ok=True)


def generated(*words):
    return Made([processes.debuggee_build.NATIVE / "generated", *words])


def truth(lines):
    """begin, size, name of what was made, outermost first."""
    found = []
    for line in lines:
        begin, size, name = line.split(" ", 3)[1:]
        found.append((int(begin, 16), int(size, 16), name))
    return found


class Generated(LiveCase):
    needs_dotnet = False

    def stack(self, dump, *patterns):
        """The thread's frames, which are named by these from the innermost on."""
        [thread] = dump["threads"]
        self.assertEqual(thread["stop_reason"], "end_of_stack", thread)
        self.assert_order([frame["name"] for frame in thread["frames"]], *patterns)
        return thread["frames"]

    def assert_true(self, frames, made):
        """Each frame in made code has the name that the program has given it, and only those have one of these."""
        for frame in frames:
            ip = int(frame["ip"], 16)
            names = [name for begin, size, name in made if begin < ip <= begin + size]
            if names or frame["name"] in [name for _, _, name in made]:
                self.assertEqual([frame["name"]], names)
        self.assertEqual(sum(frame["name"] in [name for _, _, name in made] for frame in frames), len(made))


class PerfMap(Generated):
    ORDER = "generated_innermost", "made inner [early]", "generated_between", "made outer [early]", "main"

    def nameless(self, target, words):
        """Names are refused, which is a remark; the stack is as it was."""
        status, out, error, _ = mixstack_dump.run("dump", target.pid, "--json", "--stop-timeout", 5000)
        self.assertEqual(status, 0, error)
        dump = mixstack_dump.json.loads(out)
        frames = self.stack(dump, "generated_innermost", "generated_between", "main")
        self.assertEqual([f["name"] for f in frames if "made" in f["name"]], [])
        remarks = [d for d in dump["diagnoses"] if d["subject"] == str(target.list)]
        self.assertEqual(len(remarks), 1, dump["diagnoses"])
        self.assertIn(words, remarks[0]["text"])

    def test_names_of_the_list(self):
        with generated("map") as target:
            frames = self.stack(mixstack_dump.dump(target.pid), *self.ORDER)
            self.assert_true(frames, truth(target.lines))
            made = [f for f in frames if f["name"].startswith("made")]
            self.assertEqual({f["module"] for f in made}, {"[perf map]"})
            # Nothing but its name is known of it: its caller was found by its frame pointer.
            self.assertEqual({f["code_kind"] for f in made}, {"undescribed"})
            status, out, _, _ = mixstack_dump.run("dump", target.pid)
            self.assertIn("made inner [early]", out)

    def test_text_of_the_list_is_hostile(self):
        with generated("map") as target:
            [_, (begin, size, _)] = truth(target.lines)
            target.list.write_bytes(b"%x %x old\n" % (begin, size) + b"%x %x \x1b[31mred\xff\n" % (begin, size) + b"junk\n" +
                                    b"%x %x unfinished" % (begin, size))
            dump = mixstack_dump.dump(target.pid)
            self.stack(dump, "generated_innermost", "\\x1b[31mred\\xff", "generated_between")

    def test_lists_that_are_not_trusted(self):
        with generated("map") as target:
            target.list.chmod(0o666)
            self.nameless(target, "others may write it")
            target.list.chmod(0o644)
            os.utime(target.list, (1000, 1000))
            self.nameless(target, "before the process began")
            os.utime(target.list)
            if os.geteuid() == 0:
                os.chown(target.list, 65534, 65534)
                self.nameless(target, "is of user 65534")
                os.chown(target.list, 0, 0)
            self.stack(mixstack_dump.dump(target.pid), *self.ORDER)
            with tempfile.NamedTemporaryFile() as other:
                other.write(target.list.read_bytes())
                other.flush()
                target.list.unlink()
                target.list.symlink_to(other.name)
                self.nameless(target, "no regular file")

    def test_without_a_list_nothing_is_said(self):
        with generated("map") as target:
            target.list.unlink()
            dump = mixstack_dump.dump(target.pid)
            self.stack(dump, "generated_innermost", "generated_between", "main")
            self.assertEqual(dump["diagnoses"], [])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "makes a pid namespace")
    def test_by_its_number_in_its_own_namespace(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(processes.debuggee_build.NATIVE / "generated", folder)
            # In a /tmp of its own, as in a container.
            words = ["unshare", "--pid", "--mount", "--fork", "sh", "-c", f"mount --bind {folder} /tmp && exec /tmp/generated map"]
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as outer:
                children = []
                try:
                    while not outer.stdout.readline().startswith("READY"):
                        self.assertIsNone(outer.poll())
                    children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
                    self.assertTrue(pathlib.Path(folder, "perf-1.map").exists())
                    self.stack(mixstack_dump.dump(int(children[0])), *self.ORDER)
                finally:
                    for child in children:
                        os.kill(int(child), signal.SIGKILL)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_of_v8(self):
        script = "function standing(n) { if (n > 0) standing(n - 1); else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) }\n" \
                 "function beginning() { standing(3) }\nconsole.log('READY 0'); beginning()\n"
        # It writes a log where it is started.
        with tempfile.TemporaryDirectory() as folder, \
             Made(["node", "--perf-basic-prof", "--interpreted-frames-native-stack", "-e", script], cwd=folder) as target:
            dump = mixstack_dump.dump_at_rest(target.pid)
            [thread] = [t for t in dump["threads"] if t["tid"] == target.pid]
            names = [f["name"] for f in thread["frames"]]
            self.assert_order(names, *["standing"] * 4, "beginning", "node::Start", "_start")
            self.assertEqual(sum("standing" in name for name in names), 4, names)


class Images(Generated):
    ORDER = "generated_innermost", "made_inner", "generated_between", "gen::outer(int)", "main"

    def test_names_and_unwinding_are_those_of_gdb(self):
        with generated("image") as target:
            observation = self.observe(target, with_oracle=False)
            self.assert_no_faults(observation)
            frames = self.stack(observation.dump, *self.ORDER)
            self.assert_true(frames, truth(target.lines))
            made = [f for f in frames if f["module"] == "[JIT image]"]
            self.assertEqual([f["name"] for f in made], ["made_inner", "gen::outer(int)"])
            self.assertEqual({(f["code_kind"], f["trust"]) for f in frames}, {("native", "certain")})
            [stack] = observation.gdb.values()
            names = [f["name"] for f in stack["frames"]]
            self.assert_order(names, *self.ORDER)

    def test_of_cores_and_packs(self):
        with generated("image") as target, tempfile.TemporaryDirectory() as folder:
            core, pack = pathlib.Path(folder, "core"), pathlib.Path(folder, "pack")
            cores.gcore(target.pid, core)
            status, _, error, _ = mixstack_dump.run("pack", target.pid, "-o", pack)
            self.assertEqual(status, 0, error)
            for of in core, pack:
                self.assert_true(self.stack(mixstack_dump.dump_core(of), *self.ORDER), truth(target.lines))

    @unittest.skipUnless(shutil.which("lli"), "needs LLVM's interpreter")
    def test_of_llvm(self):
        """Object files whose unwind information is relocated where it is loaded."""
        code = 'declare i32 @pause()\ndeclare i32 @puts(i8*)\n@ready = constant [8 x i8] c"READY 0\\00"\n' \
               "declare i32 @fflush(i8*)\n" \
               "define void @standing(i32 %depth) noinline {\n" \
               "  %room = alloca [40 x i8]\n  %last = icmp eq i32 %depth, 0\n" \
               "  br i1 %last, label %stand, label %deeper\ndeeper:\n  %less = sub i32 %depth, 1\n" \
               "  call void @standing(i32 %less)\n  ret void\nstand:\n" \
               "  call i32 @puts(i8* getelementptr ([8 x i8], [8 x i8]* @ready, i32 0, i32 0))\n" \
               "  call i32 @fflush(i8* null)\n  call i32 @pause()\n  ret void\n}\n" \
               "define i32 @main() {\n  call void @standing(i32 3)\n  ret i32 0\n}\n"
        with tempfile.NamedTemporaryFile("w", suffix=".ll") as file:
            file.write(code)
            file.flush()
            with Made(["lli", "--jit-kind=mcjit", file.name]) as target:
                observation = self.observe(target, with_oracle=False)
                self.assert_no_faults(observation)
                frames = observation.dump["threads"][0]["frames"]
                made = [f["name"] for f in frames if f["module"] == "[JIT image]"]
                self.assertEqual(made, ["standing"] * 4 + ["main"])


class OfDotnet(LiveCase):
    """A runtime that writes the list of its own code, too."""

    def test_managed_names_stay_the_runtimes_own(self):
        with processes.scenario("mixtures", environment={"DOTNET_PerfMapEnabled": "1"}) as target:
            try:
                observation = self.observe(target)
            finally:
                for name in "perf", "perfinfo":
                    pathlib.Path(f"/tmp/{name}-{target.pid}.map").unlink(missing_ok=True)
            self.assert_no_faults(observation)
            frames = [f for thread in observation.dump["threads"] for f in thread["frames"]]
            self.assertIn("managed", {f["code_kind"] for f in frames})
            self.assertLessEqual({f["code_kind"] for f in frames if f["module"] == "[perf map]"}, {"undescribed"})


class Recorded(Generated):
    def record(self, pid, seconds, meanwhile=lambda: None):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "stacks.folded")
            words = [str(mixstack_dump.binary()), "record", str(pid), "--duration", f"{seconds}s", "-o", str(out)]
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as recorder:
                meanwhile()
                said = recorder.communicate(timeout=120)[0]
            self.assertEqual(recorder.returncode, 0, said)
            lines = out.read_text().splitlines()
        self.assertTrue(lines, said)
        return {stack: int(count) for stack, _, count in (line.rpartition(" ") for line in lines)}

    def share(self, stacks, *names):
        """Of the samples, that of stacks with all these frames in this order, outermost first."""
        def has_all(stack):
            frames = iter(stack.split(";"))
            return all(any(name in frame for frame in frames) for name in names)
        return sum(n for stack, n in stacks.items() if has_all(stack)) / sum(stacks.values())

    def test_names_of_the_list(self):
        with generated("map", "busy") as target:
            stacks = self.record(target.pid, 2)
            self.assertGreater(self.share(stacks, "main", "made outer [early]", "made inner [early]", "generated_compute"),
                               0.9, stacks)

    def test_names_and_unwinding_by_images(self):
        with generated("image", "busy") as target:
            stacks = self.record(target.pid, 2)
            self.assertGreater(self.share(stacks, "main", "gen::outer(int)", "made_inner", "generated_compute"), 0.9, stacks)

    def test_code_that_is_made_meanwhile(self):
        with generated("late") as target:
            def make_more():
                time.sleep(2)
                self.assertTrue(target.ask("more").startswith("TRUTH"))
            stacks = self.record(target.pid, 5, make_more)
            for when in "early", "late":
                self.assertGreater(self.share(stacks, "main", f"made outer [{when}]", f"made inner [{when}]"), 0.15, stacks)
            self.assertGreater(self.share(stacks, "made outer", "made inner"), 0.9, stacks)


if __name__ == "__main__":
    unittest.main()
