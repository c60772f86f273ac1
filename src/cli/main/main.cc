#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  return mixstack::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
