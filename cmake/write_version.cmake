# cmake -D source=DIR -D version=X.Y.Z -D output=FILE -P write_version.cmake
# Writes FILE only when its content changes, so that an unchanged revision compiles nothing again.
set(revision "unknown")
# A source tree without its own .git (an unpacked archive) may lie inside somebody else's repository.
find_program(git git)
if(git AND EXISTS ${source}/.git)
  execute_process(
    COMMAND ${git} --no-optional-locks -C ${source} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE described ERROR_QUIET RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(revision "${described}")
  endif()
endif()

file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
#pragma once

namespace mmaudit {

inline constexpr char kVersion[] = "@version@";
// Twelve digits of the commit, "-dirty" behind it where the tree had changes; "unknown" without git.
inline constexpr char kGitRevision[] = "@revision@";

}  // namespace mmaudit
]])
