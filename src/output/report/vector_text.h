// Vector registers of the thread that crashed, by name and value.
#pragma once

#include <string>

#include "mixstack/dump.h"
#include "output/report/style.h"

namespace mixstack::report {

/// Whether this is the thread that crashed and its source told its vector registers.
[[nodiscard]] bool has_crash_vectors(const ProcessDump& dump, const ThreadDump& thread);
/// "xmm3", "ymm3", "v3".
[[nodiscard]] std::string vector_name(Arch arch, const VectorRegisters& set, std::size_t number);
/// All its bytes in hexadecimal, without "0x", the most significant first.
[[nodiscard]] std::string vector_value(const VectorRegisters& set, std::size_t number);

/// An object with one member per register.
void write_vectors_json(Writer& out, Arch arch, const VectorRegisters& set);
/// Two in a line, or one where they are wide.
void write_vectors_text(Painter& out, Arch arch, const VectorRegisters& set);

}  // namespace mixstack::report
