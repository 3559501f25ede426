#ifndef MUSTER_COORDINATOR_CORE_EXIT_WORDS_H_
#define MUSTER_COORDINATOR_CORE_EXIT_WORDS_H_

#include <string>

#include "proto/agent.pb.h"

namespace muster::coordinator {

// "was killed by signal 9 (SIGKILL)", "exited with code 3", "could not be started: ...".
std::string DescribeExit(const v1::ExitInfo& exit);

// The worker was ended from outside, so that the program is not to blame: a signal that programs do not raise
// themselves, its agent, a taken port, a machine that could not start it. Running out of memory is the program's.
bool EndedFromOutside(const v1::ExitInfo& exit);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_EXIT_WORDS_H_
