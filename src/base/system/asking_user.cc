#include "base/system/asking_user.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/system/number.h"
#include "base/system/small_file.h"

namespace mixstack::base {
namespace {

constexpr std::size_t kMostGroups = 1024, kMostText = 16 << 20;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::optional<std::uint32_t> id_in(std::string_view text) { return number<std::uint32_t>(text); }

std::vector<std::string> fields_of(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(field);
  return fields;
}

/// Reads /etc/group itself: getgrouplist loads NSS libraries, which a statically linked program cannot.
void add_groups(User& user) {
  std::istringstream file(text_at("/etc/group", kMostText));
  for (std::string line; std::getline(file, line) && user.groups.size() < kMostGroups;) {
    const auto fields = fields_of(line, ':');
    const auto gid = fields.size() == 4 ? id_in(fields[2]) : std::nullopt;
    if (!gid || *gid == user.gid) continue;
    for (const std::string& member : fields_of(fields[3], ','))
      if (member == user.name) user.groups.push_back(*gid);
  }
}

std::string home_of(std::uint32_t uid) {
  std::istringstream file(text_at("/etc/passwd", kMostText));
  for (std::string line; std::getline(file, line);) {
    const auto fields = fields_of(line, ':');
    if (fields.size() >= 6 && id_in(fields[2]) == uid) return fields[5];
  }
  return {};
}

/// Whether sudo ran us itself, not a shell from which we were started later. Older sudos do not set SUDO_COMMAND:
/// assume so.
bool is_by_sudo() {
  const std::string_view command = variable("SUDO_COMMAND");
  const std::filesystem::path program(command.substr(0, command.find(' ')));
  return command.empty() || program.filename().string().starts_with("mixstack");
}

}  // namespace

std::optional<User> asking_user() {
  const auto uid = id_in(variable("SUDO_UID")), gid = id_in(variable("SUDO_GID"));
  if (::geteuid() != 0 || !uid || *uid == 0 || !gid || !is_by_sudo()) return std::nullopt;
  User user{*uid, *gid, {*gid}, std::string(variable("SUDO_USER")), home_of(*uid)};
  if (!user.name.empty()) add_groups(user);
  return user;
}

void give_to_asking_user(int fd, const std::string& path) {
  const auto user = asking_user();
  struct stat folder {};
  if (!user) return;
  const std::size_t slash = path.rfind('/');
  const std::string place = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::stat(place.c_str(), &folder) != 0) return;
  if (folder.st_uid == user->uid || (folder.st_mode & 02) != 0) (void)!::fchown(fd, user->uid, user->gid);
}

}  // namespace mixstack::base
