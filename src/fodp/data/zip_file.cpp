#include "fodp/data/zip_file.h"

#include <zip.h>

#include <algorithm>

#include "fodp/base/check.h"
#include "fodp/data/file_bytes.h"
#include "fodp/data/inflater.h"

namespace fodp {
namespace {

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

}  // namespace

void ZipFile::Discard::operator()(zip* archive) const { zip_discard(archive); }
void ZipFile::Reader::Close::operator()(zip_file* file) const { zip_fclose(file); }

ZipFile::ZipFile(const std::filesystem::path& path) : name_(FileBytes(path).name()) {
  int code = 0;
  archive_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  check_input(archive_ != nullptr, "{}: not a zip archive that can be read: {}", name_, archive_ ? "" : text_of(code));
  const auto count = static_cast<std::uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(archive_.get(), 0), 0));
  for (std::uint64_t i = 0; i < count; ++i) {
    zip_stat_t about;
    zip_stat_init(&about);
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    check_input(zip_stat_index(archive_.get(), i, 0, &about) == 0 && (about.valid & needed) == needed,
                "{}: the directory of the zip archive is damaged", name_);
    const bool plain = about.comp_method == ZIP_CM_STORE, packed = about.comp_method == ZIP_CM_DEFLATE;
    check_input((plain || packed) && about.encryption_method == ZIP_EM_NONE,
                "{}: file {} of the archive is encrypted or packed in a way that is not read: plain and deflated ones are", name_, i + 1);
    // No stream of deflate gives more than so many bytes for one of its own: a larger size is a lie, or a trap for who takes memory for it.
    check_input(packed ? about.size / Inflater::most_for_one_byte <= about.comp_size : about.size == about.comp_size,
                "{}: file {} of the archive claims more bytes than it can hold", name_, i + 1);
    members_.push_back({about.name, i, about.size});
  }
}

ZipFile::Reader::Reader(const ZipFile& archive, const Member& member)
    : where_(archive.name_), file_(zip_fopen_index(archive.archive_.get(), member.index, 0)) {
  check_input(file_ != nullptr, "{}: file {} of the archive cannot be read: {}", where_, member.index + 1,
              file_ ? "" : zip_strerror(archive.archive_.get()));
}

std::size_t ZipFile::Reader::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const zip_int64_t got = zip_fread(file_.get(), out.data() + done, out.size() - done);
    check_input(got >= 0, "{}: the archive is damaged: {}", where_, got >= 0 ? "" : zip_file_strerror(file_.get()));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace fodp
