#include "dotnet/dac/helper_process.h"

#include <array>

namespace mixstack::dotnet::dac {

static_assert(kHelperSocket == base::kServiceSocket && kHelperDac == base::kServiceSocket + 1);

Outcome<HelperProcess> HelperProcess::start(const base::TrustedFile& program, const base::ScopedFd& dac) {
  const std::array<int, 1> files{dac.get()};
  auto process = base::ServiceProcess::start(program, files);
  if (!process) return tl::unexpected(std::move(process.error()));
  HelperProcess helper;
  helper.process_ = std::move(*process);
  helper.channel_ = MessageChannel(helper.process_.take_socket());
  return helper;
}

std::string HelperProcess::end() {
  channel_ = {};
  return process_.end();
}

Outcome<base::TrustedFile> find_helper(const std::string& path) {
  return base::find_service("mixstack-helper", "the DAC", path);
}

}  // namespace mixstack::dotnet::dac
