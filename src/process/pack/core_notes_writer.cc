#include "process/pack/core_notes_writer.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/system/byte_cursor.h"
#include "process/core/core_notes.h"
#include "process/core/own_notes.h"
#include "process/kernel/register_set.h"

namespace mixstack::pack {
namespace {

constexpr std::uint32_t kArmPacMask = 0x406;  // NT_ARM_PAC_MASK: uapi/linux/elf.h
// struct elf_prstatus, LP64: registers at 112, then pr_fpvalid, padded to eight bytes.
constexpr std::size_t kThreadId = 32, kRegisters = 112, kFpValid = 8;
// struct elf_prpsinfo, LP64.
constexpr std::size_t kProcessSize = 136, kStateName = 1, kPid = 24, kName = 40, kNameSize = 16, kArguments = 56,
                      kArgumentsSize = 80;
constexpr std::uint64_t kPage = 4096;

class Notes {
 public:
  void add(std::string_view owner, std::uint32_t type, std::span<const std::byte> bytes) {
    const auto name = static_cast<std::uint32_t>(owner.size() + 1);
    for (const std::uint32_t word : {name, static_cast<std::uint32_t>(bytes.size()), type})
      append(std::as_bytes(std::span<const std::uint32_t, 1>(&word, 1)));
    append(std::as_bytes(std::span(owner)));
    out_.push_back(std::byte{0});
    pad();
    append(bytes);
    pad();
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(out_); }

 private:
  void append(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void pad() { out_.resize((out_.size() + 3) & ~std::size_t{3}); }
  std::vector<std::byte> out_;
};

template <class T>
void put(std::vector<std::byte>& out, std::size_t offset, T value) {
  std::memcpy(out.data() + offset, &value, sizeof value);
}

void put_text(std::vector<std::byte>& out, std::size_t offset, std::size_t size, const std::string& text) {
  std::memcpy(out.data() + offset, text.data(), std::min(text.size(), size - 1));
}

[[nodiscard]] std::vector<std::byte> process_note(const ProcessNotes& process, char state) {
  std::vector<std::byte> out(kProcessSize);
  put(out, kStateName, state);
  put(out, kPid, process.pid);
  put_text(out, kName, kNameSize, process.comm);
  put_text(out, kArguments, kArgumentsSize, process.arguments);
  return out;
}

[[nodiscard]] std::vector<std::byte> thread_note(const ThreadCapture& t) {
  process::RegisterSet set;
  set.registers = t.registers;
  set.syscall = t.syscall;
  const auto registers = process::encode_register_set(set);
  std::vector<std::byte> out(kRegisters + registers.size() + kFpValid);
  put(out, kThreadId, t.tid);
  if (!registers.empty()) std::memcpy(out.data() + kRegisters, registers.data(), registers.size());
  return out;
}

/// For debuggers, which do not know our own list of mappings.
[[nodiscard]] std::vector<std::byte> file_note(std::span<const Region> regions) {
  std::vector<std::uint64_t> words{0, kPage};
  std::string names;
  for (const Region& r : regions) {
    if (!r.path.starts_with('/')) continue;
    words[0]++;
    words.insert(words.end(), {r.range.begin, r.range.end, r.file_offset / kPage});
    names += r.path.c_str() + (r.deleted ? std::string(" (deleted)") : std::string());
    names += '\0';
  }
  const auto head = std::as_bytes(std::span(words)), tail = std::as_bytes(std::span(names));
  std::vector<std::byte> out(head.begin(), head.end());
  out.insert(out.end(), tail.begin(), tail.end());
  return out;
}

void add_thread(Notes& notes, const PackedProcess::Thread& thread, std::uint64_t pac_mask) {
  const ThreadCapture& t = thread.capture;
  if (!t.captured) return;
  notes.add("CORE", NT_PRSTATUS, thread_note(t));
  notes.add(process::kOwnNotes, process::kThreadNote,
            process::encode_thread({t.ns_tid, t.kernel_state, t.syscall, t.comm, thread.facts}));
  if (t.late.count() > 0)
    notes.add(process::kOwnNotes, process::kLateNote, process::encode_late({t.late, thread.not_stopped}));
  if (pac_mask == 0) return;
  const std::uint64_t masks[2] = {pac_mask, pac_mask};
  notes.add("LINUX", kArmPacMask, std::as_bytes(std::span(masks)));
}

void add_process(Notes& notes, const ProcessNotes& process, char state, std::span<const Region> regions) {
  notes.add("CORE", NT_PRPSINFO, process_note(process, state));
  if (!process.auxv.empty()) notes.add("CORE", NT_AUXV, process.auxv);
  notes.add("CORE", NT_FILE, file_note(regions));
  notes.add(process::kOwnNotes, process::kMappingsNote, process::encode_mappings(regions));
}

}  // namespace

std::vector<std::byte> public_auxv(std::span<const std::byte> auxv) {
  std::vector<std::byte> out;
  base::ByteCursor c(auxv);
  while (c.remaining() >= 16) {
    const auto entry = c.bytes(16);
    const auto type = base::load_at<std::uint64_t>(entry, 0).value_or(0);
    if (type == AT_RANDOM || type == AT_EXECFN || type == AT_PLATFORM || type == AT_BASE_PLATFORM) continue;
    out.insert(out.end(), entry.begin(), entry.end());
    if (type == AT_NULL) break;
  }
  return out;
}

std::vector<std::byte> notes_of(const ProcessNotes& process, PackedProcess& recording) {
  Notes notes;
  const auto main = recording.threads.find(process.pid);
  const bool has_main = main != recording.threads.end();
  if (has_main) add_thread(notes, main->second, recording.pac_mask);
  add_process(notes, process, has_main ? main->second.capture.kernel_state : '?', recording.regions);
  for (const auto& [tid, thread] : recording.threads)
    if (tid != process.pid) add_thread(notes, thread, recording.pac_mask);
  return notes.take();
}

std::vector<std::byte> notes_of(const ProcessNotes& process, std::span<const std::byte> notes,
                                std::span<const Region> regions) {
  Notes out;
  bool has_process = false;
  const auto add_once = [&](char state) {
    if (!has_process) add_process(out, process, state, regions);
    has_process = true;
  };
  (void)process::for_each_note(notes, [&](const process::CoreNote& note) {
    const bool is_core = note.owner == "CORE";
    if (is_core && note.type == NT_PRPSINFO) {
      add_once(base::load_at<char>(note.bytes, kStateName).value_or('?'));
    } else if (is_core && (note.type == NT_AUXV || note.type == NT_FILE)) {
      return;
    } else if (note.owner != process::kOwnNotes || note.type != process::kMappingsNote) {
      out.add(note.owner, note.type, note.bytes);
    }
  });
  add_once('?');
  return out.take();
}

}  // namespace mixstack::pack
