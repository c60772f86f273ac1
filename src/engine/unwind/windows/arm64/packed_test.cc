// Packed words against the instructions they stand for: the prologue and epilogue that "ARM64 exception handling" of
// the Microsoft documentation prescribes are assembled, executed on symbols, and compared at every instruction.
#include <gtest/gtest.h>

#include <cstring>

#include "base/arch/aarch64/cpu.h"
#include "engine/unwind/windows/arm64/rule.h"
#include "support/aarch64_simulator.h"

namespace mixstack::unwind::windows {
namespace {

struct Shape {
  unsigned cr, h, reg_i, reg_f, frame_bytes;
  bool fragment = false;
  [[nodiscard]] unsigned word(unsigned instructions) const {
    return (fragment ? 2u : 1u) | instructions << 2 | reg_f << 13 | reg_i << 16 | h << 20 | cr << 21 |
           frame_bytes / 16 << 23;
  }
};

/// Saves of one kind, at slots from the bottom of the save area.
class Assembler {
 public:
  void emit(unsigned word) { code.push_back(word); }
  void add_sp(int n) {
    const unsigned opcode = n < 0 ? 0xd10003ffu : 0x910003ffu;
    emit(opcode | static_cast<unsigned>(n < 0 ? -n : n) << 10);
  }
  /// stp/ldp of X or D registers at `slot` (8 bytes); `writeback` bytes move sp before a store or after a load.
  void pair(bool load, bool vector, unsigned a, unsigned b, unsigned slot, unsigned writeback) {
    unsigned word = vector ? 0x6d000000u : 0xa9000000u;
    if (load) word |= 1u << 22;
    unsigned imm = slot;
    if (writeback != 0) {
      word = load ? word - 0x00800000u : word + 0x00800000u;
      imm = load ? writeback / 8 : 0u - writeback / 8;
    }
    emit(word | (imm & 0x7f) << 15 | b << 10 | 31u << 5 | a);
  }
  void single(bool load, bool vector, unsigned a, unsigned slot, unsigned writeback) {
    unsigned word = vector ? 0xfc000000u : 0xf8000000u;
    if (load) word |= 1u << 22;
    if (writeback != 0) {
      const unsigned imm = load ? writeback : 0u - writeback;
      emit(word | (load ? 0x400u : 0xc00u) | (imm & 0x1ff) << 12 | 31u << 5 | a);
    } else {
      emit(word | 0x01000000u | slot << 10 | 31u << 5 | a);
    }
  }
  std::vector<unsigned> code;
};

struct Save {
  bool vector;
  unsigned first, second;  // second 99: one register
  unsigned slot;
};

/// Saves in the order of the prologue, and the slots they take.
std::vector<Save> saves_of(const Shape& s, unsigned& slots) {
  std::vector<Save> saves;
  slots = 0;
  const auto add = [&](bool vector, unsigned a, unsigned b) {
    saves.push_back({vector, a, b, slots});
    slots += b == 99 ? 1 : 2;
  };
  unsigned i = 0;
  for (; i + 1 < s.reg_i; i += 2) add(false, 19 + i, 20 + i);
  const bool odd = s.reg_i % 2 != 0;
  if (s.cr == 1) {
    if (odd) {
      add(false, 19 + i, 30);
    } else {
      add(false, 30, 99);
    }
  } else if (odd) {
    add(false, 19 + i, 99);
  }
  const unsigned floats = s.reg_f == 0 ? 0 : s.reg_f + 1;
  for (i = 0; i + 1 < floats; i += 2) add(true, 8 + i, 9 + i);
  if (floats % 2 != 0) add(true, 8 + i, 99);
  return saves;
}

struct Assembled {
  std::vector<unsigned> code;
  unsigned body = 0;  ///< index of the first instruction behind the prologue
};

void save_registers(const Shape& s, const std::vector<Save>& saves, unsigned area, bool load, Assembler& out) {
  const bool separate = s.cr == 1 && s.reg_i == 1;  // x19 with lr cannot pre-decrement
  if (separate && !load) out.add_sp(-static_cast<int>(area * 8));
  for (std::size_t n = 0; n < saves.size(); n++) {
    const Save& save = saves[load ? saves.size() - 1 - n : n];
    const bool first = &save == &saves.front();
    const unsigned writeback = first && !separate ? area * 8 : 0;
    if (save.second == 99) {
      out.single(load, save.vector, save.first, save.slot, writeback);
    } else {
      out.pair(load, save.vector, save.first, save.second, save.slot, writeback);
    }
  }
  if (separate && load) out.add_sp(static_cast<int>(area * 8));
}

void locals(const Shape& s, unsigned bytes, bool release, Assembler& out) {
  const bool chained = s.cr >= 2;
  if (bytes == 0) return;
  if (chained && bytes <= 512) return out.pair(release, false, 29, 30, 0, bytes);
  const int first = static_cast<int>(std::min(bytes, 4080u));
  const int rest = static_cast<int>(bytes) - first;
  if (release) {
    if (chained) out.pair(true, false, 29, 30, 0, 0);
    if (rest != 0) out.add_sp(rest);
    out.add_sp(first);
  } else {
    out.add_sp(-first);
    if (rest != 0) out.add_sp(-rest);
    if (chained) out.pair(false, false, 29, 30, 0, 0);
  }
}

Assembled assemble(const Shape& s) {
  Assembler out;
  unsigned slots = 0;
  const auto saves = saves_of(s, slots);
  const unsigned homes = saves.empty() ? 0 : s.h * 8;
  const unsigned area = (slots + homes + 1) & ~1u;
  const unsigned local_bytes = s.frame_bytes - area * 8;
  if (s.cr == 2) out.emit(0xd503237f);
  save_registers(s, saves, area, false, out);
  for (unsigned i = 0; homes != 0 && i < 8; i += 2) out.pair(false, false, i, i + 1, slots + i, 0);
  locals(s, local_bytes, false, out);
  if (s.cr >= 2 && local_bytes != 0) out.emit(0x910003fd);
  const auto body = static_cast<unsigned>(out.code.size());
  for (unsigned i = 0; i < 3; i++) out.emit(0xd503201f);
  locals(s, local_bytes, true, out);
  save_registers(s, saves, area, true, out);
  if (s.cr == 2) out.emit(0xd50323ff);
  out.emit(0xd65f03c0);
  return {out.code, body};
}

void check(const Shape& shape, unsigned long& checked) {
  const Assembled a = assemble(shape);
  std::vector<std::byte> bytes(a.code.size() * 4);
  std::memcpy(bytes.data(), a.code.data(), bytes.size());
  constexpr std::uint32_t kBegin = 0x1000;
  test::Aarch64Simulator simulator(bytes, kBegin);
  const auto f = simulator.run(kBegin, kBegin + bytes.size());
  const unsigned instructions = static_cast<unsigned>(a.code.size());
  const RuntimeFunction row{kBegin, 0, shape.word(instructions)};
  EXPECT_EQ(*arm64_function_length(MappedUnwindData({}), row), instructions * 4);
  for (unsigned i = 0; i < instructions; i++) {
    if (shape.fragment && (i < a.body || i >= a.body + 3)) continue;
    const auto state = f.states.find(kBegin + 4 * i);
    ASSERT_NE(state, f.states.end());
    const auto rule = arm64_rule(std::span<const std::byte>{}, {row, kBegin + 4 * i, false});
    ASSERT_TRUE(rule);
    EXPECT_EQ(test::check_rule(*rule, state->second, 0, arch::aarch64::kCalleeSaved,
                               test::SymbolicValue::entry(aarch64_reg::lr)),
              "")
        << "CR " << shape.cr << " H " << shape.h << " RegI " << shape.reg_i << " RegF " << shape.reg_f << " frame "
        << shape.frame_bytes << " instruction " << i;
    const bool is_signed = shape.cr == 2 && i >= 1 && i + 1 < instructions;
    if (!shape.fragment) {
      EXPECT_EQ(rule->ra_is_signed, is_signed);
    }
    checked++;
  }
}

TEST(Arm64Packed, EveryFormEqualsItsInstructions) {
  unsigned long checked = 0;
  for (unsigned cr = 0; cr < 4; cr++) {
    for (unsigned h = 0; h < 2; h++) {
      for (unsigned reg_i = 0; reg_i <= 10; reg_i++) {
        for (unsigned reg_f = 0; reg_f < 8; reg_f++) {
          Shape s{cr, h, reg_i, reg_f, 0};
          unsigned slots = 0;
          const bool any = !saves_of(s, slots).empty();
          const unsigned area = ((slots + (any ? h * 8 : 0) + 1) & ~1u) * 8;
          for (const unsigned local_bytes : {0u, 16u, 64u, 496u, 528u, 4080u, 4096u, 6000u}) {
            if (cr >= 2 && local_bytes == 0) continue;  // the frame record needs room
            s.frame_bytes = area + local_bytes;
            check(s, checked);
            s.fragment = true;
            check(s, checked);
            s.fragment = false;
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
  std::printf("instructions checked: %lu\n", checked);
}

// A save area larger than the frame: garbage, but no crash and an answer of some size.
TEST(Arm64Packed, ContradictionsAreHarmless) {
  for (unsigned word = 0; word < 1u << 16; word++) {
    const RuntimeFunction row{0x1000, 0, (word << 13 | 0x1f << 2 | 1) & 0xffffffffu};
    for (const std::uint32_t pc : {0x1000u, 0x1004u, 0x1040u, 0x1078u})
      (void)arm64_rule(std::span<const std::byte>{}, {row, pc, false});
  }
}

}  // namespace
}  // namespace mixstack::unwind::windows
