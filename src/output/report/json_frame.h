// Frames as JSON. Most frames share their symbol and their flags with others, so each symbol's fields
// and each combination of flags are made once.
#pragma once

#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "output/report/evidence_index.h"
#include "output/report/options.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// Writes the frames of the threads of one dump, which must outlive it.
class JsonFrames {
 public:
  JsonFrames(const ProcessDump& dump, const ReportOptions& options);
  /// The array of frames, innermost first; each has what was inlined into it.
  void write(Writer& out, const ThreadDump& thread);

 private:
  void write_frame(Writer& out, const ThreadDump& thread, std::size_t index, const EvidenceIndex& evidence);
  const std::string& symbol_fields(const Frame& frame, std::uint32_t index);
  const std::string& word_fields(const Frame& frame);

  const ProcessDump& dump_;
  const ReportOptions& options_;
  std::vector<std::string> fields_;  ///< per symbol, made when first needed
  std::vector<std::string> words_;   ///< per combination of enumerations and flags, made when first needed
  std::string unnamed_;              ///< for frames whose only name is their address
};

/// An object with one member per known register.
void write_registers(Writer& out, const Registers& registers);

}  // namespace mixstack::report
