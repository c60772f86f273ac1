// Makes a pack: one file from which a dump can be made again, on another machine.
//
// Input: a pid or a core, PackOptions, a descriptor to write to. Output: the pack, and a summary of its contents.
// Algorithm: dump the target through a CopyingTarget, which records all that the dump reads; add the image headers and
// build ids that prove files on the other machine; for a core, drop recorded bytes that it does not hold itself and add
// the files they came from, and stacks. Read environment and command line from the target, which must still be the same
// program; then write manifest, core and files as one stream, with those secrets blanked wherever they occur. Dump the
// pack and compare. A small pack of a core that differs is made once more in full.
// Bounds: 256 MiB recorded (MemoryImage); kStackOfACore for each stack and kStacksOfACore together; kMostOfAFile bytes
// of proof for each assembly; kPage for each note. --full adds all private memory (all that a core holds), streamed.
#include "session/packing.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "base/arch/cpu.h"
#include "engine/images/module_probe.h"
#include "process/core/core_file.h"
#include "process/core/core_notes.h"
#include "process/core/dumped_memory.h"
#include "process/kernel/elf_facts.h"
#include "process/kernel/memory_map.h"
#include "process/live/live_target.h"
#include "process/pack/blanker.h"
#include "process/pack/core_notes_writer.h"
#include "process/pack/core_pieces.h"
#include "process/pack/manifest.h"
#include "process/pack/pack_writer.h"
#include "process/pack/process_words.h"
#include "session/core_opening.h"
#include "session/process_session.h"
#include "session/symbol_sources.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStackOfACore = 1 << 20, kStacksOfACore = 64 << 20;

/// A dump of a source, and all that it read.
struct Dumped {
  std::unique_ptr<Session> session;
  pack::CopyingTarget* recorder = nullptr;  ///< the session's
  ProcessDump dump;
  pack::PackedProcess recording;
};

[[nodiscard]] Result<Dumped> dump_and_record(std::unique_ptr<Target> source, const PackOptions& options) {
  auto recorder = std::make_unique<pack::CopyingTarget>(std::move(source));
  Dumped out;
  out.recorder = recorder.get();
  auto session = ProcessSession::open(std::move(recorder));
  if (!session) return fail(session.error());
  auto& own = static_cast<ProcessSession&>(**session);  // `open` makes no other kind
  own.leave_out_perf_map();
  if (options.full) own.read_types_of_heaps();
  out.session = std::move(*session);
  out.session->set_runtime_options(options.runtime);
  out.session->set_symbol_options(options.symbols);
  auto dump = out.session->dump(options.dump);
  if (!dump) return fail(dump.error());
  out.dump = std::move(*dump);
  for (const ThreadDump& t : out.dump.threads)  // a live target has the name only at its main thread
    if (t.tid == out.dump.target.pid && out.dump.target.comm.empty()) out.dump.target.comm = t.comm;
  out.recording = out.recorder->take();
  if (out.recording.regions.empty())
    if (auto regions = out.session->target().regions()) out.recording.regions = std::move(*regions);
  return out;
}

/// Proof that files are those that were mapped: the first page of each image, and its build id.
void add_headers(const MemoryReader& memory, pack::PackedProcess& recording) {
  std::array<std::byte, kPage> page;
  for (const Region& r : recording.regions) {
    if (!r.path.starts_with('/') || r.shared || r.writable || !r.readable) continue;
    const auto n = memory.read_some(r.range.begin, page);
    if (!n || *n < 4) continue;
    const bool is_elf = page[0] == std::byte{0x7f} && page[1] == std::byte{'E'} && page[2] == std::byte{'L'};
    const bool is_pe = page[0] == std::byte{'M'} && page[1] == std::byte{'Z'};
    if (!is_elf && !is_pe) continue;
    recording.memory.add(r.range.begin, std::span(page).first(*n));
    const auto head = is_elf ? images::probe_image(memory, r.range.begin) : fail(ErrorCode::not_found);
    if (!head) continue;
    for (const images::Segment& s : head->segments) {
      if (s.type != 4 /* PT_NOTE */ || s.memory_size > kPage) continue;
      std::vector<std::byte> note(static_cast<std::size_t>(s.memory_size));
      if (memory.read_exact(head->load_bias + s.vaddr, note)) recording.memory.add(head->load_bias + s.vaddr, note);
    }
  }
}

[[nodiscard]] std::string time_text(std::time_t now) {
  std::tm utc{};
  std::array<char, 32> text{};
  if (::gmtime_r(&now, &utc) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

[[nodiscard]] pack::Manifest manifest_of(const Dumped& dumped, const PackOptions& options, std::time_t now) {
  pack::Manifest m;
  utsname system{};
  if (::uname(&system) == 0) {
    m.host = system.nodename;
    m.kernel = std::string(system.sysname) + " " + system.release;
  }
  const TargetInfo& info = dumped.dump.target;
  m.tool = options.tool;
  m.time = time_text(now);
  m.cpu = arch::cpu(info.arch).name;
  m.source = info.core_path.empty() ? "process" : "core";
  m.form = options.full ? "full" : "small";
  m.pid = info.pid;
  m.name = info.comm;
  m.executable = info.executable;
  m.threads = dumped.dump.threads.size();
  m.pause_ns = dumped.dump.pause.count();
  for (const RuntimeSummary& r : dumped.dump.runtimes) m.runtimes.push_back({r.kind, r.version, r.module_path});
  return m;
}

/// Names of code and threads: they are no secrets, even where a secret has the same word.
[[nodiscard]] std::string public_names(const ProcessDump& dump) {
  std::string all;
  const auto add = [&all](const std::string& text) { all += text + '\n'; };
  for (const SymbolInfo& s : dump.symbols)
    for (const std::string* text : {&s.name, &s.raw_name, &s.module_path, &s.file}) add(*text);
  for (const ThreadDump& t : dump.threads) {
    add(t.comm);
    if (!t.managed) continue;
    add(t.managed->name);
    for (const ExceptionInFlight& flight : t.managed->exceptions)
      for (const ManagedException& e : flight.chain) add(e.type);
  }
  return all;
}

[[nodiscard]] std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// One pack, from a process or a core.
class Packer {
 public:
  Packer(Dumped dumped, pack::ProcessWords words, const PackOptions& options, int fd)
      : dumped_(std::move(dumped)), words_(std::move(words)), options_(options), fd_(fd) {
    if (words_.on_stack && !(options.with_environment && options.with_command_line)) hole_ = *words_.on_stack;
    dumped_.recording.memory.remove(hole_);
  }
  [[nodiscard]] Dumped& dumped() { return dumped_; }
  [[nodiscard]] pack::ProcessNotes process_notes() const {
    const TargetInfo& info = dumped_.dump.target;
    return {info.pid, info.comm, options_.with_command_line ? joined(words_.command_line) : std::string(),
            pack::public_auxv(words_.auxv)};
  }
  void leave_out(std::string sentence) { left_out_.push_back(std::move(sentence)); }

  /// `more` is read from `memory` when it is written.
  [[nodiscard]] Result<PackSummary> write(std::vector<std::byte> notes, const std::vector<AddressRange>& more,
                                          const MemoryReader& memory) {
    pack::PackedProcess& recording = dumped_.recording;
    say_what_is_left_out();
    const std::time_t now = std::time(nullptr);
    pack::Manifest manifest = manifest_of(dumped_, options_, now);
    manifest.left_out = left_out_;
    if (options_.with_command_line) manifest.command_line = words_.command_line;
    if (options_.with_environment) manifest.environment = words_.environment;
    const pack::Blanker blanker(words_.secrets(recording.regions, public_names(dumped_.dump),
                                               !options_.with_environment, !options_.with_command_line));
    const pack::RecordedPieces recorded(std::move(recording.memory), recording.regions);
    const pack::CoreLayout core(dumped_.dump.target.arch, std::move(notes),
                                pack::with_ranges(recorded.pieces(), more, hole_), recording.regions);
    pack::PackStream out(fd_, static_cast<std::uint64_t>(now));
    const auto written =
        pack::write_members(out, pack::manifest_json(manifest), core, memory, blanker, recording.files);
    if (auto finished = out.finish(); !finished)
      return fail(ErrorCode::io_error, kNotWritten, finished.error().os_error);
    return summary_of(written, out.written());
  }

 private:
  void say_what_is_left_out() {
    if (!options_.full)
      leave_out("memory that the dump did not read (heaps, most of all); --full puts in all private memory");
    if (!options_.with_environment) leave_out("the environment; --with-environment puts it in");
    if (!options_.with_command_line) leave_out("the command line; --with-command-line puts it in");
    if (!words_.on_stack)
      leave_out(
          "the upper end of the main stack is not known (no auxiliary vector): pieces of the environment may be in");
    if (words_.environment_is_lost && !options_.with_environment)
      warn(
          "the environment cannot be known: the program has none or overwrote it (as setproctitle does). Copies of its "
          "values elsewhere in memory were not looked for, and may be in");
    if (words_.command_line_is_lost && !options_.with_command_line)
      warn(
          "the command line cannot be known: the program overwrote it (as setproctitle does). Copies of its words "
          "elsewhere in memory were not looked for, and may be in");
    leave_out("files that no stack runs through");
    if (dumped_.recording.memory.is_cut()) leave_out("what was read beyond 256 MiB");
  }

  /// The manifest says it, too.
  void warn(std::string sentence) {
    warnings_.push_back(sentence);
    leave_out(std::move(sentence));
  }

  [[nodiscard]] PackSummary summary_of(const pack::WrittenPack& written, std::uint64_t bytes) {
    PackSummary s;
    s.threads = dumped_.dump.threads.size();
    s.files = written.files;
    s.core_bytes = written.core_bytes;
    s.file_bytes = written.file_bytes;
    s.written = bytes;
    s.full = options_.full;
    if (written.bytes_gone != 0)
      leave_out(std::to_string(written.bytes_gone) + " bytes of memory that was given back meanwhile: zeros");
    for (const std::string& path : written.not_whole) leave_out(path + ", which is too large or shrank meanwhile");
    s.left_out = left_out_;
    for (const std::string& warning : warnings_) std::erase(s.left_out, warning);
    s.warnings = warnings_;
    s.diagnoses = dumped_.dump.diagnoses;
    s.pause = dumped_.dump.pause;
    return s;
  }

  Dumped dumped_;
  pack::ProcessWords words_;
  const PackOptions& options_;
  int fd_;
  AddressRange hole_;
  std::vector<std::string> left_out_, warnings_;
};

/// Reads the pack back as a machine would that has nothing else.
[[nodiscard]] std::vector<ThreadId> read_back(int fd, const PackOptions& options, const ProcessDump& dump) {
  CoreOptions pack;
  pack.path = "/proc/self/fd/" + std::to_string(fd);
  pack.use_own_files = false;
  auto session = Session::open_core(pack);
  if (!session) return {0};
  (*session)->set_runtime_options(options.runtime);
  const auto again = (*session)->dump(options.dump);
  if (!again) return {0};
  return different_threads(dump, *again);
}

/// Keeps only bytes that the core itself holds: these prove files, and files are packed whole.
void keep_dumped(const process::DumpedMemory& dumped, pack::PackedProcess& recording) {
  pack::MemoryImage held;
  recording.memory.for_each_run([&](Address begin, std::span<std::byte> bytes) {
    const Address end = begin + bytes.size();
    for (Address at = dumped.next_dumped(begin, end); at < end; at = dumped.next_dumped(at, end)) {
      const auto n = dumped.read_some(at, bytes.first(static_cast<std::size_t>(end - at)));
      if (!n || *n == 0) break;
      held.add(at, bytes.first(*n));
      at += *n;
    }
  });
  recording.memory = std::move(held);
}

/// Adds the files that completed the core's memory: pages were read there that the core does not hold.
void add_files_behind_memory(const Target& target, const process::DumpedMemory& dumped,
                             pack::PackedProcess& recording) {
  std::set<std::string> known, paths;
  for (const pack::PackedProcess::File& file : recording.files) known.insert(file.path);
  recording.memory.for_each_run([&](Address begin, std::span<std::byte> bytes) {
    const Address end = begin + bytes.size();
    for (Address at = begin; at < end;) {
      const Address held = dumped.next_dumped(at, end);
      if (const Region* r = at < held ? process::find_region(recording.regions, at) : nullptr) paths.insert(r->path);
      if (held >= end) break;
      std::array<std::byte, kPage> page;
      const auto n = dumped.read_some(held, std::span(page).first(static_cast<std::size_t>(end - held)));
      if (!n || *n == 0) break;
      at = held + *n;
    }
  });
  for (const Region& r : recording.regions) {
    if (!r.path.starts_with('/') || !paths.contains(r.path) || !known.insert(r.path).second) continue;
    if (auto file = target.open_file(r); file && *file != nullptr)
      recording.files.push_back({r.path, std::move(*file)});
  }
}

/// Proof of an assembly where the core lacks its headers: pointers in its data, as far as they are there.
void add_proofs(const process::DumpedMemory& dumped, pack::PackedProcess& recording) {
  constexpr std::size_t kMostOfAFile = 4 << 20;
  std::vector<std::byte> page(kPage);
  for (const pack::PackedProcess::File& file : recording.files) {
    const auto magic = file.bytes->range(0, 2);
    if (magic.size() != 2 || magic[0] != std::byte{'M'} || magic[1] != std::byte{'Z'}) continue;
    std::size_t left = kMostOfAFile;
    for (const Region& r : recording.regions) {
      if (r.path != file.path) continue;
      for (Address at = dumped.next_dumped(r.range.begin, r.range.end); at < r.range.end && left >= kPage;
           at = dumped.next_dumped(at, r.range.end)) {
        const auto n = dumped.read_some(at, page);
        if (!n || *n == 0) break;
        recording.memory.add(at, std::span(page).first(*n));
        at += *n;
        left -= *n;
      }
    }
  }
}

/// Adds the stacks to their full depth, for other debuggers.
void add_stacks(const process::DumpedMemory& dumped, pack::PackedProcess& recording) {
  std::size_t left = kStacksOfACore;
  for (const auto& [tid, thread] : recording.threads) {
    const Address sp = thread.capture.registers.sp();
    const Region* region = process::find_region(recording.regions, sp);
    if (!thread.capture.captured || region == nullptr) continue;
    std::vector<std::byte> stack(
        static_cast<std::size_t>(std::min<std::uint64_t>({kStackOfACore, left, region->range.end - sp})));
    const auto n = dumped.read_some(sp, stack);
    if (!n) continue;
    recording.memory.add(sp, std::span(stack).first(*n));
    left -= *n;
  }
}

}  // namespace

Result<PackSummary> pack_process(std::uint32_t pid, const PackOptions& options, int fd) {
  auto target = process::open_live(pid);
  if (!target) return fail(target.error());
  auto dumped = dump_and_record(std::move(*target), options);
  if (!dumped) return fail(dumped.error());
  const MemoryReader& memory = dumped->recorder->unrecorded();
  add_headers(memory, dumped->recording);
  const auto regions = dumped->recording.regions;
  auto words = pack::read_process_words(pid, memory, regions);
  // The program's addresses are random: if they differ, the pid was reused.
  TargetInfo now;
  process::parse_auxv(words.auxv, now);
  if (now.entry_point != dumped->dump.target.entry_point || now.vdso != dumped->dump.target.vdso)
    return fail(ErrorCode::process_changed, pid);
  Packer packer(std::move(*dumped), std::move(words), options, fd);
  pack::PresentMemory present;
  if (options.full) {
    present = pack::present_memory(pid, regions);
    packer.leave_out("the order of events: memory other than stacks was copied while the process ran on");
    if (present.swapped != 0) packer.leave_out(std::to_string(present.swapped) + " bytes of memory in swap");
    if (present.unknown != 0)
      packer.leave_out(std::to_string(present.unknown) +
                       " bytes of memory of which the kernel does not say whether it is there");
  }
  auto notes = pack::notes_of(packer.process_notes(), packer.dumped().recording);
  auto summary = packer.write(std::move(notes), present.ranges, memory);
  if (summary && options.read_back) summary->different = read_back(fd, options, packer.dumped().dump);
  return summary;
}

namespace {

[[nodiscard]] Result<PackSummary> pack_core_once(const CoreOptions& core, const PackOptions& options, int fd) {
  auto opened = open_core_target(core, executable_fetcher(make_symbol_finder(options.symbols)));
  if (!opened) return fail(opened.error());
  const auto bytes = opened->bytes;
  auto dumped = dump_and_record(std::move(opened->target), options);
  if (!dumped) return fail(dumped.error());
  const auto file = process::CoreFile::read(bytes);
  if (!file) return fail(file.error());
  const process::DumpedMemory memory(*file);
  add_files_behind_memory(dumped->session->target(), memory, dumped->recording);
  keep_dumped(memory, dumped->recording);
  add_proofs(memory, dumped->recording);
  add_headers(memory, dumped->recording);
  add_stacks(memory, dumped->recording);
  const auto regions = dumped->recording.regions;
  const process::CoreNotes notes = process::read_core_notes(file->notes(), file->arch());
  Packer packer(std::move(*dumped), pack::find_process_words(notes.auxv, memory, regions), options, fd);
  auto written = pack::notes_of(packer.process_notes(), file->notes(), regions);
  auto summary =
      packer.write(std::move(written), options.full ? pack::dumped_ranges(*file) : std::vector<AddressRange>(), memory);
  if (summary && options.read_back) summary->different = read_back(fd, options, packer.dumped().dump);
  return summary;
}

}  // namespace

Result<PackSummary> pack_core(const CoreOptions& core, const PackOptions& options, int fd) {
  auto summary = pack_core_once(core, options, fd);
  const bool suffices = !summary || summary->different.empty() || options.full || core.path == "-";
  if (suffices || ::ftruncate(fd, 0) != 0 || ::lseek(fd, 0, SEEK_SET) != 0) return summary;
  PackOptions full = options;
  full.full = true;
  return pack_core_once(core, full, fd);
}

}  // namespace mixstack::session
