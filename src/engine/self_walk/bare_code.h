// Rules of images built without unwind information (musl's C library), made from their code ahead of walks.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/unwind/compact_rule.h"
#include "engine/unwind/rule.h"
#include "mixstack/address.h"
#include "mixstack/result.h"

namespace mixstack::self_walk {

/// Evidence: rules have trust `prologue`; check that a call ends at the return address they lead to. Immutable. `rule`
/// and `covers` are signal-safe. Bounded numbers of images and bytes of code, and less than twice as many bytes of
/// rows.
class BareCode {
 public:
  static constexpr std::size_t kMostImages = 8;
  static constexpr std::uint64_t kMostCode = 8u << 20;

  BareCode() = default;
  /// Makes rules for the images loaded now. Reads the files of such images, and uses a file only if its code equals
  /// that in memory.
  [[nodiscard]] static BareCode of_loaded_images();

  [[nodiscard]] bool covers(Address address) const { return image_of(address) != nullptr; }
  /// Errors: `not_found` (no such image there), `no_unwind_info`.
  [[nodiscard]] Result<unwind::UnwindRule> rule(CodeAddress pc) const;

 private:
  struct Row {
    std::uint32_t offset;  ///< from the start of the image's code, to the next row's
    std::uint32_t rule;    ///< in `rules_`
  };
  struct Image {
    AddressRange code;
    std::vector<Row> rows;  ///< ascending
  };
  class Builder;

  [[nodiscard]] const Image* image_of(Address address) const {
    for (const Image& image : images_)
      if (image.code.contains(address)) return &image;
    return nullptr;
  }

  std::vector<Image> images_;
  std::vector<unwind::CompactRule> rules_;  ///< the first one means no rule
};

}  // namespace mixstack::self_walk
