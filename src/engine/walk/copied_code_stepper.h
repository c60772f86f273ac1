// Functions of an image that a runtime copied elsewhere and patched: CoreCLR's write barriers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/images/module_map.h"
#include "engine/unwind/unwind_tables.h"
#include "engine/walk_core/stepper.h"
#include "mixstack/target.h"

namespace mixstack::walk {

/// Claims code outside of images if its bytes equal a whole function of a given image, up to 64-bit immediates (by
/// which such code is patched). The frame is described as the original, and unwound by the original's CFI. Searches a
/// page and its surroundings once, at the first pc there. Not thread-safe.
class CopiedCodeStepper final : public FrameStepper {
 public:
  /// `originals`: modules whose code may have been copied; regions ascending. `rights_may_be_lost`: code may be in
  /// memory that is not executable, as in cores of createdump, which merges adjacent mappings into one segment with the
  /// rights of the first. `pac_mask`: bits of a return address used by authentication. Borrows map, regions and memory.
  CopiedCodeStepper(const images::ModuleMap& modules, std::vector<ModuleIndex> originals,
                    std::span<const Region> regions, bool rights_may_be_lost, const MemoryReader& code,
                    std::shared_ptr<unwind::UnwindTables> tables, std::uint64_t pac_mask);

  [[nodiscard]] std::string_view name() const override { return "copied code"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  struct Copy {
    AddressRange range;        ///< of the copy
    std::size_t original = 0;  ///< index in originals_
    std::uint64_t link_address = 0;
  };
  struct Original {
    ModuleIndex module = kNoModule;
    std::shared_ptr<const images::ElfImage> image;
    std::shared_ptr<const unwind::UnwindTable> table;
    std::unordered_multimap<std::uint64_t, std::uint64_t> by_head;  ///< first eight bytes -> function starts
  };

  [[nodiscard]] const Region* region_of(Address pc) const;
  [[nodiscard]] const std::vector<Copy>& copies_near(Address pc, const Region& region);
  void load_originals();
  void match_at(std::size_t original, Address base, std::span<const std::byte> bytes, std::size_t at,
                std::vector<Copy>& out) const;

  const images::ModuleMap& modules_;
  std::vector<ModuleIndex> candidates_;
  std::span<const Region> regions_;
  bool rights_may_be_lost_;
  const MemoryReader& code_;
  std::shared_ptr<unwind::UnwindTables> tables_;
  std::uint64_t pac_mask_;
  std::vector<Original> originals_;
  std::unordered_map<Address, std::vector<Copy>> copies_;  ///< by page
};

/// Whether `copy` is `original` up to the immediates of `movabs` instructions. Exposed for its test.
[[nodiscard]] bool equal_up_to_immediates(std::span<const std::byte> original, std::span<const std::byte> copy);

}  // namespace mixstack::walk
