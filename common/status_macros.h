#ifndef MUSTER_COMMON_STATUS_MACROS_H_
#define MUSTER_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define MUSTER_RETURN_IF_ERROR(expr)                                                       \
  do {                                                                                     \
    if (absl::Status muster_status_ = (expr); !muster_status_.ok()) return muster_status_; \
  } while (false)

#define MUSTER_CONCAT_INNER_(a, b) a##b
#define MUSTER_CONCAT_(a, b) MUSTER_CONCAT_INNER_(a, b)

// MUSTER_ASSIGN_OR_RETURN(auto x, F());
#define MUSTER_ASSIGN_OR_RETURN(lhs, expr) \
  MUSTER_ASSIGN_OR_RETURN_IMPL_(MUSTER_CONCAT_(muster_statusor_, __LINE__), lhs, expr)
#define MUSTER_ASSIGN_OR_RETURN_IMPL_(var, lhs, expr) \
  auto var = (expr);                                  \
  if (!var.ok()) return var.status();                 \
  lhs = *std::move(var)

#endif  // MUSTER_COMMON_STATUS_MACROS_H_
