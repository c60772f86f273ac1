// Which code a runtime made, where: written by the runtime's callbacks, read in signal handlers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "agent/code_index.h"
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

/// Lock-free for readers: `find` takes no lock, writes nothing, allocates nothing and may run in signal handlers of any
/// thread while others add and free. What was freed is not found any more, and its room is used again at once: a reader
/// copies what it finds and believes the copy if nothing was freed meanwhile (a generation counts that), else it looks
/// again. Pieces never overlap: a newer one takes the place of all that lie where it lies. Bounded: what does not fit
/// is refused and counted.
class JitMap {
 public:
  struct Options {
    std::size_t most_pieces = (1u << 20) - 1;
    std::size_t most_regions = 1u << 12;  ///< twice the regions of 2 MiB in which code lies; a power of two
  };
  struct Account {
    std::size_t pieces = 0, freed = 0, refused = 0;
    std::size_t bytes = 0;                   ///< of memory in use
    std::array<std::size_t, 5> by_source{};  ///< of the pieces there are, by FrameSource
  };

  explicit JitMap(const Options& options);
  JitMap() : JitMap(Options()) {}
  [[nodiscard]] bool is_usable() const;

  /// Signal-safe. `prologue_bytes` stay as they are: they lie elsewhere.
  [[nodiscard]] bool find(Address address, JitCode& out) const;
  [[nodiscard]] bool find_with_prologue(Address address, JitCode& out) const;

  /// False: no room, or not a range. `replaced` says where the pieces were that lay there.
  bool add(const JitCode& code, std::vector<AddressRange>* replaced = nullptr);
  /// All pieces of a method; answers where they were.
  std::vector<AddressRange> free_method(std::uint64_t method);
  [[nodiscard]] Account account() const;

 private:
  /// What a walk needs of a piece, half a cache line. Words, for a reader may meet a writer in it.
  struct Piece {
    static constexpr std::size_t kWords = 4;
    std::uint64_t begin, size_method, data_rva, rest;

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(size_method); }
    [[nodiscard]] std::uint32_t method() const { return static_cast<std::uint32_t>(size_method >> 32); }
    [[nodiscard]] std::uint32_t unwind_data() const { return static_cast<std::uint32_t>(data_rva); }
    /// Of `begin`, where there is unwind data.
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
  /// What many pieces have in common.
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
  std::uint32_t* next_of_method_;  ///< the writers': by number of a piece, the next one in its bucket; 0: the last
  std::uint32_t* buckets_;         ///< the writers': the first piece of the methods with the same low bits

  std::atomic<std::uint64_t> generation_{0};  ///< counts when something was freed

  // The writers'.
  mutable std::mutex mutex_;
  std::vector<std::uint32_t> free_pieces_;
  std::uint32_t next_piece_ = 1;
  std::uint16_t layouts_used_ = 2;  // 0: none, 1: kNoRoomForLayout
  std::unordered_multimap<std::uint64_t, std::uint16_t> layout_by_hash_;
  Account account_;
};

}  // namespace mixstack::agent
