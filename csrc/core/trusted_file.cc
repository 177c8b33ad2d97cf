#include "trusted_file.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace autofuse {
namespace {

constexpr size_t kEntryBytes = 1 << 16;

// Whether the group is the user's primary one, carries the user's name and has no other members.
bool IsPrivateGroup(gid_t gid) {
  if (gid == 0 && geteuid() == 0) return true;
  std::vector<char> user_text(kEntryBytes), group_text(kEntryBytes);
  struct passwd user_entry;
  struct group group_entry;
  struct passwd* user = nullptr;
  struct group* group = nullptr;
  if (getpwuid_r(geteuid(), &user_entry, user_text.data(), user_text.size(), &user) != 0 ||
      getgrgid_r(gid, &group_entry, group_text.data(), group_text.size(), &group) != 0 ||
      user == nullptr || group == nullptr) {
    return false;
  }
  for (char** member = group->gr_mem; *member != nullptr; ++member) {
    if (std::strcmp(*member, user->pw_name) != 0) return false;
  }
  return user->pw_gid == gid && std::strcmp(user->pw_name, group->gr_name) == 0;
}

bool OthersMayWrite(const struct stat& info) {
  if (S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0) return false;
  if ((info.st_mode & S_IWOTH) != 0) return true;
  return (info.st_mode & S_IWGRP) != 0 && !IsPrivateGroup(info.st_gid);
}

}  // namespace

std::string WhyUntrusted(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) return std::strerror(errno);
  std::string place = real.get();
  for (;;) {
    struct stat info;
    if (stat(place.c_str(), &info) != 0) return place + ": " + std::strerror(errno);
    if (info.st_uid != 0 && info.st_uid != geteuid()) {
      return place + " belongs to user " + std::to_string(info.st_uid);
    }
    if (OthersMayWrite(info)) return "others may write to " + place;
    if (place == "/") return "";
    place.resize(std::max<size_t>(1, place.rfind('/')));
  }
}

}  // namespace autofuse
