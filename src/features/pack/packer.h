// The writer of one pack, when all that goes in was read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/pack/packing.h"
#include "process/pack/copying_target.h"
#include "process/pack/core_notes_writer.h"
#include "process/pack/pack_writer.h"
#include "process/pack/process_words.h"

namespace mixstack::packing {

/// A dump of a source, and all that it read.
struct Dumped {
  std::unique_ptr<Session> session;
  pack::CopyingTarget* recorder = nullptr;  ///< the session's
  ProcessDump dump;
  pack::PackedProcess recording;
};

/// One pack, from a process or a core.
class Packer {
 public:
  Packer(Dumped dumped, pack::ProcessWords words, const PackOptions& options, int fd);
  [[nodiscard]] Dumped& dumped() { return dumped_; }
  [[nodiscard]] pack::ProcessNotes process_notes() const;
  /// `code`: a stable name for programs, a literal.
  void leave_out(const char* code, std::string sentence) {
    left_out_.push_back(std::move(sentence));
    left_out_codes_.emplace_back(code);
  }

  /// `more` is read from `memory` when it is written.
  [[nodiscard]] Result<PackSummary> write(std::vector<std::byte> notes, const std::vector<AddressRange>& more,
                                          const MemoryReader& memory);

 private:
  void say_what_is_left_out();
  void warn(const char* code, std::string sentence);
  [[nodiscard]] PackSummary summary_of(const pack::WrittenPack& written, std::uint64_t bytes);

  Dumped dumped_;
  pack::ProcessWords words_;
  const PackOptions& options_;
  int fd_;
  AddressRange hole_;
  std::vector<std::string> left_out_, left_out_codes_, warnings_;
};

}  // namespace mixstack::packing
