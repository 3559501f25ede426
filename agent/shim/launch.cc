#include "agent/shim/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::shim {
namespace {

// What the child tells of a start that failed.
struct Failure {
  enum Stage : int { kFolder, kProgram } stage;
  int error;
};

[[noreturn]] void RunChild(const std::vector<char*>& argv, const std::string& working_dir, int out, int err,
                           int failure_fd, pid_t parent) {
  Failure failure = {Failure::kProgram, 0};
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before it could be watched
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (::chdir(working_dir.c_str()) != 0) {
    failure = {Failure::kFolder, errno};
  } else {
    ::execvp(argv[0], argv.data());
    failure.error = errno;
  }
  [[maybe_unused]] const ssize_t n = ::write(failure_fd, &failure, sizeof(failure));
  ::_exit(127);
}

std::string Explain(const Failure& failure, const std::string& program, const std::string& working_dir) {
  if (failure.stage == Failure::kFolder) {
    return absl::StrCat("working_dir: cannot enter ", working_dir, ": ", std::strerror(failure.error),
                        "; it must be there on every node of the job");
  }
  const char* remedy = "check that it is a program for this machine";
  if (failure.error == ENOENT) {
    remedy = program.find('/') == std::string::npos
                 ? "it is not on the PATH of this node's agent; install it or give its full path"
                 : "it (or the interpreter its first line names) must be there on every node of the job";
  } else if (failure.error == EACCES) {
    remedy = "make it executable (chmod +x) for the agent's user";
  } else if (failure.error == ENOEXEC) {
    remedy = "a script needs a first line such as #!/bin/sh";
  }
  return absl::StrCat("command: cannot run '", program, "': ", std::strerror(failure.error), "; ", remedy);
}

}  // namespace

absl::StatusOr<Launched> Launch(const std::vector<std::string>& command, const std::string& working_dir) {
  int out[2], err[2], failure_pipe[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0 || ::pipe2(failure_pipe, O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return absl::InternalError(absl::StrCat("cannot start a process: ", std::strerror(errno)));
  if (pid == 0) RunChild(argv, working_dir, out[1], err[1], failure_pipe[1], parent);
  ::setpgid(pid, pid);  // whoever of the two comes first
  for (const int fd : {out[1], err[1], failure_pipe[1]}) ::close(fd);

  Failure failure;
  ssize_t n;
  do {
    n = ::read(failure_pipe[0], &failure, sizeof(failure));
  } while (n < 0 && errno == EINTR);
  ::close(failure_pipe[0]);
  Launched launched;
  if (n == sizeof(failure)) {
    ::waitpid(pid, nullptr, 0);
    ::close(out[0]);
    ::close(err[0]);
    launched.error = Explain(failure, command[0], working_dir);
    return launched;
  }
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  ::fcntl(err[0], F_SETFL, O_NONBLOCK);
  launched.pid = pid;
  launched.out_fd = out[0];
  launched.err_fd = err[0];
  return launched;
}

}  // namespace muster::shim
