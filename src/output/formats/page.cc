#include "output/formats/page.h"

#include "base/words/recording_selection.h"

namespace mixstack::formats {

Page page_of(const Recording& recording, const ProfileOptions& options) {
  ProfileOptions within = options;
  within.idle = options.idle || options.activities == 0;
  report::PageLook look;
  look.clock = shown_clock(recording, options);
  look.idle = options.idle || options.activities != 0;  // selected states are shown, even if they are waiting ones
  look.inverted = options.inverted;
  return {selection_of(recording, within), look};
}

}  // namespace mixstack::formats
