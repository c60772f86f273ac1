// A fuzzer's bytes as a list of damages to a core.
#pragma once

#include "base/system/byte_cursor.h"
#include "core_anatomy.h"

namespace mixstack::fuzz {

/// Eleven bytes a patch: what kind, where, and with which value. Every list of bytes is a list of patches.
class CorePatcher {
 public:
  static constexpr std::size_t kMaxPatches = 64;

  CorePatcher(CoreOverlay& core, const CoreAnatomy& anatomy) : core_(core), anatomy_(anatomy) {}

  void apply(std::span<const std::byte> bytes) {
    base::ByteCursor c(bytes);
    for (std::size_t i = 0; i < kMaxPatches && c.remaining() >= 11; i++) {
      const std::uint8_t kind = c.u8();
      place_ = c.u32();
      const std::uint8_t how = c.u8();
      number_ = c.u32();
      how_ = how;
      extra_ = c.u8();
      apply_one(kind);
    }
    core_.apply_cut();
  }

 private:
  void apply_one(std::uint8_t kind) {
    switch (kind % 16) {
      case 0:
        return flip(place_ % 64);  // the ELF header
      case 1:
        return header_field();
      case 2:
        return swap_headers();
      case 3:
        return in_notes([this](std::uint64_t at) { flip(at); });
      case 4:
        return in_notes(
            [this](std::uint64_t at) { core_.put(at & ~std::uint64_t{3}, static_cast<std::uint32_t>(value(0))); });
      case 5:
        return set_register();
      case 6:
        return cut();
      case 7:
      case 8:
        return stack_word();
      case 9:
        return json();
      case 10:
        return copy_page();
      case 11:
      case 12:
        return set_one_of(anatomy_.scalars);
      case 13:
        return in_pages();
      default:
        return set_one_of(anatomy_.pointers);
    }
  }

  [[nodiscard]] std::uint64_t pick(const std::vector<std::uint64_t>& list, std::uint64_t by) const {
    return list.empty() ? 0 : list[by % list.size()];
  }
  void flip(std::uint64_t offset) {
    std::array<std::byte, 1> byte{};
    core_.read(offset, byte);
    byte[0] ^= static_cast<std::byte>(extra_ == 0 ? 0xff : extra_);
    core_.patch(offset, byte);
  }

  /// What tends to hurt: pointers to elsewhere, to itself and beside, sizes at the ends of types.
  [[nodiscard]] std::uint64_t value(std::uint64_t offset) const {
    const std::uint64_t old = offset == 0 ? 0 : core_.word(offset);
    switch (how_ % 12) {
      case 0:
        return number_;
      case 1:
        return old + static_cast<std::uint64_t>(static_cast<std::int8_t>(extra_));
      case 2:
        return old ^ std::uint64_t{1} << extra_ % 64;
      case 3:
        return std::uint64_t{1} << extra_ % 64;
      case 4:
        return (std::uint64_t{1} << extra_ % 64) - 1;
      case 5:
        return 0 - std::uint64_t{extra_};
      case 6:
        return address_of(offset) + 8 * std::uint64_t{extra_ % 8U};
      case 7:
        return anatomy_.segments.empty() ? 0
                                         : anatomy_.segments[number_ % anatomy_.segments.size()].range.begin + extra_;
      case 8:
        return anatomy_.segments.empty() ? 0 : anatomy_.segments[number_ % anatomy_.segments.size()].range.end - extra_;
      case 9:
        return old + (std::uint64_t{number_} << 12);
      case 10:
        return core_.word(pick(anatomy_.scalars, number_));
      default:
        return core_.word(pick(anatomy_.pointers, number_));  // of the right kind more often than one would think
    }
  }
  [[nodiscard]] std::uint64_t address_of(std::uint64_t offset) const {
    for (const auto& s : anatomy_.segments)
      if (offset >= s.file_offset && offset - s.file_offset < s.dumped) return s.range.begin + (offset - s.file_offset);
    return offset;
  }

  void header_field() {
    if (anatomy_.header_count == 0) return;
    const std::uint64_t at = anatomy_.headers + place_ / 8 % anatomy_.header_count * 56 + place_ % 7 * 8;
    core_.put(at, value(at));
  }
  void swap_headers() {
    if (anatomy_.header_count == 0) return;
    // From the second word on: type and permissions stay, the rest changes places.
    const std::uint64_t a = anatomy_.headers + place_ % anatomy_.header_count * 56 + (extra_ % 2U) * 16;
    const std::uint64_t b = anatomy_.headers + number_ % anatomy_.header_count * 56 + (extra_ % 2U) * 16;
    std::array<std::byte, 40> first{}, second{};
    core_.read(a, first);
    core_.read(b, second);
    core_.patch(a, second);
    core_.patch(b, first);
  }
  template <class F>
  void in_notes(const F& then) {
    if (anatomy_.notes.empty()) return;
    const AddressRange& notes = anatomy_.notes[how_ % anatomy_.notes.size()];
    if (!notes.empty()) then(notes.begin + place_ % notes.size());
  }
  void set_register() {
    const std::uint64_t registers = pick(anatomy_.thread_notes, place_);
    const std::uint64_t at = registers + place_ / 256 % 34 * 8;
    if (registers != 0) core_.put(at, value(at));
  }
  void cut() {
    if (how_ % 4 != 0) return in_pages();  // restoring costs more than other damages
    core_.cut(extra_ % 2 == 0 ? core_.size() * (place_ % 1024) / 1024 : place_ % 65536);
  }
  void stack_word() {
    const std::uint64_t sp = pick(anatomy_.stacks, place_);
    const std::uint64_t at = sp + place_ / 256 % 1024 * 8;
    if (sp != 0) core_.put(at, value(at));
  }
  void json() {
    if (anatomy_.json.empty()) return flip(pick(anatomy_.pages, number_) + place_ % 4096);
    const std::uint64_t at = anatomy_.json.begin + place_ % anatomy_.json.size();
    if (how_ % 2 == 0) return flip(at);
    core_.put(at, "{}[],:\"0123456789-\\"[number_ % 19]);
  }
  void copy_page() {
    std::array<std::byte, 4096> page{};
    const std::size_t size = 8U << how_ % 10;
    if (extra_ % 4 != 0) core_.read(pick(anatomy_.pages, number_), page);
    core_.patch(pick(anatomy_.pages, place_) + place_ / 65536 % 512 * 8, std::span(page).first(size));
  }
  void in_pages() {
    const std::uint64_t at = pick(anatomy_.pages, number_) + place_ % 512 * 8;
    core_.put(at, value(at));
  }
  void set_one_of(const std::vector<std::uint64_t>& places) {
    const std::uint64_t at = pick(places, place_);
    if (at != 0) core_.put(at, value(at));
  }

  CoreOverlay& core_;
  const CoreAnatomy& anatomy_;
  std::uint32_t place_ = 0, number_ = 0;
  std::uint8_t how_ = 0, extra_ = 0;
};

}  // namespace mixstack::fuzz
