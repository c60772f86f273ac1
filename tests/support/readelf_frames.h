// The rows of call frame information as `readelf --debug-dump=frames-interp` prints them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/command_output.h"

namespace mixstack::test {

/// One row: from `pc` on. Texts as printed: "rsp+8", "c-16", "u", "s", "exp", "vexp", "v+0", "r3 (rbx)".
struct ReadelfRow {
  std::uint64_t pc = 0;
  std::string cfa;
  std::map<std::string, std::string> registers;  ///< by column head: "rbx", "ra"
};

struct ReadelfFde {
  bool is_debug_frame = false;
  std::uint64_t pc_begin = 0, pc_end = 0;
  std::vector<ReadelfRow> rows;  ///< empty where readelf prints none (no instructions of its own): the CIE's row holds
  ReadelfRow cie_row;
};

/// Splits at blanks; a register in parentheses belongs to the word before.
inline std::vector<std::string> row_words(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string w; in >> w;) {
    if (!words.empty() && w[0] == '(') {
      words.back() += " " + w;
    } else {
      words.push_back(w);
    }
  }
  return words;
}

/// All FDEs of a file. Rows at equal addresses: the last one counts, as for a reader of the instructions.
inline std::vector<ReadelfFde> readelf_frames(const std::string& path) {
  std::vector<ReadelfFde> fdes;
  std::map<std::string, ReadelfRow> cies;
  std::vector<std::string> heads;
  std::string cie;  // offset of the CIE being printed, empty inside an FDE
  bool debug_frame = false;
  for (const auto& line : command_lines("readelf --debug-dump=frames-interp " + path)) {
    if (line.rfind("Contents of the ", 0) == 0) {
      debug_frame = line.find(".debug_frame") != std::string::npos;
      cies.clear();
      continue;
    }
    const auto words = row_words(line);
    if (words.size() >= 4 && words[3] == "CIE") {
      cie = words[0];
      heads.clear();
    } else if (words.size() >= 6 && words[3] == "FDE") {
      cie.clear();
      ReadelfFde fde;
      fde.is_debug_frame = debug_frame;
      const auto range = words.back().substr(words.back().find("pc=") + 3);
      fde.pc_begin = std::strtoull(range.c_str(), nullptr, 16);
      fde.pc_end = std::strtoull(range.c_str() + range.find("..") + 2, nullptr, 16);
      auto name = words[4].substr(words[4].find('=') + 1);
      fde.cie_row = cies[name];
      fdes.push_back(fde);
      heads.clear();
    } else if (!words.empty() && words[0] == "LOC") {
      heads.assign(words.begin() + 2, words.end());
    } else if (words.size() == 3 && words[1] == "ZERO") {
      heads.clear();
    } else if (words.size() >= 2 && words.size() == heads.size() + 2 && line[0] != ' ') {
      ReadelfRow row;
      row.pc = std::strtoull(words[0].c_str(), nullptr, 16);
      row.cfa = words[1];
      for (std::size_t i = 0; i < heads.size(); i++) row.registers[heads[i]] = words[i + 2];
      if (!cie.empty()) {
        cies[cie] = row;
        continue;
      }
      auto& rows = fdes.back().rows;
      if (!rows.empty() && rows.back().pc == row.pc) rows.pop_back();
      rows.push_back(row);
    }
  }
  return fdes;
}

}  // namespace mixstack::test
