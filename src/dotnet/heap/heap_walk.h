// Counts the objects of a region by type.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dotnet/heap/element_counter.h"
#include "dotnet/heap/gc_regions.h"
#include "dotnet/heap/object_sizes.h"

namespace mixstack::dotnet::objects {

struct TypeSum {
  std::uint32_t type = 0;  ///< number in ObjectSizes
  std::uint64_t count = 0, bytes = 0;
};

/// The objects of one region.
struct RegionCount {
  /// How the walk ended: a walk that is `whole` has met valid types only and ended exactly where the region does.
  enum class End : std::uint8_t { whole, unreadable, no_type, beyond };
  End end = End::whole;
  Address at = 0;  ///< where, if not whole
  std::vector<TypeSum> sums;
  std::shared_ptr<const ElementSums> elements;  ///< null: not asked for
};

/// The bytes at an address: as many as there are at hand, at least 16, at most `most`; fewer: they cannot be read.
/// Valid until the next call.
using HeapBytes = std::function<std::span<const std::byte>(Address at, std::uint64_t most)>;

/// Told of every object of a walk, gaps included, in order: its address, the number of its type, its size.
using ObjectObserver = std::function<void(Address object, std::uint32_t type, std::uint64_t size)>;

/// Walks regions one after the other. Borrows the sizes. Not thread-safe.
class HeapWalk {
 public:
  explicit HeapWalk(ObjectSizes& sizes) : sizes_(sizes) {}

  /// `contexts`: all of them, by address. An object that its thread is just making ends at the thread's pointer: it is
  /// left out, as if it came a moment later.
  [[nodiscard]] RegionCount count(const GcRegion& region, std::span<const AllocationContext> contexts,
                                  const HeapBytes& bytes);
  /// From now on elements are counted, too; null: no longer. Borrows it.
  void watch(ElementCounter* elements) { elements_ = elements; }
  /// In walks from now on; empty: nobody.
  void tell(ObjectObserver observer) { observer_ = std::move(observer); }

 private:
  /// The words of an object's header.
  struct Header {
    std::uint64_t word = 0;
    std::uint32_t length = 0;
  };
  /// Types that were met lately, by the first word of their objects.
  class Recent {
   public:
    struct Type {
      std::uint64_t word = 0;  ///< 0: none
      std::uint32_t base = 0, component = 0, number = 0;
      bool is_plain = false;  ///< nobody wants to look into its objects
      [[nodiscard]] std::uint64_t size(std::uint32_t length) const {
        return (base + std::uint64_t{component} * length + 7) & ~std::uint64_t{7};
      }
    };
    [[nodiscard]] Type& at(std::uint64_t word) { return types_[(word >> 3) * 0x9e3779b97f4a7c15u >> (64 - kBits)]; }

   private:
    static constexpr unsigned kBits = 7;
    std::array<Type, 1 << kBits> types_{};
  };
  void begin(const GcRegion& region, std::span<const AllocationContext> contexts);
  [[nodiscard]] std::optional<Header> header(const HeapBytes& bytes);
  [[nodiscard]] bool is_known(std::uint64_t word);
  [[nodiscard]] RegionCount::End walk(const HeapBytes& bytes);
  void walk_window(Recent& recent);
  void skip_context();
  void take_elements(const HeapBytes& bytes, std::uint32_t length, std::uint64_t size);
  [[nodiscard]] Address next_context() const { return contexts_.empty() ? ~Address{0} : contexts_.front().pointer; }

  ObjectSizes& sizes_;
  ElementCounter* elements_ = nullptr;
  ObjectObserver observer_;
  std::vector<TypeSum> sums_;           ///< of the region that is walked, by number of type
  std::vector<std::uint32_t> touched_;  ///< types among them
  // The region that is walked:
  AddressRange range_;
  bool is_large_ = false;
  std::span<const AllocationContext> contexts_;  ///< those that are ahead
  Address at_ = 0, window_ = 0;
  std::span<const std::byte> seen_;  ///< bytes from `window_` on
  std::uint64_t last_word_ = 0;
  std::uint32_t type_ = 0;  ///< of `last_word_`, if that is not 0
};

/// HeapBytes out of one piece that holds the whole region.
[[nodiscard]] HeapBytes bytes_of(Address base, std::span<const std::byte> bytes);
/// HeapBytes out of memory, `piece` bytes a read. Keeps a buffer.
[[nodiscard]] HeapBytes bytes_of(const MemoryReader& memory, std::size_t piece);

}  // namespace mixstack::dotnet::objects
