// Where the references of an object lie, by the words before its MethodTable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::objects {

/// A GCDesc (src/coreclr/gc/gcdesc.h). Plain data; foreign: whatever it says, `visit` stays inside of the object.
class GcDesc {
 public:
  static constexpr std::int64_t kMostSeries = 1 << 12;

  /// Nothing: it cannot be read, or contradicts itself. Empty: objects of the type hold no references.
  [[nodiscard]] static std::optional<GcDesc> read(const RuntimeMemory& memory, Address method_table);

  [[nodiscard]] bool empty() const { return runs_.empty() && elements_.empty(); }

  /// Each word of an object that holds a reference, from its first byte on: `f(offset, reference)`, null ones left out.
  /// `size`: of the object as the heap counts it, which ends with the word before the next object.
  template <class F>
  void visit(std::span<const std::byte> object, std::uint64_t size, F f) const {
    const std::uint64_t end = std::min<std::uint64_t>(object.size(), size < kWord ? 0 : size - kWord);
    for (const Run& r : runs_) visit_run(object, r.offset, r.offset + r.size + size, end, f);
    if (elements_.empty()) return;
    std::uint64_t at = first_;
    while (at < end) {
      for (const Element& e : elements_) {
        const std::uint64_t next = at + e.words * kWord;
        visit_run(object, at, next, end, f);
        at = next + e.skip;
      }
    }
  }

 private:
  static constexpr std::uint64_t kWord = 8;
  /// So many bytes from `offset` on, and as many as the object has.
  struct Run {
    std::uint64_t size = 0, offset = 0;
  };
  /// An array of structs repeats it to its end: words with references, then bytes without.
  struct Element {
    std::uint64_t words = 0, skip = 0;
  };

  template <class F>
  static void visit_run(std::span<const std::byte> object, std::uint64_t at, std::uint64_t to, std::uint64_t end,
                        F& f) {
    for (to = std::min(to, end); at + kWord <= to; at += kWord) {
      std::uint64_t reference = 0;
      std::memcpy(&reference, object.data() + at, kWord);
      if (reference != 0) f(at, reference);
    }
  }
  [[nodiscard]] bool read_runs(const RuntimeMemory& memory, Address method_table, std::int64_t count);
  [[nodiscard]] bool read_elements(const RuntimeMemory& memory, Address method_table, std::int64_t count,
                                   std::uint32_t stride);

  std::vector<Run> runs_;
  std::vector<Element> elements_;
  std::uint64_t first_ = 0;  ///< where elements begin
};

}  // namespace mixstack::dotnet::objects
