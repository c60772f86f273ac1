// Which code a runtime made, where: written by the runtime's callbacks, read in signal handlers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "mixstack/address.h"
#include "self_walk/zeroed_pages.h"
#include "unwind/compact_rule.h"

namespace mixstack::agent {

/// What a piece of code is to its method.
enum class JitPart : std::uint8_t { body, cold, funclet };

/// Who says what the frame of a piece is.
enum class FrameSource : std::uint8_t {
  none,          ///< nobody
  unwind_data,   ///< the runtime's data; the prologue was not decoded (cold parts have none)
  both,          ///< the data, and the prologue says the same
  contradicted,  ///< the data, and the prologue says something else (OSR bodies: part of their frame is of another
                 ///< body)
  prologue,      ///< there is no data: the decoded prologue
};

/// One piece: a method's body, the cold part of one, a funclet. Plain data.
struct JitCode {
  static constexpr std::size_t kPrologueBytes = 24;  ///< kept of the prologue, for those who look at it later

  AddressRange range;
  std::uint64_t method = 0;       ///< a number of the writer's, not 0, of 32 bits
  Address image_base = 0;         ///< what the unwind data is relative to
  std::uint32_t unwind_data = 0;  ///< RVA of its Windows-style unwind information; 0: not known
  std::uint16_t prologue = 0;     ///< bytes
  JitPart part = JitPart::body;
  bool may_be_freed = false;  ///< of a dynamic method or a collectible assembly
  std::uint8_t kept = 0;      ///< bytes of `prologue_bytes`
  std::array<std::byte, kPrologueBytes> prologue_bytes{};
  unwind::CompactRule rule;      ///< behind the prologue, outside of epilogues; kind `interpret` where it does not fit
  std::uint32_t frame_size = 0;  ///< bytes from sp to the CFA where `rule` holds; 0: not known
  FrameSource source = FrameSource::none;
};

/// Append-only for readers: `find` takes no lock, allocates nothing and may run in signal handlers of any thread while
/// others add and free. What was freed is not found any more; its room is used again when no reader can be in it (two
/// epochs, counted by `Reading`). Bounded: what does not fit is refused and counted.
class JitMap {
 public:
  struct Options {
    std::size_t most_pieces = 1u << 20;
    std::size_t most_regions = 1u << 13;  ///< of 2 MiB in which code lies
  };
  struct Account {
    std::size_t pieces = 0, freed = 0, refused = 0;
    std::size_t bytes = 0;                   ///< of memory in use
    std::array<std::size_t, 5> by_source{};  ///< of the pieces there are, by FrameSource
  };
  /// A reader is in the map. Signal-safe; nests.
  class Reading {
   public:
    explicit Reading(const JitMap& map) : counter_(&map.readers_[map.epoch_.load(std::memory_order_acquire) & 1]) {
      counter_->fetch_add(1, std::memory_order_seq_cst);
    }
    ~Reading() { counter_->fetch_sub(1, std::memory_order_release); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::atomic<std::uint32_t>* counter_;
  };

  explicit JitMap(const Options& options);
  JitMap() : JitMap(Options()) {}
  [[nodiscard]] bool is_usable() const;

  /// Signal-safe, within a `Reading`.
  [[nodiscard]] bool find(Address address, JitCode& out) const;

  /// False: no room, or not a range. A piece of the same range takes the place of the one before.
  bool add(const JitCode& code);
  /// All pieces of a method; answers where they were.
  std::vector<AddressRange> free_method(std::uint64_t method);
  [[nodiscard]] Account account() const;

 private:
  // A piece as it is kept. What readers see of it was written before it was linked.
  struct Piece {
    Address begin, image_base;
    std::uint32_t method, next_of_method;  ///< the latter is the writers': in the list of a bucket; 0: the last
    std::uint32_t size, unwind_data, layout;
    std::uint16_t prologue;
    std::uint8_t flags, kept;
    std::array<std::byte, JitCode::kPrologueBytes> prologue_bytes;
  };
  static_assert(sizeof(Piece) == 64);
  /// What many pieces have in common.
  struct Layout {
    unwind::CompactRule rule;
    std::uint32_t frame_size;
  };
  // A piece is in the list of every granule that it touches.
  static constexpr unsigned kGranuleBits = 9, kRegionBits = 21;
  /// Says which part of its granule the piece covers, in units of 16 bytes, so that most pieces that do not cover an
  /// address need not be looked at: each would be a cache miss.
  struct Node {
    static constexpr unsigned kPieceBits = 22, kUnitBits = 5, kUnitShift = kGranuleBits - kUnitBits;
    static constexpr std::uint32_t kUnitMask = (1u << kUnitBits) - 1;
    std::uint32_t what;               ///< bits 0..21 piece, 22..26 first unit, 27..31 last unit
    std::atomic<std::uint32_t> next;  ///< of a node; 0: none

    [[nodiscard]] std::uint32_t piece() const { return what & ((1u << kPieceBits) - 1); }
    [[nodiscard]] bool may_cover(Address address) const {
      const auto unit = static_cast<std::uint32_t>(address >> kUnitShift) & kUnitMask;
      return unit >= (what >> kPieceBits & kUnitMask) && unit <= what >> (kPieceBits + kUnitBits);
    }
  };
  static constexpr std::size_t kGranules = std::size_t{1} << (kRegionBits - kGranuleBits);
  struct Region {
    std::atomic<std::uint64_t> number;  ///< address >> kRegionBits, 0: free
    std::atomic<std::uint32_t> heads;   ///< number of its array of lists, counted from 1
  };

  [[nodiscard]] const std::atomic<std::uint32_t>* head_of(Address address) const;
  [[nodiscard]] std::atomic<std::uint32_t>* make_head(Address address);
  [[nodiscard]] std::uint32_t intern(const JitCode& code);
  [[nodiscard]] std::uint32_t& bucket_of(std::uint32_t method);
  void forget_in_bucket(std::uint32_t piece);
  [[nodiscard]] std::uint32_t take_piece();
  [[nodiscard]] std::uint32_t take_node();
  [[nodiscard]] std::uint32_t what_of(std::uint32_t piece, Address at) const;
  void link(std::uint32_t piece);
  void unlink(std::uint32_t piece);
  void reclaim();
  [[nodiscard]] std::uint32_t piece_at(AddressRange range) const;

  Options options_;
  self_walk::ZeroedPages region_room_, head_room_, piece_room_, node_room_, layout_room_, bucket_room_;
  Region* regions_;
  std::atomic<std::uint32_t>* heads_;
  Piece* pieces_;
  Node* nodes_;
  Layout* layouts_;
  std::uint32_t* buckets_;  ///< the writers': the first piece of the methods with the same low bits

  mutable std::atomic<std::uint32_t> epoch_{0};
  mutable std::array<std::atomic<std::uint32_t>, 2> readers_{};

  // The writers'.
  mutable std::mutex mutex_;
  struct Retired {
    std::vector<std::uint32_t> pieces, nodes;
  };
  std::array<Retired, 2> retired_;  ///< by epoch
  std::vector<std::uint32_t> free_pieces_, free_nodes_;
  std::uint32_t next_piece_ = 1, next_node_ = 1, next_heads_ = 1, next_layout_ = 2;
  std::unordered_multimap<std::uint64_t, std::uint32_t> layout_by_hash_;
  Account account_;
};

}  // namespace mixstack::agent
