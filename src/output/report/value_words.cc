#include "output/report/value_words.h"

#include <fmt/format.h>

#include "output/report/escape.h"
#include "output/report/json_fields.h"

namespace mixstack::report {
namespace {

constexpr std::string_view kCharacter = "char";

std::string size_words(const ProgramValue& value) {
  if (!value.length) return {};
  const bool is_text = value.type == "string";
  if (is_text && value.content) return {};
  return fmt::format(" ({} {}{})", *value.length, is_text ? "character" : "item", *value.length == 1 ? "" : "s");
}

std::string_view lack(ValueState state) {
  switch (state) {
    case ValueState::told:
      return {};
    case ValueState::not_kept:
      return "not kept";
    case ValueState::moved:
      return "an object that may have moved meanwhile";
    case ValueState::unread:
      break;
  }
  return "not readable";
}

/// The text behind the type: " = 42", or an object's address and size.
std::string told(const ProgramValue& value) {
  if (value.content) {
    const char quote = value.type == kCharacter ? '\'' : '"';
    return fmt::format(" = {}{}{}", quote, escape_for_terminal(*value.content), quote);
  }
  if (value.object != 0) return fmt::format(" 0x{:x}{}", value.object, size_words(value));
  return value.text.empty() ? std::string() : " = " + escape_for_terminal(value.text);
}

}  // namespace

std::string value_words(const ProgramValue& value) {
  const std::string head = escape_for_terminal(value.name) + ": " + escape_for_terminal(value.type);
  if (value.state != ValueState::told) return fmt::format("{}, {}", head, lack(value.state));
  return head + told(value);
}

std::string short_value_words(const ProgramValue& value) {
  if (value.state != ValueState::told) return std::string(lack(value.state));
  const std::string behind = told(value);
  return behind.starts_with(" = ") ? behind.substr(3) : escape_for_terminal(value.type) + behind;
}

void write_value_json(Writer& out, const ProgramValue& value) {
  JsonObject object(out);
  object.text("name", value.name);
  object.text("type", value.type);
  object.word("state", to_string(value.state));
  object.text_or_null("text", value.text);
  object.hex_or_null("object", value.object);
  value.length ? object.number("length", std::uint64_t{*value.length}) : object.null("length");
  value.content ? object.text("content", *value.content) : object.null("content");
  object.close();
}

}  // namespace mixstack::report
