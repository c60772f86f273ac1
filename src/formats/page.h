// What of a recording goes into the viewer page, and how the page begins.
#pragma once

#include "model/recording_view.h"
#include "report/page_data.h"

namespace mixstack::formats {

struct Page {
  Recording recording;
  report::PageLook look{};
};

/// The page begins with what texts and pictures of these options show. Threads that wait can be taken in there, and the
/// other clock if `options` name none; all else that they leave out is not in it.
[[nodiscard]] Page page_of(const Recording& recording, const ProfileOptions& options);

}  // namespace mixstack::formats
