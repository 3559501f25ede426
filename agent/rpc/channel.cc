#include "agent/rpc/channel.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {

std::shared_ptr<grpc::Channel> NewChannel(const HostPort& target, absl::Duration connect_timeout) {
  const int millis = static_cast<int>(absl::ToInt64Milliseconds(connect_timeout));
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Also the time limit of connecting.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, millis);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, millis);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, millis);
  args.SetMaxReceiveMessageSize(-1);
  args.SetMaxSendMessageSize(-1);
  const bool v6 = absl::StrContains(target.host, ":");
  const std::string address = absl::StrCat(v6 ? "[" : "", target.host, v6 ? "]" : "", ":", target.port);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), args);
}

}  // namespace muster::agent
