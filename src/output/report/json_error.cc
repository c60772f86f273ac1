#include "output/report/json_error.h"

#include "output/report/words.h"

namespace mixstack::report {

void write_error(Writer& out, const Error& error) {
  JsonObject object(out);
  object.word("code", error_name(error.code));
  object.number("os_error", std::int64_t{error.os_error});
  object.hex("value", error.value);
  object.text("text", error_words(error));
  object.close();
}

void error_or_null(JsonObject& object, std::string_view key, Writer& out, const Error& error) {
  if (error.code == ErrorCode::none) return object.null(key);
  object.key(key);
  write_error(out, error);
}

}  // namespace mixstack::report
