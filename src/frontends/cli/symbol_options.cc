#include "frontends/cli/symbol_options.h"

#include "features/symbols/usual_places.h"
#include "frontends/cli/output.h"

namespace mixstack::cli {

SymbolOptions symbol_options(const DumpArguments& arguments) {
  SymbolOptions options = symbol_answers::symbol_options_of_environment();
  options.lines = arguments.native_lines;
  if (arguments.symbol_path) options.path = *arguments.symbol_path;
  return options;
}

void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment) {
  for (const std::string& words : symbol_answers::missing_folders(options))
    remark(environment, {"no_symbol_folder"}, "mixstack: warning: symbol path: " + words + "\n");
}

}  // namespace mixstack::cli
