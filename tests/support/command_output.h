// What another program says: the outside truth tests compare with.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace mixstack::test {

/// Standard output of a shell command, line by line; standard error is dropped.
inline std::vector<std::string> command_lines(const std::string& command) {
  std::vector<std::string> lines;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"),
                                                             ::pclose);
  if (!pipe) return lines;
  std::string line;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    lines.push_back(std::move(line));
    line.clear();
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace mixstack::test
