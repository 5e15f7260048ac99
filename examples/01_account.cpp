// What a plan costs, and how much noise a budget needs, before any data is touched. No LibTorch.
#include <cstdio>

#include <fodp/core.h>

int main() {
  const auto accountant = fodp::make_accountant(fodp::AccountantKind::pld);
  const double delta = 1e-5;

  // A plan: 1,000 steps, each on a lot that every record joins with probability .01, noise 1.1 times the clip norm.
  const fodp::Events plan = {{fodp::Event::poisson_gaussian(/*sample_rate=*/.01, /*noise_multiplier=*/1.1), 1000}};
  std::printf("1,000 steps at noise 1.1:          epsilon %.4f\n", accountant->epsilon(plan, delta).epsilon);

  // The same with memory that gives the fresh sum the weight .9 (FO-DP-SGD): charged at 1.1/.9.
  const fodp::Events with_memory = {{fodp::Event::poisson_gaussian(.01, 1.1 / .9), 1000}};
  std::printf("the same with beta .9:             epsilon %.4f\n", accountant->epsilon(with_memory, delta).epsilon);

  // The other way round: the least noise for a budget. What comes back never overshoots it.
  const fodp::Calibrated found =
      fodp::calibrate_noise_multiplier(fodp::PlannedRun{.sample_rate = .01, .steps = 1000}, {.epsilon = 1, .delta = delta}, *accountant);
  std::printf("noise for epsilon 1:               %.4f (epsilon %.6f)\n", found.noise_multiplier, found.spent.epsilon);
  return found.spent.epsilon <= 1 ? 0 : 1;
}
