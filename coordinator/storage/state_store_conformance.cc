#include "coordinator/storage/state_store_conformance.h"

#include "absl/strings/str_cat.h"

namespace muster::coordinator {

using Records = std::map<std::string, std::string>;

void StateStoreConformance::SetUp() {
  place_ = GetParam().new_place();
  Reopen();
}

void StateStoreConformance::Reopen() {
  store_.reset();
  store_ = GetParam().open(place_.get());
  ASSERT_NE(store_, nullptr);
}

Records StateStoreConformance::Load() {
  const absl::StatusOr<Records> records = store_->Load();
  EXPECT_TRUE(records.ok()) << records.status();
  return records.ok() ? *records : Records{{"load failed", ""}};
}

std::string NameOfFactory(const testing::TestParamInfo<StateStoreFactory>& info) { return info.param.name; }

namespace {

TEST_P(StateStoreConformance, NewStoreIsEmpty) { EXPECT_EQ(Load(), Records{}); }

TEST_P(StateStoreConformance, CommittedRecordsAreThereAfterReopening) {
  ASSERT_TRUE(store_->Commit({{{"job/a", "1"}, {"job/b", "2"}}, {}}).ok());
  EXPECT_EQ(Load(), (Records{{"job/a", "1"}, {"job/b", "2"}}));
  Reopen();
  EXPECT_EQ(Load(), (Records{{"job/a", "1"}, {"job/b", "2"}}));
}

TEST_P(StateStoreConformance, LaterPutOfAKeyWins) {
  ASSERT_TRUE(store_->Commit({{{"k", "old"}}, {}}).ok());
  ASSERT_TRUE(store_->Commit({{{"k", "first"}, {"k", "second"}}, {}}).ok());
  Reopen();
  EXPECT_EQ(Load(), (Records{{"k", "second"}}));
}

TEST_P(StateStoreConformance, DeleteWinsOverPutOfTheSameBatch) {
  ASSERT_TRUE(store_->Commit({{{"k", "v"}, {"kept", "v"}}, {"k"}}).ok());
  Reopen();
  EXPECT_EQ(Load(), (Records{{"kept", "v"}}));
}

TEST_P(StateStoreConformance, DeletingWhatIsNotThereIsFine) {
  ASSERT_TRUE(store_->Commit({{}, {"nothing"}}).ok());
  EXPECT_EQ(Load(), Records{});
}

TEST_P(StateStoreConformance, DeletedRecordComesBackWithALaterPut) {
  ASSERT_TRUE(store_->Commit({{{"k", "1"}}, {}}).ok());
  ASSERT_TRUE(store_->Commit({{}, {"k"}}).ok());
  EXPECT_EQ(Load(), Records{});
  ASSERT_TRUE(store_->Commit({{{"k", "2"}}, {}}).ok());
  Reopen();
  EXPECT_EQ(Load(), (Records{{"k", "2"}}));
}

TEST_P(StateStoreConformance, EmptyBatchChangesNothing) {
  ASSERT_TRUE(store_->Commit({{{"k", "v"}}, {}}).ok());
  ASSERT_TRUE(store_->Commit({}).ok());
  Reopen();
  EXPECT_EQ(Load(), (Records{{"k", "v"}}));
}

TEST_P(StateStoreConformance, KeysAndValuesAreBytes) {
  const std::string bytes("\0\xff'\n\0", 5);
  ASSERT_TRUE(store_->Commit({{{bytes, bytes}, {"empty", ""}, {"", "of the empty key"}}, {}}).ok());
  Reopen();
  EXPECT_EQ(Load(), (Records{{bytes, bytes}, {"empty", ""}, {"", "of the empty key"}}));
}

TEST_P(StateStoreConformance, LargeValuesAndManyRecordsSurvive) {
  StateStore::Batch batch;
  Records want;
  for (int i = 0; i < 2000; ++i) {
    batch.puts.emplace_back(absl::StrCat("event/", i), absl::StrCat("value ", i));
    want.insert(batch.puts.back());
  }
  batch.puts.emplace_back("big", std::string(4 << 20, 'x'));
  want.insert(batch.puts.back());
  ASSERT_TRUE(store_->Commit(batch).ok());
  Reopen();
  EXPECT_TRUE(Load() == want);
}

}  // namespace
}  // namespace muster::coordinator
