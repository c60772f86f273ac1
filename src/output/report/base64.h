// Base 64 (RFC 4648, section 4): binary data in a text.
#pragma once

#include <string_view>

#include "output/report/writer.h"

namespace mixstack::report {

void write_base64(Writer& out, std::string_view bytes);

}  // namespace mixstack::report
