#include "dotnet/code/aot_crash.h"

#include <nlohmann/json.hpp>

#include "base/system/number.h"

namespace mixstack::dotnet {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostExceptions = 16, kMostFrames = 64, kMostText = 4096;

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || !at->is_string() ? std::string() : at->get<std::string>().substr(0, kMostText);
}

std::uint32_t hex_of(const std::string& text) {
  if (!text.starts_with("0x")) return 0;
  return base::leading_number<std::uint32_t>(std::string_view(text).substr(2), 16).value_or(0);
}

AotCrash::Exception exception_of(const Json& json) {
  AotCrash::Exception exception{text_of(json, "type"), text_of(json, "message"), {}};
  const auto stack = json.find("stack");
  if (stack == json.end() || !stack->is_array()) return exception;
  for (const Json& frame : *stack) {
    if (exception.stack.size() == kMostFrames || !frame.is_object()) break;
    std::string name = text_of(frame, "name");
    exception.stack.push_back(name.empty() ? text_of(frame, "ip") : std::move(name));
  }
  return exception;
}

}  // namespace

bool parse_aot_crash(std::string_view json, AotCrash& out) {
  const Json record = Json::parse(json, nullptr, false);
  if (!record.is_object() || !record.contains("reason") || !record.contains("runtime_type")) return false;
  const std::string reason = text_of(record, "reason");
  if (reason.size() == 1 && reason[0] >= '0' && reason[0] <= '3')
    out.reason = AotCrash::Reason{static_cast<std::uint8_t>(reason[0] - '0')};
  out.thread = hex_of(text_of(record, "thread"));
  out.message = text_of(record, "message");
  const Json* exception = record.contains("exception") ? &record["exception"] : nullptr;
  while (exception != nullptr && exception->is_object() && out.exceptions.size() < kMostExceptions) {
    out.exceptions.push_back(exception_of(*exception));
    const auto inner = exception->find("inner");
    if (inner == exception->end()) break;
    exception = inner->is_array() ? (inner->empty() ? nullptr : &inner->front()) : &*inner;
  }
  return true;
}

}  // namespace mixstack::dotnet
