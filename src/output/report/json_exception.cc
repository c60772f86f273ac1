#include "output/report/json_exception.h"

#include "output/report/frame_view.h"
#include "output/report/json_error.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string_view abort_name(RuntimeAbort::Kind kind) {
  switch (kind) {
    case RuntimeAbort::Kind::fail_fast:
      return "fail_fast";
    case RuntimeAbort::Kind::stack_overflow:
      return "stack_overflow";
    case RuntimeAbort::Kind::unhandled_exception:
      return "unhandled_exception";
    case RuntimeAbort::Kind::runtime_failure:
      break;
  }
  return "runtime_failure";
}

void write_throw_frame(Writer& out, const ProcessDump& dump, const ThrowFrame& thrown) {
  static const SymbolInfo unnamed;
  const std::uint32_t own = own_function(dump.symbols, thrown.symbol);
  const SymbolInfo& symbol = own < dump.symbols.size() ? dump.symbols[own] : unnamed;
  Frame frame;
  frame.pc = CodeAddress::exact(thrown.ip);
  JsonObject object(out);
  object.hex("ip", thrown.ip);
  object.hex("sp", thrown.sp);
  object.text("name", shown_name(frame, symbol, false));
  object.text("raw_name", symbol.raw_name);
  object.text("module", symbol.module);
  object.hex("method_desc", thrown.method);
  object.number("offset", thrown.offset);
  object.text_or_null("file", symbol.file);
  symbol.line == 0 ? object.null("line") : object.number("line", std::uint64_t{symbol.line});
  object.boolean("ends_first_part", thrown.ends_first_part);
  object.close();
}

void write_exception(Writer& out, const ProcessDump& dump, const ManagedException& e) {
  JsonObject object(out);
  object.text_or_null("type", e.type);
  e.has_message ? object.text("message", e.message) : object.null("message");
  object.hex("hresult", e.hresult);
  object.hex("object", e.object);
  e.inner_of == ManagedException::kOutermost ? object.null("inner_of")
                                             : object.number("inner_of", std::uint64_t{e.inner_of});
  object.key("thrown_at");
  json_array(out, e.thrown_at, "\n", [&](const ThrowFrame& f) { write_throw_frame(out, dump, f); });
  object.boolean("thrown_at_is_cut", e.thrown_at_is_cut);
  error_or_null(object, "error", out, e.error);
  object.close();
}

void write_in_flight(Writer& out, const ProcessDump& dump, const ExceptionInFlight& exception) {
  JsonObject object(out);
  object.key("chain");
  json_array(out, exception.chain, "\n", [&](const ManagedException& e) { write_exception(out, dump, e); });
  object.boolean("inner_are_cut", exception.inner_are_cut);
  object.close();
}

void write_abort(Writer& out, const RuntimeAbort& abort) {
  JsonObject object(out);
  object.word("kind", abort_name(abort.kind));
  object.text_or_null("message", abort.message);
  object.boolean("message_inferred", abort.message_inferred);
  object.close();
}

}  // namespace

void write_exceptions(JsonObject& object, Writer& out, const ProcessDump& dump, const ManagedThreadFacts& managed) {
  object.key("exceptions");
  json_array(out, managed.exceptions, "\n", [&](const ExceptionInFlight& e) { write_in_flight(out, dump, e); });
  object.boolean("exceptions_are_cut", managed.exceptions_are_cut);
  if (!managed.abort) return object.null("abort");
  object.key("abort");
  write_abort(out, *managed.abort);
}

}  // namespace mixstack::report
