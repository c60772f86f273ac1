// OpenTelemetry profiles (OTLP), for collectors and stores.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words/recording_view.h"
#include "output/report/writer.h"

namespace mixstack::formats {

struct OtlpOptions {
  std::vector<std::pair<std::string, std::string>> resource{};  ///< attributes: "service.name", labels
  std::string version{};                                        ///< of mixstack
  std::array<std::uint8_t, 16> id{};  ///< of the first profile; others have the next numbers in its last byte
};

/// ExportProfilesServiceRequest of opentelemetry-proto, profiles v1development as of version 1.11.0 (docs/push.md),
/// compressed by gzip. A resource for each process, in it a profile for each clock: `samples` in `count` with the
/// period of processor time, `wall` in nanoseconds. Attributes of samples: thread.name, thread.id, mixstack.state; of
/// locations profile.frame.type; of mappings the build id. Samples and frames are those of `write_pprof`.
void write_otlp(report::Writer& out, const Recording& recording, const ProfileOptions& options,
                const OtlpOptions& otlp);

/// A server's answer to such a request, beside its status.
struct OtlpAnswer {
  std::int64_t rejected = 0;  ///< number of profiles that it rejected
  std::string words{};        ///< the reason, or a warning; not escaped
};
/// Decodes an ExportProfilesServiceResponse. Nothing: malformed.
[[nodiscard]] std::optional<OtlpAnswer> read_otlp_answer(std::string_view bytes);

}  // namespace mixstack::formats
