"""scripts/check_cpus.py finds what it is there to find."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_cpus  # noqa: E402


class CheckCpus(unittest.TestCase):
    def faults(self, files):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            files = {"include/mixstack/registers.h": "enum class Arch : int { unknown, x86_64, riscv64 };\n"} | files
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return list(check_cpus.check(root))

    def test_names_outside_of_twin_folders(self):
        for line in ("if (arch == Arch::x86_64) f();", "case Arch::riscv64:", "set(riscv64_reg::sp, 1);",
                     "#if defined(__x86_64__)", "return kTable.riscv64;"):
            self.assertEqual(len(self.faults({"src/engine/unwind/x.cc": "\n" + line + "\n"})), 1, line)
        self.assertIn("src/a/b.h:2: Arch::riscv64", self.faults({"src/a/b.h": "\nArch::riscv64;\n"})[0])

    def test_what_is_allowed(self):
        self.assertEqual(self.faults({
            "src/engine/unwind/riscv64/x.cc": "Arch::x86_64", "src/base/arch/per_cpu.h": "case Arch::x86_64:",
            "src/engine/unwind/windows/amd64/x.cc": "x86_64_reg::rsp", "src/engine/unwind/x_test.cc": "Arch::x86_64",
            "src/engine/unwind/z.cc": '#include "base/arch/x86_64/call.h"\nPerCpu<int> t{.x86_64 = 1, .riscv64 = 2};',
            "src/engine/unwind/y.cc": 'if (arch == Arch::unknown) g(x86_64::f, "Arch::x86_64");  // not Arch::x86_64\n'}), [])

    def test_this_tree(self):
        self.assertEqual(list(check_cpus.check(ROOT)), [])


if __name__ == "__main__":
    unittest.main()
