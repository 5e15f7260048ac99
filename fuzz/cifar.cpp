// One file of CIFAR-10, or of CIFAR-100 where the first byte of the input is odd. Images have 3 x 2 x 2 pixels.
#include "fodp/data/cifar.h"

#include "target.h"

FODP_FUZZ_TARGET(cifar) {
  static const DataFormat format{"small", 3, 2, 2, 4, 10, 10, {.5, .5, .5}, {.5, .5, .5}};
  if (bytes.empty()) return;
  const bool hundred = bytes[0] % 2 == 1;
  const std::vector<std::filesystem::path> files{file_with("data.bin", bytes.subspan(1))};
  const Examples examples = (hundred ? read_cifar100 : read_cifar10)(format, files, nullptr);
  require((hundred ? count_cifar100 : count_cifar10)(format, files) == examples.size(), "as many images are counted as are read");
}
