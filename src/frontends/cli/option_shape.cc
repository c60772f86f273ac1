#include "frontends/cli/option_shape.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace mixstack::cli {
namespace {

std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  std::istringstream in(type);
  for (std::string word; std::getline(in, word, '|');) words.push_back(word);
  return words;
}

OptionShape shape(const CLI::Option& option) {
  OptionShape result;
  result.is_positional = option.get_positional();
  if (result.is_positional) result.names.push_back(option.get_single_name());
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.takes_value = option.get_items_expected_max() > 0;
  result.takes_many = option.get_items_expected_max() > 1;
  if (result.takes_value) result.choices = choices_of(option.get_type_name());
  return result;
}

}  // namespace

std::vector<OptionShape> option_shapes(const CLI::App& app) {
  std::vector<OptionShape> shapes;
  for (const CLI::Option* option : app.get_options()) shapes.push_back(shape(*option));
  return shapes;
}

}  // namespace mixstack::cli
