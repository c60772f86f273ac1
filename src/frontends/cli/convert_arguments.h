// Arguments of `mixstack convert` and `mixstack diff`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/words/recording_view.h"
#include "output/formats/format.h"

namespace mixstack::cli {

struct ConvertArguments {
  std::string in;
  std::string out;  ///< "-": standard output
  formats::Format format = formats::Format::text;
  ProfileOptions options{};
  std::optional<std::string> symbol_path;  ///< in place of MIXSTACK_SYMBOL_PATH
  bool quiet = false;                      ///< no remarks, only errors
};

struct DiffArguments {
  std::string before, after;
  std::string out;                                 ///< "-": standard output
  formats::Format format = formats::Format::text;  ///< or folded, html
  ProfileOptions options{};
  bool quiet = false;
};

struct Invocation;
[[nodiscard]] Invocation parse_convert(std::vector<std::string> arguments);
[[nodiscard]] Invocation parse_diff(std::vector<std::string> arguments);

}  // namespace mixstack::cli
