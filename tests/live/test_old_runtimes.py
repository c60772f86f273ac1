"""Without a DAC: .NET 9 walks (all of it: test_dotnet9); .NET 8 is named, said to be not walkable, and native frames are
shown all the same. (With it: test_dac.)"""
import debuggee_build
import processes
from harness import LiveCase
import stack_compare


class OldRuntimes(LiveCase):
    timeout = 300

    def look(self, version, full_version, is_walkable):
        try:
            program = debuggee_build.old_runtime(version)
        except RuntimeError as error:
            self.skipTest(f"no .NET {version} runtime pack: {str(error)[-200:]}")
        with processes.Debuggee([program]) as debuggee:
            seen = self.observe(debuggee, options=("--provider", "cdac"), with_oracle=False)
            native = [d for d in seen.differences if d.rule == "native"]
            self.assertEqual(native, [])
            [runtime] = seen.dump["process"]["runtimes"]
            self.assertEqual(runtime["version"].split("+")[0], full_version)
            self.assertEqual(runtime["walkable"], is_walkable)
            spinner = next(t for t in seen.dump["threads"] if t["name"] == "spinner")
            self.assertNotEqual(stack_compare.reason(spinner), "", "a cut stack has a reason")
            if is_walkable:
                self.assertEqual(stack_compare.reason(spinner), stack_compare.COMPLETE)
            else:
                self.assertTrue(runtime["missing"], "it must say what is missing")
            for thread in seen.dump["threads"]:
                self.assertTrue(thread["frames"], thread["name"])
                self.assertTrue(thread["stop_reason"])

    def test_dotnet_9(self):
        self.look(9, "9.0.18", is_walkable=True)

    def test_dotnet_8(self):
        self.look(8, "8.0.29", is_walkable=False)
