// Names of Linux signals and of what raised them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mixstack::report {

/// "SIGSEGV"; "signal 40" for numbers without a name. Numbers are those of Linux on x86 and ARM
/// (include/uapi/asm-generic/signal.h).
[[nodiscard]] std::string signal_name(std::int32_t signal);
/// The cause (si_code) in words: "nothing is mapped there"; empty when the code says nothing more than the signal
/// (include/uapi/asm-generic/siginfo.h).
[[nodiscard]] std::string_view signal_code_words(std::int32_t signal, std::int32_t code);

}  // namespace mixstack::report
