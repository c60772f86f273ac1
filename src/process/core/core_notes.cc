#include "process/core/core_notes.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "process/kernel/vector_set.h"

namespace mixstack::process {
namespace {

constexpr std::uint32_t kArmPacMask = 0x406;  // NT_ARM_PAC_MASK: uapi/linux/elf.h
constexpr std::size_t kMaxThreads = 200'000;  // Linux: pid_max is at most 4 million, 32,768 unless raised
// For NT_FILE. Linux: max_map_count is 65,530 unless raised. A mapping costs us about 1.6 KiB.
constexpr std::size_t kMaxMappings = 250'000;
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxBadLists = 8;

// struct elf_prstatus, LP64.
constexpr std::size_t kCurrentSignal = 12, kThreadId = 32, kRegisters = 112;
// struct elf_prpsinfo, LP64.
constexpr std::size_t kStateName = 1, kPid = 24, kName = 40, kNameSize = 16, kArguments = 56, kArgumentsSize = 80;

[[nodiscard]] std::string text_at(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return {};
  const auto* text = reinterpret_cast<const char*>(bytes.data() + offset);
  return {text, strnlen(text, size)};
}

[[nodiscard]] std::optional<SignalInfo> decode_signal(std::span<const std::byte> bytes) {
  base::ByteCursor c(bytes);
  SignalInfo info;
  info.signal = c.read<std::int32_t>();
  (void)c.u32();
  info.code = c.read<std::int32_t>();
  (void)c.u32();
  info.address = c.u64();
  if (!c.ok()) return std::nullopt;
  info.sender = static_cast<std::uint32_t>(info.address);
  return info;
}

/// Collects notes in their order: those behind an NT_PRSTATUS are of that thread.
class NoteReader {
 public:
  explicit NoteReader(Arch arch) : arch_(arch) {}

  void take(const CoreNote& note) {
    if (note.owner == "CORE") return take_core(note);
    if (note.owner == kOwnNotes) return take_own(note);
    if (note.owner != "LINUX") return;
    if (note.type == kArmPacMask && note.bytes.size() >= 16 && is_of_a_thread_)
      out_.threads.back().pac_mask = base::load_at<std::uint64_t>(note.bytes, 8).value_or(0);
    const arch::VectorLength& vectors = arch::cpu(arch_).vector_length;
    if (vectors.note != 0 && note.type == vectors.note && is_of_a_thread_ && out_.threads.back().registers)
      if (const auto bytes = base::load_at<std::uint16_t>(note.bytes, vectors.bytes))
        if (const auto words = vectors.words(*bytes)) out_.threads.back().registers->registers.set(vectors.reg, *words);
    if (is_extended_vector_note(arch_, note.type)) take_vectors(decode_vectors(arch_, note.bytes));
  }
  [[nodiscard]] CoreNotes finish() {
    if (duplicates_ != 0)
      complain(ErrorCode::malformed, "threads", fmt::format("{} threads are listed twice", duplicates_), duplicates_);
    if (too_many_ != 0)
      complain(ErrorCode::limit_exceeded, "threads",
               fmt::format("{} threads are left out: only {} are read", too_many_, kMaxThreads), too_many_);
    if (files_left_out_ != 0)
      complain(ErrorCode::limit_exceeded, "NT_FILE",
               fmt::format("{} mapped files are left out: only {} are read", files_left_out_, kMaxMappings),
               files_left_out_);
    if (short_ != 0) complain(ErrorCode::truncated, "notes", fmt::format("{} notes are too short", short_), short_);
    return std::move(out_);
  }
  void complain(ErrorCode code, std::string subject, std::string text, std::uint64_t value = 0) {
    out_.diagnoses.push_back({{code, 0, value}, std::move(subject), std::move(text)});
  }

 private:
  void take_own(const CoreNote& note) {
    if (note.type == kThreadNote && is_of_a_thread_) {
      out_.threads.back().own = decode_thread(note.bytes);
      if (!out_.threads.back().own) short_++;
    } else if (note.type == kLateNote && is_of_a_thread_) {
      out_.threads.back().late = decode_late(note.bytes);
      if (!out_.threads.back().late) short_++;
    } else if (note.type == kMappingsNote && out_.all_mappings.empty()) {
      if (auto all = decode_mappings(note.bytes)) {
        out_.all_mappings = std::move(*all);
      } else {
        short_++;
      }
    }
  }
  void take_core(const CoreNote& note) {
    switch (note.type) {
      case NT_PRSTATUS:
        return take_thread(note.bytes);
      case NT_FPREGSET:
        return take_vectors(decode_fp_registers(arch_, note.bytes));
      case NT_PRPSINFO:
        return take_process(note.bytes);
      case NT_SIGINFO:
        return take_signal(note.bytes);
      case NT_AUXV:
        if (out_.auxv.empty()) out_.auxv.assign(note.bytes.begin(), note.bytes.end());
        return;
      case NT_FILE:
        return take_files(note.bytes);
      default:
        return;
    }
  }

  void take_thread(std::span<const std::byte> bytes) {
    is_of_a_thread_ = false;  // nor is what follows, if this one cannot be taken
    const auto tid = base::load_at<std::uint32_t>(bytes, kThreadId);
    if (!tid || bytes.size() < kRegisters + register_set_size(arch_)) {
      short_++;
      return;
    }
    if (out_.threads.size() >= kMaxThreads) {
      too_many_++;
      return;
    }
    if (!seen_.insert(*tid).second) {
      duplicates_++;
      return;
    }
    CoreThread thread;
    thread.tid = *tid;
    thread.signal = base::load_at<std::int16_t>(bytes, kCurrentSignal).value_or(0);
    thread.registers = decode_register_set(arch_, bytes.subspan(kRegisters, register_set_size(arch_)));
    out_.threads.push_back(std::move(thread));
    is_of_a_thread_ = true;
  }

  /// NT_FPREGSET holds the lower halves of what NT_X86_XSTATE may hold whole.
  void take_vectors(std::optional<VectorRegisters> set) {
    if (!set) {
      short_++;
      return;
    }
    if (!is_of_a_thread_) return;
    auto& vectors = out_.threads.back().vectors;
    if (!vectors || vectors->size < set->size) vectors = shared_vectors(std::move(set));
  }

  void take_process(std::span<const std::byte> bytes) {
    out_.pid = base::load_at<std::uint32_t>(bytes, kPid).value_or(0);
    if (const auto state = base::load_at<char>(bytes, kStateName); state && *state > ' ' && *state < 127)
      out_.state = *state;
    out_.comm = text_at(bytes, kName, kNameSize);
    out_.arguments = text_at(bytes, kArguments, kArgumentsSize);
    while (out_.arguments.ends_with(' ')) out_.arguments.pop_back();
  }

  /// The kernel writes one for the process, behind the first thread; gdb writes one for each.
  void take_signal(std::span<const std::byte> bytes) {
    const auto info = decode_signal(bytes);
    if (!info) {
      short_++;
      return;
    }
    if (!out_.signal_info) out_.signal_info = info;
    if (is_of_a_thread_ && !out_.threads.back().signal_info) out_.threads.back().signal_info = info;
  }

  void take_files(std::span<const std::byte> bytes) {
    base::ByteCursor c(bytes);
    const std::uint64_t count = c.u64(), page = c.u64();
    if (!c.ok() || count > c.remaining() / 24 || page == 0 || page > (1 << 30)) {
      return complain_of_files(ErrorCode::malformed, "the list of mapped files cannot be read: images have no names",
                               count);
    }
    const std::uint64_t taken = std::min<std::uint64_t>(count, kMaxMappings - out_.mappings.size());
    files_left_out_ += count - taken;
    base::ByteCursor names(bytes, 16 + static_cast<std::size_t>(count) * 24);
    for (std::uint64_t i = 0; i < taken; i++) {
      CoreMapping m;
      m.range.begin = c.u64();
      m.range.end = c.u64();
      m.file_offset = c.u64() * page;
      m.path = names.cstring().substr(0, kMaxPath);
      if (!names.ok()) {
        return complain_of_files(ErrorCode::truncated,
                                 fmt::format("{} of {} mapped files have no name", count - i, count), i);
      }
      if (m.range.begin < m.range.end) out_.mappings.push_back(std::move(m));
    }
  }

  /// A core has one list: the complaint about a million bad lists is made kMaxBadLists times.
  void complain_of_files(ErrorCode code, std::string text, std::uint64_t value) {
    if (bad_lists_++ < kMaxBadLists) complain(code, "NT_FILE", std::move(text), value);
  }

  Arch arch_;
  CoreNotes out_;
  std::unordered_set<ThreadId> seen_;
  bool is_of_a_thread_ = false;  ///< notes now belong to the last of `out_.threads`
  std::size_t duplicates_ = 0, too_many_ = 0, short_ = 0, bad_lists_ = 0;
  std::uint64_t files_left_out_ = 0;
};

}  // namespace

std::size_t for_each_note(std::span<const std::byte> notes, const std::function<void(const CoreNote&)>& take) {
  base::ByteCursor c(notes);
  std::size_t used = 0;
  while (c.remaining() >= 12) {
    CoreNote note;
    const std::uint32_t name_size = c.u32(), size = c.u32();
    note.type = c.u32();
    const auto name = c.bytes(name_size);
    c.skip(-std::uint64_t{name_size} & 3);
    note.bytes = c.bytes(size);
    if (!c.ok()) break;
    note.owner = {reinterpret_cast<const char*>(name.data()), name.size()};
    note.owner = note.owner.substr(0, note.owner.find('\0'));
    take(note);
    // The padding of the last note may be missing.
    c.skip(std::min<std::uint64_t>(-std::uint64_t{size} & 3, c.remaining()));
    used = notes.size() - c.remaining();
  }
  return used;
}

CoreNotes read_core_notes(std::span<const std::byte> notes, Arch arch) {
  NoteReader reader(arch);
  const std::size_t used = for_each_note(notes, [&reader](const CoreNote& note) { reader.take(note); });
  if (notes.size() >= used + 12)
    reader.complain(ErrorCode::malformed, "notes",
                    fmt::format("the notes cannot be read beyond {} of {} bytes", used, notes.size()), used);
  CoreNotes out = reader.finish();
  if (out.threads.empty())
    out.diagnoses.push_back({{ErrorCode::not_found, 0, 0}, "NT_PRSTATUS", "the core lists no threads"});
  if (out.auxv.empty())
    out.diagnoses.push_back({{ErrorCode::not_found, 0, 0}, "NT_AUXV", "the core has no auxiliary vector"});
  if (out.mappings.empty() && out.all_mappings.empty())
    out.diagnoses.push_back({{ErrorCode::not_found, 0, 0}, "NT_FILE", "the core does not say which files were mapped"});
  return out;
}

}  // namespace mixstack::process
