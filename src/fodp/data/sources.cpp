// The table of data sets. A new one is a line here and, if its format is new, a reader beside this file.
#include "fodp/data/cifar.h"
#include "fodp/data/dataset.h"
#include "fodp/data/idx.h"
#include "fodp/data/svhn.h"

namespace fodp {

std::span<const DataSource> data_sources() {
  static const std::vector<std::string> idx_train{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
  static const std::vector<std::string> idx_test{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  // clang-format off
  static const DataSource sources[] = {
      {.format = {"fashion-mnist", 1, 28, 28, 10, 60000, 10000, {.2860}, {.3530}},
       .folder = "fashion-mnist", .installed_at = {"/usr/share/datasets/fashion-mnist"},
       .train_files = idx_train, .test_files = idx_test, .may_be_gzipped = true, .read = read_idx, .count = count_idx},
      {.format = {"mnist", 1, 28, 28, 10, 60000, 10000, {.1307}, {.3081}},
       .folder = "mnist", .installed_at = {},
       .train_files = idx_train, .test_files = idx_test, .may_be_gzipped = true, .read = read_idx, .count = count_idx},
      {.format = {"cifar-10", 3, 32, 32, 10, 50000, 10000, {.4914, .4822, .4465}, {.2470, .2435, .2616}},
       .folder = "cifar-10-batches-bin", .installed_at = {},
       .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
       .test_files = {"test_batch.bin"}, .may_be_gzipped = false, .read = read_cifar10, .count = count_cifar10},
      {.format = {"cifar-100", 3, 32, 32, 100, 50000, 10000, {.5071, .4865, .4409}, {.2673, .2564, .2762}},
       .folder = "cifar-100-binary", .installed_at = {},
       .train_files = {"train.bin"}, .test_files = {"test.bin"}, .may_be_gzipped = false, .read = read_cifar100, .count = count_cifar100},
      {.format = {"svhn", 3, 32, 32, 10, 73257, 26032, {.4377, .4438, .4728}, {.1980, .2010, .1970}},
       .folder = "svhn", .installed_at = {},
       .train_files = {"train_32x32.mat"}, .test_files = {"test_32x32.mat"}, .may_be_gzipped = false, .read = read_svhn, .count = count_svhn},
  };
  // clang-format on
  return sources;
}

}  // namespace fodp
