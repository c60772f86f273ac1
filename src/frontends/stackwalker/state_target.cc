// Input: a ProcessState that the user of the StackwalkerAPI implements. Output: a Target over it.
// Algorithm: memory is asked piece by piece, since readMem reads all bytes or none; an exception of the user's code is
// a failed read. Regions are made of the program headers of its libraries, because the interface has no mappings.
// A capture asks for the registers of each thread and copies its stack.
// Bounds: kPiece bytes a call, kMaxStack bytes of a stack, kMaxThreads threads.
#include "frontends/stackwalker/state_target.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "engine/images/elf_image.h"
#include "engine/images/file_bytes.h"
#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/mapped_libraries.h"
#include "frontends/stackwalker/root_copy.h"
#include "process/live/process_view.h"

namespace mixstack::stackwalker {
namespace {

namespace api = Dyninst::Stackwalker;

constexpr std::size_t kPiece = 4096;
constexpr std::size_t kMaxStack = 8 << 20;
constexpr Address kRedZone = 128;
constexpr std::size_t kMaxThreads = 65536;
constexpr std::uint32_t kLoad = 1, kExecutable = 1, kWritable = 2, kReadable = 4;  // gABI: PT_LOAD, PF_X, PF_W, PF_R

/// Reads by readMem, which reads all bytes or none.
class StateMemory final : public MemoryReader {
 public:
  explicit StateMemory(api::ProcessState& state) : state_(state) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const Address at = address + done;
      const std::size_t to_boundary = kPiece - at % kPiece;
      const std::size_t size = std::min(out.size() - done, to_boundary);
      const std::size_t got = read_piece(at, out.subspan(done, size));
      done += got;
      if (got < size) break;
    }
    if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
    return done;
  }

 private:
  [[nodiscard]] bool ask(Address address, std::span<std::byte> out) const {
    try {
      return state_.readMem(out.data(), address, out.size());
    } catch (...) {
      return false;
    }
  }
  /// Reads as much of the front as possible, by halving.
  [[nodiscard]] std::size_t read_piece(Address address, std::span<std::byte> out) const {
    if (ask(address, out)) return out.size();
    std::size_t done = 0;
    for (std::size_t step = out.size() / 2; step > 0; step /= 2)
      if (done + step < out.size() && ask(address + done, out.subspan(done, step))) done += step;
    return done;
  }
  api::ProcessState& state_;
};

class StateTarget final : public Target, public ThreadNumbers {
 public:
  StateTarget(api::ProcessState& state, TargetInfo info, std::shared_ptr<const process::ProcessView> view)
      : state_(state), memory_(state), info_(std::move(info)), view_(std::move(view)) {}

  [[nodiscard]] const TargetInfo& info() const override { return info_; }
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override;
  [[nodiscard]] Result<std::vector<Region>> regions() const override;
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    if (view_) return view_->open_file(region);
    return images::open_file_bytes(region.path);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    if (view_) return view_->open_path(path);
    return images::open_file_bytes(path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override;
  [[nodiscard]] std::optional<ThreadId> number_of(Dyninst::THR_ID name) const override;
  [[nodiscard]] Dyninst::THR_ID name_of(ThreadId number) const override;

 private:
  [[nodiscard]] std::vector<Region> library_regions() const;
  static void add_library(std::vector<Region>& regions, const api::LibAddrPair& library, std::uint64_t number);
  [[nodiscard]] ThreadCapture capture_thread(ThreadId tid, Capture& capture);
  [[nodiscard]] Registers registers(ThreadId tid) const;

  api::ProcessState& state_;
  StateMemory memory_;
  TargetInfo info_;
  std::shared_ptr<const process::ProcessView> view_;  ///< of the process on this machine; null: it is none
  mutable std::vector<Dyninst::THR_ID> long_names_;   ///< by number, from kFirstOfLong on
  mutable std::map<Dyninst::THR_ID, ThreadId> numbers_;
};

/// No thread id of Linux is as large (PID_MAX_LIMIT in include/linux/threads.h).
constexpr ThreadId kFirstOfLong = 0xf0000000;
constexpr std::size_t kMostLong = 1 << 16;

std::optional<ThreadId> StateTarget::number_of(Dyninst::THR_ID name) const {
  if (name < 0) return std::nullopt;
  if (name < Dyninst::THR_ID{kFirstOfLong}) return static_cast<ThreadId>(name);
  if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
  if (long_names_.size() >= kMostLong) return std::nullopt;
  const auto number = static_cast<ThreadId>(kFirstOfLong + long_names_.size());
  long_names_.push_back(name);
  numbers_.emplace(name, number);
  return number;
}

Dyninst::THR_ID StateTarget::name_of(ThreadId number) const {
  const std::size_t at = number < kFirstOfLong ? long_names_.size() : number - kFirstOfLong;
  return at < long_names_.size() ? long_names_[at] : static_cast<Dyninst::THR_ID>(number);
}

Result<std::vector<ThreadId>> StateTarget::threads() const {
  std::vector<Dyninst::THR_ID> ids;
  try {
    if (!state_.getThreadIds(ids)) return fail(ErrorCode::no_such_thread);
  } catch (...) {
    return fail(ErrorCode::internal);
  }
  std::vector<ThreadId> list;
  for (const Dyninst::THR_ID id : ids) {
    if (list.size() == kMaxThreads) break;
    if (const auto tid = number_of(id)) list.push_back(*tid);
  }
  return list;
}

Result<std::vector<Region>> StateTarget::regions() const {
  if (view_)
    if (auto mapped = view_->regions()) return mapped;
  return library_regions();
}

void StateTarget::add_library(std::vector<Region>& regions, const api::LibAddrPair& library, std::uint64_t number) {
  auto file = images::open_file_bytes(library.first);
  if (!file) return;
  auto image = images::ElfImage::from_file(*file);
  if (!image) return;
  const Address page = 4096;
  for (const images::Segment& s : (*image)->segments()) {
    if (s.type != kLoad || s.memory_size == 0) continue;
    Region r;
    r.range = {(library.second + s.vaddr) & ~(page - 1),
               (library.second + s.vaddr + s.memory_size + page - 1) & ~(page - 1)};
    r.file_offset = s.offset & ~(page - 1);
    r.inode = number;
    r.path = library.first;
    r.readable = (s.flags & kReadable) != 0;
    r.writable = (s.flags & kWritable) != 0;
    r.executable = (s.flags & kExecutable) != 0;
    if (!r.range.empty()) regions.push_back(std::move(r));
  }
}

std::vector<Region> StateTarget::library_regions() const {
  std::vector<Region> regions;
  std::vector<api::LibAddrPair> libraries;
  try {
    api::LibraryState* tracker = state_.getLibraryTracker();
    // The default one would ask us again.
    if (tracker == nullptr || dynamic_cast<api::MappedLibraries*>(tracker) != nullptr) return regions;
    if (!tracker->getLibraries(libraries)) return regions;
  } catch (...) {
    return regions;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(libraries.size(), 4096); i++)
    add_library(regions, libraries[i], i + 1);
  std::sort(regions.begin(), regions.end(),
            [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
  return regions;
}

/// Asks for each register twice, with different initial values: a state that always returns true and sets nothing is
/// detected.
Registers StateTarget::registers(ThreadId tid) const {
  Registers registers(info_.arch);
  const Dyninst::THR_ID name = name_of(tid);
  for (unsigned i = 0; i < arch_registers(info_.arch).count; i++) {
    const Dyninst::MachRegister reg = api::public_register(info_.arch, i);
    Dyninst::MachRegisterVal first = 0x5a5a5a5a5a5a5a5a, second = 0;
    try {
      if (!state_.getRegValue(reg, name, first)) continue;
      if (first == 0x5a5a5a5a5a5a5a5a && state_.getRegValue(reg, name, second) && second == 0) continue;
    } catch (...) {
      continue;
    }
    registers.set(i, first);
  }
  return registers;
}

ThreadCapture StateTarget::capture_thread(ThreadId tid, Capture& capture) {
  ThreadCapture thread;
  thread.tid = thread.ns_tid = tid;
  thread.registers = registers(tid);
  const ArchRegisters numbers = arch_registers(info_.arch);
  if (!thread.registers.is_known(numbers.pc) || !thread.registers.is_known(numbers.sp)) {
    thread.error = {ErrorCode::no_such_thread, 0, tid};
    return thread;
  }
  const Address sp = thread.registers.sp();
  Address base = sp >= kRedZone ? sp - kRedZone : sp;
  std::vector<std::byte> bytes(kPiece);
  std::size_t size = 0;
  // From the red zone to the end of readable memory.
  for (;;) {
    bytes.resize(size + kPiece);
    const auto got = memory_.read_some(base + size, std::span(bytes).subspan(size));
    if (!got && size == 0 && base != sp) {
      base = sp;
      continue;
    }
    size += got ? *got : 0;
    if (!got || *got < kPiece || size >= kMaxStack) break;
  }
  thread.stack_truncated = size >= kMaxStack;
  thread.captured = true;
  auto copy = std::make_unique<std::byte[]>(size);
  std::copy_n(bytes.begin(), size, copy.get());
  thread.stack = {base, {copy.get(), size}};
  capture.storage.push_back(std::move(copy));
  return thread;
}

Result<Capture> StateTarget::capture(const CaptureRequest& request) {
  std::vector<ThreadId> wanted = request.threads;
  if (wanted.empty()) {
    auto all = threads();
    if (!all) return fail(all.error());
    wanted = std::move(*all);
  }
  Capture capture;
  capture.arch = info_.arch;
  capture.consistency = Consistency::one_by_one;
  for (const ThreadId tid : wanted) capture.threads.push_back(capture_thread(tid, capture));
  copy_roots(memory_, request.roots, capture);
  return capture;
}

}  // namespace

Result<std::unique_ptr<Target>> open_state_target(api::ProcessState& state) {
  TargetInfo info;
  std::shared_ptr<const process::ProcessView> view;
  try {
    info.arch = api::engine_arch(state.getArchitecture());
    const Dyninst::PID pid = state.getProcessId();
    if (pid > 0) view = process::ProcessView::open(static_cast<std::uint32_t>(pid)).value_or(nullptr);
    info.executable = state.getExecutablePath();
  } catch (...) {
    return fail(ErrorCode::internal);
  }
  if (info.arch == Arch::unknown) return fail(ErrorCode::unsupported_cpu);
  if (view && view->info.arch != info.arch) view.reset();
  if (view) info = view->info;
  return std::make_unique<StateTarget>(state, std::move(info), std::move(view));
}

}  // namespace mixstack::stackwalker
