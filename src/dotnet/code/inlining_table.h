// The inlining that a precompiled image records: methods that its compiler put into others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::dotnet {

/// The section CrossModuleInlineInfo of an image of one assembly: for each inlined method, the methods it was put into.
/// Methods are rows of MethodDef, whatever they were compiled for. Only pairs within the image's own module are kept.
/// Plain data, laid out by inliner: a look asks for few of them, and for all that is in each.
/// Sources: docs/design/coreclr/botr/readytorun-format.md; InliningInfoNode of crossgen2; CrossModuleInlineTrackingMap
/// in src/coreclr/vm/inlinetracking.h; NativeHashtable in src/coreclr/inc/nativeformatreader.h.
class InliningTable {
 public:
  static constexpr std::uint32_t kMaxSection = 16u << 20;  ///< bytes; that of the largest assembly has 180,000
  static constexpr std::uint32_t kMaxRows = 1u << 20;      ///< of inliners; the largest assembly has 45,000 methods

  /// `has_modules`: the image's flags say that other assemblies may change only together with it. Errors: `truncated`,
  /// `malformed`, `limit_exceeded`.
  [[nodiscard]] static Result<InliningTable> decode(std::span<const std::byte> section, bool has_modules);

  /// Whether code of `inlinee` is in the code of `inliner`, compiled for whatever arguments.
  [[nodiscard]] bool holds(std::uint32_t inlinee, std::uint32_t inliner) const;
  /// Rows of all that is in the code of a method, in no order; one may stand there twice.
  [[nodiscard]] std::span<const std::uint32_t> into(std::uint32_t inliner) const;

 private:
  std::vector<std::uint32_t> begins_;    // by row of the inliner, and one more: where its rows begin below
  std::vector<std::uint32_t> inlinees_;  // rows
};

}  // namespace mixstack::dotnet
