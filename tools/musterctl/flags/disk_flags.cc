#include "common/version.h"
#include "tools/musterctl/commands/checkpoint.h"
#include "tools/musterctl/commands/data.h"
#include "tools/musterctl/flags/builder.h"

namespace muster::ctl {
namespace {

void AddCheckpoint(FlagsBuilder& b) {
  CLI::App* group = b.Add(&b.app, "checkpoint", "List and verify checkpoints",
                          "  musterctl checkpoint ls gpt-small\n"
                          "  musterctl checkpoint ls /shared/checkpoints/gpt-small-3\n"
                          "  musterctl checkpoint verify /shared/checkpoints/gpt-small-3/step-00001000");
  group->require_subcommand(1);

  auto ls = std::make_shared<CheckpointLsOptions>();
  CLI::App* sub = b.Add(group, "ls", "List a job's checkpoints, or those in a folder", "");
  sub->add_option("target", ls->target, "Job id or name, or a folder (with a / in it)")
      ->required()
      ->type_name("JOB|DIR");
  b.Run(sub, ls, &RunCheckpointLs);

  auto verify = std::make_shared<CheckpointVerifyOptions>();
  sub = b.Add(group, "verify", "Read every byte of a checkpoint, or of all in a folder, and check it", "");
  sub->add_option("dir", verify->dir, "A checkpoint, or a folder with checkpoints")->required()->type_name("DIR");
  b.Run(sub, verify, &RunCheckpointVerify);
}

void AddData(FlagsBuilder& b) {
  CLI::App* group = b.Add(&b.app, "data", "Make and look at token files",
                          "  musterctl data pack corpus/ -o /shared/corpus --val-fraction 0.05\n"
                          "  musterctl data stat '/shared/corpus-train*.bin'");
  group->require_subcommand(1);

  auto pack = std::make_shared<DataPackOptions>();
  CLI::App* sub =
      b.Add(group, "pack", "Pack text into token files; each byte is a token",
            "  musterctl data pack corpus/ -o /shared/corpus --val-fraction 0.05\n"
            "makes /shared/corpus-train.bin and /shared/corpus-val.bin. An output that ends in .bin, and no\n"
            "--val-fraction, makes just that file.");
  sub->add_option("inputs", pack->inputs, "Text files, globs and folders")->required()->type_name("INPUT");
  sub->add_option("-o,--output", pack->output, "Where to; the files' names begin with it")
      ->required()
      ->type_name("PREFIX");
  sub->add_option("--val-fraction", pack->pack.val_fraction, "Part of each document kept for validation; default 0")
      ->type_name("F")
      ->check(CLI::Range(0.0, 0.999999));
  sub->add_option("--max-tokens-per-file", pack->pack.max_tokens_per_file, "Split into files of at most so many tokens")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  b.Run(sub, pack, &RunDataPack);

  auto stat = std::make_shared<DataStatOptions>();
  sub = b.Add(group, "stat", "Count the tokens of files, and the vocabulary they need", "");
  sub->add_option("files", stat->pattern, "A file or a glob (in quotes)")->required()->type_name("PATTERN");
  sub->add_flag_function(
      "--raw-u16", [stat](int64_t) { stat->format = v1::RAW_U16; }, "Files without a header: bare uint16 tokens");
  b.Run(sub, stat, &RunDataStat);
}

struct VersionOptions {};

}  // namespace

void AddDiskCommands(FlagsBuilder& b) {
  AddCheckpoint(b);
  AddData(b);
  b.Run<VersionOptions>(
      b.Add(&b.app, "version", "Print musterctl's version and protocol", ""), std::make_shared<VersionOptions>(),
      [](Session& session, const VersionOptions&) -> absl::StatusOr<ExitCode> {
        if (session.json) {
          *session.out << "{\"version\": \"" << kVersion << "\", \"protocol\": " << kProtocolVersion << "}\n";
        } else {
          *session.out << "musterctl " << kVersion << " (protocol " << kProtocolVersion << ")\n";
        }
        return ExitCode::kOk;
      });
}

}  // namespace muster::ctl
