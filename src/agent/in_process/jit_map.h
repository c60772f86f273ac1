// Map from addresses to jitted code: written by the runtime's callbacks, read in signal handlers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "agent/in_process/code_index.h"
#include "engine/self_walk/zeroed_pages.h"
#include "engine/unwind/compact_rule.h"
#include "mixstack/address.h"

namespace mixstack::agent {

/// The role of a piece of code in its method.
enum class JitPart : std::uint8_t { body, cold, funclet };

/// The source of a piece's frame layout.
enum class FrameSource : std::uint8_t {
  none,          ///< unknown
  unwind_data,   ///< the runtime's data; the prologue was not decoded (cold parts have none)
  both,          ///< the runtime's data, confirmed by the prologue
  contradicted,  ///< the runtime's data, contradicted by the prologue (OSR: another body made part of the frame)
  prologue,      ///< the decoded prologue, without data
};

/// One piece of code: a method's body, a cold part, or a funclet. Plain data.
struct JitCode {
  static constexpr std::size_t kPrologueBytes = 24;  ///< bytes of the prologue kept for later decoding

  AddressRange range;
  std::uint64_t method = 0;       ///< the writer's number of the method, not 0, of 32 bits
  Address image_base = 0;         ///< base of the RVAs in the unwind data
  std::uint32_t unwind_data = 0;  ///< RVA of its Windows-style unwind information; 0: not known
  std::uint16_t prologue = 0;     ///< bytes
  JitPart part = JitPart::body;
  bool may_be_freed = false;  ///< of a dynamic method or a collectible assembly
  std::uint8_t kept = 0;      ///< bytes of `prologue_bytes`
  std::array<std::byte, kPrologueBytes> prologue_bytes{};
  unwind::CompactRule rule;      ///< after the prologue, outside of epilogues; kind `interpret` if it is not compact
  std::uint32_t frame_size = 0;  ///< bytes from sp to the CFA while `rule` holds; 0: not known
  FrameSource source = FrameSource::none;
};

/// Lock-free for readers: `find` takes no lock, writes nothing, allocates nothing and may run in signal handlers of any
/// thread while others add and free. Freed code is no longer found, and its room is reused at once: a reader copies a
/// piece and retries if anything was freed meanwhile (the generation changed). Pieces never overlap: a newer one
/// replaces all that it overlaps. Bounded: pieces without room are refused and counted.
class JitMap {
 public:
  struct Options {
    std::size_t most_pieces = (1u << 20) - 1;
    std::size_t most_regions = 1u << 12;  ///< twice the regions of 2 MiB in which code lies; a power of two
  };
  struct Account {
    std::size_t pieces = 0, freed = 0, refused = 0;
    std::size_t bytes = 0;                   ///< memory in use
    std::array<std::size_t, 5> by_source{};  ///< present pieces by FrameSource
  };

  explicit JitMap(const Options& options);
  JitMap() : JitMap(Options()) {}
  [[nodiscard]] bool is_usable() const;

  /// Signal-safe. Does not set `prologue_bytes`, which are stored elsewhere.
  [[nodiscard]] bool find(Address address, JitCode& out) const;
  [[nodiscard]] bool find_with_prologue(Address address, JitCode& out) const;

  /// False: no room, or not a valid range. `replaced` gets the ranges of the pieces that it replaced.
  bool add(const JitCode& code, std::vector<AddressRange>* replaced = nullptr);
  /// Removes all pieces of a method; returns their ranges.
  std::vector<AddressRange> free_method(std::uint64_t method);
  [[nodiscard]] Account account() const;

 private:
  /// The part of a piece that walks need, half a cache line. In atomic words, since a reader may race with a writer.
  struct Piece {
    static constexpr std::size_t kWords = 4;
    std::uint64_t begin, size_method, data_rva, rest;

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(size_method); }
    [[nodiscard]] std::uint32_t method() const { return static_cast<std::uint32_t>(size_method >> 32); }
    [[nodiscard]] std::uint32_t unwind_data() const { return static_cast<std::uint32_t>(data_rva); }
    /// RVA of `begin`, if there is unwind data.
    [[nodiscard]] std::uint32_t rva() const { return static_cast<std::uint32_t>(data_rva >> 32); }
    [[nodiscard]] std::uint16_t layout() const { return static_cast<std::uint16_t>(rest); }
    [[nodiscard]] std::uint16_t prologue() const { return static_cast<std::uint16_t>(rest >> 16); }
    [[nodiscard]] std::uint8_t flags() const { return static_cast<std::uint8_t>(rest >> 32); }
    [[nodiscard]] std::uint8_t kept() const { return static_cast<std::uint8_t>(rest >> 40); }
    [[nodiscard]] AddressRange range() const { return {begin, begin + size()}; }
  };
  using SharedWord = std::atomic<std::uint64_t>;
  struct alignas(32) SharedPiece {
    std::array<SharedWord, Piece::kWords> words;
    [[nodiscard]] Piece load() const {
      const auto word = [&](std::size_t i) { return words[i].load(std::memory_order_relaxed); };
      return {word(0), word(1), word(2), word(3)};
    }
    void store(const Piece& piece) {
      std::size_t i = 0;
      for (const std::uint64_t word : {piece.begin, piece.size_method, piece.data_rva, piece.rest})
        words[i++].store(word, std::memory_order_relaxed);
    }
  };
  static_assert(sizeof(SharedPiece) == 32);
  struct SharedBytes {
    using Words = std::array<std::uint64_t, JitCode::kPrologueBytes / sizeof(std::uint64_t)>;
    std::array<SharedWord, std::tuple_size_v<Words>> words;
    [[nodiscard]] Words load() const {
      Words copy{};
      for (std::size_t i = 0; i < copy.size(); i++) copy[i] = words[i].load(std::memory_order_relaxed);
      return copy;
    }
    void store(const Words& from) {
      for (std::size_t i = 0; i < from.size(); i++) words[i].store(from[i], std::memory_order_relaxed);
    }
  };
  /// Rule and frame size, shared by many pieces.
  struct Layout {
    unwind::CompactRule rule;
    std::uint32_t frame_size;
  };

  [[nodiscard]] Piece piece(std::uint32_t number) const { return pieces_[number].load(); }
  template <class Take>
  [[nodiscard]] bool look_up(Address address, Piece& found, const Take& take) const;
  void fill(const Piece& piece, JitCode& out) const;
  [[nodiscard]] Piece piece_of(const JitCode& code);
  [[nodiscard]] std::uint16_t intern(const JitCode& code);
  [[nodiscard]] std::uint32_t& bucket_of(std::uint32_t method);
  void forget_in_bucket(std::uint32_t number);
  [[nodiscard]] std::uint32_t take_piece();
  [[nodiscard]] std::vector<std::uint32_t> pieces_in(AddressRange range) const;
  std::vector<AddressRange> retire(const std::vector<std::uint32_t>& numbers);

  Options options_;
  CodeIndex index_;
  self_walk::ZeroedPages piece_room_, bytes_room_, next_room_, layout_room_, bucket_room_;
  SharedPiece* pieces_;
  SharedBytes* prologue_bytes_;  ///< by number of the piece
  Layout* layouts_;
  std::uint32_t* next_of_method_;  ///< for writers: by number of a piece, the next one in its bucket; 0: the last
  std::uint32_t* buckets_;         ///< for writers: the first piece of the methods with the same low bits

  std::atomic<std::uint64_t> generation_{0};  ///< incremented when pieces are freed

  // For writers.
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> free_pieces_;
  std::uint32_t next_piece_ = 1;
  std::uint16_t layouts_used_ = 2;  // 0: none, 1: kNoRoomForLayout
  std::unordered_multimap<std::uint64_t, std::uint16_t> layout_by_hash_;
  Account account_;
};

}  // namespace mixstack::agent
