#include "features/pack/pack_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::packing {
namespace {

std::string binary_size_words(std::uint64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{} KiB", (bytes + 1023) >> 10)
                           : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string read_back_text(const PackSummary& s, const std::string& path) {
  constexpr std::size_t kMostNamed = 16;
  if (s.different.empty())
    return fmt::format("Read back: {} as now. Read it with: mixstack dump --core {}\n",
                       s.threads == 1 ? std::string("its thread") : fmt::format("all {} threads", s.threads), path);
  if (s.different.front() == 0) return "Read back: it cannot be read. This is a fault of mixstack\n";
  std::string text = "Read back: not as now are the stacks of threads";
  for (std::size_t i = 0; i < std::min(s.different.size(), kMostNamed); i++) text += fmt::format(" {}", s.different[i]);
  return text + (s.different.size() > kMostNamed ? " ...\n" : "\n");
}

}  // namespace

std::string summary_text(const PackSummary& s, const std::string& out, bool asked_full) {
  const std::string path = out == "-" ? "standard output" : report::escape_for_terminal(out);
  std::string text =
      fmt::format("{}: {}, with {}, {} core of {}, {} of {}\n", path, binary_size_words(s.written),
                  report::counted(s.threads, "thread"), s.full ? "a full" : "a small", binary_size_words(s.core_bytes),
                  report::counted(s.files, "file"), binary_size_words(s.file_bytes));
  if (s.full && !asked_full) text += "  the whole core: a small one did not tell the same as the core itself\n";
  if (s.pause.count() != 0) text += fmt::format("  the process stood still for {}\n", report::duration_words(s.pause));
  if (!s.diagnoses.empty()) text += "Missing already in a dump made here:\n";
  for (const Diagnosis& d : s.diagnoses)
    text += fmt::format("  {}: {}\n", report::escape_for_terminal(d.subject), report::escape_for_terminal(d.text));
  text += "Not in it:\n";
  for (const std::string& sentence : s.left_out) text += "  " + report::escape_for_terminal(sentence) + '\n';
  for (const std::string& sentence : s.warnings) text += "Careful: " + report::escape_for_terminal(sentence) + '\n';
  text +=
      "Still in it, as in every dump: what stacks hold (arguments, local variables), names and messages of\n"
      "exceptions" +
      std::string(s.full ? ", and whatever else lies in the process's memory" : "") + ". Mail it to whom you trust.\n";
  return out == "-" ? text : text + read_back_text(s, path);
}

}  // namespace mixstack::packing
