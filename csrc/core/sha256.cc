#include "sha256.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace autofuse {
namespace {

constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr size_t kBlock = 64;
constexpr size_t kLengthBytes = 8;

uint32_t Rotate(uint32_t x, int bits) { return (x >> bits) | (x << (32 - bits)); }

uint32_t BigEndian(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

}  // namespace

void Sha256::Block(const uint8_t* data) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = BigEndian(data + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15];
    const uint32_t b = w[i - 2];
    w[i] = w[i - 16] + (Rotate(a, 7) ^ Rotate(a, 18) ^ (a >> 3)) + w[i - 7] +
           (Rotate(b, 17) ^ Rotate(b, 19) ^ (b >> 10));
  }
  uint32_t s[8];
  std::copy(state_, state_ + 8, s);
  for (int i = 0; i < 64; ++i) {
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t first =
        s[7] + (Rotate(s[4], 6) ^ Rotate(s[4], 11) ^ Rotate(s[4], 25)) + choice + kRounds[i] + w[i];
    const uint32_t second = (Rotate(s[0], 2) ^ Rotate(s[0], 13) ^ Rotate(s[0], 22)) + majority;
    std::copy_backward(s, s + 7, s + 8);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::Update(const void* data, size_t bytes) {
  const uint8_t* next = static_cast<const uint8_t*>(data);
  total_bytes_ += bytes;
  while (bytes > 0) {
    const size_t count = std::min(bytes, kBlock - tail_bytes_);
    std::memcpy(tail_ + tail_bytes_, next, count);
    tail_bytes_ += count;
    next += count;
    bytes -= count;
    if (tail_bytes_ < kBlock) break;
    Block(tail_);
    tail_bytes_ = 0;
  }
}

std::string Sha256::Finish() {
  const uint64_t bits = total_bytes_ * 8;
  const uint8_t end = 0x80;
  const uint8_t zero = 0;
  Update(&end, 1);
  while (tail_bytes_ != kBlock - kLengthBytes) Update(&zero, 1);
  uint8_t length[kLengthBytes];
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  Update(length, kLengthBytes);
  std::string text;
  for (const uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

std::string FileDigest(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 16);
  Sha256 digest;
  while (file.good()) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    digest.Update(buffer.data(), static_cast<size_t>(file.gcount()));
  }
  return file.eof() ? digest.Finish() : std::string();
}

}  // namespace autofuse
