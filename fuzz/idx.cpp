// Two IDX files in one input: a byte that is odd where they are packed, two bytes with the length of the labels, the file of labels, the
// file of images. Images have 2 x 3 pixels and 4 classes.
#include "fodp/data/idx.h"

#include <algorithm>

#include "target.h"

FODP_FUZZ_TARGET(idx) {
  static const DataFormat format{"small", 1, 2, 3, 4, 10, 10, {.5}, {.5}};
  if (bytes.size() < 3) return;
  const bool packed = bytes[0] % 2 == 1;
  const std::size_t length = std::min<std::size_t>(bytes[1] | bytes[2] << 8, bytes.size() - 3);
  const std::vector<std::filesystem::path> files{file_with(packed ? "images.gz" : "images", bytes.subspan(3 + length)),
                                                 file_with(packed ? "labels.gz" : "labels", bytes.subspan(3, length))};
  Sha256 contents;
  const Examples examples = read_idx(format, files, &contents);
  require(count_idx(format, files) == examples.size(), "as many images are counted as are read");
}
