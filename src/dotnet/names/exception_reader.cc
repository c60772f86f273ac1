#include "dotnet/names/exception_reader.h"

#include <algorithm>

#include "dotnet/bcl/types.h"
#include "dotnet/names/bounded_text.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

Result<std::string> message_text(const RuntimeMemory& memory, Address string, std::size_t limit) {
  auto table = object_method_table(memory, string);
  auto expected = memory.through(memory.layouts().globals.string_method_table);
  auto length = memory.value<std::uint32_t>(string, memory.layouts().string.length);
  if (!table) return fail(table.error());
  if (!expected) return fail(expected.error());
  if (*table != *expected) return fail(ErrorCode::mismatch, string);
  if (!length) return fail(length.error());
  auto text = managed_string(memory, string, limit);
  if (!text || *length <= limit) return text;
  if (text->ends_with(kReplacement)) text->resize(text->size() - kReplacement.size());  // half a character was cut off
  return *text + std::string(kCutMark);
}

}  // namespace

/// A chain being read.
struct ExceptionReader::Chain {
  ExceptionInFlight result;
  std::size_t frames = 0;

  [[nodiscard]] const ManagedException* find(Address object) const {
    const auto it = std::find_if(result.chain.begin(), result.chain.end(),
                                 [&](const ManagedException& e) { return e.object == object; });
    return it == result.chain.end() ? nullptr : &*it;
  }
};

ExceptionInFlight ExceptionReader::read(Address object) {
  Chain chain;
  visit(chain, object, ManagedException::kOutermost, 0);
  return std::move(chain.result);
}

std::string ExceptionReader::type_of(Address object) {
  const auto exception = read_exception(memory_, object);
  return exception ? names_.type_name(exception->method_table, true).value_or("") : std::string();
}

void ExceptionReader::visit(Chain& chain, Address object, std::uint32_t inner_of, std::size_t depth) {
  // An exception may be reached twice (an aggregate's first one is its inner exception, too), or in a cycle.
  if (object == 0) return;
  if (chain.find(object) != nullptr || depth > kMaxDepth || chain.result.chain.size() == kMaxChain) {
    chain.result.inner_are_cut = true;
    return;
  }
  ManagedException out;
  out.object = object;
  out.inner_of = inner_of;
  const auto exception = read_exception(memory_, object);
  if (!exception) {
    out.error = exception.error();
    chain.result.chain.push_back(std::move(out));
    return;
  }
  if (auto type = names_.type_name(exception->method_table)) {
    out.type = std::move(*type);
  } else {
    out.error = type.error();
  }
  out.hresult = exception->hresult;
  read_message(*exception, out);
  read_frames(chain, *exception, out);
  const auto index = static_cast<std::uint32_t>(chain.result.chain.size());
  chain.result.chain.push_back(std::move(out));
  visit_inner(chain, *exception, index, depth);
}

void ExceptionReader::visit_inner(Chain& chain, const ExceptionObject& exception, std::uint32_t index,
                                  std::size_t depth) {
  if (is_aggregate(exception.method_table)) {
    if (auto list = aggregated(exception)) {
      for (const Address inner : list->elements) visit(chain, inner, index, depth + 1);
      chain.result.inner_are_cut |= list->is_cut;
      return;
    }
  }
  visit(chain, exception.inner, index, depth + 1);
}

void ExceptionReader::read_message(const ExceptionObject& exception, ManagedException& out) {
  if (exception.message == 0) return;
  auto text = message_text(memory_, exception.message, kMaxMessage);
  if (!text) {
    out.error = text.error();
    return;
  }
  out.has_message = true;
  out.message = std::move(*text);
}

void ExceptionReader::read_frames(Chain& chain, const ExceptionObject& exception, ManagedException& out) {
  const std::size_t limit = std::min(kMaxThrowRecords, kMaxFrames - chain.frames);
  ThrowStack stack = read_throw_stack(memory_, exception.stack_trace, limit);
  if (stack.error.code != ErrorCode::none) out.error = stack.error;
  out.thrown_at_is_cut = stack.is_cut;
  out.thrown_at.reserve(stack.records.size());
  for (const ThrowRecord& record : stack.records) {
    ThrowFrame frame;
    frame.ip = record.ip;
    frame.sp = record.sp;
    frame.method = record.method_desc;
    frame.ends_first_part = record.ends_first_part;
    if (code_ != nullptr) {
      const CodeInfo& info = code_->find(CodeAddress::exact(record.ip));
      if (info.is_managed()) frame.offset = record.ip - info.method_start;
    }
    out.thrown_at.push_back(frame);
  }
  chain.frames += out.thrown_at.size();
}

bool ExceptionReader::is_aggregate(Address method_table) {
  const auto [known, is_new] = aggregates_.try_emplace(method_table, false);
  if (!is_new) return known->second;
  const Address base = memory_.through(memory_.layouts().globals.exception_method_table).value_or(0);
  Address type = method_table;
  for (std::size_t i = 0; i < kMaxDepth && type != 0 && type != base; i++) {
    if (names_.type_name(type, true).value_or("") == bcl::kAggregateException) return known->second = true;
    type = memory_.pointer(type, memory_.layouts().method_table.parent).value_or(0);
  }
  return false;
}

// AggregateException derives from Exception itself, and its first field is `Exception[] _innerExceptions`
// (System.Private.CoreLib, AggregateException.cs), so it follows the fields of Exception. The element type of the array
// proves it. A MethodTable's BaseSize counts the object header before the object, too.
Result<ReferenceArray> ExceptionReader::aggregated(const ExceptionObject& exception) const {
  const Layouts& l = memory_.layouts();
  auto base = memory_.through(l.globals.exception_method_table);
  if (!base) return fail(base.error());
  auto size = memory_.value<std::uint32_t>(*base, l.method_table.base_size);
  if (!size) return fail(size.error());
  constexpr std::uint32_t kLargest = 4096;
  if (*size < l.pointer_size || *size > kLargest) return fail(ErrorCode::malformed, *size);
  auto array = memory_.pointer_at(exception.address + *size - l.pointer_size);
  if (!array) return fail(array.error());
  return read_reference_array(memory_, *array, *base, kMaxAggregated);
}

}  // namespace mixstack::dotnet::names
