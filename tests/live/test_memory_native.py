"""`mixstack memory --native`: against what programs count that leak in one way each, and against /proc."""
import json
import os
import pathlib
import subprocess
import time
import unittest

import jsonschema

import debuggee_build
import mixstack_dump
import processes
from harness import LiveCase, alone

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/formats/native.schema.json").read_text())
SECONDS = 4
MEGABYTE = 1 << 20


def truth(debuggee):
    return int(debuggee.ask("truth").split()[1])


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@alone("memory that comes while it is looked at")
class NativeGrowth(LiveCase):
    def look(self, mode, *arguments, seconds=SECONDS):
        """The answer, what the program counted meanwhile, and the text of another look."""
        with processes.Debuggee([debuggee_build.native_growth(), mode, *map(str, arguments)]) as debuggee:
            debuggee.ask("go")
            time.sleep(1)  # tiers
            before = truth(debuggee)
            status, out, error, _ = mixstack_dump.run("memory", debuggee.pid, "--native", "-d", f"{seconds}s", "--json")
            after = truth(debuggee)
            self.assertIn(status, (0, 7), error)
            answer = json.loads(out)
            jsonschema.validate(answer, SCHEMA)
            if status == 7:
                self.skipTest(answer["why_no_calls"])
            self.check_sums(answer)
            _, text, _, _ = mixstack_dump.run("memory", debuggee.pid, "--native", "-d", "1s")
        return answer, after - before, text

    def check_sums(self, answer):
        self.assertEqual(answer["before"] + answer["came"] - answer["went"], answer["after"])
        for key in ("before", "after", "came", "went"):
            self.assertEqual(sum(one[key] for one in answer["labels"]), answer[key], key)
        sites = answer["sites"]
        self.assertEqual(sum(site["bytes"] for site in sites) + answer["managed"] + answer["files"], answer["came"])
        for site in sites:
            self.assertLessEqual(site["first_half"] + site["second_half"], site["bytes"])

    def check_leak(self, mode, place, tie, kinds, *arguments, share=1.0):
        """One site has nearly all of it. The program counts from before the look until after it, so somewhat more."""
        answer, grown, text = self.look(mode, *arguments)
        found = [site for site in answer["sites"] if site["place"] and f".{place}(" in site["place"] or site["place"] == place]
        found = [site for site in found if site["tie"] == tie]
        self.assertEqual(len(found), 1, (grown, answer["sites"][:5]))
        site = found[0]
        self.assertIs(site, answer["sites"][0], answer["sites"][:3])
        self.assertTrue(site["is_steady"], site)
        self.assertIn(site["kind"], kinds)
        self.assertLess(site["bytes"], 1.1 * share * grown, site)
        self.assertGreater(site["bytes"], 0.6 * share * grown, (grown, answer["sites"][:4]))
        others = sum(one["bytes"] for one in answer["sites"][1:])
        self.assertLess(others, 0.15 * site["bytes"] + MEGABYTE, answer["sites"][:5])
        self.assertIn(place, text)
        return site

    def test_large_blocks_of_the_runtime(self):
        site = self.check_leak("hglobal-large", "HGlobalLarge", "mapped", ("malloc_large",))
        self.assertRegex(site["via"], "alloc|Alloc")  # the compiler may inline AllocHGlobal
        self.assertIn("Use(", site["toucher"])
        self.assertGreaterEqual(site["calls"], 10)

    def test_small_blocks_of_the_runtime(self):
        self.check_leak("hglobal-small", "HGlobalSmall", "touched", ("malloc_used",))

    def test_native_memory(self):
        self.check_leak("native-memory", "NativeAlloc", "mapped", ("malloc_large",))

    def test_mappings_of_the_program(self):
        site = self.check_leak("mmap", "Map", "mapped", ("unknown",))
        # Half of it is used.
        self.assertGreater(site["mapped_now"], 1.8 * site["bytes"])

    def test_a_native_library(self):
        library = debuggee_build.native_growth().parent / "libgrow.so"
        site = self.check_leak("library", "grow_block", "mapped", ("malloc_large",), library)
        self.assertIn(".Library(", site["caller"])

    def test_stacks_of_threads(self):
        answer, grown, _ = self.look("threads")
        [stack] = [site for site in answer["sites"] if site["kind"] == "stack" and site["bytes"] > MEGABYTE]
        self.assertGreater(stack["bytes"], 0.6 * grown, (grown, answer["sites"][:4]))
        self.assertLess(stack["bytes"], 1.2 * grown)
        self.assertTrue(stack["is_steady"], stack)
        self.assertIn(".Threads()", stack["place"])
        self.assertIn("lambda", stack["toucher"])

    def test_what_is_freed_is_no_leak(self):
        for mode, place in (("freed", "Freed("), ("freed-small", "FreedSmall("), ("freed-mapped", "FreedMapped(")):
            with self.subTest(mode):
                answer, _, text = self.look(mode)
                for site in answer["sites"]:
                    self.assertFalse(site["is_steady"] and site["bytes"] > MEGABYTE, site)
                    if site["place"] and place in site["place"]:
                        self.assertLess(site["bytes"], 3 * MEGABYTE, site)
                if mode != "freed-mapped":
                    continue
                gone = [site for site in answer["sites"] if site["mapped_ever"] > 20 * MEGABYTE]
                self.assertEqual(len(gone), 1, answer["sites"][:4])
                self.assertIn(place, gone[0]["place"])
                self.assertLessEqual(gone[0]["mapped_now"], 2 * MEGABYTE)
                self.assertIn(place, text)

    def test_the_managed_heap_is_one_number(self):
        answer, grown, text = self.look("managed")
        self.assertGreater(answer["managed"], 0.6 * grown, answer["labels"])
        self.assertLess(sum(site["bytes"] for site in answer["sites"]), 0.1 * answer["managed"] + MEGABYTE)
        self.assertIn("--types --after 60s", text)

    def test_the_targets_memory_does_not_grow_by_it(self):
        with processes.Debuggee([debuggee_build.native_growth(), "freed"]) as debuggee:  # not going: it rests
            time.sleep(1)
            before = resident(debuggee.pid)
            for arguments in (["--native", "-d", "1s"], [], ["--types"], ["--holders"]):
                mixstack_dump.run("memory", debuggee.pid, *arguments, "--json")
            self.assertLess(resident(debuggee.pid) - before, 256 << 10)

    def test_a_process_that_ends_meanwhile(self):
        with processes.Debuggee([debuggee_build.native_growth(), "hglobal-large"]) as debuggee:
            debuggee.ask("go")
            looking = subprocess.Popen([mixstack_dump.binary(), "memory", str(debuggee.pid), "--native", "-d", "30s"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(2)
            debuggee.end()
            begin = time.monotonic()
            out, error = looking.communicate(timeout=60)
        self.assertIn(looking.returncode, (3, 8), (out, error))
        self.assertLess(time.monotonic() - begin, 10)

    def test_arguments(self):
        for arguments in (["1", "--native", "--types"], ["1", "--native", "--makers"], ["1", "--native", "-d", "1ms"],
                          ["1", "--native", "-o", "a.html"], ["core.1", "--native"]):
            status, _, error, _ = mixstack_dump.run("memory", *arguments)
            self.assertEqual(status, 2, (arguments, error))


if __name__ == "__main__":
    unittest.main()
