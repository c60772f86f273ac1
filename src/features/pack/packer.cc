#include "features/pack/packer.h"

#include <sys/utsname.h>

#include <array>
#include <ctime>

#include "base/arch/cpu.h"
#include "process/pack/blanker.h"
#include "process/pack/core_pieces.h"
#include "process/pack/manifest.h"

namespace mixstack::packing {
namespace {

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

}  // namespace

Packer::Packer(Dumped dumped, pack::ProcessWords words, const PackOptions& options, int fd)
    : dumped_(std::move(dumped)), words_(std::move(words)), options_(options), fd_(fd) {
  if (words_.on_stack && !(options.with_environment && options.with_command_line)) hole_ = *words_.on_stack;
  dumped_.recording.memory.remove(hole_);
}

pack::ProcessNotes Packer::process_notes() const {
  const TargetInfo& info = dumped_.dump.target;
  return {info.pid, info.comm, options_.with_command_line ? joined(words_.command_line) : std::string(),
          pack::public_auxv(words_.auxv)};
}

Result<PackSummary> Packer::write(std::vector<std::byte> notes, const std::vector<AddressRange>& more,
                                  const MemoryReader& memory) {
  pack::PackedProcess& recording = dumped_.recording;
  say_what_is_left_out();
  const std::time_t now = std::time(nullptr);
  pack::Manifest manifest = manifest_of(dumped_, options_, now);
  manifest.left_out = left_out_;
  manifest.left_out_codes = left_out_codes_;
  if (options_.with_command_line) manifest.command_line = words_.command_line;
  if (options_.with_environment) manifest.environment = words_.environment;
  const pack::Blanker blanker(words_.secrets(recording.regions, public_names(dumped_.dump), !options_.with_environment,
                                             !options_.with_command_line));
  const pack::RecordedPieces recorded(std::move(recording.memory), recording.regions);
  const pack::CoreLayout core(dumped_.dump.target.arch, std::move(notes),
                              pack::with_ranges(recorded.pieces(), more, hole_), recording.regions);
  pack::PackStream out(fd_, static_cast<std::uint64_t>(now));
  const auto written = pack::write_members(out, pack::manifest_json(manifest), core, memory, blanker, recording.files);
  if (auto finished = out.finish(); !finished)
    return fail(ErrorCode::io_error, kPackNotWritten, finished.error().os_error);
  return summary_of(written, out.written());
}

void Packer::say_what_is_left_out() {
  if (!options_.full)
    leave_out("unread_memory",
              "memory that the dump did not read (heaps, most of all); --full puts in all private memory");
  if (!options_.with_environment) leave_out("environment", "the environment; --with-environment puts it in");
  if (!options_.with_command_line) leave_out("command_line", "the command line; --with-command-line puts it in");
  if (!words_.on_stack)
    leave_out(
        "unknown_stack_end",
        "the upper end of the main stack is not known (no auxiliary vector): pieces of the environment may be in");
  if (words_.environment_is_lost && !options_.with_environment)
    warn("unknown_environment",
         "the environment cannot be known: the program has none or overwrote it (as setproctitle does). Copies of its "
         "values elsewhere in memory were not looked for, and may be in");
  if (words_.command_line_is_lost && !options_.with_command_line)
    warn("unknown_command_line",
         "the command line cannot be known: the program overwrote it (as setproctitle does). Copies of its words "
         "elsewhere in memory were not looked for, and may be in");
  leave_out("files_of_no_stack", "files that no stack runs through");
  if (dumped_.recording.memory.is_cut()) leave_out("beyond_limit", "what was read beyond 256 MiB");
}

/// The manifest says it, too.
void Packer::warn(const char* code, std::string sentence) {
  warnings_.push_back(sentence);
  leave_out(code, std::move(sentence));
}

PackSummary Packer::summary_of(const pack::WrittenPack& written, std::uint64_t bytes) {
  PackSummary s;
  s.threads = dumped_.dump.threads.size();
  s.files = written.files;
  s.core_bytes = written.core_bytes;
  s.file_bytes = written.file_bytes;
  s.written = bytes;
  s.full = options_.full;
  if (written.bytes_gone != 0)
    leave_out("given_back",
              std::to_string(written.bytes_gone) + " bytes of memory that was given back meanwhile: zeros");
  for (const std::string& path : written.not_whole)
    leave_out("files_not_whole", path + ", which is too large or shrank meanwhile");
  s.left_out = left_out_;
  for (const std::string& warning : warnings_) std::erase(s.left_out, warning);
  s.warnings = warnings_;
  s.diagnoses = dumped_.dump.diagnoses;
  s.pause = dumped_.dump.pause;
  return s;
}

}  // namespace mixstack::packing
