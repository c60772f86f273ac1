// Input: memory of a process, and its mappings. Output: chunks of glibc's malloc as ranges, used and free.
// Algorithm: main_arena lies in the writable pages of libc. It has no symbol, but a shape: 127 bins of two words, an
// empty one of which points at itself; a size that is whole pages; a top chunk that ends at a page. The other arenas
// are in its ring. Each arena has heaps: the main one that of brk, the others pieces of 64 MB, aligned to their size,
// with a header that names the arena and the heap before. Chunks lie one behind the other up to the top chunk; whether
// a chunk is in use stands in the next one's size.
// Order: find the main arena; follow the ring; walk each heap; then look at mappings that one block has for itself.
// Bounds: kMostArenas, kMostHeaps, kMostTries of a heap that changes meanwhile, one step forward for each chunk.
#include "features/memory/malloc_arenas.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

namespace mixstack::memory_use {
namespace {

// struct malloc_state and heap_info (malloc/malloc.c, malloc/arena.c of glibc), 64 bits.
constexpr std::uint64_t kTop = 96, kBins = 112, kNext = 2160, kSystemMemory = 2184, kMostMemory = 2192,
                        kArenaSize = 2208, kHeapInfo = 48, kBinCount = 127;
constexpr std::uint64_t kHeapSize = 64 << 20;
// Low bits of a chunk's size.
constexpr std::uint64_t kFlags = 7, kPreviousInUse = 1, kMapped = 2;
constexpr std::uint64_t kLeastChunk = 16, kChunkAlign = 16;
constexpr std::size_t kMostArenas = 4096, kMostHeaps = 1 << 16, kMostRanges = 1 << 22;
constexpr int kMostTries = 5;
constexpr std::chrono::milliseconds kBetweenTries{2};

bool is_file_of(const Region& r, std::string_view begin) {
  const std::size_t slash = r.path.rfind('/');
  return slash != std::string::npos && std::string_view(r.path).substr(slash + 1).starts_with(begin);
}

bool is_libc(const Region& r) { return is_file_of(r, "libc.so.") || is_file_of(r, "libc-2."); }

/// Words out of memory, through one buffer.
class Words {
 public:
  explicit Words(const MemoryReader& memory) : memory_(memory), buffer_(kBuffer) {}
  std::optional<std::uint64_t> at(Address address) {
    if (address < base_ || address - base_ > size_ || size_ - (address - base_) < 8) {
      const auto got = memory_.read_some(address, buffer_);
      base_ = address;
      size_ = got ? *got : 0;
      if (size_ < 8) return std::nullopt;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, buffer_.data() + (address - base_), 8);
    return word;
  }
  void forget() { size_ = 0; }

 private:
  static constexpr std::size_t kBuffer = 256 << 10;
  const MemoryReader& memory_;
  std::vector<std::byte> buffer_;
  Address base_ = 0;
  std::size_t size_ = 0;
};

class Arenas {
 public:
  Arenas(const MemoryReader& memory, std::span<const Region> mappings, std::uint64_t page_bytes)
      : memory_(memory), mappings_(mappings), page_bytes_(page_bytes), words_(memory) {}

  MallocUse read() {
    Address main = find_main();
    // An allocation between two of our reads makes the main arena look like none.
    for (int tries = 1; main == 0 && tries < kMostTries; tries++) {
      std::this_thread::sleep_for(kBetweenTries);
      main = find_main();
    }
    if (main == 0) return {};
    Address arena = main;
    for (std::size_t n = 0; n < kMostArenas; n++) {
      add_arena(arena, arena == main);
      arena = memory_.read<std::uint64_t>(arena + kNext).value_or(0);
      if (arena == main || arena == 0) break;
    }
    add_large();
    return std::move(out_);
  }

 private:
  struct Heap {
    AddressRange range;  ///< of chunks and of what lies before them
    Address first = 0;   ///< chunk
    Address committed = 0;
  };

  [[nodiscard]] bool is_main_arena(std::span<const std::byte> bytes, Address at) const {
    const auto word = [&](std::uint64_t offset) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + offset, 8);
      return value;
    };
    constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
    constexpr unsigned kLeastEmpty = 20;
    const std::uint64_t top = word(kTop), size = word(kSystemMemory), most = word(kMostMemory);
    if (top == 0 || top % kChunkAlign != 0 || word(kNext) == 0 || size == 0 || size % page_bytes_ != 0) return false;
    if (size > most || most >= kMost) return false;
    unsigned empty = 0;
    for (std::uint64_t i = 0; i < kBinCount; i++) {
      const std::uint64_t self = at + kBins - 16 + 16 * i;
      if (word(kBins + 16 * i) == self && word(kBins + 16 * i + 8) == self) empty++;
    }
    const auto top_size = memory_.read<std::uint64_t>(top + 8);
    return empty > kLeastEmpty && top_size && (top + (*top_size & ~kFlags)) % page_bytes_ == 0;
  }

  [[nodiscard]] Address find_in(AddressRange range) const {
    constexpr std::uint64_t kMostOfLibrary = 4 << 20;
    if (range.size() > kMostOfLibrary || range.size() < kArenaSize) return 0;
    std::vector<std::byte> bytes(static_cast<std::size_t>(range.size()));
    const auto got = memory_.read_some(range.begin, bytes);
    if (!got || *got < kArenaSize) return 0;
    for (std::uint64_t at = 0; at + kArenaSize <= *got; at += 8)
      if (is_main_arena(std::span(bytes).subspan(static_cast<std::size_t>(at)), range.begin + at))
        return range.begin + at;
    return 0;
  }

  /// In libc's own writable mappings, or in the one behind them that has no file.
  [[nodiscard]] Address find_main() const {
    for (std::size_t i = 0; i < mappings_.size(); i++) {
      if (!is_libc(mappings_[i]) || !mappings_[i].writable) continue;
      AddressRange range = mappings_[i].range;
      const bool goes_on = i + 1 < mappings_.size() && mappings_[i + 1].range.begin == range.end &&
                           mappings_[i + 1].path.empty() && mappings_[i + 1].writable;
      if (goes_on) range.end = mappings_[i + 1].range.end;
      if (const Address found = find_in(range); found != 0) return found;
    }
    return 0;
  }

  [[nodiscard]] std::vector<Heap> heaps_of_main(Address top) const {
    const auto is_heap = [](const Region& r) { return r.path == "[heap]"; };
    const auto heap = std::find_if(mappings_.begin(), mappings_.end(), is_heap);
    const auto size = memory_.read<std::uint64_t>(top + 8);
    if (heap == mappings_.end() || !size || !heap->range.contains(top)) return {};
    const Address end = std::min(top + (*size & ~kFlags), heap->range.end);
    return {{{heap->range.begin, end}, (heap->range.begin + kChunkAlign - 1) & ~(kChunkAlign - 1), heap->range.end}};
  }

  [[nodiscard]] std::vector<Heap> heaps_of(Address arena, Address top) {
    std::vector<Heap> heaps;
    is_cut_ = true;
    for (Address at = top & ~(kHeapSize - 1); at != 0 && heaps.size() < kMostHeaps;) {
      const auto owner = memory_.read<std::uint64_t>(at), before = memory_.read<std::uint64_t>(at + 8),
                 size = memory_.read<std::uint64_t>(at + 16), committed = memory_.read<std::uint64_t>(at + 24);
      if (!owner || !before || !size || !committed || *owner != arena || *size > kHeapSize || *committed > kHeapSize)
        break;
      const Address first = *before != 0 ? at + kHeapInfo : (arena + kArenaSize + kChunkAlign - 1) & ~(kChunkAlign - 1);
      heaps.push_back({{at, at + *size}, first, at + std::max(*size, *committed)});
      at = *before;
      is_cut_ = at != 0;
    }
    return heaps;
  }

  void add_range(AddressRange range, MemoryKind kind) {
    if (out_.ranges.size() >= kMostRanges || range.empty()) return;
    const bool is_neighbour = out_.ranges.size() > first_of_arena_ && out_.ranges.back().kind == kind &&
                              out_.ranges.back().range.end == range.begin;
    if (is_neighbour)
      out_.ranges.back().range.end = range.end;
    else
      out_.ranges.push_back({range, kind});
  }

  /// One heap from its first chunk to its end. False: it changed meanwhile.
  bool walk(const Heap& heap, Address top, MallocArena& arena) {
    words_.forget();
    Address at = heap.first;
    add_range({heap.range.begin, heap.first}, MemoryKind::malloc_used);
    while (at + kLeastChunk <= heap.range.end) {
      const auto head = words_.at(at + 8);
      if (!head) return false;
      const std::uint64_t size = *head & ~kFlags;
      const bool is_top = at == top;
      // A heap that is not the last ends with fences: chunks of no size.
      if (!is_top && (size == 0 || at + 2 * kLeastChunk >= heap.range.end)) break;
      if (size < kLeastChunk || size % kChunkAlign != 0 || size > heap.range.end - at) return false;
      const auto next = is_top ? std::optional<std::uint64_t>(0) : words_.at(at + size + 8);
      const bool is_used = !is_top && (!next || (*next & kPreviousInUse) != 0);
      (is_used ? arena.used : arena.free) += size;
      (is_used ? arena.used_chunks : arena.free_chunks)++;
      add_range({at, at + size}, is_used ? MemoryKind::malloc_used : MemoryKind::malloc_free);
      at += size;
      if (is_top) break;
    }
    add_range({at, heap.range.end}, MemoryKind::malloc_used);
    add_range({heap.range.end, heap.committed}, MemoryKind::malloc_free);
    return !heap.range.contains(top) || at > top;
  }

  void add_arena(Address at, bool is_main) {
    MallocArena arena{at, is_main};
    const std::size_t before = first_of_arena_ = out_.ranges.size();
    for (int tries = 0; tries < kMostTries; tries++) {
      const Address top = memory_.read<std::uint64_t>(at + kTop).value_or(0);
      is_cut_ = false;
      const auto heaps = is_main ? heaps_of_main(top) : heaps_of(at, top);
      if (heaps.empty() && (is_main || tries + 1 == kMostTries)) return;
      out_.ranges.resize(before);
      arena = {at, is_main};
      arena.heaps = static_cast<std::uint32_t>(heaps.size());
      arena.is_whole = !heaps.empty() && !is_cut_ &&
                       std::all_of(heaps.begin(), heaps.end(), [&](const Heap& h) { return walk(h, top, arena); });
      if (arena.is_whole) break;
      out_.ranges.resize(before);
      for (const Heap& h : heaps) out_.ranges.push_back({{h.range.begin, h.committed}, MemoryKind::malloc_unwalked});
      std::this_thread::sleep_for(kBetweenTries);
    }
    out_.arenas.push_back(arena);
  }

  /// A large block begins with the words 0 and its size, marked as mapped; its size is whole pages.
  void add_large() {
    for (const Region& r : mappings_) {
      if (!r.path.empty() || !r.writable || r.shared) continue;
      for (Address at = r.range.begin; at < r.range.end;) {
        std::array<std::uint64_t, 2> head{};
        if (!memory_.read_exact(at, std::as_writable_bytes(std::span(head)))) break;
        const std::uint64_t size = head[1] & ~kFlags;
        const bool is_block = (head[1] & kFlags) == kMapped && size != 0 && size % page_bytes_ == 0 &&
                              size <= r.range.end - at && head[0] < page_bytes_;
        if (!is_block) break;
        add_range({at, at + size}, MemoryKind::malloc_large);
        at += size;
      }
    }
  }

  const MemoryReader& memory_;
  std::span<const Region> mappings_;
  std::uint64_t page_bytes_;
  Words words_;
  MallocUse out_;
  std::size_t first_of_arena_ = 0;  ///< among the ranges
  bool is_cut_ = false;             ///< the list of an arena's heaps: one of them was not what the one behind it says
};

}  // namespace

std::uint64_t LargeBlocks::size_at(Address at, Address end) const {
  std::array<std::uint64_t, 2> head{};
  if (at % page_bytes_ != 0 || !memory_.read_exact(at, std::as_writable_bytes(std::span(head)))) return 0;
  const std::uint64_t size = head[1] & ~kFlags;
  const bool is_block = head[0] == 0 && (head[1] & kFlags) == kMapped && size >= kLeastBytes &&
                        size % page_bytes_ == 0 && size <= end - at;
  return is_block ? size : 0;
}

std::string allocator_of(std::span<const Region> mappings) {
  struct Known {
    std::string_view file, name;
  };
  constexpr std::array<Known, 5> kOthers{{{"libjemalloc", "jemalloc"},
                                          {"libtcmalloc", "tcmalloc"},
                                          {"libmimalloc", "mimalloc"},
                                          {"libsnmalloc", "snmalloc"},
                                          {"ld-musl", "musl"}}};
  for (const Known& known : kOthers)
    if (std::any_of(mappings.begin(), mappings.end(), [&](const Region& r) { return is_file_of(r, known.file); }))
      return std::string(known.name);
  if (std::any_of(mappings.begin(), mappings.end(), is_libc)) return "glibc";
  const auto is_musls = [](const Region& r) { return r.path.ends_with("/libc.so"); };  // its loader may be a link to it
  return std::any_of(mappings.begin(), mappings.end(), is_musls) ? "musl" : std::string();
}

MallocUse malloc_use(const MemoryReader& memory, std::span<const Region> mappings, std::uint64_t page_bytes) {
  return Arenas(memory, mappings, page_bytes).read();
}

}  // namespace mixstack::memory_use
