#include "files.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace autofuse {
namespace {

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

bool ReadFile(const std::string& path, Bytes* content) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  content->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return !file.bad();
}

std::string FindBundle(const std::string& bundle_dir, const std::string& key) {
  if (!bundle_dir.empty() && IsFolder(bundle_dir)) return bundle_dir;
  const char* places = std::getenv("AUTOFUSE_BUNDLE_PATH");
  std::istringstream words(places == nullptr ? "" : places);
  for (std::string place; std::getline(words, place, ':');) {
    const std::string folder = place + "/" + key;
    if (!place.empty() && IsFolder(folder)) return folder;
  }
  return "";
}

}  // namespace autofuse
