// The bytes on disk, as docs/checkpoint_format.md has them. A failure here means that checkpoints of the field would no
// longer be read: a new format version, not a new golden.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fault_file_system.h"
#include "gtest/gtest.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/digest.h"
#include "worker/checkpoint/safetensors.h"

namespace muster::worker {
namespace {

constexpr char kSaveDir[] = "/ckpt/tiny-1/step-00000007.tmp-3";

// Two ranks: "b" whole on rank 0, "w" of shape [3, 2] cut at element 2.
absl::StatusOr<v1::CheckpointManifest> SaveSmall(FileSystem* fs) {
  std::vector<float> b = {1.0f, -2.0f};
  std::vector<float> w = {0.5f, 0.25f, 3.0f, 4.0f, 5.0f, 6.0f};
  SaveOptions options = {.job_dir = "/ckpt/tiny-1", .step = 7, .generation = 3, .rank = 0, .world_size = 2};
  options.header.set_job_id("tiny-1");
  options.header.set_job_uid("0123456789abcdef");
  options.header.mutable_cursor()->set_seed(1);
  options.header.mutable_cursor()->set_consumed(448);
  options.header.mutable_cursor()->set_samples_per_epoch(1000);
  options.header.mutable_schedule()->set_lr(0.001);
  options.header.set_writer("muster 0.1.0");
  const absl::Span<float> all = absl::MakeSpan(w);
  auto first = SaveShard(fs, options, {{"param/b", {2}, 0, absl::MakeSpan(b)}, {"param/w", {3, 2}, 0, all.first(2)}});
  if (!first.ok()) return first.status();
  options.rank = 1;
  auto second = SaveShard(fs, options, {{"param/w", {3, 2}, 2, all.subspan(2)}});
  if (!second.ok()) return second.status();
  EXPECT_TRUE(first->has_header());
  EXPECT_FALSE(second->has_header());
  return MergeShardReports({*first, *second});
}

TEST(CheckpointFormat, ShardBytes) {
  FaultFileSystem fs;
  ASSERT_TRUE(SaveSmall(&fs).ok());
  std::string header =
      R"({"__metadata__":{"format":"muster-checkpoint-1","generation":"3","job_id":"tiny-1","job_uid":"0123456789abcdef",)"
      R"("rank":"1","step":"7","world_size":"2"},)"
      R"("param/w[2:6]":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  ASSERT_EQ(header.size(), 217);
  header += std::string(31, ' ');  // 8 + 248 is a multiple of 64
  const std::string length("\xf8\0\0\0\0\0\0\0", 8);
  const std::string data("\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40\0\0\xc0\x40", 16);
  EXPECT_EQ(*ReadFile(&fs, absl::StrCat(kSaveDir, "/shard-00001-of-00002.safetensors")), length + header + data);
}

TEST(CheckpointFormat, WholeTensorKeepsNameAndShape) {
  FaultFileSystem fs;
  ASSERT_TRUE(SaveSmall(&fs).ok());
  const std::string path = absl::StrCat(kSaveDir, "/shard-00000-of-00002.safetensors");
  const auto file = fs.NewRandomAccessFile(path);
  const auto header = ReadSafetensorsHeader(**file, path);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->data_offset % 64, 0);
  ASSERT_EQ(header->entries.size(), 2);
  EXPECT_EQ(header->entries[0].name, "param/b");
  EXPECT_EQ(header->entries[0].shape, std::vector<int64_t>{2});
  EXPECT_EQ(header->entries[1].name, "param/w[0:2]");
}

TEST(CheckpointFormat, ManifestBytes) {
  FaultFileSystem fs;
  const auto manifest = SaveSmall(&fs);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const auto path = Publish(&fs, "/ckpt/tiny-1", *manifest);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(*path, "/ckpt/tiny-1/step-00000007");
  EXPECT_EQ(*ReadFile(&fs, absl::StrCat(*path, "/manifest.json")), R"({
 "format_version": 1,
 "job_id": "tiny-1",
 "job_uid": "0123456789abcdef",
 "step": "7",
 "generation": "3",
 "world_size": 2,
 "cursor": {
  "seed": "1",
  "consumed": "448",
  "samples_per_epoch": "1000"
 },
 "schedule": {
  "lr": 0.001
 },
 "tensors": [
  {
   "name": "param/b",
   "dtype": "F32",
   "shape": [
    "2"
   ],
   "chunks": [
    {
     "file": "shard-00000-of-00002.safetensors",
     "offset": "320",
     "start": "0",
     "length": "2",
     "xxh3": "28a0ba9c345d3723"
    }
   ]
  },
  {
   "name": "param/w",
   "dtype": "F32",
   "shape": [
    "3",
    "2"
   ],
   "chunks": [
    {
     "file": "shard-00000-of-00002.safetensors",
     "offset": "328",
     "start": "0",
     "length": "2",
     "xxh3": "38ceab2f710ec8b6"
    },
    {
     "file": "shard-00001-of-00002.safetensors",
     "offset": "256",
     "start": "2",
     "length": "4",
     "xxh3": "3b3b4f2d10542833"
    }
   ]
  }
 ],
 "files": [
  {
   "name": "shard-00000-of-00002.safetensors",
   "bytes": "336",
   "xxh3": "6aa0da271bc67c4f"
  },
  {
   "name": "shard-00001-of-00002.safetensors",
   "bytes": "272",
   "xxh3": "bf37cf41091e184d"
  }
 ],
 "writer": "muster 0.1.0",
 "manifest_xxh3": "8ad4234d62922f38"
}
)");
}

TEST(CheckpointFormat, ReaderPassesOverFieldsOfLaterVersions) {
  FaultFileSystem fs;
  const auto path = Publish(&fs, "/ckpt/tiny-1", *SaveSmall(&fs));
  const std::string file = absl::StrCat(*path, "/manifest.json");
  std::string json = *ReadFile(&fs, file);
  json.replace(json.find('{'), 1, "{ \"later\": [1, {\"x\": null}],");
  const size_t digits = json.rfind("\"manifest_xxh3\": \"") + 18;
  json.replace(digits, 16, "0000000000000000");
  json.replace(digits, 16, DigestOf(json));
  fs.AddFile(file, json);
  EXPECT_TRUE(VerifyCheckpoint(&fs, *path).ok()) << VerifyCheckpoint(&fs, *path);
}

// As `xxhsum -H3` prints them.
TEST(CheckpointFormat, DigestIsXxh3MostSignificantDigitFirst) {
  EXPECT_EQ(DigestOf(""), "2d06800538d394c2");
  EXPECT_EQ(DigestOf("Muster"), "12c90e4c0deca1f6");
  Digest pieces;
  pieces.Update("Mus");
  pieces.Update("ter");
  EXPECT_EQ(pieces.Hex(), "12c90e4c0deca1f6");
}

TEST(Safetensors, UnsoundHeadersAreRefused) {
  const auto read = [](const std::string& json, int64_t data) {
    FaultFileSystem fs;
    std::string length(8, '\0');
    length[0] = static_cast<char>(json.size() & 0xff);
    length[1] = static_cast<char>(json.size() >> 8);
    fs.AddFile("/a", length + json + std::string(data, 'x'));
    const auto file = fs.NewRandomAccessFile("/a");
    const absl::Status status = ReadSafetensorsHeader(**file, "/a").status();
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    return status.ok();
  };
  EXPECT_TRUE(read("{}", 0));
  EXPECT_TRUE(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )", 8));
  EXPECT_TRUE(read(R"({"a":{"dtype":"F16","shape":[],"data_offsets":[0,2]}})", 2));
  EXPECT_FALSE(read("{}", 1));                                                           // bytes of no tensor
  EXPECT_FALSE(read("", 0));                                                             // no object
  EXPECT_FALSE(read(" {}", 0));                                                          // does not start with {
  EXPECT_FALSE(read("[]", 0));                                                           // no object
  EXPECT_FALSE(read("{", 0));                                                            // no JSON
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7));    // cut
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8));    // shape and bytes
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12));  // a hole
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8));    // backwards
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8));  // no integer
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8));   // negative
  EXPECT_FALSE(read(R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8));        // dtype
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[2]}})", 8));                         // no offsets
  EXPECT_FALSE(read(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                    8));                                 // twice
  EXPECT_FALSE(read(R"({"__metadata__":{"a":1}})", 0));  // metadata is text
  EXPECT_FALSE(read(R"({"__metadata__":3})", 0));
}

TEST(Safetensors, HeaderLongerThanTheFileIsRefused) {
  for (const std::string& bytes : {std::string(), std::string("1234567"), std::string("\3\0\0\0\0\0\0\0{}", 10),
                                   std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)}) {
    FaultFileSystem fs;
    fs.AddFile("/a", bytes);
    EXPECT_TRUE(absl::IsDataLoss(ReadSafetensorsHeader(**fs.NewRandomAccessFile("/a"), "/a").status()));
  }
}

}  // namespace
}  // namespace muster::worker
