// Which instructions write to rsp, though not as prologues and epilogues do. Source: Intel SDM volume 2, the operand
// that each instruction names as its destination. Compilers emit next to none of them for rsp; code that was written by
// hand does, and a frame by an old rsp would be a wrong one.
#include "engine/unwind/prologue/x86_64/instruction.h"

namespace mixstack::unwind::prologue::x86_64 {
namespace {

constexpr unsigned kRsp = 4;

class Destination {
 public:
  Destination(std::span<const std::byte> code, const Layout& where) : code_(code), where_(where) {
    opcode = at(where.opcode_at);
    if (where.has_modrm) modrm = at(where.opcode_at + 1);
  }
  unsigned opcode = 0, modrm = 0;

  [[nodiscard]] unsigned group() const { return modrm >> 3 & 7; }
  [[nodiscard]] bool reg_is_rsp() const { return where_.has_modrm && (where_.rex & 4) == 0 && group() == kRsp; }
  [[nodiscard]] bool rm_is_rsp() const {
    return where_.has_modrm && modrm >> 6 == 3 && (where_.rex & 1) == 0 && (modrm & 7) == kRsp;
  }
  /// The register that the opcode's last three bits name.
  [[nodiscard]] bool own_is_rsp() const { return (where_.rex & 1) == 0 && (opcode & 7) == kRsp; }
  /// In instructions on bytes, the number of rsp means spl only with a REX prefix.
  [[nodiscard]] bool has_spl() const { return where_.rex != 0; }
  [[nodiscard]] bool has_prefix(unsigned prefix) const {
    for (unsigned i = 0; i < where_.opcode_at; i++)
      if (at(i) == prefix) return true;
    return false;
  }

 private:
  [[nodiscard]] unsigned at(unsigned i) const { return i < code_.size() ? std::to_integer<unsigned>(code_[i]) : 0; }

  std::span<const std::byte> code_;
  const Layout& where_;
};

bool one_byte(const Destination& o) {
  const unsigned op = o.opcode;
  if (op < 0x40 && (op & 7) < 4) {  // arithmetic; 38 to 3b compare
    const bool is_wide = (op & 1) != 0;
    return op < 0x38 && (is_wide || o.has_spl()) && ((op & 2) == 0 ? o.rm_is_rsp() : o.reg_is_rsp());
  }
  if (op >= 0x91 && op <= 0x97) return o.own_is_rsp();                 // xchg with rax
  if (op >= 0xb0 && op <= 0xb7) return o.has_spl() && o.own_is_rsp();  // mov of a constant
  if (op >= 0xb8 && op <= 0xbf) return o.own_is_rsp();
  switch (op) {
    case 0x63:  // movsxd
    case 0x69:  // imul
    case 0x6b:
      return o.reg_is_rsp();
    case 0x80:
      return o.has_spl() && o.group() != 7 && o.rm_is_rsp();
    case 0x86:
      return o.has_spl() && (o.rm_is_rsp() || o.reg_is_rsp());
    case 0x87:
      return o.rm_is_rsp() || o.reg_is_rsp();
    case 0x88:
    case 0xc0:
    case 0xc6:
    case 0xd0:
    case 0xd2:
      return o.has_spl() && o.rm_is_rsp();
    case 0x8a:
      return o.has_spl() && o.reg_is_rsp();
    case 0x8c:  // mov of a segment
    case 0xc1:  // shifts
    case 0xc7:  // mov of a constant
    case 0xd1:
    case 0xd3:
      return o.rm_is_rsp();
    case 0xf6:
    case 0xf7:  // not, neg
      return (op == 0xf7 || o.has_spl()) && (o.group() == 2 || o.group() == 3) && o.rm_is_rsp();
    case 0xfe:
    case 0xff:  // inc, dec
      return (op == 0xff || o.has_spl()) && o.group() < 2 && o.rm_is_rsp();
    default:
      return false;
  }
}

bool two_bytes(const Destination& o) {
  const unsigned op = o.opcode;
  if (op >= 0x40 && op <= 0x4f) return o.reg_is_rsp();                // cmov
  if (op >= 0x90 && op <= 0x9f) return o.has_spl() && o.rm_is_rsp();  // set
  if (op >= 0xc8 && op <= 0xcf) return o.own_is_rsp();                // bswap
  const bool is_scalar = o.has_prefix(0xf3) || o.has_prefix(0xf2);
  switch (op) {
    case 0x02:  // lar, lsl
    case 0x03:
    case 0x50:  // movmsk
    case 0xaf:  // imul
    case 0xb6:  // movzx, movsx
    case 0xb7:
    case 0xb8:  // popcnt, bsf, bsr and their like
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf:
    case 0xc5:  // pextrw
    case 0xd7:  // pmovmskb
      return o.reg_is_rsp();
    case 0x2c:  // cvt of a scalar to an integer
    case 0x2d:
      return is_scalar && o.reg_is_rsp();
    case 0x7e:  // movd, movq; with F3 between vectors
      return !is_scalar && o.rm_is_rsp();
    case 0x00:  // sldt, str
      return o.group() < 2 && o.rm_is_rsp();
    case 0x01:  // smsw
      return o.group() == 4 && o.rm_is_rsp();
    case 0x1e:  // rdssp
    case 0xae:  // rdfsbase, rdgsbase
      return o.has_prefix(0xf3) && o.group() < 2 && o.rm_is_rsp();
    case 0x20:  // mov of control and debug registers, whatever the mode says
    case 0x21:
    case 0xa4:  // shld, shrd
    case 0xa5:
    case 0xac:
    case 0xad:
    case 0xab:  // bts, btr, btc
    case 0xb3:
    case 0xbb:
    case 0xb1:  // cmpxchg
      return o.rm_is_rsp();
    case 0xba:
      return o.group() > 4 && o.rm_is_rsp();
    case 0xb0:
      return o.has_spl() && o.rm_is_rsp();
    case 0xc0:  // xadd
      return o.has_spl() && (o.rm_is_rsp() || o.reg_is_rsp());
    case 0xc1:
      return o.rm_is_rsp() || o.reg_is_rsp();
    case 0xc7:  // rdrand, rdseed, rdpid
      return o.group() > 5 && o.rm_is_rsp();
    default:
      return false;
  }
}

}  // namespace

bool writes_rsp(std::span<const std::byte> code, const Layout& where) {
  const Destination named(code, where);
  return where.map == 0 ? one_byte(named) : where.map == 1 && two_bytes(named);
}

}  // namespace mixstack::unwind::prologue::x86_64
