// Frames of walks as frames of a recording, each place named once for as long as its name holds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/words/user_code.h"
#include "mixstack/recording.h"
#include "mixstack/walker.h"

namespace mixstack::record {

/// Code that stays (`Walker::keeps_name`) keeps its name as long as the mappings do. For other code the runtime is
/// asked again in each capture, since methods are freed and their memory is reused. One thread at a time; the caller
/// locks the recording.
class FrameNames {
 public:
  FrameNames(Recording& recording, const TargetInfo& target) : recording_(recording), target_(target) {}

  struct Named {
    std::span<const std::uint32_t>
        numbers;         ///< in the recording, of the frame's functions, innermost first; empty: no room
    bool lasts = false;  ///< later walkers would give the same names while `begin` returns true
  };

  /// Frames named from now on are of this walker's capture, taken at `instant` (steady clock). True: names kept as
  /// lasting still hold.
  bool begin(Walker& walker, std::chrono::nanoseconds instant);
  /// `callee`: the managed frame that it called (`Walker::callee_of`), from which inlined methods are inferred.
  [[nodiscard]] Named name(const Frame& frame, const Frame* callee);
  /// The number of an async method that awaits the sampled one; nothing: no room.
  [[nodiscard]] std::optional<std::uint32_t> caller(const SymbolInfo& method);
  /// Whether this walker finds no name for a method that may be freed at any time: the walker may be older than the
  /// method.
  [[nodiscard]] bool lacks_name(const Frame& frame) const;

 private:
  struct Key {
    Address address;
    Address method;
    Address stub_target;
    Address callee;
    std::uint32_t kind_and_trust;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<Address>{}(key.address ^ key.method << 20 ^ key.stub_target << 40 ^ key.callee << 8) ^
             key.kind_and_trust;
    }
  };
  using Known = std::unordered_map<Key, std::vector<std::uint32_t>, Hash>;
  static constexpr std::size_t kMostKnown = 1u << 20;

  [[nodiscard]] std::vector<std::uint32_t> ask(const Frame& frame, const Frame* callee, bool& lasts);
  [[nodiscard]] bool is_freed_method(const Frame& frame, const SymbolInfo& symbol) const;
  [[nodiscard]] std::optional<std::uint32_t> record(const Frame& frame, const SymbolInfo& symbol);

  Recording& recording_;
  const TargetInfo& target_;
  std::optional<UserCode> user_;
  Walker* walker_ = nullptr;
  std::shared_ptr<const void> generation_;  ///< of the mappings that `lasting_` is true of
  Known lasting_, of_capture_;
};

}  // namespace mixstack::record
