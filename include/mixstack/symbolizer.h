// Names for the frames of a walk, made after the target runs again.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/frame.h"
#include "mixstack/symbol.h"

namespace mixstack {

/// One way of naming frames: ELF symbols, a runtime's methods, a perf map, a user's JIT.
class NameProvider {
 public:
  virtual ~NameProvider() = default;
  [[nodiscard]] virtual std::string_view provider_name() const = 0;
  /// Nothing: the frame is not this provider's.
  [[nodiscard]] virtual std::optional<SymbolInfo> describe(const Frame& frame) = 0;
  /// Functions inlined at this place, innermost first; usually none. Called only after `describe` has named the frame.
  [[nodiscard]] virtual std::vector<SymbolInfo> describe_inlined(const Frame& /*frame*/) { return {}; }
};

/// Names for the frames of many traces; each distinct place is named once. Borrows its providers. Not thread-safe.
class Symbolizer {
 public:
  /// Providers are asked in this order; the first that knows a frame names it.
  explicit Symbolizer(std::vector<NameProvider*> providers);

  /// Frames named from now on were captured at `instant` (steady clock). Places outside of images are asked again once
  /// each: an equal name is extended (`seen_until`), a different one becomes a new symbol.
  void begin(std::chrono::nanoseconds instant);

  /// Index into `symbols()` of the name of the frame's innermost function (`logical_frames`). 0 is the unnamed symbol:
  /// no provider knew the place.
  [[nodiscard]] std::uint32_t name(const Frame& frame);
  /// References to elements stay valid until `take_symbols`.
  [[nodiscard]] const std::deque<SymbolInfo>& symbols() const { return symbols_; }
  /// Moves all names out; the symbolizer starts again, empty.
  [[nodiscard]] std::vector<SymbolInfo> take_symbols();

 private:
  struct Key {
    std::uint64_t address;  ///< lookup address, or that of the explicit Frame
    std::uint64_t method;
    std::uint64_t stub_target;
    std::uint32_t kind_and_identifier;
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// A place and the number of its name. Open addressing: mostly one probe per look-up.
  struct Slot {
    Key key;
    std::uint32_t symbol = 0;
    std::uint32_t good_until = 0;  ///< last era in which it need not be asked again; 0: a free slot
  };
  static Key key_of(const Frame& frame);
  static std::size_t hash_of(const Key& key);
  [[nodiscard]] Slot& slot_of(const Key& key);
  void grow();
  [[nodiscard]] std::uint32_t look(const Frame& frame, Slot& slot);
  /// Innermost first; empty: no provider knows the place.
  [[nodiscard]] std::vector<SymbolInfo> ask(const Frame& frame);
  [[nodiscard]] bool extend(std::uint32_t symbol, const std::vector<SymbolInfo>& said);
  [[nodiscard]] std::uint32_t add(std::vector<SymbolInfo> said, bool ends);

  std::vector<NameProvider*> providers_;
  std::deque<SymbolInfo> symbols_;
  std::vector<Slot> known_;  ///< a power of two, at most half of it used
  std::size_t used_ = 0;
  std::uint32_t era_ = 1;
  std::chrono::nanoseconds instant_{0};
};

}  // namespace mixstack
