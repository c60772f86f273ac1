// Fields that a released runtime has but its descriptor does not tell. Known by the shape of their neighbours, so that
// monthly patches keep working, and checked against live data before they count.
#pragma once

#include <string>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

struct SupplementEntry {
  enum class State : std::uint8_t {
    described,     ///< the descriptor tells it: nothing was supplied
    no_match,      ///< the neighbours do not look as in any runtime we know: unavailable
    contradicted,  ///< supplied, but live data disagreed: taken back
    unproved,      ///< supplied; nothing in the process speaks for or against it yet
    verified,      ///< supplied and live data agreed
  };
  std::string_view field;  ///< "InlinedCallFrame.Datum"
  State state = State::no_match;
};

/// The supplement of one process.
class Supplement {
 public:
  /// Fills in what `layouts` lacks and a known fingerprint allows.
  static Supplement apply(Layouts& layouts);

  /// Checks the entries against the process: every thread's stack bounds and hijack words, every range list's kind,
  /// every active InlinedCallFrame's datum. Contradicted fields are removed from `layouts`. May be called again.
  void verify(const MemoryReader& memory, Layouts& layouts);

  [[nodiscard]] const std::vector<SupplementEntry>& entries() const { return entries_; }

 private:
  void note(std::string_view field, SupplementEntry::State state) { entries_.push_back({field, state}); }
  void conclude(std::string_view field, unsigned agreed, unsigned disagreed, std::initializer_list<Field*> fields);
  void verify_threads(const MemoryReader& memory, Layouts& layouts);
  void verify_frames(const MemoryReader& memory, Layouts& layouts);

  std::vector<SupplementEntry> entries_;
};

}  // namespace mixstack::dotnet
