#include <cstdlib>
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  mixstack::cli::Environment environment;
  // Whoever runs us with more rights than his own (AT_SECURE) does not say which programs we run.
  if (const char* path = ::secure_getenv("PATH"); path != nullptr) environment.search_path = path;
  return mixstack::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), environment);
}
