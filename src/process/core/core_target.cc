// Input: a core file with its notes and images (CoreBytes, CoreImages). Output: a Target: facts of the process, its
// regions and memory, and the one capture that a core holds.
// Algorithm: 1. Notes give threads, registers, signal and files. 2. Regions are those of the notes and of the segments;
// a page that a thread ran on is executable whatever createdump wrote. 3. Memory is the segments first, then files that
// are proved to be the mapped ones. 4. The capture copies each thread's stack from its red zone up.
// Order: files are looked for before memory is read, since a segment may leave out what lies in them.
// Bounds: kStackBytes copied per thread, what lies above is read when needed; kMostInstants instants of late threads.
#include "process/core/core_target.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <unordered_map>

#include "base/system/byte_cursor.h"
#include "process/core/core_images.h"
#include "process/core/core_notes.h"
#include "process/kernel/elf_facts.h"
#include "process/kernel/memory_map.h"

namespace mixstack::process {
namespace {

constexpr std::uint64_t kRedZone = 128;        // System V AMD64 psABI 3.2.2; AArch64 has none
constexpr std::size_t kMostInstants = 64;      // of late threads; more than a live capture has
constexpr std::size_t kStackBytes = 16 << 10;  // copied per thread; what lies above is read from the core when needed

/// The mapping that holds the program's entry point or headers is the program.
[[nodiscard]] std::string executable_of(const TargetInfo& info, const std::vector<Region>& regions) {
  for (const Address address : {info.program_headers, info.entry_point}) {
    const Region* r = address == 0 ? nullptr : find_region(regions, address);
    if (r != nullptr && r->inode != 0) return r->path;
  }
  return {};
}

[[nodiscard]] bool is_fault(std::int32_t signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGTRAP;
}

[[nodiscard]] bool has_address(const SignalInfo& s) {
  return is_fault(s.signal) && s.code > 0;  // codes of 0 and below: somebody sent it
}

/// createdump writes the page at a thread's pc as a segment without any permission.
void mark_pages_that_ran(const std::vector<CoreThread>& threads, std::vector<CoreRegion>& regions) {
  for (const CoreThread& t : threads) {
    if (!t.registers || is_fault(t.signal)) continue;
    const Address pc = t.registers->registers.pc();
    const auto it = std::partition_point(regions.begin(), regions.end(),
                                         [pc](const CoreRegion& r) { return r.region.range.end <= pc; });
    if (it == regions.end() || !it->region.range.contains(pc)) continue;
    Region& r = it->region;
    if (!r.readable && !r.writable) r.readable = r.executable = true;
  }
}

[[nodiscard]] std::vector<std::string> split_at_spaces(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The crash that ended the process. A core of a running process (gcore, createdump by hand) tells of no signal but the
/// debugger's stop.
[[nodiscard]] std::optional<CrashFacts> crash_of(const CoreNotes& notes) {
  const auto crashed =
      std::find_if(notes.threads.begin(), notes.threads.end(), [](const CoreThread& t) { return t.signal != 0; });
  const auto& signal =
      crashed != notes.threads.end() && crashed->signal_info ? crashed->signal_info : notes.signal_info;
  CrashFacts facts;
  if (crashed != notes.threads.end()) {
    facts.tid = crashed->tid;
    facts.signal = crashed->signal;
  } else if (signal && !notes.threads.empty()) {
    facts.tid = notes.threads.front().tid;
    facts.signal = signal->signal;
  }
  if (facts.signal == 0 || facts.signal == SIGSTOP) return std::nullopt;
  if (signal && signal->signal == facts.signal) {
    facts.code = signal->code;
    if (has_address(*signal)) facts.address = signal->address;
    if (signal->code <= 0 && signal->sender != 0) facts.sender = signal->sender;
  }
  return facts;
}

class CoreTarget final : public Target {
 public:
  CoreTarget(CoreFile file, const FileFinderOptions& files)
      : file_(std::move(file)), dumped_(file_), notes_(read_core_notes(file_.notes(), file_.arch())) {
    read_info();
    auto regions = notes_.all_mappings.empty() ? core_regions(file_.segments(), notes_.mappings, info_.vdso)
                                               : core_regions(std::move(notes_.all_mappings));
    mark_pages_that_ran(notes_.threads, regions);
    for (const CoreRegion& r : regions) regions_.push_back(r.region);
    info_.executable = executable_of(info_, regions_);
    FileFinderOptions options = files;
    options.executable_path = info_.executable;
    images_ = std::make_unique<CoreImages>(dumped_, file_.arch(), FileFinder(std::move(options)), regions);
    for (std::size_t i = 0; i < regions.size(); i++) regions_[i] = regions[i].region;  // permissions may be known now
    memory_ = std::make_unique<CoreMemory>(dumped_, *images_, regions_);
    loaded_ = std::make_unique<CoreMemory>(dumped_, *images_, regions_, PagesServed::as_loaded);
  }

  [[nodiscard]] const TargetInfo& info() const override { return info_; }
  [[nodiscard]] const MemoryReader& memory() const override { return *memory_; }
  [[nodiscard]] const MemoryReader& loaded_memory() const override { return *loaded_; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override {
    std::vector<ThreadId> ids;
    for (const CoreThread& t : notes_.threads) ids.push_back(t.tid);
    return ids;
  }
  [[nodiscard]] Result<std::vector<Region>> regions() const override { return regions_; }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    return images_->file(region);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return images_->finder().open(path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override;
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override;
  [[nodiscard]] std::vector<ThreadFacts> thread_facts(std::span<const ThreadCapture> threads) const override;

 private:
  void read_info();
  [[nodiscard]] ThreadCapture describe(const CoreThread& thread, Capture& capture) const;
  [[nodiscard]] Capture& capture_of(const CoreThread& thread, Capture& common, std::vector<LateNote>& instants) const;

  CoreFile file_;
  DumpedMemory dumped_;
  CoreNotes notes_;
  TargetInfo info_;
  std::vector<Region> regions_;
  std::unique_ptr<CoreImages> images_;
  std::unique_ptr<CoreMemory> memory_, loaded_;
};

void CoreTarget::read_info() {
  info_.core_path = file_.bytes().path();
  info_.arch = file_.arch();
  info_.pid = notes_.pid != 0 || notes_.threads.empty() ? notes_.pid : notes_.threads.front().tid;
  info_.comm = notes_.comm;
  info_.command_line = split_at_spaces(notes_.arguments);
  info_.crash = crash_of(notes_);
  parse_auxv(notes_.auxv, info_);
}

/// Threads that were late are in captures of their own, one for each instant, as those of the process were: what one
/// waits for, and who holds it, is told of threads of one instant alone.
Capture& CoreTarget::capture_of(const CoreThread& thread, Capture& common, std::vector<LateNote>& instants) const {
  if (!thread.late) return common;
  const auto same = std::find(instants.begin(), instants.end(), *thread.late);
  if (same != instants.end()) return common.late[static_cast<std::size_t>(same - instants.begin())];
  if (instants.size() == kMostInstants) return common.late.back();
  const bool is_first = common.late.empty();
  Capture& late = common.late.emplace_back();
  instants.push_back(*thread.late);
  late.arch = common.arch;
  late.frozen = common.frozen;
  if (thread.late->not_stopped) late.consistency = Consistency::not_stopped;
  late.regions = is_first ? std::make_shared<const std::vector<Region>>(regions_) : common.late.front().regions;
  return late;
}

Result<Capture> CoreTarget::capture(const CaptureRequest& request) {
  Capture capture;
  capture.arch = info_.arch;
  capture.frozen = memory_.get();
  std::size_t budget = request.stack_byte_budget;
  std::vector<LateNote> instants;
  for (const CoreThread& t : notes_.threads) {
    const bool wanted = request.threads.empty() ||
                        std::find(request.threads.begin(), request.threads.end(), t.tid) != request.threads.end();
    if (!wanted) continue;
    Capture& of_thread = capture_of(t, capture, instants);
    capture.pac_mask |= t.pac_mask;
    of_thread.pac_mask |= t.pac_mask;
    of_thread.threads.push_back(describe(t, of_thread));
    if (const std::size_t copied = of_thread.threads.back().stack.bytes.size(); copied <= budget) {
      budget -= copied;
    } else {
      of_thread.threads.back().stack = {};  // the core is read instead
      of_thread.storage.pop_back();
    }
  }
  // The crashed thread comes first: it is why the core is looked at.
  if (info_.crash)
    std::stable_partition(capture.threads.begin(), capture.threads.end(),
                          [this](const ThreadCapture& t) { return t.tid == info_.crash->tid; });
  return capture;
}

ThreadCapture CoreTarget::describe(const CoreThread& thread, Capture& capture) const {
  ThreadCapture out;
  out.tid = out.ns_tid = thread.tid;
  if (thread.tid == info_.pid) {
    out.comm = notes_.comm;
    out.kernel_state = notes_.state;
  }
  if (thread.own) {
    out.ns_tid = thread.own->ns_tid;
    out.comm = thread.own->comm;
    out.kernel_state = thread.own->state;
  }
  if (!thread.registers) {
    out.error = thread.registers.error();
    return out;
  }
  out.captured = true;
  if (thread.late) out.late = thread.late->late;
  out.registers = thread.registers->registers;
  out.syscall = thread.own ? thread.own->syscall : system_call_number(*thread.registers, *memory_);
  out.vectors = thread.vectors;
  const Address sp = out.registers.sp();
  const Region* region = find_region(regions_, sp);
  if (region == nullptr) return out;
  const Address begin = std::max(region->range.begin, sp - std::min<Address>(sp, kRedZone));
  const auto size = static_cast<std::size_t>(std::min<Address>(kStackBytes, region->range.end - begin));
  auto bytes = std::make_unique<std::byte[]>(size);
  const auto n = memory_->read_some(begin, std::span(bytes.get(), size));
  out.stack = {begin, std::span<const std::byte>(bytes.get(), n.value_or(0))};
  capture.storage.push_back(std::move(bytes));
  return out;
}

std::vector<ThreadFacts> CoreTarget::thread_facts(std::span<const ThreadCapture> threads) const {
  std::unordered_map<ThreadId, const CoreThread*> by_id;
  for (const CoreThread& c : notes_.threads) by_id.emplace(c.tid, &c);  // the first of one id
  std::vector<ThreadFacts> all;
  for (const ThreadCapture& t : threads) {
    const auto at = by_id.find(t.tid);
    all.push_back(at != by_id.end() && at->second->own ? at->second->own->facts : ThreadFacts{});
  }
  return all;
}

std::vector<Diagnosis> CoreTarget::diagnoses() const {
  std::vector<Diagnosis> all;
  if (file_.bytes().diagnosis()) all.push_back(*file_.bytes().diagnosis());
  const auto add = [&all](const std::vector<Diagnosis>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(file_.diagnoses());
  add(notes_.diagnoses);
  add(images_->diagnoses());
  return all;
}

}  // namespace

Result<std::unique_ptr<Target>> open_core(std::shared_ptr<const CoreBytes> bytes, FileFinderOptions files) {
  auto file = CoreFile::read(std::move(bytes));
  if (!file) return fail(file.error());
  return std::make_unique<CoreTarget>(std::move(*file), files);
}

CoreFormat elf_core_format() {
  const auto recognises = [](const CoreBytes& bytes) {
    std::array<std::byte, SELFMAG> magic;
    const auto n = bytes.read_at(0, magic);
    return n && *n == magic.size() && std::memcmp(magic.data(), ELFMAG, SELFMAG) == 0;
  };
  const auto open = [](std::shared_ptr<const CoreBytes> bytes, FileFinderOptions files) -> Result<OpenedCore> {
    auto target = open_core(bytes, std::move(files));
    if (!target) return fail(target.error());
    return OpenedCore{std::move(*target), std::move(bytes)};
  };
  return {"ELF core", recognises, open};
}

}  // namespace mixstack::process
