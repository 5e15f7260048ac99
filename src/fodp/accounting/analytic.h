// What has a closed form: the plain Gaussian, any composition of plain Gaussians (which is one), and one Poisson-subsampled Gaussian.
// Every answer is an interval that holds the truth, a few units in the last place wide unless said otherwise.
#pragma once

namespace fodp {

struct Interval {
  double lower = 0, upper = 0;
};

// Which neighbour the record is in. remove: the mixture against the Gaussian; add: the Gaussian against the mixture.
enum class Direction { remove, add };

// exp(x^2) * erfc(x), to a relative 1e-14 for x >= -5 (+inf below about -26).
double scaled_erfc(double x);

// Least delta at which two normals that are `distance` standard deviations apart are (epsilon, delta)-close (Balle and Wang 2018,
// Theorem 8). epsilon >= 0; distance >= 0, +inf allowed.
Interval gaussian_delta(double distance, double epsilon);
// Least epsilon >= 0 at which they are, for delta in (0, 1).
Interval gaussian_epsilon(double distance, double delta);

// The largest distance (up to rounding, and never above it) at which they are (epsilon, delta)-close: the parameter mu of Gaussian
// differential privacy that a budget stands for (Dong, Roth and Su 2022).
double gaussian_distance(double epsilon, double delta);

// The same for one Poisson-subsampled Gaussian: rate in (0, 1], noise multiplier > 0.
Interval sampled_gaussian_delta(double sample_rate, double noise_multiplier, double epsilon, Direction direction);
Interval sampled_gaussian_epsilon(double sample_rate, double noise_multiplier, double delta, Direction direction);

}  // namespace fodp
