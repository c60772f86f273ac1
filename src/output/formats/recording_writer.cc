#include <algorithm>
#include <string_view>

#include "output/formats/recording_blocks.h"
#include "output/formats/recording_file.h"

namespace mixstack::formats {
namespace {

using Block = BlockFields;

/// An index plus one; 0: none.
std::uint64_t index_plus_one(std::uint32_t value) { return value == kNoIndex ? 0 : std::uint64_t{value} + 1; }

class FileWriter {
 public:
  FileWriter(report::Writer& out, const Recording& recording) : blocks_(out), recording_(recording) {}
  void write();

 private:
  void put(BlockType type, std::string_view plain) { blocks_.put(static_cast<std::uint16_t>(type), plain); }
  template <class Range, class Write>
  void list(BlockType type, const Range& range, Write write) {
    blocks_.list(static_cast<std::uint16_t>(type), range, write);
  }
  void facts();
  void names();
  void places();
  void contexts();
  void samples();

  BlockWriter blocks_;
  const Recording& recording_;
};

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
    to.text(f.name).text(f.raw_name).number(index_plus_one(f.module)).word(f.kind).number(f.is_user ? 1 : 0);
  });
}

void FileWriter::places() {
  RecordedFrame last;
  list(BlockType::frames, recording_.frames(), [&last](Block& to, const RecordedFrame& f) {
    to.number(f.function).number(f.line).number(index_plus_one(f.file)).word(f.inlining).word(f.trust);
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
  blocks_.begin(kRecordingMagic, kRecordingVersion);
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
