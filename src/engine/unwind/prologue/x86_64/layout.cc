// Lengths of x86-64 instructions.
#include <algorithm>
#include <array>

#include "engine/unwind/prologue/x86_64/instruction.h"

namespace mixstack::unwind::prologue::x86_64 {
namespace {

/// The operands that follow an opcode.
enum Operands : std::uint8_t {
  X = 0,     // no instruction of 64-bit mode
  N = 1,     // nothing
  M = 2,     // ModRM
  B = 3,     // imm8
  W = 4,     // imm16
  Z = 5,     // imm32, imm16 with a 66 prefix
  MB = 6,    // ModRM imm8
  MZ = 7,    // ModRM imm32/16
  V = 8,     // imm as wide as the operand
  A = 9,     // address as wide as addresses
  E = 10,    // imm16 imm8
  G3 = 11,   // F6: ModRM, imm8 for /0 and /1
  G3Z = 12,  // F7: ModRM, imm32/16 for /0 and /1
  D = 13,    // imm32 always
};

constexpr std::array<std::uint8_t, 256> kOneByte{
    M,  M,  M, M,  B, Z, X,  X,   M, M,  M, M,  B, Z, X, X,  // 00
    M,  M,  M, M,  B, Z, X,  X,   M, M,  M, M,  B, Z, X, X,  // 10
    M,  M,  M, M,  B, Z, X,  X,   M, M,  M, M,  B, Z, X, X,  // 20
    M,  M,  M, M,  B, Z, X,  X,   M, M,  M, M,  B, Z, X, X,  // 30
    X,  X,  X, X,  X, X, X,  X,   X, X,  X, X,  X, X, X, X,  // 40: REX, taken off before
    N,  N,  N, N,  N, N, N,  N,   N, N,  N, N,  N, N, N, N,  // 50
    X,  X,  X, M,  X, X, X,  X,   Z, MZ, B, MB, N, N, N, N,  // 60
    B,  B,  B, B,  B, B, B,  B,   B, B,  B, B,  B, B, B, B,  // 70
    MB, MZ, X, MB, M, M, M,  M,   M, M,  M, M,  M, M, M, M,  // 80
    N,  N,  N, N,  N, N, N,  N,   N, N,  X, N,  N, N, N, N,  // 90
    A,  A,  A, A,  N, N, N,  N,   B, Z,  N, N,  N, N, N, N,  // a0
    B,  B,  B, B,  B, B, B,  B,   V, V,  V, V,  V, V, V, V,  // b0
    MB, MB, W, N,  X, X, MB, MZ,  E, N,  W, N,  N, B, X, N,  // c0
    M,  M,  M, M,  X, X, X,  N,   M, M,  M, M,  M, M, M, M,  // d0
    B,  B,  B, B,  B, B, B,  B,   D, D,  X, B,  N, N, N, N,  // e0
    X,  N,  X, X,  N, N, G3, G3Z, N, N,  N, N,  N, N, M, M,  // f0
};

constexpr std::array<std::uint8_t, 256> kTwoByte{
    M,  M,  M,  M,  X,  N,  N,  N, N, N, X,  N, X,  M, N, MB,  // 00
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // 10
    M,  M,  M,  M,  X,  X,  X,  X, M, M, M,  M, M,  M, M, M,   // 20
    N,  N,  N,  N,  N,  N,  X,  N, X, X, X,  X, X,  X, X, X,   // 30
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // 40
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // 50
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // 60
    MB, MB, MB, MB, M,  M,  M,  N, M, M, X,  X, M,  M, M, M,   // 70
    D,  D,  D,  D,  D,  D,  D,  D, D, D, D,  D, D,  D, D, D,   // 80
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // 90
    N,  N,  N,  M,  MB, M,  X,  X, N, N, N,  M, MB, M, M, M,   // a0
    M,  M,  M,  M,  M,  M,  M,  M, M, M, MB, M, M,  M, M, M,   // b0
    M,  M,  MB, M,  MB, MB, MB, M, N, N, N,  N, N,  N, N, N,   // c0
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // d0
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // e0
    M,  M,  M,  M,  M,  M,  M,  M, M, M, M,  M, M,  M, M, M,   // f0
};

constexpr unsigned kMaxLength = 15;

class Scanner {
 public:
  explicit Scanner(std::span<const std::byte> code)
      : code_(code.first(std::min<std::size_t>(code.size(), kMaxLength))) {}

  [[nodiscard]] Layout scan() {
    take_prefixes();
    if (at_ >= code_.size()) return {};
    const unsigned first = peek();
    if (first == 0xc4 || first == 0xc5 || first == 0x62) return vector(first);
    if (first == 0x0f) return escaped();
    result_.opcode_at = at_++;
    // 8F with another field than 0 is AMD's withdrawn XOP.
    if (first == 0x8f && (peek() & 0x38) != 0) return {};
    return finish(kOneByte[first], first);
  }

 private:
  [[nodiscard]] unsigned peek(unsigned i = 0) const {
    return at_ + i < code_.size() ? std::to_integer<unsigned>(code_[at_ + i]) : 0;
  }

  void take_prefixes() {
    for (; at_ < code_.size(); at_++) {
      const unsigned b = peek();
      if ((b & 0xf0) == 0x40) {
        result_.rex = b;  // only the one right before the opcode counts
        continue;
      }
      if (!is_prefix(b)) return;
      if (b == 0x66) result_.operand16 = true;
      if (b == 0x67) address32_ = true;
      if (b == 0x67 || b == 0x64 || b == 0x65) result_.plain_address = false;
      result_.rex = 0;
    }
  }
  static bool is_prefix(unsigned b) {
    return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 || b == 0x3e ||
           b == 0x26 || b == 0x64 || b == 0x65;
  }

  [[nodiscard]] Layout escaped() {
    const unsigned second = peek(1);
    if (second == 0x38 || second == 0x3a) {
      result_.map = second == 0x38 ? 2 : 3;
      at_ += 2;
      result_.opcode_at = at_++;
      return finish(second == 0x38 ? M : MB, 0);
    }
    result_.map = 1;
    at_ += 1;
    result_.opcode_at = at_++;
    return finish(kTwoByte[second], second);
  }

  [[nodiscard]] Layout vector(unsigned first) {
    const unsigned map = first == 0xc5 ? 1 : first == 0xc4 ? peek(1) & 31 : peek(1) & 7;
    at_ += first == 0xc5 ? 2 : first == 0xc4 ? 3 : 4;
    const unsigned opcode = peek();
    result_.map = 4 + map;
    result_.opcode_at = at_++;
    if (map == 3) return finish(MB, opcode);
    if (map != 1) return finish(M, opcode);
    const bool evex_modrm = first == 0x62 && kTwoByte[opcode] == N;  // every EVEX instruction has one
    return finish(evex_modrm ? std::uint8_t{M} : kTwoByte[opcode], opcode);
  }

  [[nodiscard]] Layout finish(std::uint8_t operands, unsigned opcode) {
    if (operands == X) return {};
    const bool modrm = operands == M || operands == MB || operands == MZ || operands == G3 || operands == G3Z;
    result_.has_modrm = modrm;
    const bool group3_immediate = modrm && (peek() >> 3 & 7) < 2;
    const bool control_register = result_.map == 1 && opcode >= 0x20 && opcode <= 0x23;
    if (modrm) take_modrm(control_register);
    const unsigned z = result_.operand16 && (result_.rex & 8) == 0 ? 2 : 4;
    switch (operands) {
      case B:
      case MB:
        at_ += 1;
        break;
      case W:
        at_ += 2;
        break;
      case E:
        at_ += 3;
        break;
      case D:
        at_ += 4;
        break;
      case Z:
      case MZ:
        at_ += z;
        break;
      case V:
        at_ += (result_.rex & 8) != 0 ? 8 : z;
        break;
      case A:
        at_ += address32_ ? 4 : 8;
        break;
      case G3:
        at_ += group3_immediate ? 1 : 0;
        break;
      case G3Z:
        at_ += group3_immediate ? z : 0;
        break;
      default:
        break;
    }
    if (at_ > code_.size()) return {};
    result_.length = at_;
    return result_;
  }

  /// Moves of control and debug registers have two registers whatever the ModRM's mode says.
  void take_modrm(bool registers_only) {
    const unsigned modrm = peek();
    const unsigned mod = modrm >> 6;
    const unsigned rm = modrm & 7;
    at_++;
    if (mod == 3 || registers_only) return;
    unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
      if (mod == 0 && (peek() & 7) == 5) displacement = 4;
      at_++;
    } else if (mod == 0 && rm == 5) {
      displacement = 4;
    }
    at_ += displacement;
  }

  std::span<const std::byte> code_;
  unsigned at_ = 0;
  bool address32_ = false;
  Layout result_;
};

}  // namespace

Layout layout(std::span<const std::byte> code) { return Scanner(code).scan(); }

}  // namespace mixstack::unwind::prologue::x86_64
