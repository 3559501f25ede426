#include "coordinator/runtime/log_file_name.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::LogChunk Chunk() {
  v1::LogChunk chunk;
  chunk.set_job_id("train-1");
  chunk.set_generation(3);
  chunk.set_rank(2);
  chunk.set_node_id("host.example-4");
  return chunk;
}

TEST(LogFileNameTest, NameReadsBackAsItself) {
  const LogFileName name = FileOfChunk(Chunk()).value();
  EXPECT_EQ(name.ToString(), "g3-r2.host.example-4.log");
  EXPECT_TRUE(LogFileName::Parse(name.ToString()) == name);
}

TEST(LogFileNameTest, OtherFilesAreNotLogs) {
  for (const char* name : {"", "g3-r2.log", "g-r2.n.log", "g3-r.n.log", "g3-r2.n.txt", "g3-r2..log.swp", "g+3-r2.n.log",
                           "g3-r2.a/b.log", "g99999999999999999999-r2.n.log"}) {
    EXPECT_FALSE(LogFileName::Parse(name).has_value()) << name;
  }
}

TEST(LogFileNameTest, WhatCannotBeIsRefusedInOneLine) {
  const auto refused = [](void (*change)(v1::LogChunk*), const char* words) {
    v1::LogChunk chunk = Chunk();
    change(&chunk);
    const auto name = FileOfChunk(chunk);
    ASSERT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(name.status().message()), HasSubstr(words));
    EXPECT_THAT(std::string(name.status().message()), Not(HasSubstr("\n")));
  };
  for (auto change : {+[](v1::LogChunk* c) { c->set_job_id(".."); }, +[](v1::LogChunk* c) { c->set_job_id("a/../b"); },
                      +[](v1::LogChunk* c) { c->set_job_id(""); }, +[](v1::LogChunk* c) { c->set_job_id("/etc"); },
                      +[](v1::LogChunk* c) { c->set_job_id(std::string("a\0b", 3)); },
                      +[](v1::LogChunk* c) { c->set_job_id("a\nb"); },
                      +[](v1::LogChunk* c) { c->set_job_id(std::string(65, 'a')); }}) {
    refused(change, "job id");
  }
  refused([](v1::LogChunk* c) { c->set_node_id("../x"); }, "node id");
  refused([](v1::LogChunk* c) { c->set_node_id(""); }, "node id");
  refused([](v1::LogChunk* c) { c->set_node_id(std::string(300, 'n')); }, "node id");
  refused([](v1::LogChunk* c) { c->set_generation(0); }, "generation 0");
  refused([](v1::LogChunk* c) { c->set_rank(-1); }, "rank -1");
  refused([](v1::LogChunk* c) { c->set_offset(-1); }, "offset -1");
}

}  // namespace
}  // namespace muster::coordinator
