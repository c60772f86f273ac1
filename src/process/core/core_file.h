// The ELF headers of a core file: which memory it holds, and where.
#pragma once

#include <memory>
#include <vector>

#include "mixstack/diagnosis.h"
#include "mixstack/target.h"
#include "process/core/core_bytes.h"

namespace mixstack::process {

/// A mapping of the process (PT_LOAD). Bytes beyond `dumped` were not written to the core, and need not be zero: the
/// kernel leaves out what its filter says, gdb and createdump what they choose.
struct CoreSegment {
  AddressRange range;
  std::uint64_t file_offset = 0;
  std::uint64_t dumped = 0;  ///< bytes of the range, from its start, that the file holds
  bool readable = false, writable = false, executable = false;
};

/// The headers of a core, each number checked: segments ascend by address and do not overlap, and their bytes lie
/// inside the file. Immutable.
class CoreFile {
 public:
  /// Errors: malformed (no ELF), unsupported (not a core; value is e_type), unsupported_cpu (value is e_machine),
  /// truncated (ends within its headers), io_error.
  [[nodiscard]] static Result<CoreFile> read(std::shared_ptr<const CoreBytes> bytes);

  [[nodiscard]] const CoreBytes& bytes() const { return *bytes_; }
  [[nodiscard]] Arch arch() const { return arch_; }
  [[nodiscard]] const std::vector<CoreSegment>& segments() const { return segments_; }
  /// False when a segment begins or ends inside a page: pages are there in parts.
  [[nodiscard]] bool has_whole_pages() const { return has_whole_pages_; }
  /// All PT_NOTE segments, one after the other, as far as the file holds them.
  [[nodiscard]] const std::vector<std::byte>& notes() const { return notes_; }
  /// Contradictions and missing parts.
  [[nodiscard]] const std::vector<Diagnosis>& diagnoses() const { return diagnoses_; }
  [[nodiscard]] std::shared_ptr<const CoreBytes> shared_bytes() const { return bytes_; }

 private:
  struct Damage {  // of all segments together: one diagnosis each, however many there are
    std::uint64_t beyond_the_end = 0, missing_bytes = 0, lying = 0, overlapping = 0, notes_left_out = 0;
  };
  struct NoteSegment {
    std::uint64_t offset = 0, size = 0;
  };
  explicit CoreFile(std::shared_ptr<const CoreBytes> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] Result<void> read_headers(Damage& damage);
  void add_segment(const struct ProgramHeader& header, Damage& damage);
  void add_notes(const struct ProgramHeader& header, Damage& damage);
  void read_notes();
  void put_in_order(Damage& damage);
  void describe(const Damage& damage);

  std::shared_ptr<const CoreBytes> bytes_;
  Arch arch_ = Arch::unknown;
  std::vector<CoreSegment> segments_;
  bool has_whole_pages_ = true;
  std::vector<NoteSegment> note_segments_;
  std::vector<std::byte> notes_;
  std::vector<Diagnosis> diagnoses_;
};

}  // namespace mixstack::process
