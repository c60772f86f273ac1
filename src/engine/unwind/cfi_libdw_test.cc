// Compares the results of our rules with those of libdw, register by register, on made-up registers and memory:
// expressions, value rules and undefined registers included, on real images and on the fixtures.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/system/scoped_fd.h"
#include "engine/images/file_bytes.h"
#include "engine/unwind/rule_step.h"
#include "support/command_output.h"
#include "support/host_cpu.h"
#include "support/source_folder.h"

namespace mixstack::unwind {
namespace {

/// Memory where every word is a function of its address, so that values tell where they came from.
class PatternMemory final : public MemoryReader {
 public:
  static std::uint8_t byte_at(Address a) {
    std::uint64_t x = (a >> 3) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    return static_cast<std::uint8_t>(x >> (a & 7) * 8);
  }
  static std::uint64_t word_at(Address a) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++) word |= std::uint64_t{byte_at(a + i)} << 8 * i;
    return word;
  }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); i++) out[i] = static_cast<std::byte>(byte_at(address + i));
    return out.size();
  }
};

/// libdw's answer for one location.
class LibdwFrame {
 public:
  LibdwFrame(Dwarf_CFI* cfi, std::uint64_t pc) : ok_(dwarf_cfi_addrframe(cfi, pc, &frame_) == 0) {}
  LibdwFrame(const LibdwFrame&) = delete;
  LibdwFrame& operator=(const LibdwFrame&) = delete;
  ~LibdwFrame() { std::free(frame_); }

  [[nodiscard]] bool ok() const { return ok_; }
  /// First and behind the last address of the row; the column of the return address; whether a signal frame.
  int info(Dwarf_Addr& begin, Dwarf_Addr& end, bool& is_signal) const {
    return dwarf_frame_info(frame_, &begin, &end, &is_signal);
  }
  [[nodiscard]] std::optional<std::uint64_t> cfa(const Registers& registers) const {
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_cfa(frame_, &ops, &count) != 0 || count == 0) return std::nullopt;
    return run(ops, count, registers, 0);
  }
  enum class Kind { undefined, same_value, value };
  struct Answer {
    Kind kind = Kind::undefined;
    std::uint64_t value = 0;
  };
  [[nodiscard]] Answer reg(int number, const Registers& registers, std::uint64_t cfa) const {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_register(frame_, number, memory, &ops, &count) != 0) return {};
    if (count == 0) return {ops == nullptr ? Kind::same_value : Kind::undefined, 0};
    const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
    if (count == 1 && (ops[0].atom == DW_OP_regx || (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)))
      return {Kind::value, registers.value_or_zero(static_cast<unsigned>(
                               ops[0].atom == DW_OP_regx ? ops[0].number : ops[0].atom - DW_OP_reg0))};
    const auto result = run(ops, is_value ? count - 1 : count, registers, cfa);
    return {Kind::value, is_value ? result : PatternMemory::word_at(result)};
  }

 private:
  /// An evaluator of libdw's decoded operations, written for this test.
  static std::uint64_t run(const Dwarf_Op* ops, std::size_t count, const Registers& registers, std::uint64_t cfa) {
    std::vector<std::uint64_t> stack;
    const auto pop = [&stack] {
      if (stack.empty()) return ADD_FAILURE() << "empty stack", std::uint64_t{0};
      const auto v = stack.back();
      stack.pop_back();
      return v;
    };
    for (std::size_t i = 0; i < count; i++) {
      const Dwarf_Op& op = ops[i];
      if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
        stack.push_back(op.atom - DW_OP_lit0);
      } else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
        stack.push_back(registers.value_or_zero(op.atom - DW_OP_breg0) + op.number);
      } else if (op.atom == DW_OP_bregx) {
        stack.push_back(registers.value_or_zero(static_cast<unsigned>(op.number)) + op.number2);
      } else if (op.atom == DW_OP_call_frame_cfa) {
        stack.push_back(cfa);
      } else if (op.atom == DW_OP_const1u || op.atom == DW_OP_const1s || op.atom == DW_OP_const2u) {
        stack.push_back(op.number);
      } else if (op.atom == DW_OP_plus_uconst) {
        stack.push_back(pop() + op.number);
      } else if (op.atom == DW_OP_deref) {
        stack.push_back(PatternMemory::word_at(pop()));
      } else if (op.atom == DW_OP_dup) {
        stack.push_back(stack.back());
      } else if (op.atom == DW_OP_swap) {
        std::swap(stack.at(stack.size() - 1), stack.at(stack.size() - 2));
      } else if (op.atom == DW_OP_nop) {
      } else if (op.atom == DW_OP_bra) {
        const auto target = static_cast<Dwarf_Word>(op.offset + 3 + op.number);
        if (pop() == 0) continue;
        while (i + 1 < count && ops[i + 1].offset != target) i++;
      } else {
        const auto right = pop(), left = pop();
        switch (op.atom) {
          case DW_OP_plus:
            stack.push_back(left + right);
            break;
          case DW_OP_minus:
            stack.push_back(left - right);
            break;
          case DW_OP_mul:
            stack.push_back(left * right);
            break;
          case DW_OP_and:
            stack.push_back(left & right);
            break;
          case DW_OP_shl:
            stack.push_back(left << right);
            break;
          case DW_OP_ge:
            stack.push_back(static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right));
            break;
          case DW_OP_gt:
            stack.push_back(static_cast<std::int64_t>(left) > static_cast<std::int64_t>(right));
            break;
          default:
            ADD_FAILURE() << "operation " << static_cast<unsigned>(op.atom);
            return 0;
        }
      }
    }
    return pop();
  }

  Dwarf_Frame* frame_ = nullptr;
  bool ok_;
};

/// The file as libdw sees it.
class LibdwFile {
 public:
  explicit LibdwFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_.get(), ELF_C_READ, nullptr);
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  LibdwFile(const LibdwFile&) = delete;
  LibdwFile& operator=(const LibdwFile&) = delete;
  ~LibdwFile() {
    dwarf_cfi_end(cfi_);
    elf_end(elf_);
  }
  [[nodiscard]] Dwarf_CFI* cfi() const { return cfi_; }

 private:
  base::ScopedFd fd_;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};

/// One image, with registers and a stack that rules can work on.
class Comparison {
 public:
  explicit Comparison(const std::string& path) : libdw_(path), stack_bytes_(kStackSize) {
    const auto file = images::open_file_bytes(path);
    if (!file) return;
    const auto image = images::ElfImage::from_file(*file);
    if (!image) return;
    table_ = UnwindTable::create(*image, false);
    const Arch arch = table_->arch();
    for (std::size_t i = 0; i < kStackSize; i++)
      stack_bytes_[i] = static_cast<std::byte>(PatternMemory::byte_at(kStackBase + i));
    registers_ = Registers(arch);
    for (unsigned r = 0; r < arch_registers(arch).count; r++) registers_.set(r, kStackBase + 0x8000 + r * 0x110u);
    registers_.set_sp(kStackBase + 0x2000);
    stepper_.emplace(arch);
    stepper_->set_modules(NativeModules({{{0, 1u << 30}, 0, 0, table_}}));
  }
  [[nodiscard]] bool ok() const { return table_ != nullptr; }

  void all_functions() {
    std::uint64_t known_end = 0;
    for (const std::uint64_t start : table_->function_starts()) {
      const auto range = table_->function_at(start);
      if (!range || range->begin < known_end) continue;
      known_end = range->end;
      for (std::uint64_t pc = range->begin; pc < range->end;) {
        const std::uint64_t next = row(pc);
        if (next <= pc) break;
        if (next - 1 > pc) (void)row(next - 1);
        pc = next;
      }
    }
  }
  std::size_t rows = 0, registers_compared = 0, ends = 0, steps = 0;
  std::size_t unknown_to_libdw = 0;

 private:
  static constexpr Address kStackBase = 0x7ffe00000000;
  static constexpr std::size_t kStackSize = 128 << 10;

  /// Compares at `pc`; the end of libdw's row, or 0.
  std::uint64_t row(std::uint64_t pc) {
    const LibdwFrame truth(libdw_.cfi(), pc);
    const auto rule = table_->rule(pc);
    if (!truth.ok() && rule) unknown_to_libdw++;
    EXPECT_TRUE(rule.has_value() || !truth.ok()) << std::hex << pc;
    if (!truth.ok() || !rule) return 0;
    Dwarf_Addr begin = 0, end = 0;
    bool is_signal = false;
    const int ra = truth.info(begin, end, is_signal);
    EXPECT_EQ(rule->ra_register, ra);
    EXPECT_EQ(rule->is_signal_frame, is_signal);
    registers_.set_pc(pc);
    rows++;
    compare(pc, truth, *rule, ra);
    return end;
  }

  void compare(std::uint64_t pc, const LibdwFrame& truth, const UnwindRule& rule, int ra) {
    const StackView stack{kStackBase, stack_bytes_.data(), kStackSize, &memory_};
    Registers caller = registers_;
    const auto ours = apply(rule, caller, CodeAddress::exact(pc), stack);
    const auto cfa = truth.cfa(registers_);
    if (truth.reg(ra, registers_, 0).kind == LibdwFrame::Kind::undefined) {
      ends++;
      EXPECT_TRUE(ours && ours->is_end_of_stack) << std::hex << pc;
      return;
    }
    ASSERT_TRUE(cfa && ours) << std::hex << pc << " error " << (ours ? 0 : static_cast<int>(ours.error().code));
    ASSERT_EQ(*cfa, ours->cfa) << std::hex << pc;
    compare_registers(pc, truth, rule, caller, *cfa);
    compare_step(pc, caller, *ours);
  }

  void compare_registers(std::uint64_t pc, const LibdwFrame& truth, const UnwindRule& rule, const Registers& caller,
                         std::uint64_t cfa) {
    const ArchRegisters numbers = arch_registers(caller.arch());
    for (int r = 0; r < static_cast<int>(numbers.count); r++) {
      const auto reg = static_cast<unsigned>(r);
      // libdw has no register for the state of signed addresses, and another number for the length of vectors.
      if (r == 34 || reg == arch::cpu(caller.arch()).vector_length.reg) continue;
      if (reg == numbers.pc && reg != rule.ra_register) continue;
      const auto expected = truth.reg(r, registers_, cfa);
      if (is_mistaken_default(reg, expected.kind, rule)) continue;
      auto expected_value = expected.value;
      if (expected.kind == LibdwFrame::Kind::same_value) expected_value = registers_.value_or_zero(reg);
      registers_compared++;
      if (expected.kind == LibdwFrame::Kind::undefined) {
        EXPECT_FALSE(caller.is_known(reg)) << std::hex << pc << " register " << std::dec << r;
      } else if (const auto value = caller.get(reg); value || !is_lazily_forgotten(reg, numbers)) {
        EXPECT_EQ(value, std::optional(expected_value)) << std::hex << pc << " register " << std::dec << r;
      }
    }
  }
  /// libdw's AArch64 backend calls x18 and the registers it has no rule for unchanged; the ABI preserves them not.
  [[nodiscard]] static bool is_lazily_forgotten(unsigned reg, const ArchRegisters& numbers) {
    return numbers.count == aarch64_reg::count && reg < aarch64_reg::x19;
  }

  /// libdw's rules for registers without one (backends/x86_64_cfi.c in elfutils 0.188) preserve register 0, which is
  /// rax, in the place of rbx, which is 3.
  [[nodiscard]] static bool is_mistaken_default(unsigned reg, LibdwFrame::Kind kind, const UnwindRule& rule) {
    if (rule.ra_register != x86_64_reg::rip) return false;
    for (std::size_t i = 0; i < rule.count; i++)
      if (rule.rules[i].reg == reg) return false;
    return (reg == x86_64_reg::rax && kind == LibdwFrame::Kind::same_value) ||
           (reg == x86_64_reg::rbx && kind == LibdwFrame::Kind::undefined);
  }

  /// The hot loop does what apply does.
  void compare_step(std::uint64_t pc, const Registers& caller, const Caller& applied) {
    const StackView stack{kStackBase, stack_bytes_.data(), kStackSize, &memory_};
    for (int round = 0; round < 2; round++) {  // the second one from the cache
      Registers stepped = registers_;
      const auto step = stepper_->step(CodeAddress::exact(pc), stepped, stack);
      if (step.status != RuleStatus::caller) {
        EXPECT_EQ(stepper_->error().code, ErrorCode::stack_not_advancing) << std::hex << pc;
        return;
      }
      steps++;
      EXPECT_EQ(stepped, caller) << std::hex << pc;
      EXPECT_EQ(step.pc, applied.pc);
      EXPECT_EQ(step.cfa, applied.cfa);
      LightFrame light = LightFrame::innermost(registers_);
      const auto light_step = stepper_->step_light(light, stack);
      if (light_step.status != RuleStatus::caller) continue;  // based on a register it does not have
      EXPECT_EQ(light.pc, applied.pc) << std::hex << pc;
      EXPECT_EQ(light.sp, caller.sp()) << std::hex << pc;
      if (light.fp == LightFrame::kUnknownFp) continue;
      EXPECT_EQ(light.fp, caller.fp()) << std::hex << pc;
    }
  }

  LibdwFile libdw_;
  std::shared_ptr<const UnwindTable> table_;
  std::optional<RuleStepper> stepper_;
  std::vector<std::byte> stack_bytes_;
  Registers registers_;
  PatternMemory memory_;
};

void expect_equal(const std::string& path) {
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  SCOPED_TRACE(path);
  Comparison comparison(path);
  ASSERT_TRUE(comparison.ok());
  comparison.all_functions();
  EXPECT_GT(comparison.rows, 0u);
  // Functions that an empty one hides in .eh_frame_hdr, by which libdw goes (FdeIndex.AnEmptyFunctionThatHidesAnother):
  // a few in ARM64's libcoreclr.so. Their rows are compared with readelf's.
  EXPECT_LE(comparison.unknown_to_libdw, 32u);
  std::printf("%s: %zu rows, %zu registers, %zu ends of stack, %zu steps; %zu functions unknown to libdw\n",
              path.c_str(), comparison.rows, comparison.registers_compared, comparison.ends, comparison.steps,
              comparison.unknown_to_libdw);
}

std::string fixture(const std::string& name) { return mixstack::test::source_folder() + "/tests/data/unwind/" + name; }

TEST(CfiAgainstLibdw, HandmadeX86) { expect_equal(fixture("handmade_x86_64.so")); }
TEST(CfiAgainstLibdw, HandmadeAarch64) { expect_equal(fixture("handmade_aarch64.so")); }
TEST(CfiAgainstLibdw, Libc) { expect_equal(test::kLibc); }
TEST(CfiAgainstLibdw, RuntimeLibraries) {
  std::size_t found = 0;
  for (const auto& line : test::command_lines("dotnet --list-runtimes")) {
    const auto open = line.find('['), first = line.find(' '), second = line.find(' ', first + 1);
    if (line.rfind("Microsoft.NETCore.App ", 0) != 0 || open == std::string::npos) continue;
    const std::string folder =
        line.substr(open + 1, line.size() - open - 2) + "/" + line.substr(first + 1, second - first - 1);
    for (const auto* name : {"/libcoreclr.so", "/libclrjit.so"}) expect_equal(folder + name);
    found++;
  }
  EXPECT_GT(found, 0u);
}
TEST(CfiAgainstLibdw, Aarch64Libraries) {
  const std::string folder = "/usr/aarch64-linux-gnu/lib/";
  if (!std::filesystem::exists(folder + "libc.so.6")) GTEST_SKIP() << "libc6-arm64-cross is not installed";
  expect_equal(folder + "libc.so.6");
}

}  // namespace
}  // namespace mixstack::unwind
