// Packed ARM64 unwind words, expanded to the codes they abbreviate.
#include <algorithm>
#include <initializer_list>

#include "engine/unwind/windows/arm64/unwind_info.h"

namespace mixstack::unwind::windows::arm64 {
namespace {

struct Packed {
  explicit Packed(std::uint32_t w)
      : length(w >> 2 & 0x7ff),
        reg_f(w >> 13 & 7),
        reg_i(w >> 16 & 15),
        homes(w >> 20 & 1),
        cr(w >> 21 & 3),
        frame_slots((w >> 23) * 2) {}
  [[nodiscard]] bool saves_lr() const { return cr == 1; }
  [[nodiscard]] bool is_chained() const { return cr >= 2; }  // saves <fp, lr> and sets fp
  std::uint32_t length, reg_f, reg_i, homes, cr;
  std::uint32_t frame_slots;  // 8 bytes each
};

/// Collects codes in the order of the prologue; records list them backwards.
class Emitter {
 public:
  void emit(std::initializer_list<unsigned> bytes) {
    if (count_ == codes_.size()) return;
    Code& c = codes_[count_++];
    for (unsigned b : bytes) c.bytes[c.size++] = static_cast<std::byte>(b);
  }
  void alloc(std::uint32_t slots) {
    const std::uint32_t units = slots / 2;  // 16 bytes each; the format has no room for more than 11 bits
    if (units < 32) {
      emit({units});
    } else {
      emit({0xc0 | (units >> 8 & 7), units & 0xff});
    }
  }
  /// Two-byte codes with a register and a slot: `op` holds the fixed bits of the 16-bit code.
  void save(unsigned op, std::uint32_t reg, unsigned reg_shift, std::uint32_t z) {
    const unsigned code = op | reg << reg_shift | z;
    emit({code >> 8, code & 0xff});
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Appends the codes to `info`, last first, leaving out those at [skip, skip + skipped).
  void append_reversed(UnwindInfo& info, std::size_t skip, std::size_t skipped) const {
    for (std::size_t i = count_; i-- > 0;) {
      if (i >= skip && i < skip + skipped) continue;
      for (std::size_t b = 0; b < codes_[i].size; b++) info.codes[info.code_size++] = codes_[i].bytes[b];
    }
  }

 private:
  struct Code {
    std::array<std::byte, 2> bytes{};
    std::size_t size = 0;
  };
  std::array<Code, 32> codes_{};
  std::size_t count_ = 0;
};

/// The area of saved registers: the first save makes room for all of it.
class SaveArea {
 public:
  SaveArea(Emitter& out, std::uint32_t slots) : out_(out), slots_(slots) {}
  void allocate() {
    out_.alloc(slots_);
    allocated_ = true;
  }
  /// `op` and `op_x` are the codes without and with pre-decrement.
  void save(unsigned op, unsigned op_x, std::uint32_t reg, unsigned shift, unsigned shift_x, std::uint32_t registers) {
    if (allocated_) {
      out_.save(op, reg, shift, slot_);
    } else {
      out_.save(op_x, reg, shift_x, slots_ - 1);
      allocated_ = true;
    }
    slot_ += registers;
  }
  [[nodiscard]] bool is_allocated() const { return allocated_; }

 private:
  Emitter& out_;
  std::uint32_t slots_;
  std::uint32_t slot_ = 0;
  bool allocated_ = false;
};

constexpr std::uint32_t kLr = 11;  // lr as a distance from x19

void save_integers(const Packed& p, SaveArea& area) {
  if (p.reg_i == 1 && p.saves_lr()) area.allocate();  // there is no save_lrpair with pre-decrement
  std::uint32_t reg = 0;
  for (; reg + 1 < p.reg_i; reg += 2) area.save(0xc800, 0xcc00, reg, 6, 6, 2);
  if (p.reg_i % 2 != 0) {
    if (p.saves_lr()) {
      area.save(0xd600, 0xd600, reg / 2, 6, 6, 2);
    } else {
      area.save(0xd000, 0xd400, reg, 6, 5, 1);
    }
  } else if (p.saves_lr()) {
    area.save(0xd000, 0xd400, kLr, 6, 5, 1);
  }
}

void save_floats(const Packed& p, SaveArea& area) {
  if (p.reg_f == 0) return;
  const std::uint32_t count = p.reg_f + 1;
  std::uint32_t reg = 0;
  for (; reg + 1 < count; reg += 2) area.save(0xd800, 0xda00, reg, 6, 6, 2);
  if (count % 2 != 0) area.save(0xdc00, 0xde00, reg, 6, 5, 1);
}

/// Locals and the frame record. A frame above 4080 bytes takes two subtractions.
void allocate_locals(const Packed& p, std::uint32_t slots, Emitter& out) {
  if (slots == 0) return;
  if (p.is_chained() && slots <= 64) {
    out.emit({0x80 | (slots - 1)});  // save_fplr_x
  } else {
    constexpr std::uint32_t kLargest = 4080 / 8;
    if (slots > kLargest) out.alloc(kLargest);
    out.alloc(slots > kLargest ? slots - kLargest : slots);
    if (p.is_chained()) out.emit({0x40});  // save_fplr at sp
  }
  if (p.is_chained()) out.emit({0xe1});  // set_fp
}

}  // namespace

void UnwindInfo::expand(std::uint32_t word) {
  const Packed p(word);
  const bool fragment = (word & 3) == static_cast<std::uint32_t>(RowKind::packed_fragment);
  const std::uint32_t integers = p.reg_i + (p.saves_lr() ? 1 : 0);
  const std::uint32_t floats = p.reg_f != 0 ? p.reg_f + 1 : 0;
  std::uint32_t area_slots = integers + floats;
  // Without saved registers the homes of arguments lie among the locals and need no code of their own.
  if (area_slots != 0) area_slots += p.homes * 8;
  area_slots = (area_slots + 1) & ~1u;
  // A save area larger than the frame contradicts itself; CoreCLR then makes no room for locals either.
  const std::uint32_t local_slots = p.frame_slots > area_slots ? p.frame_slots - area_slots : 0;

  Emitter out;
  out.emit({0xe4});
  if (p.cr == 2) out.emit({0xfc});  // pac_sign_lr
  SaveArea area(out, area_slots);
  save_integers(p, area);
  save_floats(p, area);
  const std::size_t first_home = out.count();
  const bool has_homes = p.homes != 0 && area.is_allocated();
  for (unsigned i = 0; has_homes && i < 4; i++) out.emit({0xe3});
  allocate_locals(p, local_slots, out);
  if (fragment) out.emit({0xe5});

  length = p.length;
  scope_count = 0;
  scopes_rva = 0;
  code_size = 0;
  single_epilogue = !fragment;
  epilogue_index = 0;
  out.append_reversed(*this, 0, 0);
  // The epilogue mirrors the prologue, but neither resets fp nor loads argument homes.
  if (single_epilogue && has_homes) {
    epilogue_index = code_size;
    out.append_reversed(*this, first_home, 4);
  }
  if (single_epilogue && p.is_chained() && local_slots != 0) epilogue_index += 1;
}

}  // namespace mixstack::unwind::windows::arm64
