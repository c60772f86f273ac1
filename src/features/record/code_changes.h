// Where code was mapped while a process is recorded, and when: an address may be of another library by then.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mixstack/address.h"

namespace mixstack::record {

/// One mapping of code: when (CLOCK_MONOTONIC, ns), where, and of which file (inode 0: no file).
struct CodeMapping {
  std::uint64_t time_ns = 0;
  AddressRange range;
  std::uint64_t inode = 0, file_offset = 0;
};

/// Which code lies where, as far as sources have reported it. The kernel reports a whole mapping when a piece was added
/// to it or its protection changed: the rest of it is still the same code.
class ReportedCode {
 public:
  /// The parts that held other code, or none, before.
  [[nodiscard]] std::vector<AddressRange> learn(const CodeMapping& code) {
    std::vector<AddressRange> changed;
    if (code.range.empty()) return changed;
    if (pieces_.size() >= kMost) pieces_.clear();
    const auto [begin, end] = code.range;
    const Piece now{end, code.inode, code.file_offset - begin};
    Address at = begin;
    auto next = pieces_.upper_bound(begin);
    if (next != pieces_.begin() && std::prev(next)->second.end > begin) next = std::prev(next);
    while (next != pieces_.end() && next->first < end) {
      const auto [first, piece] = *next;
      next = pieces_.erase(next);
      if (first > at) changed.push_back({at, first});
      const AddressRange both{std::max(first, begin), std::min(piece.end, end)};
      const bool is_same = piece.inode == code.inode && (code.inode == 0 || piece.offset == now.offset);
      if (!is_same) changed.push_back(both);
      at = both.end;
      if (first < begin) pieces_.emplace(first, Piece{begin, piece.inode, piece.offset});
      if (piece.end > end) pieces_.emplace(end, piece);
    }
    if (at < end) changed.push_back({at, end});
    pieces_.emplace(begin, now);
    return changed;
  }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

 private:
  static constexpr std::size_t kMost = 1u << 16;
  struct Piece {
    Address end = 0;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;  ///< in the file, less the address
  };
  std::map<Address, Piece> pieces_;
};

/// Code mapped in the last one to two seconds. Bounded: if a change does not fit, all memory counts as mapped anew
/// then.
class CodeChanges {
 public:
  static constexpr std::uint64_t kKept = 1'000'000'000;  ///< ns; samples are walked long before that

  void add(const CodeMapping& change) {
    begin_turn(change.time_ns);
    const Address first = change.range.begin >> kShift, last = (change.range.end - 1) >> kShift;
    if (change.range.end <= change.range.begin) return;
    if (last - first >= kMostOfOne || entries_ + (last - first) >= kMostEntries) {
      anywhere_ns_ = change.time_ns;
      return;
    }
    for (Address part = first; part <= last; part++) turns_[0][part].push_back(change);
    entries_ += last - first + 1;
    latest_ns_ = change.time_ns;
  }
  /// Whether code was mapped at the place after one moment and until another one.
  [[nodiscard]] bool touch(Address place, std::uint64_t after_ns, std::uint64_t until_ns) const {
    if (anywhere_ns_ > after_ns && anywhere_ns_ <= until_ns) return true;
    if (latest_ns_ <= after_ns) return false;
    return std::any_of(turns_.begin(), turns_.end(), [&](const Parts& parts) {
      const auto part = parts.find(place >> kShift);
      return part != parts.end() &&
             std::any_of(part->second.begin(), part->second.end(), [&](const CodeMapping& change) {
               return change.time_ns > after_ns && change.time_ns <= until_ns && change.range.contains(place);
             });
    });
  }
  [[nodiscard]] bool empty() const { return latest_ns_ == 0 && anywhere_ns_ == 0; }

 private:
  static constexpr unsigned kShift = 21;  // parts of 2 MiB
  static constexpr std::size_t kMostOfOne = 1024, kMostEntries = 1u << 16;

  using Parts = std::unordered_map<Address, std::vector<CodeMapping>>;

  /// Forgets all changes older than the previous turn: a program may map code all the time.
  void begin_turn(std::uint64_t now_ns) {
    if (now_ns < turn_ns_ + kKept) return;
    turns_[1].clear();
    if (now_ns < turn_ns_ + 2 * kKept) std::swap(turns_[0], turns_[1]);
    turns_[0].clear();
    turn_ns_ = now_ns;
    entries_ = 0;
  }

  std::array<Parts, 2> turns_;     ///< the present one, and the one before
  std::uint64_t turn_ns_ = 0;      ///< when the present one began
  std::size_t entries_ = 0;        ///< of the present one
  std::uint64_t latest_ns_ = 0;    ///< change
  std::uint64_t anywhere_ns_ = 0;  ///< of the last one that had no room
};

}  // namespace mixstack::record
