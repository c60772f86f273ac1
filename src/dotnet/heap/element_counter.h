// Contents of strings, arrays and lists of a heap: duplicates, empty ones, zeros at ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dotnet/heap/loaded_types.h"
#include "dotnet/heap/object_sizes.h"
#include "mixstack/heap_elements.h"

namespace mixstack::dotnet::objects {

/// Strings of one text.
struct TextSum {
  std::uint64_t hash = 0;  ///< of text and length; 0: an empty place in a table
  std::uint32_t count = 0;
  std::uint32_t length = 0;  ///< UTF-16 units
};

/// Those of one region; without duplicates, which are found when all regions are together.
struct ElementSums {
  HeapElements amounts;
  std::vector<TextSum> texts;  ///< those whose hash begins with `shift` zero bits
  unsigned shift = 0;
  struct Text {
    std::uint64_t hash = 0;
    std::string utf8;
  };
  std::vector<Text> kept;  ///< the largest of them, cut; with `data` alone
};

/// A region, object by object: texts are known by a hash of 64 bits. Where there are too many different ones, only
/// those with so many zero bits at the begin of their hash are kept from then on: one in 2, 4, 8 ... Borrows the sizes.
class ElementCounter {
 public:
  static constexpr std::size_t kMostOfRegion = 1 << 20, kMostOfAll = 1 << 21, kMostKept = 16, kMostText = 100;

  /// `types` tell which are lists; may be null. `most_texts`: in place of kMostOfAll, where there is little memory.
  ElementCounter(const ObjectSizes& sizes, LoadedTypes* types, Address string, bool data,
                 std::size_t most_texts = kMostOfAll)
      : sizes_(sizes), types_(types), string_(string), data_(data), most_texts_(std::min(most_texts, kMostOfAll)) {}

  void begin(bool is_large);
  /// Whether more than an object's first 16 bytes are wanted of it.
  [[nodiscard]] bool wants_all(std::uint32_t type, std::uint64_t size) {
    return !is_large_ && kind(type) != Kind::other && size <= kMostBytes;
  }
  /// `bytes`: of the object, from its MethodTable on; fewer than `size`: what it holds cannot be seen.
  void take(std::uint32_t type, std::uint32_t length, std::uint64_t size, std::span<const std::byte> bytes);
  [[nodiscard]] std::shared_ptr<const ElementSums> end();

 private:
  enum class Kind : std::uint8_t { unknown, other, string, array, list };
  static constexpr std::uint64_t kMostBytes = 128 << 10;  ///< of an object that is looked into

  [[nodiscard]] Kind kind(std::uint32_t type) {
    if (type < kinds_.size() && kinds_[type] != Kind::unknown) return kinds_[type];
    return find_kind(type);
  }
  [[nodiscard]] Kind find_kind(std::uint32_t type);
  [[nodiscard]] bool is_sampled(std::uint64_t hash) const { return shift_ == 0 || hash >> (64 - shift_) == 0; }
  void take_string(std::uint32_t length, std::uint64_t size, std::span<const std::byte> bytes);
  void take_array(std::uint32_t type, std::uint32_t length, std::uint64_t size, std::span<const std::byte> bytes);
  void take_list(std::uint64_t size, std::span<const std::byte> bytes);
  [[nodiscard]] TextSum& place_of(std::uint64_t hash);
  void rebuild(std::size_t size);
  void note_text(const TextSum& text, std::span<const std::byte> units);

  const ObjectSizes& sizes_;
  LoadedTypes* types_;
  Address string_;
  bool data_;
  std::size_t most_texts_;
  std::vector<Kind> kinds_;  ///< by number of type
  std::uint32_t list_size_at_ = 0;
  unsigned shift_ = 0;
  std::size_t given_ = 0;  ///< texts of regions that have ended, less what a larger shift leaves of them
  // The region:
  bool is_large_ = false;
  ElementSums sums_;
  std::vector<TextSum> table_;  ///< by hash
  std::size_t used_ = 0;
  std::uint64_t least_kept_ = 0;  ///< what the least of the kept texts takes, or took: it grows only
};

/// All regions together.
[[nodiscard]] HeapElements elements_of(std::span<const std::shared_ptr<const ElementSums>> regions);

}  // namespace mixstack::dotnet::objects
