// The objects of one region: where each begins, of which type and size it is, and which bytes may hold references.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/memory/page_vector.h"
#include "dotnet/heap/gc_desc.h"
#include "dotnet/heap/heap_walk.h"

namespace mixstack::dotnet::holders {

using objects::GcDesc;
using objects::ObjectSizes;

/// Type and size together have a number, for most objects of a heap are alike. Not thread-safe.
class ObjectShapes {
 public:
  static constexpr std::size_t kMostShapes = 1 << 21;
  struct Shape {
    std::uint64_t size = 0;
    std::uint32_t type = 0;  ///< number in ObjectSizes
  };

  /// Beyond kMostShapes the same number for all, and `is_full`.
  [[nodiscard]] std::uint32_t find(std::uint32_t type, std::uint64_t size);
  [[nodiscard]] const Shape& operator[](std::uint32_t number) const { return shapes_[number]; }
  [[nodiscard]] std::size_t size() const { return shapes_.size(); }
  [[nodiscard]] bool is_full() const { return is_full_; }

 private:
  std::vector<Shape> shapes_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_key_;
  std::uint32_t last_ = 0;
  bool is_full_ = false;
};

/// GCDescs of the types of an ObjectSizes, each read when it is first asked for.
class TypeReferences {
 public:
  TypeReferences(const RuntimeMemory& memory, const ObjectSizes& sizes) : memory_(memory), sizes_(sizes) {}
  /// Null: it cannot be read.
  [[nodiscard]] const GcDesc* of(std::uint32_t type);
  /// False: no references, for sure.
  [[nodiscard]] bool may_refer(std::uint32_t type) {
    const GcDesc* desc = of(type);
    return desc == nullptr || !desc->empty();
  }

 private:
  enum class State : std::uint8_t { not_read, read, torn };
  struct Known {
    State state = State::not_read;
    GcDesc desc;
  };
  RuntimeMemory memory_;
  const ObjectSizes& sizes_;
  std::vector<std::unique_ptr<Known>> known_;
};

/// One region. A bit for each 8 bytes, set where an object begins; where objects are large, a list of them: so a region
/// of a gigabyte takes no longer than a little one. Gaps are objects, too.
struct RegionObjects {
  AddressRange range;
  memory::PageVector<std::uint64_t> bits;    ///< for a whole number of kBlock words; empty: `begins` has them
  std::vector<Address> begins;               ///< in order
  memory::PageVector<std::uint32_t> shapes;  ///< of its objects, in order
  std::vector<AddressRange> referring;       ///< bytes of objects that may hold references; little gaps are bridged
  objects::RegionCount::End end = objects::RegionCount::End::whole;
  Address at = 0;  ///< where the walk ended, if not whole

  static constexpr std::uint64_t kBlock = 512;  ///< bits
  [[nodiscard]] std::uint64_t referring_bytes() const;
  /// A gap of so many bytes is read as soon as another piece is begun.
  static constexpr std::uint64_t kGapRead = 2048;
  /// Bytes that may be read in the time that reading these takes, in pieces and across little gaps.
  [[nodiscard]] std::uint64_t reading_bytes() const;
  /// Whether objects of such a region are listed.
  [[nodiscard]] static bool is_list(HeapGeneration g) {
    return g == HeapGeneration::large || g == HeapGeneration::pinned;
  }
};

/// Walks regions into RegionObjects. Borrows everything.
class RegionWalk {
 public:
  RegionWalk(ObjectSizes& sizes, TypeReferences& references, ObjectShapes& shapes);
  RegionWalk(const RegionWalk&) = delete;
  RegionWalk& operator=(const RegionWalk&) = delete;

  [[nodiscard]] RegionObjects walk(const objects::GcRegion& region,
                                   std::span<const objects::AllocationContext> contexts,
                                   const objects::HeapBytes& bytes);

 private:
  void add(Address object, std::uint32_t type, std::uint64_t size);

  TypeReferences& references_;
  ObjectShapes& shapes_;
  objects::HeapWalk walk_;
  RegionObjects now_;
  std::vector<std::uint32_t> now_shapes_;
};

}  // namespace mixstack::dotnet::holders
