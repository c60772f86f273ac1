// Many stacks as collapsed lines and as JSON.
#pragma once

#include "base/words/profile.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// A line for each different stack of names: outermost first, separated by `;`, then a space and the count: what flame
/// graph programs read. A stack whose end was not reached begins with why, `[cut: no_unwind_info]`; where wall time was
/// sampled, too, all begin with what the thread did, `[cpu]`, `[running]` or `[waiting]`. Sorted; names hold neither
/// `;` nor control characters.
void write_collapsed(Writer& out, const Profile& profile);

/// One document: docs/formats/profile.schema.json. Always valid UTF-8.
void write_profile_json(Writer& out, const Profile& profile);

}  // namespace mixstack::report
