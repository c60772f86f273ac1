// One frame of a dump with what it is called: what text and JSON have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mixstack/dump.h"
#include "output/report/options.h"

namespace mixstack::report {

/// The symbol of a frame's own function; the unnamed symbol where the dump has none. Never fails, whatever the indexes
/// say.
[[nodiscard]] const SymbolInfo& symbol_of(const ProcessDump& dump, const ThreadDump& thread, std::size_t frame);

/// The functions that the compiler put into it and whose code this is, innermost first: indices of `dump.symbols`.
[[nodiscard]] std::vector<std::uint32_t> inlined_of(const ProcessDump& dump, const ThreadDump& thread,
                                                    std::size_t frame);

/// `this` and arguments of a frame; null: they were not asked for, or cannot be told.
[[nodiscard]] const FrameArguments* arguments_of(const ThreadDump& thread, std::size_t frame);

/// " {inlined}", and whether that is a conclusion.
[[nodiscard]] std::string_view inlining_words(Inlining inlining);

/// The name to show, as the target has it (not escaped): the symbol's, or "module+0x12", or "0x7f..".
[[nodiscard]] std::string shown_name(const Frame& frame, const SymbolInfo& symbol, bool raw);

/// The frame's address as the image's own tools count it (link-time address): for a return address that of the
/// instruction it returns to, as `ip` has it, not of the call before it.
[[nodiscard]] std::uint64_t module_offset_of_ip(const Frame& frame);

/// "managed", "native" or "runtime": the three kinds that reports promise.
[[nodiscard]] std::string_view kind_name(FrameKind kind);

/// Whether a frame belongs into the report at all.
[[nodiscard]] bool is_shown(const Frame& frame, const ReportOptions& options);

/// Whether something is missing from the stack that the user would want to know: anything but its end.
[[nodiscard]] bool is_cut(const ThreadDump& thread);

}  // namespace mixstack::report
