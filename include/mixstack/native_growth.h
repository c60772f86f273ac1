// The growth of a process's memory over a time, by the places that mapped or first used it, as plain data.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/memory.h"

namespace mixstack {

/// How a site is tied to memory.
enum class SiteTie : std::uint8_t {
  mapped,   ///< it asked the kernel for the range
  touched,  ///< it used the pages first: of an allocator's pools, and where no call was seen
};

/// A place in the program and what it asked for. Bytes of pages are of memory that was not there when the look began,
/// and is there at its end.
struct NativeSite {
  SiteTie tie = SiteTie::touched;
  std::string place{};    ///< innermost function of the program's own code; else of any; empty: no stack was seen
  std::string via{};      ///< the function that it mostly called to get there; empty: none
  std::string caller{};   ///< the innermost managed method, where `place` is none; empty: none
  std::string toucher{};  ///< of mapped memory: the place that used most of it first, if another
  MemoryLine label{};     ///< what most of it is at the end; `resident` and `size` are not set
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, 2> halves{};     ///< of `bytes`, by the half of the time in which they came
  std::uint64_t near_bytes = 0;              ///< of `bytes`: the nearest sampled page stands for them
  std::uint64_t mapped_now = 0;              ///< readable address space that it mapped and that is still mapped
  std::uint64_t mapped_ever = 0, calls = 0;  ///< within the time, what is gone included
  /// Memory of both halves is still there: it grew over the whole time. Memory that comes and goes is of one half at
  /// most.
  [[nodiscard]] bool is_steady() const;
};

/// The pages of a label, and their fate.
struct NativeLabel {
  MemoryLine label{};                   ///< `resident` and `size` are not set
  std::uint64_t before = 0, after = 0;  ///< resident bytes
  std::uint64_t came = 0, went = 0;     ///< pages that are there at one end alone, or were replaced
};

struct NativeGrowth {
  std::uint32_t pid = 0;
  std::string name{};                    ///< the kernel's short name; empty: not known
  std::chrono::nanoseconds time{0};      ///< that was looked at
  std::uint64_t before = 0, after = 0;   ///< resident bytes
  std::uint64_t came = 0, went = 0;      ///< after - before = came - went
  std::vector<NativeLabel> labels{};     ///< most change first; their sums are those above
  std::uint64_t managed = 0, files = 0;  ///< of `came`: of the collector's heap, and of mapped files; in no site
  std::vector<NativeSite> sites{};       ///< steady ones first, then by bytes; all of `came` but the two above
  bool has_calls = false;                ///< calls that map memory were seen
  std::string why_no_calls{};            ///< in words
  std::uint64_t period = 1;              ///< a sample of first uses stands for so many
  std::uint64_t samples = 0, lost = 0;
  std::vector<std::string> notes{};  ///< for the reader
};

}  // namespace mixstack
