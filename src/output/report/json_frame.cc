#include "output/report/json_frame.h"

#include "output/report/frame_view.h"
#include "output/report/json_fields.h"
#include "output/report/value_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string make_fields(const Frame& frame, const SymbolInfo& symbol) {
  return collect([&](Writer& out) {
           // The braces of the object are cut off: these are fields of a frame.
           JsonObject object(out);
           object.text("name", shown_name(frame, symbol, false));
           object.text("raw_name", symbol.raw_name);
           object.text("module", symbol.module);
           object.text_or_null("file", symbol.file);
           symbol.line == 0 ? object.null("line") : object.number("line", std::uint64_t{symbol.line});
           object.text_or_null("module_path", symbol.module_path);
           object.text_or_null("build_id", symbol.build_id);
           object.boolean("named", !symbol.name.empty());
           object.number("symbol_offset", symbol.offset);
           object.text_or_null("note", symbol.note);
         })
      .substr(1);
}

void write_inlined(Writer& out, const SymbolInfo& symbol) {
  JsonObject object(out);
  object.text("name", symbol.name);
  object.text("raw_name", symbol.raw_name);
  object.text("module", symbol.module);
  object.text_or_null("file", symbol.file);
  symbol.line == 0 ? object.null("line") : object.number("line", std::uint64_t{symbol.line});
  object.word("inlined_by", to_string(symbol.inlining));
  object.close();
}

void write_evidence(Writer& out, const Evidence& evidence) {
  JsonObject object(out);
  object.word("stepper", to_string(evidence.stepper));
  object.boolean("accepted", evidence.error.code == ErrorCode::none);
  object.word("code", error_name(evidence.error.code));
  object.text("text", error_words(evidence.error));
  object.close();
}

void write_addresses(JsonObject& object, const Frame& frame) {
  object.hex_or_null("cfa", frame.cfa);
  frame.module == kNoModule ? object.null("module_offset") : object.hex("module_offset", module_offset_of_ip(frame));
  object.hex_or_null("method_desc", frame.method);
  object.hex_or_null("method_start", frame.method_start);
  object.hex_or_null("frame_address", frame.explicit_frame);
}

std::string make_words(const Frame& frame) {
  return collect([&](Writer& out) {
           JsonObject object(out);
           object.word("code_kind", to_string(frame.kind));
           object.word("found_by", to_string(frame.found_by));
           object.word("trust", to_string(frame.trust));
           object.boolean("is_funclet", frame.is_funclet());
           frame.is_funclet() ? object.word("funclet", to_string(frame.funclet)) : object.null("funclet");
           object.boolean("is_interrupted", frame.is_interrupted);
           object.boolean("witness_disagrees", frame.witness_disagrees);
         })
      .substr(1);
}

constexpr std::size_t kCombinations = std::size_t{1} << 16;

/// One number for everything that `make_words` looks at.
std::size_t combination(const Frame& frame) {
  const auto bits = [](auto value, unsigned width) { return static_cast<std::size_t>(value) & ((1u << width) - 1); };
  return bits(frame.kind, 3) | bits(frame.trust, 3) << 3 | bits(frame.found_by, 5) << 6 | bits(frame.funclet, 3) << 11 |
         bits(frame.is_interrupted, 1) << 14 | bits(frame.witness_disagrees, 1) << 15;
}

}  // namespace

void write_registers(Writer& out, const Registers& registers) {
  JsonObject object(out);
  for (unsigned reg = 0; reg < Registers::kMax; reg++)
    if (registers.is_known(reg)) object.hex(register_name(registers.arch(), reg), registers.value_or_zero(reg));
  object.close();
}

JsonFrames::JsonFrames(const ProcessDump& dump, const ReportOptions& options)
    : dump_(dump), options_(options), fields_(dump.symbols.size()), words_(kCombinations) {}

const std::string& JsonFrames::symbol_fields(const Frame& frame, std::uint32_t index) {
  static const SymbolInfo unnamed;
  const SymbolInfo& symbol = index < dump_.symbols.size() ? dump_.symbols[index] : unnamed;
  if (symbol.name.empty() && symbol.module.empty()) return unnamed_ = make_fields(frame, symbol);
  std::string& fields = fields_[index];
  if (fields.empty()) fields = make_fields(frame, symbol);
  return fields;
}

const std::string& JsonFrames::word_fields(const Frame& frame) {
  std::string& words = words_[combination(frame)];
  if (words.empty()) words = make_words(frame);
  return words;
}

void JsonFrames::write_frame(Writer& out, const ThreadDump& thread, std::size_t index, const EvidenceIndex& evidence) {
  const Frame& frame = thread.trace.frames[index];
  const std::uint32_t symbol = own_function(dump_.symbols, index < thread.symbols.size() ? thread.symbols[index] : 0);
  JsonObject object(out);
  object.word("kind", kind_name(frame.kind));
  object.hex("ip", frame.pc.raw());
  object.hex("sp", frame.sp);
  object.fragment(symbol_fields(frame, symbol));
  object.fragment(word_fields(frame));
  write_addresses(object, frame);
  object.key("inlined");
  json_array(out, inlined_of(dump_, thread, index), "",
             [&](std::uint32_t function) { write_inlined(out, dump_.symbols[function]); });
  if (options_.registers && frame.registers != 0 && frame.registers <= thread.trace.registers.size()) {
    object.key("registers");
    write_registers(out, thread.trace.registers[frame.registers - 1]);
  }
  if (options_.arguments) {
    const FrameArguments* arguments = arguments_of(thread, index);
    if (arguments == nullptr) {
      object.null("arguments");
    } else {
      json_array(object.key("arguments"), arguments->values, "",
                 [&out](const ProgramValue& v) { write_value_json(out, v); });
    }
  }
  if (options_.explain) {
    object.key("evidence");
    json_array(out, evidence.of(index), "", [&out](const Evidence& e) { write_evidence(out, e); });
  }
  object.close();
}

void JsonFrames::write(Writer& out, const ThreadDump& thread) {
  out << '[';
  const EvidenceIndex evidence(thread.trace);
  bool first = true;
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    if (!is_shown(thread.trace.frames[i], options_)) continue;
    if (!first) out << ',';
    first = false;
    out << '\n';
    write_frame(out, thread, i, evidence);
  }
  out << ']';
}

}  // namespace mixstack::report
