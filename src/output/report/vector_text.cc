#include "output/report/vector_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/arch/cpu.h"
#include "output/report/json_fields.h"

namespace mixstack::report {

bool has_crash_vectors(const ProcessDump& dump, const ThreadDump& thread) {
  // Those of a handler are not what crashed.
  return dump.target.crash && dump.target.crash->tid == thread.tid && thread.captured && thread.vectors &&
         !thread.fault_registers;
}

std::string vector_name(Arch arch, const VectorRegisters& set, std::size_t number) {
  const arch::VectorNames& names = arch::cpu(arch).vectors;
  return fmt::format("{}{}", set.size > 16 ? names.wide_prefix : names.prefix, number);
}

std::string vector_value(const VectorRegisters& set, std::size_t number) {
  const auto& bytes = set.values[number];
  std::string text;
  for (std::size_t i = std::min<std::size_t>(set.size, bytes.size()); i-- != 0;)
    text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
  return text;
}

void write_vectors_json(Writer& out, Arch arch, const VectorRegisters& set) {
  JsonObject object(out);
  for (std::size_t i = 0; i < set.values.size(); i++)
    object.word(vector_name(arch, set, i), "0x" + vector_value(set, i));
  object.close();
}

void write_vectors_text(Painter& out, Arch arch, const VectorRegisters& set) {
  const std::size_t in_a_line = set.size > 16 ? 1 : 2;
  std::string text;
  for (std::size_t i = 0; i < set.values.size(); i++) {
    const bool ends_line = (i + 1) % in_a_line == 0 || i + 1 == set.values.size();
    text += fmt::format("  {:>5} {}{}", vector_name(arch, set, i), vector_value(set, i), ends_line ? "\n" : "");
  }
  if (!text.empty()) out.paint(Ink::faint, text);
}

}  // namespace mixstack::report
