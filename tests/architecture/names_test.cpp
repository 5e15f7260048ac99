// A class is defined once. Two classes of one name in one namespace compile and link, since each source file sees only one of them, and
// then one takes the other's constructors and destructors.
#include <map>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "architecture/outline.h"

namespace {

std::vector<std::string> defined_twice(const std::vector<outline::SourceFile>& files) {
  std::map<std::string, std::vector<std::string>> places;
  for (const auto& [name, text] : files)
    for (const outline::Definition& type : outline::of(text, name).classes)
      places[type.name].push_back(fmt::format("{}:{}", name, type.first));
  std::vector<std::string> found;
  for (const auto& [name, where] : places)
    if (where.size() > 1) found.push_back(fmt::format("{}: {}", name, fmt::join(where, ", ")));
  return found;
}

using Found = std::vector<std::string>;

TEST(Architecture, AClassIsDefinedOnce) {
  const auto files = outline::source_files({"src", "apps"});
  EXPECT_GT(files.size(), 150u);
  EXPECT_EQ(defined_twice(files), Found());
}

TEST(Architecture, AClassDefinedTwiceIsFound) {
  const outline::SourceFile tape{"tape.h", "namespace a {\nclass Record {};\n}\n"};
  EXPECT_EQ(defined_twice({tape, {"zip.h", "namespace a {\nstruct Record final : Base {\n};\n}\n"}}),
            Found{"a::Record: tape.h:2, zip.h:2"});
  EXPECT_EQ(defined_twice({tape, {"zip.h", "namespace a { inline namespace b {} enum class Record : int { x }; }"}}),
            Found{"a::Record: tape.h:2, zip.h:1"});
  EXPECT_EQ(defined_twice({tape, {"zip.h", "namespace a { template <class T, class U = B<T>> class Record {}; }"}}),
            Found{"a::Record: tape.h:2, zip.h:1"});
  EXPECT_EQ(defined_twice({tape, {"zip.h", "namespace a { int n = 1'000; class Record {}; }"}}), Found{"a::Record: tape.h:2, zip.h:1"});
  EXPECT_EQ(defined_twice({{"a.h", "class A { public: struct B {}; };"}, {"a.cpp", "struct A::B {};"}}), Found{"A::B: a.h:1, a.cpp:1"});
}

TEST(Architecture, OtherClassesOfThatNameAreFine) {
  const outline::SourceFile tape{"tape.h", "namespace a {\nclass Record {};\n}\n"};
  for (const char* text : {
           "namespace a::b { class Record {}; }",
           "namespace a { namespace { class Record {}; } }",
           "namespace a { class Record; class Zip { struct Record {}; friend class Record; }; }",
           "namespace a { void f() { struct Record {}; } }",
           "namespace a { struct Record record{1}; template <class Record> void f() {} template <> struct Record<int> {}; }",
           "namespace a { // class Record {\n/* class Record { */ auto x = R\"x(\";class Record {)x\", y = \"\\\"class Record {\"; }",
       })
    EXPECT_EQ(defined_twice({tape, {"zip.cpp", text}}), Found()) << text;
  const std::string hidden = "namespace a { namespace { class Hidden {}; } }";
  EXPECT_EQ(defined_twice({{"a.cpp", hidden}, {"b.cpp", hidden}}), Found());
}

}  // namespace
