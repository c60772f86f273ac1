// Prologue analysis on real code: every instruction of .NET images and the lengths of every instruction of libraries.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/arch/aarch64/cpu.h"
#include "base/arch/x86_64/cpu.h"
#include "engine/unwind/prologue/prologue.h"
#include "engine/unwind/prologue/x86_64/instruction.h"
#include "engine/unwind/windows/arm64/rule.h"
#include "support/aarch64_simulator.h"
#include "support/host_cpu.h"
#include "support/mapped_pe.h"
#include "support/source_folder.h"
#include "support/x86_64_simulator.h"

namespace mixstack::unwind {
namespace {

using test::SymbolicValue;

struct Totals {
  unsigned long functions = 0, right = 0, wrong = 0, declined = 0;
};

struct Cpu {
  Arch arch;
  std::uint64_t callee_saved;
  std::int64_t entry_cfa;  ///< relative to sp at the first instruction
  SymbolicValue return_address;
};
const Cpu kX8664{Arch::x86_64, arch::x86_64::kCalleeSaved, 8, SymbolicValue::entry(x86_64_reg::rip)};
const Cpu kAarch64{Arch::aarch64, arch::aarch64::kCalleeSaved, 0, SymbolicValue::entry(aarch64_reg::lr)};

void check_function(test::CodeSimulator& simulator, std::span<const std::byte> image, std::uint32_t begin,
                    std::uint32_t end, const Cpu& cpu, Totals& totals) {
  const auto f = simulator.run(begin, end);
  const std::uint64_t preserved = cpu.callee_saved & ~f.destroyed(cpu.callee_saved);
  for (const auto& [at, state] : f.states) {
    const auto code = image.subspan(begin, f.end - begin);
    const auto rule = prologue_rule(cpu.arch, code, at - begin, false);
    if (!rule) {
      totals.declined++;
      continue;
    }
    const std::string wrong = test::check_rule(*rule, state, cpu.entry_cfa, preserved, cpu.return_address);
    totals.right += wrong.empty() ? 1 : 0;
    if (wrong.empty()) continue;
    if (totals.wrong++ < 20) {
      std::printf("function %x +%x: %s: %s\n", begin, static_cast<unsigned>(at - begin),
                  simulator.text(at, f.end).c_str(), wrong.c_str());
    }
  }
  totals.functions++;
}

void report(const Totals& t) {
  std::printf("functions %lu, instructions: right %lu, wrong %lu, declined %lu\n", t.functions, t.right, t.wrong,
              t.declined);
  // It is evidence, not knowledge; but it should not be wrong more than once in ten thousand.
  EXPECT_LT(t.wrong * 10000, t.right);
  EXPECT_LT(t.declined * 1000, t.right);
}

TEST(PrologueImage, X8664RulesEqualExecution) {
  if (test::kHostCpu != Arch::x86_64) GTEST_SKIP() << "the framework here is of another CPU";
  const auto path = test::framework_file("System.Private.CoreLib.dll");
  if (path.empty()) GTEST_SKIP() << "no .NET framework installed";
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe);
  const std::span<const std::byte> image(pe->image);
  test::X8664Simulator simulator(image, 0);
  Totals totals;
  // One function in eight: the analysis starts over for every instruction.
  for (std::uint32_t i = 0; i + 12 <= pe->exception_size; i += 12 * 8) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    const auto begin = cursor.u32();
    const auto end = cursor.u32();
    if (end - begin < 4096) check_function(simulator, image, begin, end, kX8664, totals);
  }
  report(totals);
}

void check_arm64(const std::filesystem::path& path, std::uint32_t every) {
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe);
  const std::span<const std::byte> image(pe->image);
  test::Aarch64Simulator simulator(image, 0);
  const windows::MappedUnwindData data(image);
  Totals totals;
  for (std::uint32_t i = 0; i + 8 <= pe->exception_size; i += 8 * every) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    windows::RuntimeFunction row;
    row.begin = cursor.u32();
    row.unwind_data = cursor.u32();
    const auto length = windows::arm64_function_length(data, row);
    ASSERT_TRUE(length);
    if (*length < 4096) check_function(simulator, image, row.begin, row.begin + *length, kAarch64, totals);
  }
  report(totals);
}

TEST(PrologueImage, Aarch64RulesEqualExecution) {
  check_arm64(std::filesystem::path(mixstack::test::source_folder()) / "tests/data/arm64_r2r/UnwindShapes.arm64.dll",
              1);
}

TEST(PrologueImage, Aarch64ImageFromEnvironment) {
  const char* image = std::getenv("MIXSTACK_R2R_ARM64");
  if (image == nullptr) GTEST_SKIP();
  check_arm64(image, 8);
}

bool is_in_dispute(const cs_insn& insn) {
  bool operand16 = false;
  unsigned i = 0;
  for (; i < insn.size &&
         (insn.bytes[i] == 0x66 || insn.bytes[i] == 0x67 || insn.bytes[i] >= 0xf0 || (insn.bytes[i] & 0xf0) == 0x40 ||
          (insn.bytes[i] & 0xe7) == 0x26 || (insn.bytes[i] & 0xfe) == 0x64);
       i++) {
    operand16 |= insn.bytes[i] == 0x66;
  }
  const unsigned opcode = i < insn.size ? insn.bytes[i] : 0;
  const unsigned second = i + 1 < insn.size ? insn.bytes[i + 1] : 0;
  const bool near_jump = opcode == 0xe8 || opcode == 0xe9 || (opcode == 0x0f && (second & 0xf0) == 0x80);
  return (operand16 && near_jump) || (opcode == 0x8f && (second & 0x38) != 0);
}

// Every instruction length capstone finds in CoreLib and in this test's libraries.
TEST(PrologueImage, X8664LengthsEqualCapstone) {
  if (test::kHostCpu != Arch::x86_64) GTEST_SKIP() << "the images here are of another CPU";
  std::vector<std::filesystem::path> files{"/proc/self/exe", test::kLibc};
  for (const char* name : {"libcoreclr.so", "System.Private.CoreLib.dll"}) {
    const auto file = test::framework_file(name);
    if (!file.empty()) files.push_back(file);
  }
  csh handle = 0;
  ASSERT_EQ(cs_open(CS_ARCH_X86, CS_MODE_64, &handle), CS_ERR_OK);
  cs_insn* insn = cs_malloc(handle);
  unsigned long compared = 0;
  unsigned long different = 0;
  for (const auto& file : files) {
    const auto bytes = test::read_file(file);
    // Data between the code decodes to anything: the more forms the better.
    const std::size_t limit = std::min<std::size_t>(bytes.size(), 3u << 20);
    for (std::size_t at = 0; at < limit;) {
      const auto* code = reinterpret_cast<const std::uint8_t*>(bytes.data()) + at;
      std::size_t size = std::min<std::size_t>(16, limit - at);
      std::uint64_t address = 0;
      const std::size_t known = cs_disasm_iter(handle, &code, &size, &address, insn) ? insn->size : 0;
      const std::size_t ours = prologue::x86_64::layout(std::span(bytes).subspan(at)).length;
      // Where capstone follows AMD: the undefined ud0 and ud1 without operands, 16-bit jumps, XOP.
      const bool disputed = insn->id == X86_INS_UD0 || insn->id == X86_INS_UD2B || is_in_dispute(*insn);
      if (known != 0 && !disputed) {
        compared++;
        if (ours != known && different++ < 20) {
          std::printf("%s +%zx: %s %s: %zu, not %zu:", file.c_str(), at, insn->mnemonic, insn->op_str, known, ours);
          for (unsigned i = 0; i < insn->size; i++) std::printf(" %02x", insn->bytes[i]);
          std::printf("\n");
        }
      }
      at += known != 0 ? known : 1;
    }
  }
  std::printf("compared %lu, different %lu\n", compared, different);
  EXPECT_LT(different * 100000, compared);
  cs_free(insn, 1);
  cs_close(&handle);
}

}  // namespace
}  // namespace mixstack::unwind
