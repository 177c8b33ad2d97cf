// SHA-256 (FIPS 180-4).
#ifndef AUTOFUSE_CORE_SHA256_H_
#define AUTOFUSE_CORE_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace autofuse {

class Sha256 {
 public:
  void Update(const void* data, size_t bytes);
  // The digest as 64 lower-case hex digits. Nothing may be added afterwards.
  std::string Finish();

 private:
  void Block(const uint8_t* data);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t tail_[64];
  size_t tail_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

// The digest of a file's contents; empty when it cannot be read.
std::string FileDigest(const std::string& path);

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_SHA256_H_
