// One MATLAB file of SVHN's arrays. Images have 2 x 2 x 3 pixels and 4 classes.
#include "fodp/data/svhn.h"
#include "target.h"

FODP_FUZZ_TARGET(mat) {
  static const DataFormat format{"small", 3, 2, 2, 4, 10, 10, {.5, .5, .5}, {.5, .5, .5}};
  const std::vector<std::filesystem::path> files{file_with("train.mat", bytes)};
  const Examples examples = read_svhn(format, files);
  require(count_svhn(format, files) == examples.size(), "as many images are counted as are read");
}
