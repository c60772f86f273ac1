// From a list of mappings to a list of images (ModuleMap::build).
#pragma once

#include <set>
#include <tuple>

#include "engine/images/module_map.h"

namespace mixstack::images {

/// A module and the headers it was recognised by.
struct FoundModule {
  Module module;
  ImageHead head;
  std::vector<AddressRange> ranges;  ///< all its mappings, ascending
};

/// Recognises images among mappings. Single use; borrows everything.
class ModuleFinder {
 public:
  /// `regions` in ascending order of address.
  ModuleFinder(std::span<const Region> regions, const MemoryReader& memory, const ModuleMap::FileOpener& opener);
  /// In ascending order of address.
  [[nodiscard]] std::vector<FoundModule> find();

 private:
  /// An image whose place is known: where its mappings are looked for and what they must show.
  struct Claim {
    std::size_t first = 0;          // index of its lowest mapping
    std::uint64_t file_offset = 0;  // of the image's first byte in the file that is mapped
    ImageHead head;
  };

  [[nodiscard]] bool may_hold_header(std::size_t i) const;
  [[nodiscard]] bool belongs(std::size_t i, const Claim& claim) const;
  [[nodiscard]] bool fits_a_segment(const Region& r, const Claim& claim) const;
  [[nodiscard]] bool same_file(const Region& a, const Region& b) const;
  void take(Claim claim);
  void take_without_header(std::size_t i);
  [[nodiscard]] bool take_embedded(std::size_t i);
  [[nodiscard]] bool take_by_file(std::size_t i);

  std::span<const Region> regions_;
  const MemoryReader& memory_;
  const ModuleMap::FileOpener& opener_;
  std::vector<bool> claimed_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> executable_files_;
  std::vector<FoundModule> found_;
  static constexpr std::size_t kMaxProbes = 16384;     // Linux maps 65,530 regions at most; images are some hundred
  mutable std::size_t budget_ = std::size_t{1} << 24;  // comparisons left: forged headers may claim all memory
};

}  // namespace mixstack::images
