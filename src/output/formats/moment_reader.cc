// Input: the bytes of a moment's file (docs/formats/moment.md); hostile.
// Output: a MemoryMoment, or the error and the offset of the block at fault.
// Algorithm: 1. Magic and version. 2. One block after the other, whole and with its right sum. The mark comes first,
// the account before its lines, heaps before their types. Sums (of a heap, of its generations) are not in the file:
// they are made here, so that they are right in any case. 3. Block `end`: without it the file was cut, and half a
// moment is none.
// 4. The lines must add up to what is resident.
// Bounds: those of blocks (block_file.h); a count of elements is at most the bytes of its block; kMost of each list,
// kMostStrings bytes of text; no number of bytes or objects above kMostNumber, nor any sum of them above 64 bits.
#include <cstring>

#include "mixstack/memory_files.h"
#include "output/formats/moment_blocks.h"
#include "output/report/escape.h"

namespace mixstack::formats {
namespace {

class MomentReader {
 public:
  explicit MomentReader(std::span<const std::byte> bytes) : blocks_(bytes) {}

  Result<MemoryMoment> read() {
    bool is_whole = false;
    while (const auto block = blocks_.next()) {
      is_whole = block->type == static_cast<std::uint16_t>(MomentBlock::end);
      if (is_whole) break;
      if (!take(*block)) return fail(ErrorCode::malformed, block->offset);
    }
    if (blocks_.is_at_limit()) return fail(ErrorCode::limit_exceeded, kMostPlain);
    if (!is_whole || !has_mark_) return fail(ErrorCode::truncated);
    std::uint64_t sum = 0;
    if (moment_.account)
      for (const MemoryLine& l : moment_.account->lines) sum += l.resident;
    if (moment_.account && sum != moment_.account->resident) return fail(ErrorCode::malformed);
    return std::move(moment_);
  }

 private:
  static constexpr std::size_t kMostLines = 1 << 12, kMostArenas = 1 << 13, kMostUnknown = 1 << 8, kMostRuntimes = 64,
                               kMostNotes = 1 << 12, kMostTypes = 1 << 21, kMostDuplicates = 1 << 10,
                               kMostCollections = 8;
  static constexpr std::uint64_t kMostStrings = std::uint64_t{512} << 20;
  static constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 48;  // of bytes, of objects
  static constexpr std::uint64_t kMostSum = std::uint64_t{1} << 62;

  std::string text() {
    const std::uint64_t size = in_.uleb();
    strings_ += size;
    if (size > kMostString || strings_ > kMostStrings) in_.set_failed();
    const auto bytes = in_.bytes(in_.ok() ? size : 0);
    return report::escape_for_terminal({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  std::uint64_t number(std::uint64_t most) {
    const std::uint64_t value = in_.uleb();
    if (value > most) in_.set_failed();
    return in_.ok() ? value : 0;
  }
  std::uint64_t amount() { return number(kMostNumber); }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(UINT32_MAX)); }
  bool yes() { return number(1) != 0; }
  std::optional<std::uint64_t> optional() { return yes() ? std::optional(number(UINT64_MAX)) : std::nullopt; }
  template <class Number>
  void generations(std::array<Number, kHeapGenerations>& out) {
    const std::uint64_t mask = number((1u << kHeapGenerations) - 1);
    for (std::size_t g = 0; g < kHeapGenerations; g++)
      if ((mask >> g & 1) != 0) out.at(g) = static_cast<Number>(sizeof(Number) == 4 ? number(UINT32_MAX) : amount());
  }
  template <class List>
  bool keep(List& list, std::size_t most, typename List::value_type&& element) {
    if (!in_.ok() || list.size() >= most) return false;
    list.push_back(std::move(element));
    return true;
  }
  HeapTypes* heap() {
    const std::uint64_t at = number(UINT32_MAX);
    return in_.ok() && at < moment_.heaps.size() ? &moment_.heaps[static_cast<std::size_t>(at)] : nullptr;
  }

  bool mark() {
    MomentMark& m = moment_.mark;
    moment_.pid = number32();
    moment_.name = text();
    moment_.core_path = text();
    m.taken_unix_ns = number(INT64_MAX);
    m.is_time_of_file = yes();
    m.started = number(UINT64_MAX);
    m.host = text();
    m.version = text();
    has_mark_ = true;
    return in_.ok();
  }

  bool account() {
    MemoryAccount a;
    a.resident = amount();
    a.resident_by_kernel = amount();
    a.swapped = amount();
    a.limit = optional();
    a.used_of_limit = optional();
    a.allocator = text();
    moment_.account = std::move(a);
    return in_.ok();
  }

  bool runtime() {
    MomentRuntime r;
    r.version = text();
    const std::uint64_t count = number(kMostCollections);
    for (std::uint64_t i = 0; i < count && in_.ok(); i++) r.collections.push_back(amount());
    return keep(moment_.mark.runtimes, kMostRuntimes, std::move(r));
  }

  /// A word of a later version is a line that is not known here, by that word.
  bool line() {
    MemoryLine l;
    const std::string kind = text();
    l.detail = text();
    const auto known = memory_kind_called(kind);
    l.kind = known.value_or(MemoryKind::unknown);
    if (!known) l.detail = kind;
    l.resident = amount();
    l.size = amount();
    return keep(moment_.account->lines, kMostLines, std::move(l));
  }

  bool arena() {
    MallocArena a;
    a.address = number(UINT64_MAX);
    a.is_main = yes();
    a.is_whole = yes();
    a.heaps = number32();
    a.used = amount();
    a.free = amount();
    a.used_chunks = amount();
    a.free_chunks = amount();
    return keep(moment_.account->arenas, kMostArenas, std::move(a));
  }

  bool unknown() {
    UnknownPiece p;
    p.mapping.begin = number(UINT64_MAX >> 1);
    p.mapping.end = p.mapping.begin + number(UINT64_MAX >> 1);
    p.rights = text();
    p.path = text();
    p.resident = amount();
    return keep(moment_.account->unknown, kMostUnknown, std::move(p));
  }

  bool managed() {
    ManagedMemory m;
    m.version = text();
    m.is_known = yes();
    m.is_server = yes();
    m.heaps = number32();
    generations(m.objects);
    generations(m.regions);
    return keep(moment_.account->managed, kMostRuntimes, std::move(m));
  }

  bool note() {
    Diagnosis d;
    d.error.code = static_cast<ErrorCode>(number(UINT16_MAX));
    d.subject = text();
    d.text = text();
    return keep(moment_.account->diagnoses, kMostNotes, std::move(d));
  }

  bool one_heap() {
    HeapTypes h;
    h.is_server = yes();
    h.heaps = number32();
    h.is_exact = yes();
    h.why_not = text();
    h.pause = std::chrono::nanoseconds(static_cast<std::int64_t>(number(INT64_MAX)));
    h.stops = number32();
    h.copied_in_stop = amount();
    return keep(moment_.heaps, kMostRuntimes, std::move(h));
  }

  bool type() {
    HeapTypes* const of = heap();
    if (of == nullptr) return false;
    TypeCount t;
    t.method_table = last_ = unzigzag(in_.uleb(), last_);
    t.is_free = yes();
    t.type = text();
    generations(t.count);
    generations(t.bytes);
    if (!in_.ok() || types_++ >= kMostTypes) return false;
    sum_ += t.all_bytes() + t.all();
    if (sum_ > kMostSum) return false;
    if (t.is_free) {
      of->free_bytes += t.all_bytes();
    } else {
      of->objects += t.all();
      of->bytes += t.all_bytes();
      for (std::size_t g = 0; g < kHeapGenerations; g++) of->bytes_of.at(g) += t.bytes.at(g);
    }
    of->types.push_back(std::move(t));
    return true;
  }

  bool elements() {
    HeapTypes* const of = heap();
    if (of == nullptr) return false;
    HeapElements e;
    e.one_in = number32();
    e.zeros_of_them = amount();
    for (ObjectAmount* a : {&e.strings, &e.empty_strings, &e.duplicates, &e.arrays, &e.empty_arrays,
                            &e.half_empty_arrays, &e.lists, &e.empty_lists, &e.not_read}) {
      a->count = amount();
      a->bytes = amount();
    }
    of->elements = std::move(e);
    return in_.ok();
  }

  bool duplicate() {
    HeapTypes* const of = heap();
    if (of == nullptr || !of->elements) return false;
    DuplicateString d;
    d.count = amount();
    d.length = amount();
    d.bytes = amount();
    d.text = text();
    return keep(of->elements->most, kMostDuplicates, std::move(d));
  }

  bool element(MomentBlock type_of) {
    const bool has_account = moment_.account.has_value();
    switch (type_of) {
      case MomentBlock::runtimes:
        return runtime();
      case MomentBlock::lines:
        return has_account && line();
      case MomentBlock::arenas:
        return has_account && arena();
      case MomentBlock::unknown:
        return has_account && unknown();
      case MomentBlock::managed:
        return has_account && managed();
      case MomentBlock::notes:
        return has_account && note();
      case MomentBlock::heaps:
        return one_heap();
      case MomentBlock::types:
        return type();
      case MomentBlock::elements:
        return elements();
      case MomentBlock::duplicates:
        return duplicate();
      default:
        return false;
    }
  }

  /// False: the block is malformed, or beyond a bound.
  bool take(const ReadBlock& block) {
    in_ = base::ByteCursor(block.plain);
    const auto type_of = static_cast<MomentBlock>(block.type);
    if (type_of == MomentBlock::mark) return !has_mark_ && mark();
    if (!has_mark_) return false;
    if (type_of > MomentBlock::duplicates) return true;  // of a later version
    if (type_of == MomentBlock::account) return !moment_.account && account();
    const std::uint64_t count = in_.uleb();
    if (!in_.ok() || count > block.plain.size()) return false;  // every element has at least one byte
    for (std::uint64_t i = 0; i < count; i++)
      if (!element(type_of)) return false;
    return in_.at_end();
  }

  BlockReader blocks_;
  base::ByteCursor in_;
  MemoryMoment moment_;
  std::uint64_t strings_ = 0, last_ = 0, sum_ = 0;
  std::size_t types_ = 0;
  bool has_mark_ = false;
};

}  // namespace
}  // namespace mixstack::formats

namespace mixstack {

bool is_moment(std::span<const std::byte> bytes) {
  return bytes.size() >= formats::kMagicSize &&
         std::memcmp(bytes.data(), formats::kMomentMagic, formats::kMagicSize) == 0;
}

Result<MemoryMoment> read_moment(std::span<const std::byte> bytes) {
  if (!is_moment(bytes)) return fail(ErrorCode::mismatch);
  const auto version = base::load_at<std::uint32_t>(bytes, formats::kMagicSize);
  if (!version) return fail(ErrorCode::truncated);
  if (*version != formats::kMomentVersion) return fail(ErrorCode::unsupported, *version);
  return formats::MomentReader(bytes).read();
}

}  // namespace mixstack
