// Selects the samples for the viewer page, and its initial view.
#pragma once

#include "base/words/recording_view.h"
#include "output/report/page_data.h"

namespace mixstack::formats {

struct Page {
  Recording recording;
  report::PageLook look{};
};

/// The initial view has the same samples as texts and pictures of these options. The page also holds waiting threads,
/// and the other clock if `options` name none, so that its user can show them; other samples are left out.
[[nodiscard]] Page page_of(const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
