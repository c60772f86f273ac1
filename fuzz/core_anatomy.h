// Where in a core the things lie that a dump depends on: what a mutation should hit.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core_overlay.h"
#include "process/core/core_file.h"
#include "process/core/core_notes.h"
#include "process/core/core_target.h"
#include "session/process_session.h"

namespace mixstack::fuzz {

/// Notes which pages of a target are read.
class RecordingMemory final : public MemoryReader {
 public:
  RecordingMemory(const MemoryReader& inner, std::set<Address>& pages) : inner_(inner), pages_(pages) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto n = inner_.read_some(address, out);
    if (n)
      for (Address page = address / 4096; page <= (address + *n - 1) / 4096; page++) pages_.insert(page * 4096);
    return n;
  }

 private:
  const MemoryReader& inner_;
  std::set<Address>& pages_;
};

/// A target whose reads are recorded.
class RecordingTarget final : public Target {
 public:
  RecordingTarget(std::unique_ptr<Target> inner, std::set<Address>& pages)
      : inner_(std::move(inner)), memory_(inner_->memory(), pages), loaded_(inner_->loaded_memory(), pages) {}
  [[nodiscard]] const TargetInfo& info() const override { return inner_->info(); }
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  [[nodiscard]] const MemoryReader& loaded_memory() const override { return loaded_; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return inner_->threads(); }
  [[nodiscard]] Result<std::vector<Region>> regions() const override { return inner_->regions(); }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& r) const override {
    return inner_->open_file(r);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return inner_->open_path(path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    auto capture = inner_->capture(request);
    if (capture && capture->frozen != nullptr) capture->frozen = &memory_;
    return capture;
  }
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override { return inner_->diagnoses(); }

 private:
  std::unique_ptr<Target> inner_;
  RecordingMemory memory_, loaded_;
};

/// Offsets into the core file.
struct CoreAnatomy {
  std::uint64_t headers = 0, header_count = 0;  ///< the program header table
  std::vector<AddressRange> notes;              ///< PT_NOTE
  std::vector<std::uint64_t> thread_notes;      ///< the register sets of NT_PRSTATUS
  std::vector<std::uint64_t> stacks;            ///< where each thread's sp points
  std::vector<std::uint64_t> pages;             ///< all that a dump reads
  std::vector<std::uint64_t> pointers;          ///< words in those that point into the core
  std::vector<std::uint64_t> scalars;           ///< words in those that are neither pointer nor zero
  AddressRange json;                            ///< the runtime's own description
  std::vector<process::CoreSegment> segments;
};

class CoreAnatomist {
 public:
  explicit CoreAnatomist(const CoreOverlay& core) : core_(core) {}

  /// `dump`: of what kind; what it reads is what is studied.
  [[nodiscard]] CoreAnatomy study(const std::vector<std::string>& sysroots, const DumpOptions& dump = {}) {
    out_.headers = core_.word(32);
    out_.header_count = core_.word(56) & 0xffff;
    auto bytes = process::CoreBytes::open(core_.path());
    if (!bytes) return out_;
    const auto file = process::CoreFile::read(std::move(*bytes));
    if (!file) return out_;
    out_.segments = file->segments();
    find_notes(*file);
    for (const Address page : pages_read(sysroots, dump))
      if (const auto offset = offset_of(page)) add_page(*offset);
    find_json();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> offset_of(Address address) const {
    const auto s = std::partition_point(out_.segments.begin(), out_.segments.end(),
                                        [address](const auto& x) { return x.range.end <= address; });
    if (s == out_.segments.end() || !s->range.contains(address) || address - s->range.begin >= s->dumped)
      return std::nullopt;
    return s->file_offset + (address - s->range.begin);
  }

  void find_notes(const process::CoreFile& file) {
    for (std::uint64_t i = 0; i < out_.header_count; i++) {
      const std::uint64_t at = out_.headers + i * 56;
      if ((core_.word(at) & 0xffffffff) == 4)
        out_.notes.push_back({core_.word(at + 8), core_.word(at + 8) + core_.word(at + 32)});
    }
    if (out_.notes.empty()) return;
    (void)process::for_each_note(file.notes(), [&](const process::CoreNote& note) {
      if (note.type == 1 && note.owner == "CORE")
        out_.thread_notes.push_back(out_.notes.front().begin +
                                    static_cast<std::uint64_t>(note.bytes.data() - file.notes().data()) + 112);
    });
    for (const auto& thread : process::read_core_notes(file.notes(), file.arch()).threads)
      if (thread.registers)
        if (const auto at = offset_of(thread.registers->registers.sp())) out_.stacks.push_back(*at);
  }

  [[nodiscard]] std::set<Address> pages_read(const std::vector<std::string>& sysroots, const DumpOptions& dump) const {
    std::set<Address> pages;
    auto bytes = process::CoreBytes::open(core_.path());
    if (!bytes) return pages;
    process::FileFinderOptions files;
    files.sysroots = sysroots;
    files.use_own_files = false;
    auto target = process::open_core(std::move(*bytes), std::move(files));
    if (!target) return pages;
    auto session = session::ProcessSession::open(std::make_unique<RecordingTarget>(std::move(*target), pages));
    if (session) (void)(*session)->dump(dump);
    return pages;
  }

  void add_page(std::uint64_t offset) {
    out_.pages.push_back(offset);
    std::array<std::uint64_t, 512> words{};
    core_.read(offset, std::as_writable_bytes(std::span(words)));
    for (std::size_t i = 0; i < words.size(); i++) {
      if (words[i] == 0) continue;
      (offset_of(words[i]) ? out_.pointers : out_.scalars).push_back(offset + i * 8);
    }
  }

  /// The text lies in pages that are read, like all the rest.
  void find_json() {
    static constexpr std::string_view kStart = "{\"version\":0,\"baseline\"";
    std::vector<char> text(4096 + kStart.size());
    for (const std::uint64_t page : out_.pages) {
      core_.read(page, std::as_writable_bytes(std::span(text)));
      const std::size_t at = std::string_view(text.data(), text.size()).find(kStart);
      if (at != std::string_view::npos) out_.json = {page + at, page + at + 12000};
    }
  }

  const CoreOverlay& core_;
  CoreAnatomy out_;
};

}  // namespace mixstack::fuzz
