// The files in a zip archive, unpacked piece by piece; libzip does the reading. What is wrong with the archive is an InputError that names
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct zip;
struct zip_file;

namespace fodp {

class ZipFile {
 public:
  explicit ZipFile(const std::filesystem::path& path);

  struct Member {
    std::string name;
    std::uint64_t index, size;  // size: after unpacking, as the archive says
  };
  const std::vector<Member>& members() const { return members_; }

  // One file of the archive while it is read. It must not outlive the archive.
  class Reader {
   public:
    Reader(const ZipFile& archive, const Member& member);

    // As of FileBytes. The read that comes to the end has verified the checksum.
    std::size_t read(std::span<std::uint8_t> out);

   private:
    struct Close {
      void operator()(zip_file* file) const;
    };
    std::string where_;
    std::unique_ptr<zip_file, Close> file_;
  };

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  std::string name_;
  std::unique_ptr<zip, Discard> archive_;
  std::vector<Member> members_;
};

}  // namespace fodp
