# shellcheck shell=bash
# Sourced by the scripts of tools/: run from the root of the repository, one way to call bazel, one way to fail.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 1

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

heading() { printf '\n== %s\n' "$*"; }

# Bazel needs a writable home for its output; where there is none (a service account, a container with an odd HOME),
# it is told a folder of its own. MUSTER_BAZEL_STARTUP holds further start-up options, separated by spaces.
bazel() {
  local startup=()
  read -r -a startup <<<"${MUSTER_BAZEL_STARTUP:-}"
  if ! mkdir -p "${HOME:-/nonexistent}/.cache" 2>/dev/null || [[ ! -w $HOME/.cache ]]; then
    startup+=("--output_user_root=${TMPDIR:-/tmp}/muster-bazel-$(id -u)")
  fi
  command bazel "${startup[@]}" "$@"
}

# Git also in a clone that belongs to another user, as in a container with a mounted folder.
git_here() { git -c safe.directory="$ROOT" "$@"; }

# Files of the repository, new ones too, that match the patterns; without git, what lies here.
source_files() {
  if command -v git >/dev/null && git_here rev-parse --git-dir >/dev/null 2>&1; then
    git_here ls-files --cached --others --exclude-standard -- "$@" | sort -u | while IFS= read -r file; do
      [[ ! -e $file ]] || printf '%s\n' "$file"
    done
  else
    local names=() pattern
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find . \( -name .git -o -name 'bazel-*' \) -prune -o \( "${names[@]:1}" \) -type f -print | sed 's|^\./||' | sort
  fi
}
