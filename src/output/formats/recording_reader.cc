// Input: the bytes of a recording file (docs/formats/recording.md); hostile.
// Output: a Recording with the whole blocks of the file, or the error and the offset of the block at fault.
// Algorithm: 1. Magic and version. 2. One block after the other: header, CRC, zstd; the first block that fails these
// ends the file, so that a file cut by a full disk still gives its samples. 3. The facts come first, as they hold the
// slice of time. 4. Lists of elements, each before the lists that refer to it. Equal elements become one in the
// Recording, so each list maps the file's numbers to ours. A block with a wrong index or enumerator fails the file:
// its CRC was right, so it was written that way. 5. Block `end`; without it, a note tells that the file is cut.
// Bounds: kMostBlock per block and kMostPlain in all, before anything is decompressed; a count is at most the block's
// bytes; kMostString, kMostStrings, kMostProcesses, kMostNotes, kMostListed per list; the rest by Recording.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/system/byte_cursor.h"
#include "output/formats/recording_blocks.h"
#include "output/formats/recording_file.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::formats {
namespace {

using base::ByteCursor;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kMostProcesses = 1u << 14;  // Recording::process() searches linearly
/// Elements of one list in the file: equal ones become one in the Recording, but each file number is kept.
constexpr std::size_t kMostListed = 2 * Recording::kMostNodes;
constexpr std::size_t kMostNotes = 1u << 12;
constexpr std::uint64_t kMostStrings = std::uint64_t{512} << 20;

class FileReader {
 public:
  explicit FileReader(Bytes bytes) : blocks_(bytes) {}
  Result<Recording> read();

 private:
  using Numbers = std::vector<std::uint32_t>;

  bool take(const ReadBlock& block);
  bool facts();
  bool process();
  bool thread();
  bool module();
  bool file();
  bool function();
  bool frame();
  bool node();
  bool context();
  bool note();
  bool samples(std::uint64_t count);
  template <class Number>
  bool column(std::uint64_t count, std::vector<Number>& out);
  bool is_element(BlockType type);

  std::string text();
  template <class Enum>
  bool word(Enum last, Enum& out) {
    const std::uint64_t value = in_.uleb();
    out = static_cast<Enum>(std::min<std::uint64_t>(value, static_cast<std::uint64_t>(last)));
    return value <= static_cast<std::uint64_t>(last);
  }
  std::uint32_t number32() {
    const std::uint64_t value = in_.uleb();
    if (value > UINT32_MAX) in_.set_failed();
    return static_cast<std::uint32_t>(value);
  }
  /// Our number of the file's element `file_number`; kNoIndex: out of range.
  static std::uint32_t number_in(const Numbers& numbers, std::uint64_t file_number) {
    return file_number < numbers.size() ? numbers[static_cast<std::size_t>(file_number)] : kNoIndex;
  }
  /// Reads an index that may be absent. False: out of range.
  bool optional_index(const Numbers& numbers, std::uint32_t& out) {
    const std::uint64_t coded = in_.uleb();
    out = coded == 0 ? kNoIndex : number_in(numbers, coded - 1);
    return coded == 0 || out != kNoIndex;
  }
  static bool keep(Numbers& numbers, std::optional<std::uint32_t> number) {
    if (!number || numbers.size() >= kMostListed) return false;
    numbers.push_back(*number);
    return true;
  }

  BlockReader blocks_;
  ByteCursor in_;
  Recording recording_;
  Numbers processes_, threads_, modules_, files_, functions_, frames_, contexts_;
  Numbers nodes_ = Numbers(1);
  std::uint64_t last_address_ = 0, strings_ = 0, taken_ = 0;
  bool has_facts_ = false, is_whole_ = false;
};

std::string FileReader::text() {
  const std::uint64_t size = in_.uleb();
  strings_ += size;
  if (size > kMostString || strings_ > kMostStrings) in_.set_failed();
  const Bytes bytes = in_.bytes(in_.ok() ? size : 0);
  return report::escape_for_terminal({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

bool FileReader::facts() {
  RecordingFacts& f = recording_.facts;
  f.started_unix_ns = in_.uleb();
  f.duration_ns = in_.uleb();
  f.cpu_hertz = number32();
  f.wall_hertz = number32();
  f.source = text();
  f.arch = text();
  f.host = text();
  f.version = text();
  f.own_cpu_ns = in_.uleb();
  f.holds.total_ns = in_.uleb();
  f.holds.longest_ns = in_.uleb();
  f.holds.holds = in_.uleb();
  const std::uint64_t counts = in_.uleb();
  if (counts > 64 || !in_.ok()) return false;
  f.holds.counts.resize(static_cast<std::size_t>(counts));
  for (std::uint64_t& count : f.holds.counts) count = in_.uleb();
  RecordingAccount& a = f.account;
  for (std::uint64_t* value : {&a.samples, &a.walked, &a.cut, &a.lost_in_kernel, &a.lost_in_queue, &a.lost_in_tree,
                               &a.lost_to_stops, &a.skipped})
    *value = in_.uleb();
  recording_.make_coarser(in_.uleb());
  (void)in_.uleb();  // number of sample entries: not needed
  has_facts_ = true;
  return in_.ok();
}

bool FileReader::note() {
  recording_.facts.notes.push_back(text());
  return in_.ok() && recording_.facts.notes.size() <= kMostNotes;
}

bool FileReader::process() {
  RecordedProcess p;
  p.pid = number32();
  p.parent = number32();
  p.comm = text();
  p.command = text();
  p.runtime = text();
  return in_.ok() && processes_.size() < kMostProcesses && keep(processes_, recording_.process(p));
}

bool FileReader::thread() {
  RecordedThread t;
  t.process = number_in(processes_, in_.uleb());
  t.tid = number32();
  t.comm = text();
  t.name = text();
  t.first_ns = in_.uleb();
  t.last_ns = in_.uleb();
  return in_.ok() && keep(threads_, recording_.add_thread(t));
}

bool FileReader::module() {
  RecordedModule m;
  m.name = text();
  m.path = text();
  m.build_id = text();
  return in_.ok() && keep(modules_, recording_.module(m));
}

bool FileReader::file() {
  const std::string path = text();
  return in_.ok() && keep(files_, recording_.file(path));
}

bool FileReader::function() {
  RecordedFunction f;
  f.name = text();
  f.raw_name = text();
  const bool is_sound = optional_index(modules_, f.module) && word(kLastCodeKind, f.kind);
  f.is_user = in_.uleb() != 0;
  return in_.ok() && is_sound && keep(functions_, recording_.function(f));
}

bool FileReader::frame() {
  RecordedFrame f;
  f.function = number_in(functions_, in_.uleb());
  f.line = number32();
  const bool is_sound =
      optional_index(files_, f.file) && word(Inlining::inferred, f.inlining) && word(Trust::inferred, f.trust);
  f.address = last_address_ = unzigzag(in_.uleb(), last_address_);
  return in_.ok() && is_sound && keep(frames_, recording_.frame(f));
}

bool FileReader::node() {
  const std::uint64_t back = in_.uleb(), frame = in_.uleb();
  if (!in_.ok() || back == 0 || back > nodes_.size()) return false;
  const StackNode node{nodes_[nodes_.size() - static_cast<std::size_t>(back)], number_in(frames_, frame)};
  return keep(nodes_, recording_.node(node));
}

bool FileReader::context() {
  SampleContext c;
  c.thread = number_in(threads_, in_.uleb());
  bool is_sound = word(kLastSampleClock, c.clock) && word(kLastActivity, c.activity) && word(kLastGcMode, c.gc_mode);
  c.gc_pending = in_.uleb() != 0;
  is_sound = is_sound && word(kLastStopReason, c.stop);
  c.system_call = static_cast<std::int32_t>(static_cast<std::int64_t>(unzigzag(in_.uleb(), 0)));
  return in_.ok() && is_sound && keep(contexts_, recording_.context(c));
}

template <class Number>
bool FileReader::column(std::uint64_t count, std::vector<Number>& out) {
  out.clear();
  for (std::uint64_t i = 0; i < count && in_.ok(); i++) {
    const std::uint64_t value = in_.uleb();
    if (value > std::numeric_limits<Number>::max()) return false;
    out.push_back(static_cast<Number>(value));
  }
  return in_.ok();
}

bool FileReader::samples(std::uint64_t count) {
  std::vector<std::uint64_t> times;
  std::vector<std::uint32_t> stacks, contexts, counts;
  if (!column(count, times) || !column(count, stacks) || !column(count, contexts) || !column(count, counts))
    return false;
  std::uint64_t time = 0;
  for (std::size_t i = 0; i < times.size(); i++) {
    time = unzigzag(times[i], time);
    const std::uint32_t stack = number_in(nodes_, stacks[i]), context = number_in(contexts_, contexts[i]);
    if (!recording_.add({time * recording_.slice_ns(), stack, context, counts[i]})) return false;
    taken_ += counts[i];
  }
  return true;
}

bool FileReader::is_element(BlockType type) {
  switch (type) {
    case BlockType::notes:
      return note();
    case BlockType::processes:
      return process();
    case BlockType::threads:
      return thread();
    case BlockType::modules:
      return module();
    case BlockType::files:
      return file();
    case BlockType::functions:
      return function();
    case BlockType::frames:
      return frame();
    case BlockType::nodes:
      return node();
    case BlockType::contexts:
      return context();
    default:
      return false;
  }
}

/// False: the block is malformed, or exceeds the bounds of a recording.
bool FileReader::take(const ReadBlock& block) {
  in_ = ByteCursor(block.plain);
  const auto type = static_cast<BlockType>(block.type);
  if (type == BlockType::facts) return !has_facts_ && facts();
  if (!has_facts_) return false;
  if (type > BlockType::end) return true;  // an optional block of a later version
  const std::uint64_t count = in_.uleb();
  if (!in_.ok() || count > block.plain.size()) return false;  // every element has at least one byte
  if (type == BlockType::samples) return samples(count);
  for (std::uint64_t i = 0; i < count; i++)
    if (!is_element(type)) return false;
  return in_.at_end();
}

Result<Recording> FileReader::read() {
  while (const auto block = blocks_.next()) {
    is_whole_ = block->type == static_cast<std::uint16_t>(BlockType::end);
    if (is_whole_) break;
    if (!take(*block)) return fail(ErrorCode::malformed, block->offset);
  }
  if (!has_facts_) return fail(ErrorCode::truncated);
  if (blocks_.is_at_limit()) return fail(ErrorCode::limit_exceeded, kMostPlain);
  if (!is_whole_)
    recording_.facts.notes.push_back(fmt::format("the file is cut or damaged: here {} {} of its {}",
                                                 taken_ == 1 ? "is" : "are", taken_,
                                                 report::counted(recording_.facts.account.samples, "sample")));
  return std::move(recording_);
}

}  // namespace

bool is_recording(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof kRecordingMagic &&
         std::memcmp(bytes.data(), kRecordingMagic, sizeof kRecordingMagic) == 0;
}

Result<Recording> read_recording(std::span<const std::byte> bytes) {
  if (!is_recording(bytes)) return fail(ErrorCode::mismatch);
  const auto version = base::load_at<std::uint32_t>(bytes, sizeof kRecordingMagic);
  if (!version) return fail(ErrorCode::truncated);
  if (*version != kRecordingVersion) return fail(ErrorCode::unsupported, *version);
  return FileReader(bytes).read();
}

}  // namespace mixstack::formats
