// The images loaded in a process: the image of an address, and its description.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/images/image_cache.h"
#include "engine/images/module_probe.h"
#include "engine/images/range_index.h"
#include "mixstack/frame.h"

namespace mixstack::images {

/// One image with executable mappings. "File-backed" does not mean ELF: .NET maps PE images, and parts of a
/// single-file program that are no image of their own.
struct Module {
  std::string path;  ///< as the target sees it; "[vdso]"; empty for images without a file
  ModuleKind kind = ModuleKind::other;
  /// ELF: target address minus link-time address. PE: address of its first byte. Other: target address minus file
  /// offset. So `address - load_bias` is what identifies a place in the image across processes.
  Address load_bias = 0;
  AddressRange range;                    ///< from the first to the last mapping; others may lie in its gaps
  std::vector<AddressRange> executable;  ///< ascending
  Region header;                         ///< its lowest mapping, which is given to the opener
  std::uint64_t file_offset = 0;         ///< of the image in that file: not 0 for libraries inside an archive
  bool deleted = false;
  bool has_file = false;  ///< false: vDSO, anonymous memory

  /// The address in the image's own terms (`Frame::module_offset`).
  [[nodiscard]] std::uint64_t link_address(Address address) const { return address - load_bias; }
};

/// Built once per list of mappings; immutable but for images and build ids, which are read when first asked for.
/// Thread-safe as far as the reader and the opener are. Module numbers are in ascending order of address.
class ModuleMap {
 public:
  /// Opens the file behind a mapping (`Target::open_file`).
  using FileOpener = std::function<Result<std::shared_ptr<const FileBytes>>(const Region&)>;

  ModuleMap() = default;
  /// The meaning of a difference between the opener's file and memory.
  enum class FileTrust : std::uint8_t {
    may_differ,     ///< a file of the same path: it counts only if memory says the same
    is_the_mapped,  ///< the very file: it counts even if memory says otherwise by now (the library was unloaded)
  };
  /// Reads one header per image. `memory` is borrowed and must outlive the map; `cache` may be null.
  [[nodiscard]] static ModuleMap build(std::span<const Region> regions, const MemoryReader& memory, FileOpener opener,
                                       std::shared_ptr<ImageCache> cache = nullptr,
                                       FileTrust trust = FileTrust::may_differ);

  [[nodiscard]] std::span<const Module> modules() const { return modules_; }
  /// The image whose mappings hold `address`, or kNoModule. A few nanoseconds; callers keep their last hit.
  [[nodiscard]] ModuleIndex find(Address address) const { return index_.find(address); }
  /// Whether `address` lies in any executable mapping, of an image or not (JIT code, stubs).
  [[nodiscard]] bool is_executable(Address address) const { return executable_.find(address) != RangeIndex::kNone; }

  /// The image from its file, or from memory where the file cannot be opened or is no longer the mapped one. Kept, also
  /// when it failed. `unsupported` for modules that are not ELF, `invalid_argument` beyond the list.
  [[nodiscard]] Result<std::shared_ptr<const ElfImage>> image(ModuleIndex index) const;
  /// Empty when there is none. Read from memory; opens no file unless memory does not hold the notes.
  [[nodiscard]] BuildId build_id(ModuleIndex index) const;

 private:
  struct Lazy;  // parts that are read when first asked for, one per module

  [[nodiscard]] Result<std::shared_ptr<const ElfImage>> open_image(ModuleIndex index) const;
  [[nodiscard]] Result<std::shared_ptr<const ElfImage>> open_from_file(ModuleIndex index) const;
  [[nodiscard]] Result<std::shared_ptr<const ElfImage>> open_in_spite_of_memory(
      ModuleIndex index, const std::shared_ptr<const FileBytes>& file) const;

  std::vector<Module> modules_;
  std::vector<std::shared_ptr<Lazy>> lazy_;
  RangeIndex index_, executable_;
  const MemoryReader* memory_ = nullptr;
  FileOpener opener_;
  std::shared_ptr<ImageCache> cache_;
  FileTrust trust_ = FileTrust::may_differ;
};

}  // namespace mixstack::images
