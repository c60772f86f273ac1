#include "frontends/cli/version.h"

#include <fmt/format.h>

#include "base/system/own_build_id.h"

namespace mixstack::cli {

std::string_view version_number() { return MIXSTACK_VERSION; }

std::string version_text() {
  const std::string build_id = base::own_build_id();
  constexpr std::string_view kCommit = MIXSTACK_COMMIT;
  std::string text = fmt::format("mixstack {}\nbuild id {}\n", version_number(), build_id.empty() ? "none" : build_id);
  if (!kCommit.empty()) text += fmt::format("commit {}\n", kCommit);
  return text;
}

}  // namespace mixstack::cli
