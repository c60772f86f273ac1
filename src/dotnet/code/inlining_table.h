// The inlining that a precompiled image records: methods that its compiler put into others.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::dotnet {

/// The section CrossModuleInlineInfo of an image of one assembly: for each inlined method, the methods it was put into.
/// Methods are rows of MethodDef, whatever they were compiled for. Only pairs within the image's own module are kept.
/// Plain data.
/// Sources: docs/design/coreclr/botr/readytorun-format.md; InliningInfoNode of crossgen2; CrossModuleInlineTrackingMap
/// in src/coreclr/vm/inlinetracking.h; NativeHashtable in src/coreclr/inc/nativeformatreader.h.
class InliningTable {
 public:
  static constexpr std::uint32_t kMaxSection = 16u << 20;  ///< bytes; that of the largest assembly has 180,000

  /// `has_modules`: the image's flags say that other assemblies may change only together with it. Errors: `truncated`,
  /// `malformed`, `limit_exceeded`.
  [[nodiscard]] static Result<InliningTable> decode(std::span<const std::byte> section, bool has_modules);

  /// Whether code of `inlinee` is in the code of `inliner`, compiled for whatever arguments.
  [[nodiscard]] bool holds(std::uint32_t inlinee, std::uint32_t inliner) const;
  struct Pair {
    std::uint32_t inliner = 0, inlinee = 0;
    friend auto operator<=>(const Pair&, const Pair&) = default;  // NOLINT(modernize-use-nullptr): its 0
  };
  /// All that is in the code of a method, ascending.
  [[nodiscard]] std::span<const Pair> into(std::uint32_t inliner) const;

 private:
  std::vector<Pair> pairs_;  // ascending
};

}  // namespace mixstack::dotnet
