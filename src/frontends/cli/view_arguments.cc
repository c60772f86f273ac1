#include "frontends/cli/view_arguments.h"

#include <fmt/core.h>

#include "frontends/cli/help.h"
#include "frontends/cli/parsing.h"

namespace mixstack::cli {

Invocation parse_view(std::vector<std::string> arguments) {
  ViewArguments view;
  std::string port;
  Invocation result = parse_small(
      std::move(arguments), {Invocation::Action::view, {}, {}}, "mixstack view",
      [&](OptionSet& options) {
        options.positional("FILE", view.in);
        options.value("--port", port);
      },
      view_page());
  if (result.action != Invocation::Action::view) return result;
  if (view.in.empty()) return wrong("which recording? mixstack view FILE.mxr");
  const auto number = port.empty() ? std::optional<std::uint64_t>(0) : whole_number(port, UINT16_MAX);
  if (!number) return wrong(fmt::format("--port: '{}' is no port", port));
  view.port = static_cast<std::uint16_t>(*number);
  result.view = std::move(view);
  return result;
}

}  // namespace mixstack::cli
