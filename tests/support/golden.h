// Compares a text with a file in tests/golden. With MIXSTACK_UPDATE_GOLDEN=1 in the environment the file is written
// instead; look at the difference before committing it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/source_folder.h"

namespace mixstack::testing {

inline void expect_golden(const std::string& file, const std::string& text) {
  const std::string path = test::source_folder() + "/tests/golden/" + file;
  if (std::getenv("MIXSTACK_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return;
  }
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << "differs from " << path << "; MIXSTACK_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace mixstack::testing
