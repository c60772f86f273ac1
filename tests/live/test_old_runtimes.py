""".NET 8 and 9 without a DAC: named, said to be not walkable, native frames shown all the same. (With it: test_dac.)"""
import debuggee_build
import processes
from harness import LiveCase
import stack_compare


class OldRuntimes(LiveCase):
    timeout = 300

    def look(self, version, full_version):
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
            self.assertFalse(runtime["walkable"])
            self.assertTrue(runtime["missing"], "it must say what is missing")
            spinner = next(t for t in seen.dump["threads"] if t["name"] == "spinner")
            self.assertNotEqual(stack_compare.reason(spinner), "", "a cut stack has a reason")
            for thread in seen.dump["threads"]:
                self.assertTrue(thread["frames"], thread["name"])
                self.assertTrue(thread["stop_reason"])

    def test_dotnet_9(self):
        self.look(9, "9.0.18")

    def test_dotnet_8(self):
        self.look(8, "8.0.29")
