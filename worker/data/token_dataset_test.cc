#include "worker/data/token_dataset.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Header(int32_t magic, int32_t version, uint32_t count) {
  std::string bytes(1024, '\0');
  std::memcpy(bytes.data(), &magic, 4);
  std::memcpy(bytes.data() + 4, &version, 4);
  std::memcpy(bytes.data() + 8, &count, 4);
  return bytes;
}

template <typename T>
std::string Bytes(const std::vector<T>& tokens) {
  return std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(T));
}

std::string V1(const std::vector<uint16_t>& tokens) { return Header(20240520, 1, tokens.size()) + Bytes(tokens); }
std::string V7(const std::vector<uint32_t>& tokens) { return Header(20240801, 7, tokens.size()) + Bytes(tokens); }

class TokenDatasetTest : public ::testing::Test {
 protected:
  TokenDatasetTest() {
    std::string dir = ::testing::TempDir() + "/token_dataset_XXXXXX";
    dir_ = ::mkdtemp(dir.data());
  }
  ~TokenDatasetTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = absl::StrCat(dir_, "/", name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static std::vector<int32_t> Read(const TokenDataset& data, int64_t id, int context) {
    std::vector<int32_t> out(context + 1);
    const absl::Status status = data.Read(id, absl::MakeSpan(out));
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }

  // The one line that `pattern` is refused with.
  static absl::Status Refusal(const std::string& pattern, v1::TokenFormat format = v1::AUTO, int context = 2) {
    const absl::Status status = TokenDataset::Open(pattern, format, context, 256).status();
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
    EXPECT_THAT(std::string(status.message()), HasSubstr(pattern));
    return status;
  }

  std::string dir_;
};

TEST_F(TokenDatasetTest, VersionOneGivesSamplesThatOverlapByOne) {
  auto data = TokenDataset::Open(Write("a.bin", V1({10, 11, 12, 13, 14, 15})), v1::AUTO, 2, 256);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->samples(), 2);
  EXPECT_THAT(Read(**data, 0, 2), ElementsAre(10, 11, 12));
  EXPECT_THAT(Read(**data, 1, 2), ElementsAre(12, 13, 14));
}

TEST_F(TokenDatasetTest, VersionSevenHoldsTokensBeyondSixteenBits) {
  auto data = TokenDataset::Open(Write("a.bin", V7({1, 70000, 128255})), v1::TOKEN_FORMAT_UNSPECIFIED, 2, 128256);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(Read(**data, 0, 2), ElementsAre(1, 70000, 128255));
}

TEST_F(TokenDatasetTest, RawHasNoHeader) {
  auto data = TokenDataset::Open(Write("a.bin", Bytes<uint16_t>({1, 2, 65535})), v1::RAW_U16, 2, 65536);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(Read(**data, 0, 2), ElementsAre(1, 2, 65535));
}

TEST_F(TokenDatasetTest, GlobReadsFilesByNameAndNoSampleCrossesThem) {
  Write("b.bin", V7({20, 21, 22, 23}));
  Write("a.bin", V1({10, 11, 12, 13, 14}));
  Write("B.bin", V1({30, 31, 32}));
  Write("a.txt", "not tokens");
  auto data = TokenDataset::Open(dir_ + "/*.bin", v1::AUTO, 2, 256);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->samples(), 4);
  EXPECT_THAT(Read(**data, 0, 2), ElementsAre(30, 31, 32));
  EXPECT_THAT(Read(**data, 1, 2), ElementsAre(10, 11, 12));
  EXPECT_THAT(Read(**data, 2, 2), ElementsAre(12, 13, 14));
  EXPECT_THAT(Read(**data, 3, 2), ElementsAre(20, 21, 22));
}

TEST_F(TokenDatasetTest, PathWithGlobCharactersIsTakenAsItIs) {
  const std::string path = Write("a[1].bin", V1({1, 2, 3}));
  EXPECT_TRUE(TokenDataset::Open(path, v1::AUTO, 2, 256).ok());
}

TEST_F(TokenDatasetTest, FileBeyondFourGiBIsReadAtItsEnd) {
  const int64_t count = (int64_t{5} << 30) / 4;
  const std::string path = Write("big.bin", Header(20240801, 7, count));
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  const uint32_t last[3] = {7, 8, 9};
  ASSERT_EQ(::ftruncate(fd, 1024 + count * 4), 0);
  ASSERT_EQ(::pwrite(fd, last, 12, 1024 + (count - 3) * 4), 12);
  ASSERT_EQ(::close(fd), 0);
  const int context = 1 << 10;
  auto data = TokenDataset::Open(path, v1::AUTO, context, 256);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->samples(), (count - 1) / context);
  auto fine = TokenDataset::Open(path, v1::AUTO, 2, 256);
  ASSERT_TRUE(fine.ok()) << fine.status();
  const int64_t id = (count - 3) / 2;  // tokens count - 4 .. count - 2
  EXPECT_THAT(Read(**fine, id, 2), ElementsAre(0, 7, 8));
}

TEST_F(TokenDatasetTest, RawFileBeyondFourGiBIsReadAtItsEnd) {
  const std::string path = Write("big.bin", "");
  const int64_t count = (int64_t{5} << 30) / 2 + 1;
  ASSERT_EQ(::truncate(path.c_str(), count * 2), 0);
  const int fd = ::open(path.c_str(), O_WRONLY);
  const uint16_t last = 9;
  ASSERT_EQ(::pwrite(fd, &last, 2, (count - 1) * 2), 2);
  ASSERT_EQ(::close(fd), 0);
  auto data = TokenDataset::Open(path, v1::RAW_U16, 2, 256);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(Read(**data, (*data)->samples() - 1, 2), ElementsAre(0, 0, 9));
}

TEST_F(TokenDatasetTest, WrongMagicIsRefused) {
  const absl::Status status = Refusal(Write("a.bin", Header(1234, 1, 0)));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("magic 1234"));
  EXPECT_FALSE(Refusal(Write("empty.bin", "")).ok());
  EXPECT_FALSE(Refusal(Write("text.bin", "Once upon a time")).ok());
}

TEST_F(TokenDatasetTest, WrongVersionIsRefused) {
  const absl::Status status = Refusal(Write("a.bin", Header(20240520, 7, 0)));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 7"));
  EXPECT_FALSE(Refusal(Write("b.bin", Header(20240801, 1, 0))).ok());
}

TEST_F(TokenDatasetTest, LengthOtherThanTheHeaderSaysIsRefused) {
  const std::string whole = V1({1, 2, 3, 4});
  for (const std::string& content :
       {whole.substr(0, whole.size() - 1), whole.substr(0, whole.size() - 2), whole.substr(0, 1024), whole + "x",
        whole.substr(0, 1023), whole.substr(0, 4), V7({1, 2, 3}) + std::string(4, '\0')}) {
    EXPECT_EQ(Refusal(Write("a.bin", content)).code(), absl::StatusCode::kDataLoss) << content.size();
  }
}

TEST_F(TokenDatasetTest, RawOfOddLengthOrWithAHeaderIsRefused) {
  EXPECT_EQ(Refusal(Write("odd.bin", "abcde"), v1::RAW_U16).code(), absl::StatusCode::kDataLoss);
  const absl::Status status = Refusal(Write("a.bin", V1({1, 2, 3})), v1::RAW_U16);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("AUTO"));
}

TEST_F(TokenDatasetTest, NothingThereIsRefused) {
  EXPECT_EQ(Refusal(dir_ + "/none-*.bin").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Refusal(dir_ + "/none/a.bin").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Refusal(dir_).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refusal("").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TokenDatasetTest, FewerTokensThanASampleAreRefused) {
  Write("a.bin", V1({1, 2, 3}));
  const std::string small = Write("b.bin", V1({1, 2}));
  const absl::Status status = TokenDataset::Open(dir_ + "/*.bin", v1::AUTO, 2, 256).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(small));
  EXPECT_FALSE(Refusal(Write("none.bin", V1({}))).ok());
}

TEST_F(TokenDatasetTest, TokenBeyondVocabularyNamesFileAndOffset) {
  const std::string path = Write("a.bin", V1({0, 1, 2, 255, 256, 5, 6}));
  auto data = TokenDataset::Open(path, v1::AUTO, 2, 256);
  ASSERT_TRUE(data.ok()) << data.status();
  Read(**data, 0, 2);
  std::vector<int32_t> out(3);
  const absl::Status status = (*data)->Read(1, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": token 256 at token offset 4"));
  const std::string wide = Write("w.bin", V7({0, 0x80000000, 0xffffffff}));
  EXPECT_FALSE((*TokenDataset::Open(wide, v1::AUTO, 2, 256))->Read(0, absl::MakeSpan(out)).ok());
}

TEST_F(TokenDatasetTest, FileThatShrinksIsAnErrorNotASignal) {
  const std::string path = Write("a.bin", V1(std::vector<uint16_t>(100'000, 1)));
  auto data = TokenDataset::Open(path, v1::AUTO, 2, 256);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(::truncate(path.c_str(), 2000), 0);
  std::vector<int32_t> out(3);
  const absl::Status status = (*data)->Read((*data)->samples() - 1, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_TRUE((*data)->Read(0, absl::MakeSpan(out)).ok());
}

TEST_F(TokenDatasetTest, ReadOutsideIsRefused) {
  auto data = TokenDataset::Open(Write("a.bin", V1({1, 2, 3})), v1::AUTO, 2, 256);
  std::vector<int32_t> out(3);
  EXPECT_FALSE((*data)->Read(-1, absl::MakeSpan(out)).ok());
  EXPECT_FALSE((*data)->Read(1, absl::MakeSpan(out)).ok());
  EXPECT_FALSE((*data)->Read(0, absl::MakeSpan(out).subspan(1)).ok());
}

TEST_F(TokenDatasetTest, ManyThreadsReadTheSame) {
  std::vector<uint16_t> tokens(10'001);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = i;
  auto data = TokenDataset::Open(Write("a.bin", V1(tokens)), v1::AUTO, 10, 65536);
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t id = t; id < 1000; id += 2) ASSERT_EQ(Read(**data, id, 10)[10], id * 10 + 10);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::worker
