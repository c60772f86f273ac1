#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "output/formats/recording_blocks.h"
#include "output/formats/recording_file.h"

namespace mixstack::formats {
namespace {

std::uint32_t crc_of(std::uint32_t crc, std::string_view bytes) {
  if (bytes.empty()) return crc;  // crc32 returns its initial value for a null pointer
  return static_cast<std::uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

/// Encodes the numbers and strings of one block.
class Block {
 public:
  Block& number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  template <class Enum>
  Block& word(Enum value) {
    return number(static_cast<std::uint64_t>(value));
  }
  Block& text(std::string_view text) {
    text = text.substr(0, kMostString);
    number(text.size());
    bytes_.append(text);
    return *this;
  }
  /// An index plus one; 0: none.
  Block& index(std::uint32_t value) { return number(value == kNoIndex ? 0 : std::uint64_t{value} + 1); }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class FileWriter {
 public:
  FileWriter(report::Writer& out, const Recording& recording) : out_(out), recording_(recording) {}
  void write();

 private:
  void put(BlockType type, std::string_view plain);
  template <class Range, class Write>
  void list(BlockType type, const Range& range, Write write);
  void facts();
  void names();
  void places();
  void contexts();
  void samples();

  report::Writer& out_;
  const Recording& recording_;
  std::string packed_;
};

void FileWriter::put(BlockType type, std::string_view plain) {
  constexpr int kLevel = 3;
  packed_.resize(::ZSTD_compressBound(plain.size()));
  const std::size_t size = ::ZSTD_compress(packed_.data(), packed_.size(), plain.data(), plain.size(), kLevel);
  const bool is_packed = ::ZSTD_isError(size) == 0 && size < plain.size();
  const std::string_view stored = is_packed ? std::string_view(packed_).substr(0, size) : plain;
  BlockHeader header;
  header.type = static_cast<std::uint16_t>(type);
  header.coding = static_cast<std::uint16_t>(is_packed ? BlockCoding::zstd : BlockCoding::plain);
  header.stored_size = static_cast<std::uint32_t>(stored.size());
  header.plain_size = static_cast<std::uint32_t>(plain.size());
  char bytes[sizeof header];
  std::memcpy(bytes, &header, sizeof header);
  header.crc = crc_of(crc_of(0, {bytes, kHeaderWithoutCrc}), stored);
  std::memcpy(bytes, &header, sizeof header);
  out_ << std::string_view(bytes, sizeof bytes) << stored;
}

/// Writes a list in blocks of about a quarter of a megabyte, each preceded by its number of elements.
template <class Range, class Write>
void FileWriter::list(BlockType type, const Range& range, Write write) {
  constexpr std::size_t kPiece = 256 << 10;
  Block elements;
  std::size_t count = 0;
  const auto flush = [&] {
    if (count == 0) return;
    Block whole;
    whole.number(count);
    put(type, std::string(whole.bytes()).append(elements.bytes()));
    elements.clear();
    count = 0;
  };
  for (const auto& element : range) {
    write(elements, element);
    count++;
    if (elements.bytes().size() >= kPiece) flush();
  }
  flush();
}

void FileWriter::facts() {
  const RecordingFacts& f = recording_.facts;
  Block block;
  block.number(f.started_unix_ns).number(f.duration_ns).number(f.cpu_hertz).number(f.wall_hertz);
  block.text(f.source).text(f.arch).text(f.host).text(f.version).number(f.own_cpu_ns);
  const std::size_t counts = std::min<std::size_t>(f.holds.counts.size(), 64);
  block.number(f.holds.total_ns).number(f.holds.longest_ns).number(f.holds.holds).number(counts);
  for (std::size_t i = 0; i < counts; i++) block.number(f.holds.counts[i]);
  const RecordingAccount& a = f.account;
  for (const std::uint64_t value :
       {a.samples, a.walked, a.cut, a.lost_in_kernel, a.lost_in_queue, a.lost_in_tree, a.lost_to_stops, a.skipped})
    block.number(value);
  block.number(recording_.slice_ns()).number(recording_.samples().size());
  put(BlockType::facts, block.bytes());
  list(BlockType::notes, f.notes, [](Block& to, const std::string& note) { to.text(note); });
}

void FileWriter::names() {
  list(BlockType::processes, recording_.processes(), [](Block& to, const RecordedProcess& p) {
    to.number(p.pid).number(p.parent).text(p.comm).text(p.command).text(p.runtime);
  });
  list(BlockType::threads, recording_.threads(), [](Block& to, const RecordedThread& t) {
    to.number(t.process).number(t.tid).text(t.comm).text(t.name).number(t.first_ns).number(t.last_ns);
  });
  list(BlockType::modules, recording_.modules(),
       [](Block& to, const RecordedModule& m) { to.text(m.name).text(m.path).text(m.build_id); });
  list(BlockType::files, recording_.files(), [](Block& to, const std::string& file) { to.text(file); });
  list(BlockType::functions, recording_.functions(), [](Block& to, const RecordedFunction& f) {
    to.text(f.name).text(f.raw_name).index(f.module).word(f.kind).number(f.is_user ? 1 : 0);
  });
}

void FileWriter::places() {
  RecordedFrame last;
  list(BlockType::frames, recording_.frames(), [&last](Block& to, const RecordedFrame& f) {
    to.number(f.function).number(f.line).index(f.file).word(f.inlining).word(f.trust);
    to.number(zigzag(f.address, last.address));
    last = f;
  });
  const std::span<const StackNode> without_root(recording_.nodes().begin() + 1, recording_.nodes().end());
  std::uint32_t number = 0;
  list(BlockType::nodes, without_root, [&number](Block& to, const StackNode& node) {
    number++;
    to.number(number - node.parent).number(node.frame);
  });
}

void FileWriter::contexts() {
  list(BlockType::contexts, recording_.contexts(), [](Block& to, const SampleContext& c) {
    to.number(c.thread).word(c.clock).word(c.activity).word(c.gc_mode).number(c.gc_pending ? 1 : 0).word(c.stop);
    to.number(zigzag(static_cast<std::uint64_t>(std::int64_t{c.system_call}), 0));
  });
}

/// Column by column, because similar numbers side by side compress better.
void FileWriter::samples() {
  constexpr std::size_t kPiece = 64 << 10;
  const auto& all = recording_.samples();
  for (std::size_t begin = 0; begin < all.size(); begin += kPiece) {
    const std::span<const Sample> piece(all.data() + begin, std::min(kPiece, all.size() - begin));
    Block block;
    block.number(piece.size());
    std::uint64_t before = 0;
    for (const Sample& s : piece) {
      const std::uint64_t time = s.time_ns / recording_.slice_ns();
      block.number(zigzag(time, before));
      before = time;
    }
    for (const Sample& s : piece) block.number(s.stack);
    for (const Sample& s : piece) block.number(s.context);
    for (const Sample& s : piece) block.number(s.count);
    put(BlockType::samples, block.bytes());
  }
}

void FileWriter::write() {
  out_ << std::string_view(reinterpret_cast<const char*>(kRecordingMagic), sizeof kRecordingMagic);
  char version[sizeof kRecordingVersion];
  std::memcpy(version, &kRecordingVersion, sizeof version);
  out_ << std::string_view(version, sizeof version);
  facts();
  names();
  places();
  contexts();
  samples();
  put(BlockType::end, {});
}

}  // namespace

void write_recording(report::Writer& out, const Recording& recording) { FileWriter(out, recording).write(); }

}  // namespace mixstack::formats
