// Completion in a real bash, and the man pages, both from the lists that the commands' help is written from.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class Completion : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    if (std::system("bash -c true") != 0) GTEST_SKIP() << "no bash";
    const Outcome outcome = fodp("completion bash");
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    write("fodp.bash", outcome.out);
  }

  // What bash offers for the last of these words, each in quotes.
  std::vector<std::string> offered(const std::string& words) {
    write("ask.bash", "source ./fodp.bash\nCOMP_WORDS=(" + words +
                          ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_fodp\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    const std::string command = "cd '" + folder_.string() + "' && bash --norc ask.bash >offered.txt 2>err.txt";
    EXPECT_EQ(std::system(command.c_str()), 0) << words;
    EXPECT_THAT(content(folder_ / "err.txt"), IsEmpty()) << words;
    return words_in(content(folder_ / "offered.txt"));
  }
};

TEST_F(Completion, OffersCommandsOptionsAndValues) {
  EXPECT_THAT(offered("fodp ''"), AllOf(Contains("account"), Contains("calibrate"), Contains("completion"), Contains("help")));
  EXPECT_THAT(offered("fodp acc"), ElementsAre("account"));
  EXPECT_THAT(offered("fodp help cal"), ElementsAre("calibrate"));
  EXPECT_THAT(offered("fodp account --e"), ElementsAre("--epsilon", "--events"));
  EXPECT_THAT(offered("fodp calibrate --so"), ElementsAre("--solve"));
  EXPECT_THAT(offered("fodp account --accountant ''"), ElementsAre("pld", "rdp"));
  EXPECT_THAT(offered("fodp account --accountant = r"), ElementsAre("rdp")) << "--accountant=r";
  EXPECT_THAT(offered("fodp account --accountant ="), ElementsAre("pld", "rdp")) << "--accountant=";
  EXPECT_THAT(offered("fodp account --steps ''"), IsEmpty());
  EXPECT_THAT(offered("fodp account --json --q"), ElementsAre("--quiet"));
  EXPECT_THAT(offered("fodp completion ''"), AllOf(Contains("bash"), Contains("zsh"), Contains("fish")));
}

TEST_F(Completion, OffersWhatTheProgramWithLibTorchTakes) {
  if (!std::filesystem::exists(FODP_BINARY_DIR "/fodp-torch")) GTEST_SKIP() << "built without LibTorch";
  EXPECT_THAT(offered("fodp train --method dp-adam"), ElementsAre("dp-adam", "dp-adambc", "dp-adamw", "dp-adam-ac"));
  EXPECT_THAT(offered("fodp train --data cifar"), ElementsAre("cifar-10", "cifar-100"));
  EXPECT_THAT(offered("fodp train --update ad"), ElementsAre("adam", "adambc", "adamw"));
  EXPECT_THAT(offered("fodp methods bandm"), ElementsAre("bandmf"));
  EXPECT_THAT(offered("fodp train --insecure"), ElementsAre("--insecure-validation", "--insecure-seed", "--insecure-diagnostics"));
}

TEST_F(Completion, OffersEveryOptionThatTheHelpShows) {
  for (const char* command : {"account", "calibrate"}) {
    const std::vector<std::string> options = offered("fodp " + std::string(command) + " --");
    for (const std::string& word : words_in(fodp(std::string(command) + " --help").out)) {
      const bool is_option = word.starts_with("--") && word.find_first_of(".,;:") == std::string::npos;
      if (is_option) {
        EXPECT_THAT(options, Contains(word)) << command;
      }
    }
  }
}

TEST_F(Completion, KnowsThreeShells) {
  EXPECT_THAT(fodp("completion zsh").out, AllOf(HasSubstr("#compdef fodp"), HasSubstr(":accountant:(pld rdp)")));
  EXPECT_THAT(fodp("completion fish").out, HasSubstr("-l accountant -x -a 'pld rdp'"));
  EXPECT_EQ(json("completion bash")["script"], fodp("completion bash").out);
  EXPECT_THAT(fodp("completion bsh").err, HasSubstr("did you mean 'bash'?"));
  EXPECT_EQ(fodp("completion").status, 2);
}

TEST_F(Commands, ManPagesTellWhatTheHelpTells) {
  ASSERT_EQ(fodp("--write-pages pages").status, 0);
  const std::string page = content(folder_ / "pages/man1/fodp-account.1");
  EXPECT_THAT(page, AllOf(HasSubstr(".TH FODP-ACCOUNT 1"), HasSubstr("\\-\\-noise\\-multiplier"), HasSubstr("One of: pld, rdp.")));
  EXPECT_THAT(content(folder_ / "pages/man1/fodp.1"), AllOf(HasSubstr("calibrate"), HasSubstr("130")));
  EXPECT_EQ(content(folder_ / "pages/share/bash-completion/completions/fodp"), fodp("completion bash").out);
  EXPECT_EQ(content(folder_ / "pages/share/zsh/site-functions/_fodp"), fodp("completion zsh").out);
  EXPECT_EQ(content(folder_ / "pages/share/fish/vendor_completions.d/fodp.fish"), fodp("completion fish").out);
  if (std::system("groff --version >/dev/null 2>&1") != 0) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "pages/man1")) {
    const std::string out = (folder_ / "page.txt").string(), warnings = (folder_ / "warnings.txt").string();
    ASSERT_EQ(std::system(("groff -man -Tascii -P-cbu -ww '" + entry.path().string() + "' >'" + out + "' 2>'" + warnings + "'").c_str()),
              0);
    EXPECT_THAT(content(warnings), IsEmpty()) << entry.path();
    EXPECT_THAT(content(out), HasSubstr("EXIT STATUS")) << entry.path();
  }
}

}  // namespace
}  // namespace fodp
