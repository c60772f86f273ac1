#include <type_traits>

#include "frontends/c/handles.h"
#include "mixstack/pack.h"

namespace {

using mixstack::ErrorCode;

static_assert(std::has_unique_object_representations_v<mixstack_pack_options> &&
              std::has_unique_object_representations_v<mixstack_pack_summary>);

mixstack::PackOptions pack_options(const mixstack_pack_options& options) {
  mixstack::PackOptions out;
  out.full = options.full != 0;
  out.with_environment = options.with_environment != 0;
  out.with_command_line = options.with_command_line != 0;
  out.read_back = options.read_back != 0;
  out.tool = "mixstack " + std::to_string(MIXSTACK_VERSION_MAJOR) + "." + std::to_string(MIXSTACK_VERSION_MINOR) + "." +
             std::to_string(MIXSTACK_VERSION_PATCH);
  return out;
}

}  // namespace

extern "C" {

int mixstack_pack(uint32_t pid, int fd, const mixstack_pack_options* options, mixstack_pack_summary* out,
                  mixstack_error* error) {
  mixstack_pack_options wanted;
  if (!mixstack::c::read_options(options, wanted)) {
    mixstack::c::set(error, {ErrorCode::invalid_argument, 0, 0});
    return -1;
  }
  try {
    mixstack::c::set(error, {});
    const auto summary = mixstack::pack_process(pid, pack_options(wanted), fd);
    if (!summary) {
      mixstack::c::set(error, summary.error());
      return -1;
    }
    mixstack_pack_summary answer{};
    answer.written = summary->written;
    answer.threads = summary->threads;
    answer.pause_ns = static_cast<uint64_t>(summary->pause.count());
    answer.different_threads = summary->different.size();
    (void)mixstack::c::write_answer(answer, out);
    return 0;
  } catch (const std::exception&) {
    mixstack::c::set(error, {ErrorCode::internal, 0, 0});
    return -1;
  }
}

}  // extern "C"
