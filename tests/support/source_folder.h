// Where this clone lies: for tests that read files of it, or programs that are built in it.
#pragma once

#include <string>

namespace mixstack::test {

/// Without a slash at its end. Compiled once, so that no other object of tests names the clone: ccache takes them for
/// those of every other clone.
[[nodiscard]] std::string source_folder();

}  // namespace mixstack::test
